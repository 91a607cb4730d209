/**
 * Looks at the service for money that came back, for commands that do not need the service otherwise: where they cannot ask it,
 * they say so and show the rest.
 */
import { minuteText } from '../domain/waits.ts';
import type { Ending } from '../domain/endings.ts';
import { runName, type RunName } from '../domain/references.ts';
import { withDevEnvironment } from '../config/dev-environment.ts';
import { asNow, type AsNow, type FailedPayment, type FailedPayments } from '../operations/watch/came-back.ts';
import { readRun, type RunView } from '../operations/follow/read-run.ts';
import type { RunFacts } from '../operations/follow/runs.ts';
import type { Place } from '../operations/place.ts';
import type { Output } from './terminal/output.ts';

/** What the service says has failed; null: it was not read. `ending`: how the command ends by that alone. */
export type Looked = { readonly failed: FailedPayments | null; readonly ending: Ending };

export const NOT_LOOKED: Looked = { failed: null, ending: 'done' };

/**
 * Looks over the payments of the last days.
 * @param run only as far back as records of this run can be; null: of any run
 */
export async function lookForFailed(output: Output, place: Place, run: RunName | null): Promise<Looked> {
  const { env, cwd, now } = output.io;
  const set = await withDevEnvironment(env, cwd);
  if (!set['CAMBIST_BASE_URL'] && !set['CAMBIST_KEY_FILE']) {
    output.note('Money that came back is not looked for: CAMBIST_BASE_URL and CAMBIST_KEY_FILE are not set.');
    return NOT_LOOKED;
  }
  try {
    // The client of the service is loaded only now.
    const { readSettings } = await import('./arguments.ts');
    const { atService } = await import('../operations/preflight.ts');
    const { lookSince, readFailedPayments } = await import('../operations/watch/look-for-failed.ts');
    const { recordsSince } = await import('../operations/follow/refresh.ts');
    const settings = await readSettings(output);
    if (settings.mode !== place.mode) {
      output.note(`Money that came back is not looked for: the service is set for ${settings.mode}.`);
      return NOT_LOOKED;
    }
    const sinceMs = Math.max(lookSince(now()), run === null ? 0 : recordsSince(run));
    const { facts } = settings;
    const failed = await atService(settings, (service, address) =>
      readFailedPayments(service, address, { facts, sinceMs }),
    );
    if (failed.sinceMs > sinceMs)
      output.note(`Money that came back was looked for since ${minuteText(failed.sinceMs)}.`);
    return { failed, ending: 'done' };
  } catch (error) {
    const { failureOf } = await import('../operations/failure-of.ts');
    const { problems, ending } = failureOf(error);
    output.note('Whether money came back is not known:');
    for (const problem of problems) output.warn(problem);
    return { failed: null, ending };
  }
}

/** The same run, with the payments that came back as the service says them now. */
export async function viewWithCameBack<View extends RunView>(
  output: Output,
  place: Place,
  view: View,
): Promise<View> {
  const { report, facts } = view;
  if (!report.payments.some(({ outcome }) => outcome === 'PAID')) return view;
  const failed = await failedFor(output, place, facts);
  if (failed === null) return view;
  const { withCameBack } = await import('../operations/watch/look-for-failed.ts');
  return { ...view, report: withCameBack(report, failed, output.io.now()) };
}

/**
 * The same for a run that is read in parts; null: none of its payments came back, or that is not known. Its report is read whole only
 * where the service says of a payment that may be one of its own that it has failed.
 */
export async function cameBackOf(output: Output, place: Place, facts: RunFacts): Promise<AsNow | null> {
  const failed = await failedFor(output, place, facts);
  const mayBeOfRun = ({ run }: FailedPayment): boolean => run === null || runName(run) === runName(facts.run);
  if (failed === null || !failed.payments.some(mayBeOfRun)) return null;
  const { withCameBack } = await import('../operations/watch/look-for-failed.ts');
  const { report } = await readRun(place, facts);
  const now = withCameBack(report, failed, output.io.now());
  return now === report ? null : asNow(now);
}

/** Null: too long ago to be looked for, or not known. */
async function failedFor(
  output: Output,
  place: Place,
  { run, closedAtMs }: RunFacts,
): Promise<FailedPayments | null> {
  const { lookSince } = await import('../operations/watch/look-for-failed.ts');
  if (closedAtMs !== null && closedAtMs < lookSince(output.io.now())) return null;
  return (await lookForFailed(output, place, run)).failed;
}
