/**
 * The chaos run: real processes (two workers, Temporal's dev server on a file) and the sandbox, with a wire between each
 * pair that cuts, delays, loses and truncates; they are killed and frozen, their clocks are wrong, the service answers
 * with everything it can, and a crowd starts the sample policies all the while. Then the faults stop, and everything must
 * end (M8) with each movement at most once (M1), as planned (M4), and as the reports say (M3).
 *
 * The seed repeats what is done and when, not how the processes take it: a failure is one whatever the machine's mood.
 */
import { readReport } from '../../../domain/run/report.ts';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { appendFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Report } from '../../../domain/run/report.ts';
import { generateKey } from '../../../sandbox/keys.ts';
import { startSandbox, type Sandbox } from '../../../sandbox/server.ts';
import { connectTemporal, type Temporal } from '../../../config/temporal.ts';
import { planIdOf, reportQuery, wakeSignal } from '../../../workflows/names.ts';
import type { Plan } from '../../../domain/plan/plan.ts';
import type { Draft } from '../resets/copies.ts';
import { RATES } from '../resets/samples.ts';
import { SERVICES } from '../resets/services.ts';
import { againstPlan, disagreements, isRecordOf, movedTwice, recordsOf } from '../../support/agreement.ts';
import { diceOf } from '../../support/dice.ts';
import { Patience } from '../../support/patience.ts';
import { patiently } from '../../support/patiently.ts';
import { openWire, type Wire } from '../../support/proxy.ts';
import { attempt, crowd, startRun, type Crowd, type Place } from './crowd.ts';
import { stormFaults } from './faults.ts';
import { ServerProcess, WorkerProcess } from './processes.ts';
import { weather, type Harm } from './weather.ts';
import { randomUUID } from 'node:crypto';
import { say } from '../../support/say.ts';
import { lasting } from '../../support/lasting.ts';

export type ChaosOptions = {
  readonly seed: number;
  readonly stormMs: number;
  readonly tell?: (line: string) => void;
};

export type ChaosResult = {
  /** What was done, what struck, and how the runs ended; empty when it broke off. */
  readonly figures: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
  /** Logs of all processes; null when nothing failed. */
  readonly folder: string | null;
};

/** Time passes in steps that are shorter than a restore takes: doubt that is looked up later than that begins anew. */
const STEP_MS = 25_000;
const SERVICE_FILE = 'list_lag: 1s\nsettle_doubt: { trade: 2s, withdrawal: 4s }\n';
const TASK_QUEUE = 'chaos';
const MOST_USD = 1_100_000;
const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** As a shell has it for Ctrl-C. */
const INTERRUPTED = 130;
/** Against hanging alone, many times what a part takes: what stands still for so long is told, with what it said last. */
const PART_LIMIT_MS = 30 * 60_000;
const LAST_LINES = 25;
/** A question to Temporal is given up after so long: one that is lost with the worker that had it is never answered. */
const QUESTION_MS = 15_000;

export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, stormMs } = options;
  const folder = await mkdtemp(join(tmpdir(), `cambist-chaos-${seed}-`));
  const startedAt = performance.now();
  const note = (line: string): void => {
    const at = ((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6);
    appendFileSync(join(folder, 'chaos.log'), `${at} s  ${line}\n`);
  };
  const tell = (line: string): void => {
    note(line);
    options.tell?.(line);
  };

  // Ends by `exit`, so that workers and servers are ended too, frozen ones as well.
  const interrupt = (): never => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(INTERRUPTED);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  const scene = await inTime('The opening', Scene.open({ seed, folder, note }));
  const failures: string[] = [];
  try {
    tell(
      `the storm begins: seed ${seed}, ${Math.round(stormMs / 1_000)} s, ${JSON.stringify(scene.service)}`,
    );
    for (const fault of stormFaults(diceOf(seed, 'faults'))) scene.sandbox.addFault(fault);
    const deposits = setInterval(() => scene.bringMoneyIn(), 1_000);
    const storm = Promise.all([
      weather(scene, diceOf(seed, 'weather'), stormMs),
      crowd(scene, diceOf(seed, 'crowd'), stormMs),
    ]);
    const [harm, people] = await inTime('The storm', storm, stormMs);
    clearInterval(deposits);
    const struck = scene.sandbox.faults().filter(({ hits }) => hits > 0);
    scene.sandbox.clearFaults();
    tell(`calm after ${struck.reduce((sum, { hits }) => sum + hits, 0)} faults of the service`);
    const calm = new Calm(scene, people.drafts, tell);
    failures.push(
      ...(await inTime('The calm', calm.untilAllHaveEnded())),
      ...(await inTime('The judgement', calm.judge())),
    );
    const resets = Object.values(scene.wires).reduce((sum, wire) => sum + wire.resets(), 0);
    return {
      figures: {
        ...figuresOf(people, harm),
        'connections reset': resets,
        'kinds of service faults that struck': struck.length,
        'service faults': struck.reduce((sum, { hits }) => sum + hits, 0),
        'decisions by a person': calm.decisions,
        ...calm.endings,
        trades: scene.sandbox.ledger().trades.length,
        withdrawals: scene.sandbox.ledger().withdrawals.length,
      },
      failures,
      folder: failures.length === 0 ? null : folder,
    };
  } catch (error) {
    failures.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return { figures: {}, failures, folder };
  } finally {
    if (failures.length > 0) failures.push(...(await lastLines(folder)));
    await inTime('The end', scene.close());
    for (const signal of SIGNALS) process.off(signal, interrupt);
    if (failures.length === 0) await rm(folder, { recursive: true, force: true });
  }
}

