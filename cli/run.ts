/**
 * `cambist run POLICY`: starts the run of a policy, or finds it there and attaches; shows how it goes; says how it ended
 * or what it waits for. It decides nothing about money: leaving it changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { createLogUpdate } from 'log-update';
import type { Command } from 'commander';
import { instructionsAbout, isCancelled, nextOpening } from '../domain/instructions.ts';
import { movesOf } from '../domain/plan-moves.ts';
import { generationOf, reference, runName, workflowIdOf, type RunName } from '../domain/references.ts';
import { makeReport, newRunState, type Report } from '../domain/report.ts';
import { todayIn } from '../language/business-date.ts';
import { policyHash } from '../language/policy-hash.ts';
import { readFirstPlan, readPlannedText } from '../operations/plans.ts';
import { loadSettings, type Settings } from '../worker/config.ts';
import type { Progress } from '../workflows/names.ts';
import { batchOption, refuseBatch, type BatchOption } from './batch.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { compileNow, requireCompiled } from './compile-now.ts';
import { difference } from './difference.ts';
import { endingOf, type Ending } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';
import { UNTAKEN_MS, followRun, type Followed } from './follow-run.ts';
import { nonEmpty, statement } from './options.ts';
import type { Output } from './output.ts';
import { openingOf, payAgainRequest, type PayAgainOptions, type PayAgainRequest } from './pay-again.ts';
import { requireItem, requireOwnPlan, requirePlan } from './pinned-plan.ts';
import { atPlace, uiAddress, type Place } from './place.ts';
import { requireEnvironment, requirePolicyFile, type PolicyFile } from './policy-file.ts';
import { requireService } from './preflight.ts';
import { drawProgress, stepLines } from './progress-text.ts';
import { reportText, statusSentence } from './report-text.ts';
import { requireRun, showReport } from './report.ts';
import {
  earlierDates,
  idOfRun,
  refusePast,
  refusedFor,
  restOf,
  runInTheWay,
  type OtherRun,
  type Rest,
} from './run-names.ts';
import {
  describeRun,
  holdsOf,
  isEndedFromOutside,
  listRuns,
  readInput,
  readRun,
  type RunFacts,
} from './runs.ts';
import { movedOnDate, sayAgain } from './same-date.ts';
import { startRun } from './start-run.ts';
import { NO_REASON, userName } from './user-name.ts';
import { keepInstruction, keptAbout, readKept, wakeRun } from './instructions.ts';

type RunOptions = JsonOption &
  BatchOption &
  PayAgainOptions & {
    readonly id?: string;
    readonly detach?: true;
    readonly wait?: true;
    readonly again?: true;
    readonly yes?: true;
  };

export function addRun(program: Command, session: Session): void {
  const command = program
    .command('run')
    .summary('runs a policy, or attaches to its run')
    .description(
      'Runs a policy. The run is named by policy and date: started once, however often this is typed. Open: attaches. ' +
        'Terminated or timed out: starts it again, and it adopts what the service has. Ended: shows its report, sends ' +
        'nothing. Ctrl-C only leaves; the run goes on. Returns when the run ends or has been held for 15 s.',
    )
    .argument('<policy>', 'policy file')
    .option(
      '--id <id>',
      'id of the run, beginning with its date; default: today in the policy’s zone',
      nonEmpty,
    )
    .option('--detach', 'start it and return at once')
    .option('--wait', 'stay while the run is held, until it ends')
    .option(
      '--go-on [item]',
      'start an ended run again with what is not paid or traded; takes a cancel back. With an item, which stands ' +
        'behind it: its cause is gone, try it now',
      nonEmpty,
    )
    .option('--pay-again <payment>', 'pay a payment that ended unpaid once more, in an ended run', nonEmpty)
    .option('--reason <text>', 'why it is paid again, or goes on; required with --pay-again', statement)
    .option(
      '--by <name>',
      'who starts it or says so; default: the login, but required with --pay-again',
      statement,
    )
    .option('--again', 'yes, one more run of a date on which the policy has moved money already')
    .option('--yes', 'do not ask before live money moves')
    .addOption(batchOption())
    .action((file: string, options: RunOptions) =>
      act(session, options, async (output) => {
        refuseBatch(options);
        return run(output, file, options);
      }),
    );
  teach(command, {
    examples: [
      'cambist run policies/mxn-supplier.yaml',
      'cambist run policies/mxn-supplier.yaml --id 2026-11-21-second',
      'cambist run policies/mxn-supplier.yaml --json | jq .totals',
      'cambist run policies/mxn-supplier.yaml --pay-again supplier --by ana \\\n      --reason "account was closed, is open again"',
    ],
    endings: [
      'done',
      'bad input',
      'configuration',
      'refused by us',
      'refused by the service',
      'needs a human',
      'infrastructure',
      'waiting',
      'detached',
    ],
  });
}

/** One use of the command: everything that its steps share. */
type Course = {
  readonly output: Output;
  readonly options: RunOptions;
  readonly place: Place;
  readonly settings: Settings;
  readonly policyFile: PolicyFile;
  readonly run: RunName;
  readonly today: string;
};

