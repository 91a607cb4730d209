/**
 * Lost runs: those of which the service has records and Temporal nothing, neither the run, nor its plan, nor what people said.
 * So it is after Temporal was restored from an older backup, or where another namespace uses the same key. A new run beside
 * those of its policy waits for a person. Pure.
 */
import type { Kept } from '../people/instructions.ts';
import { makeProblem } from '../problems.ts';
import { runName, runOf, type RunName } from '../references.ts';
import type { Wait } from '../waits.ts';

/** The runs of a policy whose records a list shows; of each the newest record, and nothing else. */
export class SeenRuns {
  readonly #own: RunName;
  readonly #newest = new Map<string, { readonly run: RunName; readonly atMs: number }>();

  /** @param own the run that looks */
  constructor(own: RunName) {
    this.#own = own;
  }

  /**
   * @param reference what the record carries
   * @param createdAt when the service made it
   * @returns false: no list need keep the record
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

  /** Something of this run is there: it was started before, and adopts what was done. */
  get hasOwn(): boolean {
    return this.#newest.has(runName(this.#own));
  }

  /** The others with a record that is no older than this, epoch milliseconds; the newest first. */
  othersSince(sinceMs: number): readonly RunName[] {
    const own = runName(this.#own);
    return [...this.#newest]
      .filter(([name, { atMs }]) => name !== own && atMs >= sinceMs)
      .toSorted(([, one], [, other]) => other.atMs - one.atMs)
      .map(([, { run }]) => run);
  }
}

const LIST_NAME = /^lost-runs-[\w-]{12}$/;

/** Name of a list of lost runs, by which a person lets a run go beside exactly these. @param digest twelve letters of `[A-Za-z0-9_-]` */
export function lostRunsName(lost: readonly RunName[], digest: (texts: readonly string[]) => string): string {
  return `lost-runs-${digest(lost.map(runName).toSorted())}`;
}

/** Whether `--go-on` names such a list, and no item of a plan. */
export function isLostRunsName(text: string): boolean {
  return LIST_NAME.test(text);
}

/** Whether a person has said that the run goes on beside the runs of this list. */
export function isLetGo({ instructions }: Kept, name: string): boolean {
  return instructions.some((said) => said.kind === 'go-on' && said.item === name);
}

/** A person who starts the lost runs again is heard soon. */
const ASK_AGAIN_MS = 15_000;
/** So many are named. */
const NAMED = 5;

/** @param name of the list; `policyFile`: as the run was started with */
export function besideLostRuns(
  of: { readonly run: RunName; readonly policyFile: string; readonly isBatch: boolean },
  lost: readonly RunName[],
  name: string,
): Wait {
  const names = lost.slice(0, NAMED).map(runName).join(', ');
  const more = lost.length > NAMED ? `, and ${lost.length - NAMED} more` : '';
  const [only, ...others] = lost;
  const [runs, them, id] =
    only !== undefined && others.length === 0
      ? (['a run', 'it', only.id] as const)
      : ([`${lost.length} runs`, 'each of them', 'ID'] as const);
  const command = `npx cambist run ${typed(of.policyFile)}`;
  const file = of.isBatch ? ' --batch FILE' : '';
  const problem = makeProblem('OTHER_RUNS_LOST', null, {
    message: `The service has records of ${runs} of this policy that Temporal does not know: ${names}${more}. Temporal was likely restored from an older backup, or another namespace uses the same key. This run sends nothing before a person says so.`,
    fix: `Start ${them} again first, by \`${command}${file} --id ${id}\`: what was done is adopted, and this run then goes on by itself. Or look at what was moved, and let this run go all the same: \`${command} --id ${of.run.id} --go-on ${name}\`.`,
  });
  return { afterMs: ASK_AGAIN_MS, reason: 'person', problem };
}

/** A word as a shell takes it. */
function typed(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
