/** What happens to the processes and the wires between them, one thing after the other, as the seed has it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../../support/dice.ts';
import type { Weather, Wire } from '../../support/proxy.ts';
import type { ServerProcess, WorkerProcess } from './processes.ts';

/** Everything that can be harmed. */
export type Scene = {
  readonly workers: readonly WorkerProcess[];
  /** One between each worker and each of the two that it talks to, by name. */
  readonly wires: Readonly<Record<string, Wire>>;
  readonly server: ServerProcess;
  /** Moves the clock of one worker; 0 sets it right. */
  readonly moveClock: (worker: WorkerProcess, ms: number) => void;
  readonly note: (line: string) => void;
};

/** How often each kind of harm was done. */
export type Harm = Record<'wires' | 'cuts' | 'kills' | 'freezes' | 'clocks' | 'servers', number>;
type Kind = keyof Harm;

/** Of a hundred throws so many bring this harm. */
const CHANCES: readonly (readonly [Kind, number])[] = [
  ['cuts', 15],
  ['wires', 45],
  ['kills', 15],
  ['freezes', 11],
  ['clocks', 6],
  ['servers', 8],
];
/** Longer than an attempt may take to send: what was frozen must send nothing when it wakes. */
const LONG_FREEZE_MS = 26_000;
const SERVER_REST_MS = 7_000;

/** Does harm for `stormMs`, each kind at least once, then makes everything whole again. */
export async function weather(scene: Scene, dice: Dice, stormMs: number): Promise<Harm> {
  const harm: Harm = { wires: 0, cuts: 0, kills: 0, freezes: 0, clocks: 0, servers: 0 };
  const until = Date.now() + stormMs;
  const under = new Set<Promise<void>>();
  let serverFrom = Date.now() + SERVER_REST_MS;
  const start = (work: Promise<void>): void => {
    under.add(work);
    void work.finally(() => under.delete(work));
  };
  while (Date.now() < until) {
    await sleep(100 + dice.below(900));
    const left = until - Date.now();
    if (left <= 0) break;
    const worker = dice.pick(scene.workers);
    const length = dice.share();
    const [name, wire] = dice.pick(Object.entries(scene.wires));
    const next = drawWeather(dice);
    const isServerRested = Date.now() > serverFrom && left > SERVER_REST_MS / 2;
    const due = CHANCES.map(([one]) => one).filter(
      (one) => harm[one] === 0 && (one !== 'servers' || isServerRested),
    );
    const kind = due.length > 0 ? dice.pick(due) : drawKind(dice);
    switch (kind) {
      case 'cuts':
        harm.cuts += 1;
        scene.note(`cut ${name}`);
        wire.cut();
        break;
      case 'wires':
        harm.wires += 1;
        start(harmWire(scene, { name, wire, next, forMs: Math.min(200 + length * 3_500, left) }));
        break;
      case 'kills':
        // One that has just ended is being started again.
        if (!worker.kill()) break;
        harm.kills += 1;
        scene.note('kill a worker');
        break;
      case 'freezes': {
        if (!worker.freeze()) break;
        harm.freezes += 1;
        const isLong = left > 2 * LONG_FREEZE_MS && length > 0.7;
        start(thaw(scene, worker, isLong ? LONG_FREEZE_MS : Math.min(200 + length * 7_000, left)));
        break;
      }
      case 'clocks': {
        harm.clocks += 1;
        const byMs = (length < 0.5 ? 6_000 : 90_000) * (dice.isHit(0.5) ? 1 : -1);
        start(misset(scene, worker, byMs, Math.min(500 + length * 2_000, left)));
        break;
      }
      case 'servers':
        if (!isServerRested) break;
        harm.servers += 1;
        scene.note('kill the Temporal server');
        serverFrom = Number.POSITIVE_INFINITY;
        start(
          scene.server.killFor(100 + length * 1_400).finally(() => {
            serverFrom = Date.now() + SERVER_REST_MS;
          }),
        );
        break;
    }
  }
  await Promise.all(under);
  for (const worker of scene.workers) {
    worker.thaw();
    scene.moveClock(worker, 0);
  }
  for (const wire of Object.values(scene.wires)) wire.setWeather({ kind: 'clear' });
  return harm;
}

function drawKind(dice: Dice): Kind {
  let throwOf = dice.below(100);
  for (const [kind, chance] of CHANCES) {
    if (throwOf < chance) return kind;
    throwOf -= chance;
  }
  throw new RangeError('The chances of harm are less than a hundred.');
}

function drawWeather(dice: Dice): Weather {
  const direction = dice.isHit(0.5) ? 'up' : 'down';
  const amount = dice.share();
  return dice.pick<Weather>([
    { kind: 'refusing' },
    { kind: 'silent', direction },
    { kind: 'slow', delayMs: 20 + Math.floor(amount * 600) },
    { kind: 'truncating', direction, afterBytes: Math.floor(amount * 900) },
  ]);
}

async function harmWire(
  { note }: Scene,
  { name, wire, next, forMs }: { name: string; wire: Wire; next: Weather; forMs: number },
): Promise<void> {
  note(`${name}: ${JSON.stringify(next)} for ${Math.round(forMs)} ms`);
  wire.setWeather(next);
  await sleep(forMs);
  wire.setWeather({ kind: 'clear' });
}

async function thaw({ note }: Scene, worker: WorkerProcess, afterMs: number): Promise<void> {
  note(`freeze a worker for ${Math.round(afterMs)} ms`);
  await sleep(afterMs);
  worker.thaw();
}

async function misset(scene: Scene, worker: WorkerProcess, byMs: number, forMs: number): Promise<void> {
  scene.note(`a worker's clock is off by ${byMs} ms for ${Math.round(forMs)} ms`);
  scene.moveClock(worker, byMs);
  await sleep(forMs);
  scene.moveClock(worker, 0);
}