async function run(output: Output, file: string, options: RunOptions): Promise<Ending> {
  const { io } = output;
  const request = payAgainRequest(options);
  const policyFile = await requirePolicyFile(output, file);
  const settings = await loadSettings(io.env, io.cwd);
  for (const warning of settings.warnings) output.note(warning);
  requireEnvironment(policyFile, settings);
  const today = todayIn(policyFile.policy.zone, io.now());
  const name = { policy: policyFile.policy.name, id: idOfRun(options.id, today) };
  return atPlace(io, settings.mode, (place) => {
    const course: Course = { output, options, place, settings, policyFile, run: name, today };
    return request === null ? bringAbout(course) : payAgain(course, request);
  });
}

/** Finds the run or starts it, and shows what comes of it. Again when somebody else was quicker. */
async function bringAbout(course: Course): Promise<Ending> {
  const { place, run: name, options, output } = course;
  for (;;) {
    const facts = await describeRun(place.client, place.mode, name);
    await requireSamePolicy(course, facts);
    if (facts !== null && facts.isOpen) {
      if (options.goOn !== undefined) await goOnOpen(course);
      output.note(`${runName(name)} is open already; attaching.`);
      return options.detach === true ? shownAsStarted(course) : follow(course, facts.startedAtMs);
    }
    if (facts !== null && !isEndedFromOutside(facts) && options.goOn === undefined)
      return showEnded(course, facts);
    if (facts !== null && facts.temporalStatus === 'COMPLETED' && !(await isOpened(course, facts))) {
      output.note(`${runName(name)} is completed; there is nothing to do.`);
      return showReport(output, place, await readRun(place.client, facts));
    }
    if (await start(course, facts))
      return options.detach === true ? shownAsStarted(course) : follow(course, output.io.now());
  }
}

/** `--go-on` of a run that is open. @throws CommandFailure when it cannot go on with what was cancelled */
async function goOnOpen(course: Course): Promise<void> {
  const { place, options, settings, output, run: name } = course;
  const kept = await readKept(place, name);
  if (kept !== null && isCancelled(kept.instructions)) {
    throw new CommandFailure('refused by us', [
      {
        code: 'RUN_CANCELLED',
        place: runName(name),
        message:
          'it is cancelled, and open only to follow what was sent before; what was not sent cannot go on in it; nothing was sent',
        fix: `Wait for its end (\`cambist run … --wait\`, without --go-on), then type this again. \`cambist status ${runName(name)}\` says what it follows.`,
      },
    ]);
  }
  await requireService(output, settings);
  // What was said is missing, and the run waits until somebody says what holds.
  if (kept === null && options.goOn === true) await sayGoOn(course);
  await sayCauseGone(course);
  await wakeRun(place, name);
}

/** `--go-on` itself: what was cancelled before goes on. */
async function sayGoOn({ place, options, run: name }: Course): Promise<void> {
  const { by = userName(), reason: why = NO_REASON } = options;
  await keepInstruction(place, name, { kind: 'go-on', id: randomUUID(), item: null, by, why });
}

