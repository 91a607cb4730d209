/** `cambist resume`: takes back the halt of exactly this scope. Other halts stay. */
import { Option, type Command } from 'commander';
import {
  READING_HOLDS_MS,
  haltSentence,
  isSameScope,
  resumedText,
  scopeOptions,
  scopeText,
  type Halt,
  type HaltScope,
  type Resumed,
  type ToEnd,
} from '../../domain/halt.ts';
import type { Ending } from '../../domain/endings.ts';
import type { Mode } from '../../domain/service/records.ts';
import type { SignedAs } from '../../domain/writes/approvals.ts';
import {
  haltRecord,
  haltsToEnd,
  haltsToSign,
  resume,
  signResume,
  wakeAll,
} from '../../operations/halt/switch.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { atPlace } from '../../operations/place.ts';
import { act, teach, type Session } from '../command.ts';
import { confirm } from '../confirm-live.ts';
import { nonEmpty, statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { NO_REASON, loginName } from '../terminal/login-name.ts';
import { haltDocument, showHalts } from '../views/halts-text.ts';
import { scopeOf, withScope, type HaltOptions } from './halt.ts';

type ResumeOptions = HaltOptions & {
  readonly reason?: string;
  readonly yes?: boolean;
  readonly sign?: string;
  readonly approve?: string;
};

export function addResume(command: Command, session: Session): void {
  command
    .description(
      'Takes back what `npx cambist halt` said with the same --policy and --currency: runs that waited for it go on by ' +
        'themselves. Without either it takes back the halt of everything; halts of a policy or a currency stand. It shows ' +
        'what it would take back, and asks.',
    )
    .option('--yes', 'do not ask before what was halted goes on')
    .option('--reason <text>', 'why; kept beside the halt', statement)
    .option(
      '--sign <file>',
      'sign it as who resumes it, with this key of OpenSSH, where the workers ask for signatures',
      nonEmpty,
    )
    .addOption(
      new Option(
        '--approve <file>',
        'sign, with this key of OpenSSH, that the halts of this scope may end, as one of those who approve it; resumes nothing itself',
      )
        .argParser(nonEmpty)
        .conflicts(['sign', 'yes']),
    );
  withScope(command, 'let go on').action((options: ResumeOptions) =>
    act(session, options, (output) =>
      options.approve === undefined
        ? letGoOn(output, options)
        : signEnd(output, options, { as: 'approver', keyFile: options.approve }),
    ),
  );
  teach(command, {
    examples: [
      'npx cambist resume --by ana --reason "accounts are mended"',
      'npx cambist resume --policy mxn-supplier --yes',
      'npx cambist resume --approve ~/.ssh/id_ed25519',
    ],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure'],
  });
}

async function letGoOn(output: Output, options: ResumeOptions): Promise<Ending> {
  const { by = loginName(), reason: why = NO_REASON } = options;
  const scope = scopeOf(options);
  return atPlace(output.caller, options.mode ?? null, async (place): Promise<Ending> => {
    const before = await haltRecord(place);
    const ofScope = (halts: readonly Halt[]): readonly Halt[] =>
      halts.filter((one) => isSameScope(one.scope, scope));
    const lifted = ofScope(before.halts);
    const { sign } = options;
    // It was resumed already, and the signature of who did is missing.
    if (lifted.length === 0 && sign !== undefined)
      return signEnd(output, options, { as: 'starter', keyFile: sign });
    if (lifted.length === 0)
      return showHalts(
        output,
        before,
        notHaltedText(place.mode, scope, (await haltsToEnd(place, scope)).at(-1)?.resumed ?? null),
      );
    await askWhetherToLift(output, place.mode, options.yes === true, lifted);
    for (const halt of lifted) output.say(`Takes back: ${haltSentence(halt)}`);
    const [later] = ofScope(await resume(place, lifted, { by, why }));
    if (later !== undefined) throw haltedSince(later);
    if (sign !== undefined) {
      const toSign = await haltsToSign(place, scope, { as: 'starter', keyFile: sign });
      for (const { halt } of toSign.filter((one) => lifted.some(({ atMs }) => atMs === one.halt.atMs)))
        // One after the other: mostly there is one.
        await signResume(place, halt, { as: 'starter', keyFile: sign, by, why, nowMs: output.io.now() });
    }
    // A run that is woken while its worker still uses an older reading would wait once more.
    await new Promise((done) => setTimeout(done, READING_HOLDS_MS));
    await wakeAll(place);
    const message = `Resumed in ${place.mode}: ${scopeText(scope)}. ${waitsText(scope, sign !== undefined)}`;
    return showHalts(output, await haltRecord(place), message, { resumed: lifted.map(haltDocument) });
  });
}

/** A command cannot know whether the workers ask for signatures. */
function waitsText(scope: HaltScope, isSigned: boolean): string {
  const command = `npx cambist resume${scopeOptions(scope)}`;
  const own = isSigned ? '' : `who has resumed it types \`${command} --sign FILE\`, and `;
  return `Where workers ask for signatures, it stays halted until they have them: ${own}those who approve it type \`${command} --approve FILE\`.`;
}

/** @param resumed null: no halt of the scope is known that somebody has resumed */
export function notHaltedText(mode: Mode, scope: HaltScope, resumed: Resumed | null): string {
  return resumed === null
    ? `In ${mode}, ${scopeText(scope)} was not halted.`
    : `In ${mode}, ${scopeText(scope)} was resumed already, ${resumedText(resumed)}. ${waitsText(scope, false)}`;
}

/** Signs that the halts of the scope may end. Whether enough people have, each worker judges. */
async function signEnd(
  output: Output,
  options: ResumeOptions,
  { as, keyFile }: { readonly as: SignedAs; readonly keyFile: string },
): Promise<Ending> {
  const { by = loginName(), reason: why = NO_REASON } = options;
  const scope = scopeOf(options);
  return atPlace(output.caller, options.mode ?? null, async (place): Promise<Ending> => {
    const halts = await haltsToSign(place, scope, { as, keyFile });
    if (halts.length === 0)
      return showHalts(output, await haltRecord(place), notHaltedText(place.mode, scope, null));
    const question = {
      isAnswered: false,
      place: `${place.mode.toLowerCase()} is halted`,
      consequence: 'this lets money move again',
      otherwise: 'nothing was signed',
      question: 'Sign that this may end? Type yes: ',
      tell: () => Promise.resolve(halts.map(endSentence)),
      fix: 'Type it at a terminal, read what is shown, and answer `yes`.',
    };
    await confirm(
      output,
      question,
      `In ${place.mode}, this may end, as soon as everybody has signed who must:`,
    );
    for (const { halt } of halts)
      // One after the other: mostly there is one.
      await signResume(place, halt, { as, keyFile, by, why, nowMs: output.io.now() });
    await new Promise((done) => setTimeout(done, READING_HOLDS_MS));
    await wakeAll(place);
    return showHalts(
      output,
      await haltRecord(place),
      `Signed that ${scopeText(scope)} may go on in ${place.mode}.`,
    );
  });
}

function endSentence({ halt, resumed }: ToEnd): string {
  return `${haltSentence(halt)} ${resumed === null ? 'Nobody has resumed it yet.' : `Resumed ${resumedText(resumed)}.`}`;
}

/**
 * Another person may have halted it, for a reason that this person does not know. So a person at a terminal is asked; in live
 * nothing goes on without a yes.
 * @throws CommandFailure without a yes
 */
async function askWhetherToLift(
  output: Output,
  mode: Mode,
  isAnswered: boolean,
  halts: readonly Halt[],
): Promise<void> {
  if (mode === 'SANDBOX' && output.io.ask === null) return;
  const question = {
    isAnswered,
    place: `${mode.toLowerCase()} is halted`,
    consequence: 'this lets money move again',
    otherwise: 'everything that was halted stays halted',
    question: 'Let it go on? Type yes: ',
    tell: () => Promise.resolve(halts.map(haltSentence)),
  };
  await confirm(output, question, `In ${mode}, this is taken back:`);
}

function haltedSince(halt: Halt): CommandFailure {
  return new CommandFailure('refused by us', [
    {
      code: 'SAID_SINCE',
      place: scopeText(halt.scope),
      message: `${haltSentence(halt)} You had not seen that, so it stays halted`,
      fix: 'If it is to go on all the same, type it again.',
    },
  ]);
}
