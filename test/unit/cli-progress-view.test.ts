/** The live view of a run at a terminal: what is left to read when it has ended. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Io } from '../../cli/terminal/io.ts';
import { Output } from '../../cli/terminal/output.ts';
import { ProgressView } from '../../cli/views/progress-view.ts';
import type { Progress } from '../../domain/run/progress.ts';

/** More steps than a terminal has lines. */
const STEPS = Array.from({ length: 120 }, (_, index) => `pay-${index + 1}`);

function progressAt(step: string): Progress {
  const items = STEPS.map((id) => ({ id, kind: 'payment' as const, step, waiting: null }));
  return { status: 'RUNNING', items, batch: null };
}

/** A view at a terminal, and all that is written there, in order. */
function viewAt(t: TestContext): { readonly view: ProgressView; readonly written: string[] } {
  const written: string[] = [];
  const write = (text: string): boolean => {
    written.push(text);
    return true;
  };
  const sink = { write, isTTY: true, columns: 80 };
  // What is drawn again and again goes to the process's own stream.
  t.mock.method(process.stderr, 'write', write);
  const io = { stdout: sink, stderr: sink, env: { TERM: 'xterm' }, now: () => 0 } as unknown as Io;
  const of = { name: 'p.2026-11-21', startedAtMs: 0, zone: null };
  return { view: new ProgressView(new Output(io, true), of), written };
}

/** Whether the text moves the cursor up or erases lines. */
const erases = (text: string): boolean => /\u001B\[\d*[AJK]/.test(text);

test('when a run has ended, every step stays on the terminal, also where there are more than it has lines', (t) => {
  const { view, written } = viewAt(t);
  view.take(progressAt('sent'));
  view.take(progressAt('accepted'));
  assert.ok(written.some(erases), 'while it goes on, the view is drawn again in one place');
  view.finish(progressAt('paid'));
  view.close();
  const lastErased = written.findLastIndex(erases);
  const kept = written.slice(lastErased + 1).join('');
  for (const id of STEPS) assert.match(kept, new RegExp(`${id}\\b.*paid`));
  assert.ok(kept.endsWith('\n'));
});