/** `--go-on ITEM`: kept outside the run's history; the run reads it before it sends. Without an item nothing is said. */
async function sayCauseGone({ place, options, run: name, output }: Course): Promise<void> {
  const { goOn } = options;
  if (goOn === undefined || goOn === true) return;
  const item = requireItem(await requirePlan(place, name), goOn);
  const kept = await keptAbout(place, name);
  if (isCancelled(kept.instructions)) {
    throw new CommandFailure('refused by us', [
      {
        code: 'RUN_CANCELLED',
        place: runName(name),
        message: `it is cancelled, so "${item}" does not go on alone; nothing was sent`,
        fix: 'Take the cancel back first: --go-on without an item goes on with everything that is not done.',
      },
    ]);
  }
  const { by = userName(), reason = NO_REASON } = options;
  await keepInstruction(place, name, { kind: 'go-on', id: randomUUID(), by, why: reason, item });
  output.note(`${runName(name)} ${item}: ${by} says that its cause is gone; it is tried now.`);
}

/**
 * One instruction opens the next generations of a payment; then the run is started again, and reads it. What may be
 * opened is in `pay-again.ts`.
 */
async function payAgain(course: Course, request: PayAgainRequest): Promise<Ending> {
  const { output, options, place, settings, run: name } = course;
  const facts = await requireRun(place, name);
  await requireSamePolicy(course, facts);
  if (facts.isOpen) {
    throw new CommandFailure('refused by us', [
      {
        code: 'RUN_OPEN',
        place: runName(name),
        message: 'it has not ended yet, so it may still pay; nothing was sent',
        fix: `Wait for its end (cambist run … --wait), or see \`cambist status ${runName(name)}\`.`,
      },
    ]);
  }
  const plan = await requirePlan(place, name);
  requireOwnPlan(settings, plan);
  const view = await readRun(place.client, facts);
  await requireService(output, settings);
  const kept = await keptAbout(place, name);
  const nowMs = output.io.now();
  const opening = await openingOf({ place, settings, plan, view, kept, request, nowMs });
  const { payment, instruction, windowUntilMs, others } = opening;
  const what = `${payment.amount ?? '?'} ${payment.currency} to ${payment.account}, as ${opening.reference}`;
  output.note(`Pays again: ${what}, until ${new Date(windowUntilMs).toISOString()}.`);
  if (others.length > 0) output.note(`The run is started again, and goes on with: ${others.join(', ')}.`);
  if (place.mode === 'LIVE') await confirm(course, () => Promise.resolve([`pay AGAIN ${what}`]));
  await keepInstruction(place, name, instruction);
  if (isCancelled((await keptAbout(place, name)).instructions)) await sayGoOn(course);
  const { client, mode, taskQueue } = place;
  const { policyFile } = course;
  // Started by somebody else in the meantime: that run reads the instruction too.
  const startedBy = instruction.by;
  const started = { client, taskQueue, mode, run: name, policyFile, startedBy, shown: null, again: true };
  if (!(await startRun(started))) await wakeRun(place, name);
  return options.detach === true ? shownAsStarted(course) : follow(course, nowMs);
}

/** The plan counts, else what the run was started with. @throws CommandFailure with the difference */
async function requireSamePolicy(course: Course, facts: RunFacts | null): Promise<void> {
  const { place, run: name, policyFile } = course;
  const plan = await readFirstPlan(place.client, place.mode, name);
  const input = plan === null && facts?.isOpen === true ? await readInput(place.client, facts) : null;
  const plannedHash = plan?.policy.hash ?? (input === null ? null : policyHash(input.policyText));
  // Comments and white space make no other policy.
  if (plannedHash === null || plannedHash === policyFile.hash) return;
  const planned = input?.policyText ?? (await readPlannedText(place.client, place.mode, name)) ?? '';
  throw new CommandFailure(
    'refused by us',
    [
      {
        code: 'POLICY_CHANGED',
        place: runName(name),
        message: `run ${runName(name)} was planned with another policy than ${policyFile.file} says now; nothing was sent`,
        fix: `Put back what it was planned with (the lines with -). What you changed counts for the run of the next date. A second run of this date would not be an edit of this one: it would trade and pay everything again.`,
      },
    ],
    difference(
      { label: `the plan of ${runName(name)}`, text: planned },
      { label: policyFile.file, text: policyFile.text },
    ),
  );
}

