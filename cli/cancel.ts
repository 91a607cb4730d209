/** `cambist cancel RUN`: what is not sent stays unsent. The instruction is kept first, so that no reset brings the rest back. */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { runName } from '../domain/references.ts';
import { recordInstruction } from '../operations/instructions.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { EXIT_CODES, type Ending } from './exit-codes.ts';
import { statement } from './options.ts';
import type { Output } from './output.ts';
import { atPlace, type Place } from './place.ts';
import { requireClock } from './preflight.ts';
import { requireRun } from './report.ts';
import { parseRun } from './run-names.ts';
import { ANSWER_LIMIT_MS, describeRun, readRun, type RunFacts, type RunView } from './runs.ts';
import { NO_REASON, userName } from './user-name.ts';

type CancelOptions = JsonOption & { readonly by?: string; readonly reason?: string };

export function addCancel(program: Command, session: Session): void {
  const command = program
    .command('cancel')
    .summary('cancels a run: what is not sent stays unsent')
    .description(
      'Cancels a run: what is not sent stays unsent, what was sent stays and is followed to its end. Only ' +
        '`cambist run … --go-on` takes it back; a reset does not.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .option('--reason <text>', 'why; the report keeps it', statement)
    .option('--by <name>', 'who says so; default: the login', statement)
    .action((name: string, options: CancelOptions) =>
      act(session, options, (output) => cancel(output, name, options)),
    );
  teach(command, {
    examples: ['cambist cancel mxn-supplier.2026-11-21 --by ana'],
    endings: ['done', 'bad input', 'configuration', 'infrastructure'],
  });
}

async function cancel(output: Output, name: string, options: CancelOptions): Promise<Ending> {
  const { run, mode } = parseRun(name);
  return atPlace(output.io, mode, async (place) => {
    const facts = await requireRun(place, run);
    if (!facts.isOpen) {
      const text = `${runName(run)} has ended already (${facts.state}); there is nothing to cancel.`;
      output.document({
        run: runName(run),
        cancelled: false,
        sent: [],
        message: text,
        exitCode: EXIT_CODES.done,
      });
      output.say(text);
      return 'done';
    }
    await requireClock(output);
    const isKept = await keepCancel(place, facts, options);
    await place.client.workflow.getHandle(facts.workflowId).cancel();
    const ending: Ending = isKept ? 'done' : 'infrastructure';
    const sent = isKept ? await readSent(place, facts) : null;
    const message = isKept
      ? `${runName(run)} is cancelled: what is not sent stays unsent.`
      : `Temporal has the cancel of ${runName(run)}, but no worker answers: it takes effect, and is kept for good, when one is back. Start one with \`cambist worker\`.`;
    output.document({ run: runName(run), cancelled: true, sent, message, exitCode: EXIT_CODES[ending] });
    output.say(message);
    if (sent === null) output.say('What was sent stays; see `cambist report` when a worker is there.');
    else if (sent.length === 0) output.say('Nothing had been sent.');
    else output.say('What was sent stays:', ...sent.map((line) => `  ${line}`));
    return ending;
  });
}

/** Keeps the instruction outside the run's history. False when no worker took it in time; the run then keeps it by itself. */
async function keepCancel(place: Place, facts: RunFacts, { by, reason }: CancelOptions): Promise<boolean> {
  const { client, taskQueue, mode } = place;
  try {
    await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      recordInstruction(
        { client, taskQueue, mode, run: facts.run },
        { kind: 'cancel', id: randomUUID(), by: by ?? userName(), why: reason ?? NO_REASON },
      ),
    );
    return true;
  } catch {
    return false;
  }
}

/** What was sent by now, in words; null when no worker answers. */
async function readSent(place: Place, facts: RunFacts): Promise<readonly string[] | null> {
  let view: RunView;
  try {
    const newest = await describeRun(place.client, place.mode, facts.run);
    view = await readRun(place.client, newest ?? facts);
  } catch {
    return null;
  }
  const legs = view.report.legs.flatMap((leg) =>
    leg.tradeId === null
      ? []
      : [`trade ${leg.tradeId}: ${leg.sellAmount ?? '?'} ${leg.sell} for ${leg.buyAmount ?? '?'} ${leg.buy}`],
  );
  const payments = view.report.payments.flatMap((payment) =>
    payment.withdrawalId === null
      ? []
      : [
          `withdrawal ${payment.withdrawalId}: ${payment.amount ?? '?'} ${payment.currency} to ${payment.account}`,
        ],
  );
  return [...legs, ...payments];
}
