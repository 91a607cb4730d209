/**
 * Adds what people said to the evidence of the service's replies, so that every report shows who decided what. What somebody has typed,
 * his name included, stands in quotes: nobody can type what this program says itself, such as whose signature it has verified. Pure.
 */
import { minuteText } from '../../domain/waits.ts';
import { runName, type RunName } from '../../domain/references.ts';
import type { Evidence } from '../../domain/run/state.ts';
import type { Recorded } from '../../domain/people/instructions.ts';
import { isSignable, quoted, signableText } from '../../domain/writes/approvals.ts';
import { fingerprintOf } from '../../language/ssh-signers.ts';

/** Begins the line of an instruction, so that it differs from the line of a call to the service. */
export const INSTRUCTION_CALL = 'instruction';

/** Whose signature it is; null: it is not verified, so that it may be anybody’s. */
export type Signer = string | null;

/** What else is known of an instruction. */
type Beside = {
  /** The payments that it means, where they are kept with their chunks. */
  readonly items?: readonly string[];
  /** What this machine has found of the signature; absent: it has not looked. */
  readonly signer?: Signer;
  /** All that people have said. */
  readonly all?: readonly Recorded[];
};

/** One instruction as a line of evidence. */
export function evidenceOf(said: Recorded, run: RunName, beside: Beside = {}): Evidence {
  return {
    at: new Date(said.atMs).toISOString(),
    item: 'item' in said && said.item !== null ? said.item : runName(run),
    call: INSTRUCTION_CALL,
    result: `${quoted(said.by)}: ${tell(said, beside)}`,
    traceId: null,
    replayed: null,
    quote: null,
  };
}

function tell(said: Recorded, { items = [], signer, all = [] }: Beside): string {
  const why = quoted(said.why);
  switch (said.kind) {
    case 'cancel':
      return `cancel what is not sent: ${why}`;
    case 'go-on':
      return `${goesOn(said)}: ${why}`;
    case 'executed':
      return `executed as ${said.recordId}`;
    case 'not executed':
      return `not executed: ${why}`;
    case 'not this':
      return `${said.recordId} is not its record: ${why}`;
    case 'pay again':
      return `pay again after generation ${said.follows}${said.recordId === null ? '' : ` (${said.recordId})`}: ${why}`;
    case 'pay these again': {
      const count = said.chunks.reduce((sum, [, payments]) => sum + payments, 0);
      const named = items.length === 0 ? '' : ` (${someOf(items, count)})`;
      return `pay ${count} payment${count === 1 ? '' : 's'} of the batch again${named}: ${why}`;
    }
    case 'accept':
      return `trade ${said.recordId} accepted as it came out: ${why}`;
    case 'approve': {
      const about = all.find(({ id }) => id === said.about);
      const thing =
        said.about === null
          ? 'the plan'
          : about === undefined || !isSignable(about)
            ? 'what was said'
            : `that ${signableText(about)}`;
      const what =
        said.as === 'approver'
          ? `approves ${thing}`
          : said.about === null
            ? 'stands for the start of the plan'
            : `stands for having said ${thing}`;
      const key = `key ${fingerprintOf(said.signature) ?? 'of an unknown form'}`;
      return `${what}, ${signedText(key, signer)}: ${why}`;
    }
    case 'superseded':
      return `run ${said.instead} takes its place, since nothing of it was executed: ${why}`;
    case 'acknowledge':
      return `acknowledged: ${why}`;
  }
}

function signedText(key: string, signer: Signer | undefined): string {
  if (signer === undefined) return `signed with ${key}`;
  return signer === null
    ? `NOT VERIFIED here, with ${key}`
    : `signed by ${signer}, as verified here, with ${key}`;
}

function goesOn({ item, lookAlikes }: Extract<Recorded, { kind: 'go-on' }>): string {
  if (lookAlikes !== undefined)
    return `the look-alikes until ${minuteText(lookAlikes.untilMs)} are none of its payments`;
  return item === null ? 'go on after the cancel' : 'try it now, its cause is gone';
}

/** At most this many items are named. */
const NAMED = 20;

function someOf(items: readonly string[], count: number): string {
  const named = items.slice(0, NAMED);
  const more = count - named.length;
  return `${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}