/** A run that ended with a report: shown, and nothing is sent. */
async function showEnded(course: Course, facts: RunFacts): Promise<Ending> {
  const { output, place, run: name } = course;
  const view = await readRun(place.client, facts);
  const ending = showReport(output, place, view);
  if (view.report.status === 'COMPLETED') {
    output.note('', `${runName(name)} is completed; there is nothing to do.`);
    return ending;
  }
  const rest = [...view.report.legs, ...view.report.payments].filter(
    (item) => item.outcome !== 'TRADED' && item.outcome !== 'PAID',
  );
  const what = rest.length === 0 ? 'the plan' : rest.map((item) => item.id).join(', ');
  output.note('', `${runName(name)} has ended; nothing was sent. With --go-on this would go on: ${what}.`);
  return ending;
}

/** Starts the run, or starts it again. False when somebody else did in the meantime. */
async function start(course: Course, facts: RunFacts | null): Promise<boolean> {
  const { output, options, place, settings, policyFile, run: name, today } = course;
  const { client, mode } = place;
  // One that ended may be started again, and so may one of which Temporal has the plan only.
  const isNew = facts === null && (await readFirstPlan(client, mode, name)) === null;
  if (isNew) refusePast(name, today);
  if (options.id === undefined) {
    const inTheWay = await earlierRunInTheWay(course);
    if (inTheWay !== null) throw refusedFor(inTheWay, today);
  }
  if (isNew) {
    const moved = await movedOnDate(place, name, policyFile.policy);
    const said = sayAgain(moved, { run: name, mode, again: options.again === true });
    if (said.length > 0) output.note(...said);
  }
  await requireService(output, settings);
  const shown = mode === 'LIVE' ? await confirm(course, () => movesToShow(course)) : null;
  if (facts !== null) {
    if (options.goOn === true && (await mustSayGoOn(course))) await sayGoOn(course);
    await sayCauseGone(course);
  }
  return startRun({
    client,
    taskQueue: place.taskQueue,
    mode,
    run: name,
    policyFile,
    shown,
    startedBy: options.by ?? userName(),
    again: facts !== null,
  });
}

/** What the run moves: its plan, or where there is none yet what the service's state of this moment makes of the policy. */
async function movesToShow({
  output,
  place,
  settings,
  policyFile,
  run: name,
}: Course): Promise<readonly string[]> {
  const made = await readFirstPlan(place.client, place.mode, name);
  if (made !== null) return movesOf(made);
  return movesOf(requireCompiled((await compileNow(output, { policyFile, settings, run: name })).result));
}

/** The run of the policy's latest earlier date that a start without `--id` must not pass over; null when there is none. */
async function earlierRunInTheWay({ output, place, run: name, today }: Course): Promise<OtherRun | null> {
  const { client, mode } = place;
  const others = await listRuns(client, mode, { policy: name.policy, onlyOpen: false, limit: null });
  for (const runs of earlierDates(others, today)) {
    const standing = await Promise.all(
      runs.map(async (facts) => ({ ...facts, rest: await readRest(place, facts) })),
    );
    const verdict = runInTheWay(standing, output.io.now());
    if (verdict !== undefined) return verdict;
  }
  return null;
}

async function readRest({ client, mode }: Place, facts: RunFacts): Promise<Rest> {
  if (facts.temporalStatus === 'COMPLETED') return 'nothing';
  // One that is open without a plan may still make it.
  if ((await readFirstPlan(client, mode, facts.run)) === null) return facts.isOpen ? 'something' : 'no plan';
  if (!facts.isOpen) return 'something';
  try {
    const { report, progress } = await readRun(client, facts);
    return restOf(report, progress);
  } catch (error) {
    // Nobody answers for it: what it may still do is not known.
    if (error instanceof CommandFailure) return 'something';
    throw error;
  }
}

