/**
 * Whose turn it is to trade, as the workflow `turn` keeps it, and what open runs have reserved, as they answer whoever asks
 * (`operations/turn.ts`). A restore brings back what it knew then.
 */
import type { Deps } from '../../../activities/deps.ts';
import { NOTHING_RESERVED, type OthersReserved } from '../../../domain/plan/reserved.ts';
import { runName, type RunName } from '../../../domain/references.ts';
import { reservationIn, reservationOfPlan } from '../../../domain/run/reserves.ts';
import {
  answerTo,
  forgetRuns,
  giveTurnBack,
  newTurnState,
  reopenRun,
  takeTurn,
  type TurnState,
} from '../../../domain/turn.ts';
import type { Temporal } from './temporal.ts';
import type { World } from './world.ts';

export class Turns {
  readonly #world: World;
  #state: TurnState = newTurnState();
  /** What it was at each change. */
  #earlier: { readonly atMs: number; readonly state: TurnState }[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** As the activities of a worker ask for it. */
  asked(): Deps['turn'] {
    return {
      take: async (run, isPlanning) => {
        const nowMs = this.#world.temporalMs();
        this.#change((state) => takeTurn(state, runName(run), isPlanning, nowMs));
        const answer = answerTo(this.#state, runName(run), nowMs);
        if (answer.turn === 'others') this.#world.coverage.hit('turn', 'of another run');
        return answer;
      },
      giveBack: async (run, tradedAtMs) =>
        this.#change((state) => giveTurnBack(state, runName(run), tradedAtMs, this.#world.temporalMs())),
      reopen: async (run) => this.#change((state) => reopenRun(state, runName(run))),
      readReserved: async (others) => this.#reserved(others),
    };
  }

  /** Temporal is back as it was then. */
  restore(thenMs: number): void {
    this.#earlier = this.#earlier.filter(({ atMs }) => atMs <= thenMs);
    this.#state = { ...(this.#earlier.at(-1)?.state ?? newTurnState()) };
  }

  #change(change: (state: TurnState) => void): void {
    change(this.#state);
    this.#earlier.push({ atMs: this.#world.agenda.nowMs, state: { ...this.#state } });
  }

  #reserved(others: readonly string[]): readonly OthersReserved[] {
    const all = others.flatMap((name) => {
      const temporal = this.#world.runs.find(({ ours }) => runName(ours.input.run) === name);
      const isOpen = temporal !== undefined && temporal.current !== null && !temporal.isAway();
      return isOpen ? [temporal] : [];
    });
    const open = all.map(({ ours }) => runName(ours.input.run));
    this.#change((state) =>
      forgetRuns(
        state,
        others.filter((name) => !open.includes(name)),
      ),
    );
    return all.map((temporal) => this.#reservedOf(temporal));
  }

  #reservedOf(temporal: Temporal): OthersReserved {
    const { ours, current, planRun } = temporal;
    const run: RunName = ours.input.run;
    const answered =
      temporal.hasWorkers() && current !== null ? reservationIn(current.state, current.runId) : null;
    this.#world.coverage.hit('turn', answered === null ? 'reserved by a plan' : 'reserved by a run');
    if (answered !== null) return { run, ...answered };
    const plan = planRun?.plan ?? null;
    if (plan === null) return { run, ...NOTHING_RESERVED };
    return { run, ...reservationOfPlan(plan, temporal.hasWorkers() ? (current?.runId ?? null) : null) };
  }
}
