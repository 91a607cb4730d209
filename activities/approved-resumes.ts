/**
 * Resumes that people must approve: where a rule of `approvals.yaml` names the policy of a halt, or the halt is of more than one policy, its
 * end needs the signatures of that rule. Before that a resume counts as not said. Verifying takes longer than a reading of the halts may, so
 * that it goes on beside it. What counted once is over, as long as this worker lives.
 */
import {
  nameText,
  resumedBy,
  resumesIn,
  resumeToSign,
  type HaltRecord,
  type HaltWord,
  type Resumed,
} from '../domain/halt.ts';
import type { Mode } from '../domain/service/records.ts';
import { quoted, standingBy, standingText } from '../domain/writes/approvals.ts';
import { rulesFor, type Approvals } from '../domain/writes/approval-rules.ts';
import type { PoliciesRead } from '../domain/writes/write-gate.ts';
import { unapproved, Verifying, type Signature } from './approval-gate.ts';
import type { Clock } from './deps.ts';
import { ageMs, momentOf, type Moment } from './moment.ts';

type Options = {
  readonly mode: Mode;
  readonly namespace: string;
  readonly clock: Clock;
  readonly readFolder: () => Promise<PoliciesRead>;
  readonly verify: ConstructorParameters<typeof Verifying>[1];
  /** Waits so long at most, and keeps no process alive. */
  readonly pause: (ms: number) => Promise<unknown>;
};

/** A reading of the halts waits so long for what is judged beside it. */
const BESIDE_MS = 400;
/** While a resume waits for signatures, it is judged again after this time: the folder may have changed. */
const AGAIN_MS = 5_000;

const NOT_JUDGED = 'it was resumed, and it is not known yet whether people must approve that';

/** Reads the record of halts with what each resume waits for. The same object where nothing has changed. */
export function approvedResumes(
  read: () => Promise<HaltRecord>,
  options: Options,
): () => Promise<HaltRecord> {
  const judge = new Judge(options);
  let last: { readonly from: HaltRecord; readonly version: number; readonly record: HaltRecord } | null =
    null;
  return async () => {
    const from = await read();
    await Promise.race([judge.look(from), options.pause(BESIDE_MS)]);
    const { version } = judge;
    if (last?.from !== from || last.version !== version)
      last = { from, version, record: { ...from, words: from.words.map((word) => judge.marked(word)) } };
    return last.record;
  };
}

class Judge {
  readonly #options: Options;
  readonly #verifying: Verifying;
  /** What each resume waits for, by its halt; null: it counts. */
  readonly #unsigned = new Map<string, string | null>();
  #resumes: { readonly of: HaltRecord; readonly all: readonly Resumed[] } | null = null;
  #looked: { readonly record: HaltRecord; readonly at: Moment } | null = null;
  #looking: Promise<void> | null = null;
  version = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#verifying = new Verifying(options.clock, options.verify);
  }

  marked(word: HaltWord): HaltWord {
    const resumed = resumedBy(word);
    if (resumed === null) return word;
    const known = this.#unsigned.get(nameText(resumed.said));
    const unsigned = known === undefined ? NOT_JUDGED : known;
    return unsigned === null ? word : { ...word, unsigned };
  }

  /** Judges what is not judged yet. Never rejects. */
  look(record: HaltRecord): Promise<void> {
    if (this.#resumes?.of !== record) this.#resumes = { of: record, all: resumesIn(record.words) };
    const left = this.#resumes.all.filter(({ said }) => this.#unsigned.get(nameText(said)) !== null);
    const isFresh = this.#looked?.record === record && ageMs(this.#options.clock, this.#looked.at) < AGAIN_MS;
    if (left.length === 0 || (isFresh && this.#looking === null)) return Promise.resolve();
    this.#looking ??= this.#judge(left).finally(() => {
      this.#looked = { record, at: momentOf(this.#options.clock) };
      this.#looking = null;
    });
    return this.#looking;
  }

  async #judge(left: readonly Resumed[]): Promise<void> {
    try {
      const { approvals, policies } = await this.#options.readFolder();
      // A folder that cannot be used says nothing of what must be approved.
      if (policies.length === 0) return;
      for (const resumed of left) {
        const name = nameText(resumed.said);
        // One after the other: there is mostly one.
        const unsigned = approvals === null ? null : await this.#unsignedOf(resumed, approvals);
        if (unsigned === this.#unsigned.get(name)) continue;
        this.#unsigned.set(name, unsigned);
        this.version += 1;
      }
    } catch {
      // It stays halted, and is judged again.
    }
  }

  async #unsignedOf({ said, atMs, signed }: Resumed, approvals: Approvals): Promise<string | null> {
    const { mode, namespace, clock } = this.#options;
    const { scope, haltAtMs, by } = said;
    const rules = scope.policy === null ? approvals.rules : rulesFor(approvals, scope.policy);
    const entries = signed.flatMap((one): readonly Signature[] => {
      // Temporal says when it took the signature: what counted then counts later too.
      if (one.atMs >= one.expiresAtMs) return [];
      const { as, expiresAtMs, signature } = one;
      const text = resumeToSign({ as, mode, namespace, scope, haltAtMs, expiresAtMs });
      return [{ as, expiresAtMs: Infinity, signature, atMs: one.atMs, text }];
    });
    const so = await this.#verifying.verified('halts', entries, approvals, rules);
    const since = { madeAtMs: atMs, nowMs: clock.wallMs() };
    for (const rule of rules) {
      const standing = standingBy(rule, so.all, approvals, since);
      if (standing.kind === 'approved') continue;
      return unapproved(`${quoted(by)} has resumed it; ${standingText(rule, standing, 'resume')}`, so).reason;
    }
    return null;
  }
}