/**
 * Live money moves only when a person or `--yes` says so. `tell`: what the person says yes to, asked for only when there
 * is somebody to read it.
 * @returns it, null when nobody was asked. @throws CommandFailure
 */
async function confirm(
  { output, options, run: name }: Course,
  tell: () => Promise<readonly string[]>,
): Promise<readonly string[] | null> {
  if (options.yes === true) return null;
  const refuse = (message: string): never => {
    throw new CommandFailure('refused by us', [
      {
        code: 'NOT_CONFIRMED',
        place: runName(name),
        message: `${message}; nothing was sent`,
        fix: 'Answer `yes`, or start it with --yes.',
      },
    ]);
  };
  const { ask } = output.io;
  if (ask === null) return refuse('this moves live money, and there is no terminal to ask at');
  const lines = await tell();
  output.note(`${runName(name)}, LIVE:`, ...lines.map((line) => `  ${line}`));
  const answer = await ask('Go ahead with live money? Type yes: ');
  if (answer.trim().toLowerCase() !== 'yes') refuse('the answer was not `yes`');
  return lines;
}

/**
 * Whether a person has opened generations of which nothing has come: then even a completed run has something to do. No
 * clocks are compared: the report names the generation that each payment is in.
 */
async function isOpened({ place, run: name }: Course, facts: RunFacts): Promise<boolean> {
  const kept = await keptAbout(place, name);
  const { payments } = (await readRun(place.client, facts)).report;
  return payments.some(({ id, reference: current }) => {
    const generation = generationOf(reference(name, id), current) ?? 1;
    return nextOpening(instructionsAbout(kept, id), generation).kind === 'opened before';
  });
}

/** Whether a new start sends nothing before somebody says so: it is cancelled, or what was said about it is missing. */
async function mustSayGoOn({ place, run: name }: Course): Promise<boolean> {
  const kept = await readKept(place, name);
  return kept === null || isCancelled(kept.instructions);
}

/** `--detach`: the run as far as this command knows it. */
function shownAsStarted(course: Course): Ending {
  const { output, run: name } = course;
  output.document(startedReport(course, []));
  output.say(`${runName(name)} goes on; see \`cambist status ${runName(name)}\`.`);
  return 'waiting';
}

/** The report of a run that nobody has answered for yet. */
function startedReport(course: Course, problems: Report['problems']): Report {
  const { place, policyFile, run: name } = course;
  const policy = { name: name.policy, hash: policyFile.hash };
  const report = makeReport(newRunState(name, workflowIdOf(place.mode, name), policy));
  return { ...report, problems };
}

/** How long the one who leaves is kept waiting for a document. */
const LEAVING_MS = 2_000;

/** The report when a person leaves; what is known without a worker, if none answers at once. */
async function reportSoFar(course: Course): Promise<Report> {
  const { output, place, run: name } = course;
  if (!output.isJson) return startedReport(course, []);
  try {
    const facts = await describeRun(place.client, place.mode, name);
    if (facts === null) return startedReport(course, []);
    return (await readRun(place.client, facts, LEAVING_MS)).report;
  } catch {
    return startedReport(course, []);
  }
}

/** Shows the run until it ends, is held, or the person leaves. */
async function follow(course: Course, startedAtMs: number): Promise<Ending> {
  const { output, place, run: name, options } = course;
  const left = new AbortController();
  const stopListening = output.io.onInterrupt(() => left.abort());
  const view = new ProgressView(output, runName(name), startedAtMs);
  let followed: Followed;
  try {
    followed = await followRun({
      client: place.client,
      workflowId: workflowIdOf(place.mode, name),
      stay: options.wait === true,
      left: left.signal,
      isUntaken: async () => (await describeRun(place.client, place.mode, name))?.isUntaken === true,
      onProgress: (progress) => view.take(progress),
      onSilence: (reason) => view.fallSilent(reason),
    });
  } finally {
    view.close();
    stopListening();
  }
  return showFollowed(course, followed, view);
}