/** What a part of the chaos run gives, or an error when it hangs. @param takesMs what it takes by itself */
async function inTime<T>(part: string, work: Promise<T>, takesMs = 0): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limitMs = takesMs + PART_LIMIT_MS;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Error(
      `${part} was given up after ${Math.round(limitMs / 60_000)} minutes: it hangs, or this machine is far too slow for it.`,
    );
    timer = setTimeout(() => reject(error), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** For whoever cannot read the logs of the machine on which it failed. */
async function lastLines(folder: string): Promise<readonly string[]> {
  const logs = (await readdir(folder)).filter((name) => name.endsWith('.log'));
  return Promise.all(
    logs.map(async (name) => {
      const lines = (await readFile(join(folder, name), 'utf8')).trimEnd().split('\n');
      return `--- the end of ${name}\n${lines.slice(-LAST_LINES).join('\n')}`;
    }),
  );
}

function figuresOf({ drafts, deeds }: Crowd, harm: Harm): Record<string, number> {
  return {
    runs: drafts.length,
    'starts of them': deeds.starts + deeds.startedAgain,
    'resets of them': deeds.resets,
    cancels: deeds.cancels,
    terminations: deeds.terminations,
    'worker kills': harm.kills,
    'worker freezes': harm.freezes,
    'wrong clocks': harm.clocks,
    'server kills': harm.servers,
    'bad wires': harm.wires,
    'cut wires': harm.cuts,
  };
}

/** All that takes part. */
class Scene implements Place {
  readonly service: (typeof SERVICES)[number];
  readonly sandbox: Sandbox;
  readonly server: ServerProcess;
  readonly temporal: Temporal;
  readonly env: NodeJS.ProcessEnv;
  readonly wires: Readonly<Record<string, Wire>>;
  readonly workers: readonly WorkerProcess[];
  readonly note: (line: string) => void;
  movedMs = 0;

  static async open(of: { seed: number; folder: string; note: (line: string) => void }): Promise<Scene> {
    const { seed, folder, note } = of;
    const dice = diceOf(seed, 'service');
    const service = dice.pick(SERVICES);
    const key = generateKey();
    const keyFile = join(folder, 'key.json');
    await writeFile(keyFile, JSON.stringify({ name: key.name, privateKey: key.privateKeyPem }), {
      mode: 0o600,
    });
    await writeFile(join(folder, 'service.yaml'), SERVICE_FILE);
    const sandbox = await startSandbox({
      seed,
      settings: {
        ...service,
        settlementMs: { IMMEDIATE: 0, T0: 400, T1: 800, T2: 1_200 },
        withdrawalSteps: [{ status: 'PENDING', forMs: 300 }],
      },
      keys: [{ name: key.name, publicKeyPem: key.publicKeyPem, scope: 'write', mode: 'SANDBOX' }],
      balances: { USD: '1000000', EUR: '20000000', GBP: '0', MXN: '0', USDC: '0', BRL: '0' },
      rates: RATES.usual,
    });
    const server = await ServerProcess.start(folder);
    const env: NodeJS.ProcessEnv = {
      PATH: process.env['PATH'],
      TZ: 'UTC',
      CAMBIST_KEY_FILE: keyFile,
      CAMBIST_APP_MODE: 'SANDBOX',
      CAMBIST_SERVICE_FILE: join(folder, 'service.yaml'),
      CAMBIST_TASK_QUEUE: TASK_QUEUE,
    };
    const serviceAddress = new URL(sandbox.baseUrl).host;
    const wires: Record<string, Wire> = {};
    const workers: WorkerProcess[] = [];
    for (const name of ['worker-1', 'worker-2']) {
      const toTemporal = await openWire(`127.0.0.1:${server.port}`);
      const toService = await openWire(serviceAddress);
      wires[`${name} to Temporal`] = toTemporal;
      wires[`${name} to the service`] = toService;
      workers.push(
        new WorkerProcess({
          name,
          folder,
          env: {
            ...env,
            CAMBIST_BASE_URL: sandbox.baseUrl.replace(serviceAddress, toService.address),
            TEMPORAL_ADDRESS: toTemporal.address,
          },
        }),
      );
    }
    // A storm over workers that are still being loaded would harm nothing.
    await Promise.all(workers.map(({ ready }) => ready));
    const direct = { ...env, TEMPORAL_ADDRESS: `127.0.0.1:${server.port}` };
    const temporal = await connectTemporal(direct, 'SANDBOX');
    return new Scene({ service, sandbox, server, temporal, env: direct, wires, workers, note });
  }

  private constructor(
    parts: Pick<Scene, 'service' | 'sandbox' | 'server' | 'temporal' | 'env' | 'wires' | 'workers' | 'note'>,
  ) {
    this.service = parts.service;
    this.sandbox = parts.sandbox;
    this.server = parts.server;
    this.temporal = parts.temporal;
    this.env = parts.env;
    this.wires = parts.wires;
    this.workers = parts.workers;
    this.note = parts.note;
  }

  moveClock(worker: WorkerProcess, ms: number): void {
    worker.moveClock(this.movedMs + ms);
  }

  /** Time passes for everybody at once: what is in doubt need not be waited for. */
  passTime(ms: number): void {
    this.movedMs += ms;
    this.sandbox.clock.advance(ms);
    for (const worker of this.workers) worker.moveClock(this.movedMs);
  }

  /** Enough for everybody, and no more than the sample that sells whatever is there may sell at once. */
  bringMoneyIn(): void {
    const there = Number(this.sandbox.ledger().balances['USD']?.total ?? '0');
    if (there < MOST_USD) this.sandbox.deposit({ currency: 'USD', amount: '30000.00' });
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.end()));
    await this.temporal.connection.close();
    await this.server.end();
    await Promise.all(Object.values(this.wires).map((wire) => wire.close()));
    await this.sandbox.close();
  }
}

