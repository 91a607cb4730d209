/** `cambist halt`: the kill switch. Until `resume` nothing is sent; reads go on. It needs Temporal, but no worker. */
import { Option, type Command } from 'commander';
import { READING_HOLDS_MS, scopeText, type HaltScope } from '../../domain/halt.ts';
import type { Ending } from '../../domain/endings.ts';
import type { Mode } from '../../domain/service/records.ts';
import { drillHalt } from '../../operations/halt/drill.ts';
import { halt, haltRecord, isUnknown } from '../../operations/halt/switch.ts';
import { atPlace } from '../../operations/place.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { mistake } from '../line.ts';
import { currencyCode, modeName, policyName, statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { loginName } from '../terminal/login-name.ts';
import { replacedText, showDrill, showHalts } from '../views/halts-text.ts';

export type HaltOptions = JsonOption & {
  readonly policy?: string;
  readonly currency?: string;
  readonly mode?: Mode;
  readonly by?: string;
};

type StopOptions = HaltOptions & { readonly reason?: string; readonly drill?: boolean };

export function addHalt(command: Command, session: Session): void {
  command
    .description(
      'Stops every quote, trade and withdrawal of every worker within one second, or those of a policy or a currency, until ' +
        '`npx cambist resume`. Looks go on, nothing fails by it, and what was on its way is followed. Returns when it holds.',
    )
    .option('--reason <text>', 'why; every run that waits for it shows it', statement)
    .addOption(
      new Option('--drill', 'show that every worker stops in time; stops nothing').conflicts([
        'reason',
        'policy',
        'currency',
      ]),
    );
  withScope(command, 'stop').action((options: StopOptions) =>
    act(session, options, (output) =>
      options.drill === true ? runDrill(output, options) : stop(output, options),
    ),
  );
  teach(command, {
    examples: [
      'npx cambist halt --reason "wrong accounts, see OPS-17" --by ana',
      'npx cambist halt --policy mxn-supplier --reason "supplier’s account is doubted"',
      'npx cambist halt --currency MXN --reason "bank holiday not in the calendar"',
      'npx cambist halt --drill',
    ],
    endings: ['done', 'bad input', 'configuration', 'infrastructure'],
  });
}

/** Adds the options that `halt` and `resume` share. */
export function withScope(command: Command, verb: 'stop' | 'let go on'): Command {
  return command
    .option('--policy <name>', `${verb} only what is of this policy`, policyName)
    .option('--currency <code>', `${verb} only what moves this currency`, currencyCode)
    .option('--mode <mode>', 'sandbox or live; default: CAMBIST_APP_MODE', modeName)
    .option('--by <name>', 'who says so; default: the login', statement);
}

export function scopeOf({ policy, currency }: HaltOptions): HaltScope {
  return { policy: policy ?? null, currency: currency ?? null };
}

async function stop(output: Output, options: StopOptions): Promise<Ending> {
  const { by = loginName(), reason: why } = options;
  if (why === undefined)
    throw mistake(
      '--reason',
      'a halt has a reason, which every run that waits for it shows; nothing was halted',
      'Say why: `npx cambist halt --reason "wrong accounts"`. A drill needs none: `npx cambist halt --drill`.',
    );
  const scope = scopeOf(options);
  return atPlace(output.caller, options.mode ?? null, async (place): Promise<Ending> => {
    const { replaced } = await halt(place, { scope, by, why });
    // Workers may use a reading of the halts for this long. After it, no reading that began before the halt lets anything be
    // sent.
    await new Promise((resolve) => setTimeout(resolve, READING_HOLDS_MS));
    if (scope.policy !== null && (await isUnknown(place, scope.policy)))
      output.note(`Temporal shows no run of a policy "${scope.policy}" in ${place.mode}: is it spelt so?`);
    const since = `${new Date(output.io.now()).toISOString().slice(11, 19)} UTC`;
    const message = `Halted in ${place.mode}: ${scopeText(scope)}. Since ${since} no worker sends anything of it.${replacedText(replaced, why)}`;
    return showHalts(output, await haltRecord(place), message);
  });
}

async function runDrill(output: Output, { by = loginName(), mode }: StopOptions): Promise<Ending> {
  return atPlace(output.caller, mode ?? null, async (place): Promise<Ending> => {
    const left = new AbortController();
    const stopListening = output.io.onInterrupt(() => left.abort());
    try {
      const stopped = await drillHalt(place, { by, nowMs: output.io.now(), left: left.signal });
      return showDrill(output, stopped, left.signal.aborted);
    } finally {
      stopListening();
    }
  });
}
