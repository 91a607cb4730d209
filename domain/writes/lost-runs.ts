/**
 * Lost runs: the service has records of them and Temporal has nothing, neither the run, nor its plan, nor
 * what people said. This happens when Temporal was restored from an older backup, or when another namespace
 * uses the same key. Beside lost runs of its policy, a new run waits for a person, and so does the first trade of a leg whose
 * plan is older than the loss. Pure.
 */
import type { Kept } from '../people/instructions.ts';
import { makeProblem } from '../problems.ts';
import { runName, runOf, type RunName } from '../references.ts';
import type { Wait } from '../waits.ts';

/** The runs of a policy of which a list shows records, and for each the time of its newest record. */
export class SeenRuns {
  readonly #own: RunName;
  readonly #newest = new Map<string, { readonly run: RunName; readonly atMs: number }>();

  /** @param own the run that looks */
  constructor(own: RunName) {
    this.#own = own;
  }

  /**
   * Notes the run of a record.
   * @param reference the reference or the tag of the record
   * @param createdAt when the service made it
   * @returns always false: no list need keep the record
   */
  note(reference: string | null, createdAt: string): false {
    // Many records of a list are of other policies.
    const run = reference?.startsWith(`${this.#own.policy}.`) === true ? runOf(reference) : null;
    if (run === null) return false;
    const name = runName(run);
    const atMs = Date.parse(createdAt);
    if (atMs > (this.#newest.get(name)?.atMs ?? -Infinity)) this.#newest.set(name, { run, atMs });
    return false;
  }

  /** True when the list shows a record of this run: it was started before, and adopts what was done. */
  get hasOwn(): boolean {
    return this.#newest.has(runName(this.#own));
  }

  /** True when the list shows a record of another run. */
  get hasOthers(): boolean {
    return this.othersSince(-Infinity).length > 0;
  }

  /** The other runs with a record that is no older than this, epoch milliseconds; the newest first. */
  othersSince(sinceMs: number): readonly RunName[] {
    const own = runName(this.#own);
    return [...this.#newest]
      .filter(([name, { atMs }]) => name !== own && atMs >= sinceMs)
      .toSorted(([, one], [, other]) => other.atMs - one.atMs)
      .map(([, { run }]) => run);
  }
}

/** Whether a person has said that the run goes on beside the runs of the list with this name (`nameOfFound`). */
export function isLetGo({ instructions }: Kept, name: string): boolean {
  return instructions.some((said) => said.kind === 'go-on' && said.item === name);
}

/** Short, so that a person who starts the lost runs again sees soon that this run goes on. */
const ASK_AGAIN_MS = 15_000;
/** The message names so many runs at most. */
const NAMED = 5;

/** The run that waits. `policyFile`: as it was started with. `isPlanned`: it has its plan, which is older than the loss. */
export type Beside = {
  readonly run: RunName;
  readonly policyFile: string;
  readonly isBatch: boolean;
  readonly isPlanned: boolean;
};

/** @param name the name of the list */
export function besideLostRuns(of: Beside, lost: readonly RunName[], name: string): Wait {
  const names = lost.slice(0, NAMED).map(runName).join(', ');
  const more = lost.length > NAMED ? `, and ${lost.length - NAMED} more` : '';
  const [only, ...others] = lost;
  const [runs, them, id] =
    only !== undefined && others.length === 0
      ? (['a run', 'it', only.id] as const)
      : ([`${lost.length} runs`, 'each of them', 'ID'] as const);
  const command = `npx cambist run ${typed(of.policyFile)}`;
  const file = of.isBatch ? ' --batch FILE' : '';
  const replaced = of.isPlanned
    ? `Where ${others.length === 0 ? 'it' : 'one of them'} has taken the place of this run, cancel this one first, by \`npx cambist cancel ${runName(of.run)}\`. `
    : '';
  const problem = makeProblem('OTHER_RUNS_LOST', null, {
    message: `The service has records of ${runs} of this policy that Temporal does not know: ${names}${more}. Temporal was likely restored from an older backup, or another namespace uses the same key. This run sends nothing before a person says so.`,
    fix: `${replaced}Start ${them} again first, by \`${command}${file} --id ${id}\`: what was done is adopted, and this run then goes on by itself. Or look at what was moved, and let this run go all the same: \`${command} --id ${of.run.id} --go-on ${name}\`.`,
  });
  return { afterMs: ASK_AGAIN_MS, reason: 'person', problem };
}

/** A word as people type it into a shell. */
function typed(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
