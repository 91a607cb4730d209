/**
 * Whose turn it is to trade, as the workflow `turn` keeps it, and what open runs have reserved, as they answer whoever asks
 * (`operations/turn.ts`). A restore brings back what it knew then.
 */
import type { Deps } from '../../../activities/deps.ts';
import { NOTHING_RESERVED, type OthersReserved } from '../../../domain/plan/reserved.ts';
import { goneWith, type Gone, type Others } from '../../../domain/writes/gone-runs.ts';
import { runName, type RunName } from '../../../domain/references.ts';
import { reservationIn, reservationOfPlan } from '../../../domain/run/reserves.ts';
import {
  answerTo,
  forgetRuns,
  giveTurnBack,
  newTurnState,
  noteGone,
  reopenRun,
  takeOverRuns,
  takeTurn,
  type TurnAnswer,
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
        const ask = (): TurnAnswer => {
          this.#change((state) => takeTurn(state, runName(run), isPlanning, nowMs));
          return answerTo(this.#state, runName(run), nowMs);
        };
        let answer = ask();
        if (answer.turn === 'ours' && answer.isAnew === true) {
          this.#change((state) => takeOverRuns(state, this.#planned(run)));
          answer = ask();
        }
        if (answer.turn === 'others') this.#world.coverage.hit('turn', 'of another run');
        return answer;
      },
      giveBack: async (run, tradedAtMs) =>
        this.#change((state) => giveTurnBack(state, runName(run), tradedAtMs, this.#world.temporalMs())),
      reopen: async (run) => this.#change((state) => reopenRun(state, runName(run))),
      readReserved: async (others) => this.#reserved(others),
      noteGone: async (gone) => this.#change((state) => noteGone(state, gone)),
      forget: async (runs) => this.#change((state) => forgetRuns(state, runs.map(runName))),
    };
  }

  /** Somebody has ended or deleted the workflow. */
  lose(): void {
    this.#state = newTurnState(this.#world.temporalMs());
    this.#change(() => {});
  }

  /** As `durable/other-runs/turn.ts` lists them. */
  #planned(own: RunName): readonly string[] {
    return this.#world.runs
      .filter(({ planRun }) => planRun !== null && planRun.plan !== null)
      .map(({ ours }) => runName(ours.input.run))
      .filter((name) => name !== runName(own));
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

  #reserved(others: readonly string[]): Others {
    const all = this.#world.runs.filter(({ ours }) => others.includes(runName(ours.input.run)));
    const open = all.filter((temporal) => temporal.current !== null && !temporal.isAway());
    const gone = all.flatMap((temporal) => (open.includes(temporal) ? [] : (this.#goneOf(temporal) ?? [])));
    const kept = [...open.map(({ ours }) => ours.input), ...gone].map(({ run }) => runName(run));
    this.#change((state) =>
      forgetRuns(
        state,
        others.filter((name) => !kept.includes(name)),
      ),
    );
    return { open: open.map((temporal) => this.#reservedOf(temporal)), gone };
  }

  /** What a run that is not open may have traded; null: it has ended by itself, or nothing is in doubt. */
  #goneOf(temporal: Temporal): Gone | null {
    const { ours, planRun } = temporal;
    const { run } = ours.input;
    const newest = temporal.newest();
    const standing = newest?.standing ?? 'none';
    if (!temporal.isAway() && (standing === 'ended' || standing === 'refused')) return null;
    this.#world.coverage.hit('turn', 'a run that is gone');
    const runId = standing === 'terminated' ? (newest?.runId ?? null) : null;
    if (runId !== null && temporal.hasWorkers() && newest !== undefined) {
      const told = reservationIn(newest.state, runId);
      return told === null ? null : goneWith(run, runId, told);
    }
    if (planRun === null) return goneWith(run, runId, null);
    return planRun.plan === null ? null : goneWith(run, runId, reservationOfPlan(planRun.plan, null));
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