/** What this storm can keep undone for good; anything else is a failure of ours. */
const MAY_END_UNDONE: readonly string[] = [
  'CANCELLED',
  'WITHDRAWAL_FAILED',
  'SETTLEMENT_FAILED',
  'LEG_NOT_TRADED',
  'QUOTES_USED_UP',
  'DECIDED_NOT_EXECUTED',
  // Many runs share one balance, and some samples do not wait for money.
  'SHORTFALL',
  'TRADE_INSUFFICIENT_BALANCE',
  'WITHDRAWAL_INSUFFICIENT_BALANCE',
];

/** After the storm: whoever is needed is there, and every run comes to its end. */
class Calm {
  decisions = 0;
  /** How many runs ended how, and why what was not done was not. */
  readonly endings: Record<string, number> = {};
  readonly #scene: Scene;
  readonly #drafts: readonly Draft[];
  readonly #tell: (line: string) => void;

  constructor(scene: Scene, drafts: readonly Draft[], tell: (line: string) => void) {
    this.#scene = scene;
    this.#drafts = drafts;
    this.#tell = tell;
  }

  /** What has not ended though it was waited for with patience, in words. */
  async untilAllHaveEnded(): Promise<readonly string[]> {
    let open = this.#drafts;
    let before = open.length;
    const patience = new Patience(async () => open.map(({ name }) => name).join());
    for (let round = 1; open.length > 0 && !(await patience.isOver()); round += 1) {
      open = await this.#stillOpen(open);
      for (const draft of open) await this.#wake(draft);
      // Those that only wait for time are left when a round has ended few others.
      if (round > 2 && before - open.length <= Math.max(1, before / 10)) {
        this.#tell(`${open.length} runs wait for time to pass`);
        this.#scene.passTime(STEP_MS);
        for (const draft of open) await this.#decide(draft);
      }
      before = open.length;
      await sleep(2_000);
    }
    return Promise.all(
      open.map(async (draft) => {
        const report = await this.#report(draft);
        return `${draft.name} has not ended: ${JSON.stringify(report === null ? null : lasting(report))}`;
      }),
    );
  }

