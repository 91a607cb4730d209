/**
 * Follows a run on a terminal, for the commands that start or reset one: shows its progress, and tells how it ended or what
 * it waits for. When a person leaves it, this changes nothing.
 */
import type { Ending } from '../domain/endings.ts';
import { runName, workflowIdOf, type RunName } from '../domain/references.ts';
import type { Problem } from '../domain/problems.ts';
import type { Report } from '../domain/run/report.ts';
import { whyNobodyAnswers } from '../operations/watch/builds.ts';
import { endingOf } from '../operations/exit-codes.ts';
import { followRun, problemOfSilence, type Followed } from '../operations/follow/until-it-ends.ts';
import { uiAddress, type Place } from '../operations/place.ts';
import { pausedFailure } from '../operations/follow/paused.ts';
import { readRun, reasonsOf } from '../operations/follow/read-run.ts';
import { describeRun } from '../operations/follow/runs.ts';
import { startedReport } from '../operations/start/workflow.ts';
import type { Output } from './terminal/output.ts';
import { ProgressView } from './views/progress-view.ts';
import { reportText, statusSentence } from './views/report-text.ts';

/** A run, and how the command follows it. */
export type Following = {
  readonly output: Output;
  readonly place: Place;
  readonly run: RunName;
  /** The hash of the policy that the run was started with. */
  readonly policyHash: string;
  /** Who has started it; null: not known. */
  readonly startedBy: string | null;
  /** The zone of its policy; null: not known. */
  readonly zone: string | null;
  /** True: go on following while it is held. */
  readonly stay: boolean;
  /** Turns the report at the end into what the command prints; absent: it prints the report. */
  readonly tell?: (report: Report) => Told;
};

/** `document` is for `--json`; `lines` are printed below the report. */
export type Told = { readonly document: unknown; readonly lines: readonly string[] };

/** Shows the run until it ends, is held, or the person leaves. */
export async function follow(of: Following, startedAtMs: number): Promise<Ending> {
  const { output, place, run: name, stay } = of;
  const left = new AbortController();
  const stopListening = output.io.onInterrupt(() => left.abort());
  const view = new ProgressView(output, { name: runName(name), startedAtMs, zone: of.zone });
  try {
    const followed = await followRun({
      client: place.client,
      mode: place.mode,
      run: name,
      stay,
      left: left.signal,
      isUntaken: async () => (await describeRun(place.client, place.mode, name))?.isUntaken === true,
      onProgress: (progress) => view.take(progress),
      onSilence: (reason) => view.fallSilent(reason),
    }).finally(stopListening);
    return await showFollowed(of, followed, view);
  } finally {
    view.close();
  }
}

async function showFollowed(of: Following, followed: Followed, shown: ProgressView): Promise<Ending> {
  const { output, place, run: name } = of;
  if (followed.kind !== 'ended' && followed.kind !== 'held') shown.close();
  switch (followed.kind) {
    case 'detached':
      output.document(tellOf(of, await reportSoFar(of)).document);
      output.note(
        `This command has ended; ${runName(name)} goes on. See \`npx cambist status ${runName(name)}\`.`,
      );
      return 'detached';
    case 'untaken':
    case 'silent': {
      const problem = (await buildIsGone(of)) ?? problemOfSilence(name, followed.kind);
      output.document(tellOf(of, reportAtStart(of, [problem])).document);
      output.note(`${problem.code}: ${problem.message} ${problem.fix}`);
      return 'infrastructure';
    }
    case 'paused': {
      const { ending, problems } = await pausedFailure(place.client, workflowIdOf(place.mode, name));
      const told = problems.map(({ code, message, fix }) => ({ code, item: null, message, fix }));
      output.document(tellOf(of, reportAtStart(of, told)).document);
      output.note(...told.map(({ code, message, fix }) => `${code}: ${runName(name)} is ${message}. ${fix}`));
      return ending;
    }
    case 'ended':
    case 'held': {
      const facts = await describeRun(place.client, place.mode, name);
      if (facts === null) throw new Error(`Temporal no longer knows ${runName(name)}.`);
      const view = await readRun(place, facts);
      shown.finish(view.progress);
      const told = tellOf(of, view.report);
      output.document(told.document);
      const { width, paint } = output;
      const nowMs = output.io.now();
      output.show(reportText({ report: view.report, uiUrl: uiAddress(place, facts), nowMs, width, paint }));
      if (told.lines.length > 0) output.say('', ...told.lines);
      if (!facts.isOpen) return endingOf(view.report, []);
      output.note('', statusSentence(view.report, view.progress, nowMs));
      output.note('The run goes on without this command. With --wait, the command would stay.');
      return endingOf(view.report, reasonsOf(view.progress));
    }
  }
}

/** The problem that the run's work goes to a build without workers; null: it does not, or this is not known. */
async function buildIsGone({ output, place, run }: Following): Promise<Problem | null> {
  const facts = await describeRun(place.client, place.mode, run).catch(() => null);
  const trouble = facts === null ? null : await whyNobodyAnswers(place, facts, output.io.now());
  if (trouble === null) return null;
  const { code, message, fix } = trouble;
  return { code, item: null, message: `No worker answers for ${runName(run)}: ${message}.`, fix };
}

function tellOf({ tell }: Following, report: Report): Told {
  return tell?.(report) ?? { document: report, lines: [] };
}

/** A person who leaves waits at most this long for the document. */
const LEAVING_MS = 2_000;

/** The report when a person leaves. When no worker answers at once, it has only what the command knows without one. */
async function reportSoFar(of: Following): Promise<Report> {
  const { output, place, run: name } = of;
  if (!output.isJson) return reportAtStart(of);
  try {
    const facts = await describeRun(place.client, place.mode, name);
    if (facts === null) return reportAtStart(of);
    return (await readRun(place, facts, LEAVING_MS)).report;
  } catch {
    return reportAtStart(of);
  }
}

/** The report that the command can make without a worker. */
function reportAtStart(
  { place, run, policyHash, startedBy }: Following,
  problems: Report['problems'] = [],
): Report {
  return startedReport({ mode: place.mode, run, policyHash, startedBy }, problems);
}