async function showFollowed(course: Course, followed: Followed, shown: ProgressView): Promise<Ending> {
  const { output, place, run: name } = course;
  switch (followed.kind) {
    case 'detached':
      output.document(await reportSoFar(course));
      output.note(`Left; ${runName(name)} goes on. See \`cambist status ${runName(name)}\`.`);
      return 'detached';
    case 'untaken':
    case 'silent': {
      const problem = awayProblem(name, followed.kind);
      output.document(startedReport(course, [problem]));
      output.note(`${problem.code}: ${problem.message} ${problem.fix}`);
      return 'infrastructure';
    }
    case 'ended':
    case 'held': {
      const facts = await describeRun(place.client, place.mode, name);
      if (facts === null) throw new Error(`Temporal no longer knows ${runName(name)}.`);
      const view = await readRun(place.client, facts);
      shown.finish(view.progress);
      if (!facts.isOpen) return showReport(output, place, view);
      output.document(view.report);
      output.show(
        reportText({
          report: view.report,
          uiUrl: uiAddress(place, facts),
          width: output.width,
          paint: output.paint,
        }),
      );
      output.note('', statusSentence(view.report, view.progress, output.io.now()));
      output.note('It goes on without this command; --wait would stay.');
      return endingOf(view.report, holdsOf(view.progress));
    }
  }
}

function awayProblem(name: RunName, kind: 'untaken' | 'silent'): Report['problems'][number] {
  return kind === 'untaken'
    ? {
        code: 'NO_WORKER',
        item: null,
        message: `${runName(name)} is started, but no worker took it within ${UNTAKEN_MS / 1_000} s.`,
        fix: 'Start one with `cambist worker`; the run then goes on by itself.',
      }
    : {
        code: 'NO_WORKER',
        item: null,
        message: `No worker answers for ${runName(name)} any more.`,
        fix: 'See that Temporal and a worker are there (`cambist worker`); the run then goes on by itself.',
      };
}

/** Live on a terminal, one line per step elsewhere. */
class ProgressView {
  readonly #output: Output;
  readonly #name: string;
  readonly #startedAtMs: number;
  readonly #seen = new Map<string, string>();
  readonly #draw: ReturnType<typeof createLogUpdate> | null;
  readonly #timer: NodeJS.Timeout | null;
  #progress: Progress | null = null;
  #silence: string | null = null;

  constructor(output: Output, name: string, startedAtMs: number) {
    this.#output = output;
    this.#name = name;
    this.#startedAtMs = startedAtMs;
    const stream = output.isJson ? process.stderr : process.stdout;
    this.#draw = output.isLive ? createLogUpdate(stream) : null;
    this.#timer = this.#draw === null ? null : setInterval(() => this.#redraw(), 300);
  }

  take(progress: Progress): void {
    this.#progress = progress;
    if (this.#draw !== null) return this.#redraw();
    for (const line of stepLines(progress, this.#seen, this.#output.io.now())) this.#output.step(line);
  }

  /** The last lines, of a run that ended between two questions. */
  finish(progress: Progress): void {
    if (this.#draw === null) this.take(progress);
  }

  fallSilent(reason: string | null): void {
    if (reason === this.#silence) return;
    this.#silence = reason;
    if (this.#draw !== null) return this.#redraw();
    if (reason !== null) this.#output.note(`${this.#name}: ${reason}; the run is not lost.`);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#draw?.clear();
    this.#draw?.done();
  }

  #redraw(): void {
    const { width, paint, io } = this.#output;
    const drawn = drawProgress({
      name: this.#name,
      progress: this.#progress,
      startedAtMs: this.#startedAtMs,
      nowMs: io.now(),
      silence: this.#silence,
      width,
      paint,
    });
    this.#draw?.(this.#output.drawing(drawn));
  }
}