  /** Everything that is wrong with what has ended, in words. */
  async judge(): Promise<readonly string[]> {
    const ledger = this.#scene.sandbox.ledger();
    const wrong = movedTwice(ledger).map((reference) => `${reference} was moved twice.`);
    for (const draft of this.#drafts) {
      const report = await this.#report(draft);
      if (report === null) {
        wrong.push(`${draft.name} tells no report.`);
        continue;
      }
      this.#count(report);
      const plan = await this.#plan(draft);
      if (plan === null && report.legs.length > 0) wrong.push(`${draft.name} has a report and no plan.`);
      const sentences = [
        ...disagreements(report, ledger),
        ...(plan === null ? [] : againstPlan(plan, ledger)),
      ];
      wrong.push(...sentences.map((sentence) => `${draft.name}: ${sentence}`));
      const odd = report.problems.filter(({ code }) => !MAY_END_UNDONE.includes(code));
      wrong.push(...odd.map(({ code, message }) => `${draft.name} ended by ${code}: ${message}`));
    }
    const ours = this.#drafts.flatMap(({ name }) => Object.values(recordsOf(name, ledger)).flat());
    const strangers = [...ledger.trades, ...ledger.withdrawals].filter((row) => !ours.includes(row));
    return [...wrong, ...strangers.map((row) => `${String(row['id'])} belongs to no run.`)];
  }

  #count({ status, problems }: Report): void {
    for (const name of [`runs ended ${status}`, ...problems.map(({ code }) => `items undone by ${code}`)])
      this.endings[name] = (this.endings[name] ?? 0) + 1;
  }

  /** Those of `drafts` that have not ended; what was never started, or was ended from outside, is started now. */
  async #stillOpen(drafts: readonly Draft[]): Promise<readonly Draft[]> {
    const open: Draft[] = [];
    for (const draft of drafts) {
      const status = await this.#status(draft);
      if (status === 'TERMINATED' || status === null) await startRun(this.#scene, draft);
      if (status === 'RUNNING' || status === 'TERMINATED' || status === null) open.push(draft);
    }
    return open;
  }

  async #status({ workflowId }: Draft): Promise<string | null> {
    try {
      const handle = this.#scene.temporal.client.workflow.getHandle(workflowId);
      return (await patiently(() => this.#soon(() => handle.describe()), isAnswerable)).status.name;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }

  async #wake({ workflowId, run }: Draft): Promise<void> {
    const { workflow } = this.#scene.temporal.client;
    await attempt(this.#scene, () => workflow.getHandle(workflowId).signal(wakeSignal));
    await attempt(this.#scene, () => workflow.getHandle(planIdOf('SANDBOX', run)).signal(wakeSignal));
  }

  /** A person who has looked at the service says what was executed and what was not. */
  async #decide(draft: Draft): Promise<void> {
    const report = await this.#report(draft);
    if (report === null) return;
    const { trades, withdrawals } = recordsOf(draft.name, this.#scene.sandbox.ledger());
    for (const item of [...report.legs, ...report.payments]) {
      if (item.outcome !== 'NEEDS_HUMAN') continue;
      const record = [...trades, ...withdrawals].find((row) => isRecordOf(`${draft.name}.${item.id}`, row));
      const by = { id: randomUUID(), by: 'chaos', item: item.id };
      const { temporal } = this.#scene;
      this.decisions += 1;
      this.#tell(`a person decides about ${draft.name}, ${item.id}: ${JSON.stringify(report.problems)}`);
      const said =
        record === undefined
          ? ({ ...by, kind: 'not executed', why: 'the ledger shows nothing' } as const)
          : ({
              ...by,
              kind: 'executed',
              recordId: String(record['id']),
              why: 'the ledger shows it',
            } as const);
      const of = { client: temporal.client, taskQueue: TASK_QUEUE, mode: 'SANDBOX', run: draft.run } as const;
      // Who is not heard says it again in the next round.
      await attempt(this.#scene, () => say(of, said));
      await this.#wake(draft);
    }
  }

  /** Null: it tells none. */
  async #report({ workflowId }: Draft): Promise<Report | null> {
    const handle = this.#scene.temporal.client.workflow.getHandle(workflowId);
    const ask = () => readReport((offset) => this.#soon(() => handle.query(reportQuery, offset)));
    return patiently(ask, isAnswerable).catch(() => null);
  }

  async #plan({ run }: Draft): Promise<Plan | null> {
    try {
      const planWorkflow = this.#scene.temporal.client.workflow.getHandle(planIdOf('SANDBOX', run));
      // One that is still being made is of a run that was cancelled before, and may wait for long.
      if ((await this.#soon(() => planWorkflow.describe())).status.name === 'RUNNING') return null;
      return (await this.#soon(() => planWorkflow.result())) as Plan;
    } catch {
      // It was refused: nothing was to be done.
      return null;
    }
  }

  #soon<T>(ask: () => Promise<T>): Promise<T> {
    return this.#scene.temporal.client.withDeadline(Date.now() + QUESTION_MS, ask);
  }
}

/** What was never started is not there later either. */
function isAnswerable(error: unknown): boolean {
  return !(error instanceof WorkflowNotFoundError);
}
