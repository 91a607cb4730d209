/** The worker that `cambist up` keeps: what happens when it ends, with processes that only pretend. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { ChildProcess } from 'node:child_process';
import { KeptWorker } from '../../cli/commands/up-worker.ts';
import { CommandFailure } from '../../operations/failure.ts';

/** What a process does that a person has started. */
class Pretended extends EventEmitter {
  readonly stdout = new PassThrough();
  readonly pid: number | undefined;
  exitCode: number | null = null;
  signalCode: NodeJS.Signals | null = null;

  constructor(pid: number | undefined) {
    super();
    this.pid = pid;
  }

  isReady(): void {
    this.stdout.write('{"ready":"worker"}\n');
  }

  ends(exitCode: number | null, signal: NodeJS.Signals | null = null): void {
    this.exitCode = exitCode;
    this.signalCode = signal;
    this.stdout.end();
    this.emit('exit');
  }

  kill(signal: NodeJS.Signals): boolean {
    if (this.exitCode === null) this.ends(null, signal);
    return true;
  }
}

type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

/** Keeps a worker by these processes, one after the other. */
function keeping(processes: readonly Pretended[], wait: Pause = () => Promise.resolve()) {
  const told = new EventEmitter();
  const said: string[] = [];
  const pauses: number[] = [];
  const alive = new Set<number>();
  const rest = [...processes];
  const worker = new KeptWorker({
    spawn: () => {
      const next = rest.shift();
      assert.ok(next);
      return next as unknown as ChildProcess;
    },
    onSpawn: (pid) => void alive.add(pid),
    onGone: (pid) => void alive.delete(pid),
    say: (line) => {
      said.push(line);
      told.emit('said');
    },
    pause: (ms, signal) => {
      pauses.push(ms);
      return wait(ms, signal);
    },
  });
  return { worker, told, said, pauses, alive };
}

test('a worker that dies is followed by another one, after a pause that grows, until it is told to stop', async () => {
  const [first, second, third, fourth] = [11, undefined, 13, 14].map((pid) => new Pretended(pid));
  assert.ok(first && second && third && fourth);
  const { worker, told, said, pauses, alive } = keeping([first, second, third, fourth]);
  third.ends(3);
  fourth.isReady();
  first.isReady();
  await worker.start();
  assert.deepEqual([worker.pid, [...alive]], [11, [11]]);
  first.ends(null, 'SIGKILL');
  while (!said.some((line) => line.startsWith('Another worker'))) await once(told, 'said');
  assert.deepEqual(said, [
    'The worker (process 11) ended by SIGKILL; runs wait. Starting another one in 1 s …',
    'No worker could be started; runs wait. Starting another one in 2 s …',
    'The worker (process 13) ended with exit code 3; runs wait. Starting another one in 4 s …',
    'Another worker takes the work: process 14.',
  ]);
  assert.deepEqual(pauses, [1_000, 2_000, 4_000]);
  assert.deepEqual([worker.pid, [...alive]], [14, [14]]);
  await worker.stop();
  assert.deepEqual([fourth.signalCode, [...alive], said.length], ['SIGTERM', [], 4]);
});

test('a first worker that does not start is an error, and no other one is tried', async () => {
  const first = new Pretended(11);
  const { worker, said } = keeping([first]);
  const starting = worker.start();
  first.ends(3);
  await assert.rejects(starting, (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.deepEqual(
      error.problems.map(({ code }) => code),
      ['WORKER_FAILED'],
    );
    return true;
  });
  await worker.stop();
  assert.deepEqual(said, []);
});

test('one that is told to stop in a pause starts no other worker', async () => {
  const first = new Pretended(11);
  const { worker, told, said } = keeping([first], async (_ms, signal) => {
    await once(signal, 'abort');
  });
  first.isReady();
  await worker.start();
  first.ends(1);
  if (said.length === 0) await once(told, 'said');
  await worker.stop();
  assert.deepEqual([worker.pid, said.length], [null, 1]);
});
