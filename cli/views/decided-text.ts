/** A person's decision about an item, as the command that kept it tells it. Pure. */
import { minuteText } from '../../domain/waits.ts';
import { runName } from '../../domain/references.ts';
import { describeRecord, nameIn, type Decided } from '../../operations/decide/resolve.ts';

/** Who decided what. */
export function decidedText({ plan, item, decision }: Decided): string {
  return `${item} of ${runName(plan.run)}: ${decision.by} ${whatText(decision)}.`;
}

function whatText(decision: Decided['decision']): string {
  switch (decision.kind) {
    case 'executed':
      return `decided that it was executed as ${decision.recordId}`;
    case 'not executed':
      return 'decided that it was not executed';
    case 'not this':
      return `decided that ${decision.recordId} is not its record`;
    case 'accept':
      return `accepted trade ${decision.recordId} as it came out`;
  }
}

/** What the service showed, and what the person said about it. */
export function decidedLines({ item, decision, seen, lookedBackToMs }: Decided): readonly string[] {
  const { over, record, couldBe } = seen;
  switch (decision.kind) {
    case 'not executed':
      return [
        over === null
          ? `The service was asked first: no record has its reference, in every page back to ${minuteText(lookedBackToMs)}.`
          : `The service was asked first: ${describeRecord(over.record)} has its reference, but ${over.difference}. Your decision counts all the same. It does not bring back the money that this record has moved.`,
        ...couldBe.map(
          (each) =>
            `Your evidence counts more than ${describeRecord(each)}, which has no reference and could be ${item}.`,
        ),
        `Evidence: ${decision.evidence}`,
      ];
    case 'not this':
      return [
        ...(record === null
          ? []
          : [`The service was asked first: ${describeRecord(record)} has ${referenceText(record)}.`]),
        ...couldBe
          .filter(({ id }) => id !== record?.id)
          .map((each) => `${item} could still be ${describeRecord(each)}.`),
        `Evidence: ${decision.evidence}`,
      ];
    case 'executed':
      return record === null
        ? []
        : [`The service was asked first: ${describeRecord(record)}, as the plan says.`];
    case 'accept':
      return record === null
        ? []
        : [`The service was asked first: ${describeRecord(record)}.`, `Why: ${decision.evidence}`];
  }
}

function referenceText(record: NonNullable<Decided['seen']['record']>): string {
  const name = nameIn(record);
  return name === null ? 'no reference' : `the reference ${name}`;
}

/** What happens now. */
export function nextText(decided: Decided): string {
  return `${followedText(decided)} Where workers ask for signatures, the decision counts once they have them: \`status\` then says who is missing.`;
}

function followedText(decided: Decided): string {
  const { item, decision, isLeg, failedStatus } = decided;
  const goesOn = TAKEN_UP[decided.takenUp];
  switch (decision.kind) {
    case 'accept':
      return `${goesOn}; what waited for ${item} goes on.`;
    case 'not executed':
      return `${goesOn}; ${item} then ends ${isLeg ? 'NOT_TRADED' : 'NOT_PAID'}, with the evidence. A record that appears later counts more than this decision.`;
    case 'not this':
      return `${goesOn}; that record does not stop ${item} any more. If the service ever shows it with the reference of ${item}, it counts all the same.`;
    case 'executed':
      return failedStatus === null
        ? `${goesOn}; it takes the record as that of ${item}, and follows it to its end.`
        : `${goesOn}; it takes the record as that of ${item}, and the service says of it "${failedStatus}": ${isLeg ? 'it will not settle' : `${item} ends NOT_PAID`}.`;
  }
}

const TAKEN_UP: Readonly<Record<Decided['takenUp'], string>> = {
  'at once': 'The run is open and looks at once',
  'when the run is started':
    'The run has ended: `npx cambist run … --go-on` (or a reset) makes the run follow the decision',
  'when the item is started':
    'The item has ended: `npx cambist run … --go-on` (or a reset) makes the run follow the decision',
};
