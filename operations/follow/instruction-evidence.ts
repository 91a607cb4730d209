/** Adds what people said to the evidence of the service's replies, so that every report shows who decided what. Pure. */
import { minuteText } from '../../domain/waits.ts';
import { runName, type RunName } from '../../domain/references.ts';
import type { Evidence } from '../../domain/run/state.ts';
import type { Recorded } from '../../domain/people/instructions.ts';

/** Begins the line of an instruction, so that it differs from the line of a call to the service. */
export const INSTRUCTION_CALL = 'instruction';

/** One instruction as a line of evidence. */
export function evidenceOf(said: Recorded, run: RunName): Evidence {
  return {
    at: new Date(said.atMs).toISOString(),
    item: 'item' in said && said.item !== null ? said.item : runName(run),
    call: INSTRUCTION_CALL,
    result: `${said.by}: ${tell(said)}`,
    traceId: null,
    replayed: null,
    quote: null,
  };
}

function tell(said: Recorded): string {
  switch (said.kind) {
    case 'cancel':
      return `cancel what is not sent: ${said.why}`;
    case 'go-on':
      return `${goesOn(said)}: ${said.why}`;
    case 'executed':
      return `executed as ${said.recordId}`;
    case 'not executed':
      return `not executed: ${said.why}`;
    case 'not this':
      return `${said.recordId} is not its record: ${said.why}`;
    case 'pay again':
      return `pay again after generation ${said.follows}${said.recordId === null ? '' : ` (${said.recordId})`}: ${said.why}`;
    case 'pay these again': {
      const { length } = said.items;
      return `pay ${length} payment${length === 1 ? '' : 's'} of the batch again (${someOf(said)}): ${said.why}`;
    }
    case 'accept':
      return `trade ${said.recordId} accepted as it came out: ${said.why}`;
    case 'superseded':
      return `run ${said.instead} takes its place, since nothing of it was executed: ${said.why}`;
    case 'acknowledge':
      return `acknowledged: ${said.why}`;
  }
}

function goesOn({ item, lookAlikes }: Extract<Recorded, { kind: 'go-on' }>): string {
  if (lookAlikes !== undefined) return `look-alikes until ${minuteText(lookAlikes.untilMs)} approved`;
  return item === null ? 'go on after the cancel' : 'try it now, its cause is gone';
}

/** At most this many items are named. */
const NAMED = 20;

function someOf({ items }: Extract<Recorded, { kind: 'pay these again' }>): string {
  const more = items.length - NAMED;
  const named = items.slice(0, NAMED).map(([item]) => item);
  return `${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}
