/**
 * Two large batches, a rebalancing and twenty conversions on a real Temporal server over PostgreSQL, with four workers, all as
 * processes. Workers, the processes of the server and the connection to the database are killed and come back. Then
 * everybody must have been paid once, by the service's ledger, and the small runs say how long they took beside the batches.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertExit, commandProcess } from '../../support/commands.ts';
import { diceOf } from '../../support/dice.ts';
import { eventually } from '../../support/patience.ts';
import { patiently } from '../../support/patiently.ts';
import { convertPolicy, MXN_ACCOUNT } from '../../support/policies.ts';
import { openStage, type Run, type Stage } from '../../support/stage.ts';
import { wakeSignal } from '../../../workflows/names.ts';
import { WorkerProcess } from '../chaos/processes.ts';
import { judged, type Wanted, type WantedTrade } from './judge.ts';
import { Cluster } from './servers.ts';

export type ClusterOptions = {
  /** Of each of the two batches. */
  readonly payments: number;
  readonly seed: number;
  readonly tell: (line: string) => void;
  /** Presses the buttons that need this server; what went wrong. */
  readonly press: (
    address: string,
  ) => Promise<{ readonly passed: number; readonly failures: readonly string[] }>;
};

export type ClusterResult = {
  readonly failures: readonly string[];
  readonly paid: number;
  /** Conversions and the rebalancing. */
  readonly smallRuns: number;
  /** What was killed or cut off while payments were still to be made. */
  readonly harms: number;
  readonly pressed: number;
};

const WORKERS = 4;
const CONVERSIONS = 20;
/** Before the batches begin: what a conversion takes when nothing else goes on. */
const IDLE_CONVERSIONS = 5;
const CUT_OFF_MS = 5_000;
const WAKE_EVERY_MS = 30_000;
/** The exit code of a command whose run goes on. */
const GOES_ON = 8;
const PAYEES = [
  ['EUR', 'wac_EuR5epaLive1'],
  ['USD', 'wac_U5DFedw1re9'],
  ['MXN', MXN_ACCOUNT],
] as const;
const RATES = { 'USD/MXN': '17.25', 'GBP/USD': '1.27' };
const RATES_FILE = {
  'rates.yaml': `as_of: ${new Date().toISOString().slice(0, 19)}Z\nrates: ["1.2700 USD per GBP"]\n`,
};
const REBALANCING = `policy: 1
kind: rebalance
name: replaced
environment: sandbox
rebalance: { base: { currency: USD, min: "100000.00" }, targets: { GBP: { min: "40000.00" } } }
quote: { valid_for: 45s, settlement: T0 }
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 100bps }
settle: { until: status }
limits: { per_run: "1000000.00 USD" }
`;

export async function playCluster(options: ClusterOptions): Promise<ClusterResult> {
  const { tell, press } = options;
  const folder = await mkdtemp(join(tmpdir(), 'cambist-cluster-'));
  const cluster = await Cluster.open(join(folder, 'server.log'));
  try {
    const stage = await openStage({
      temporalAddress: cluster.place.address,
      rates: RATES,
      balances: { USD: '100000000', EUR: '100000000', MXN: '100000000', GBP: '0' },
      settings: { withdrawalSteps: [{ status: 'PENDING', forMs: 0 }] },
    });
    const workers = Array.from(
      { length: WORKERS },
      (_, index) => new WorkerProcess({ name: `worker-${index + 1}`, env: stage.env, folder }),
    );
    try {
      await Promise.all(workers.map(({ ready }) => ready));
      tell(`A server of two processes over PostgreSQL, and ${WORKERS} workers. Logs: ${folder}`);
      const played = await new Play(stage, cluster, workers, options).all();
      await Promise.all(workers.map((worker) => worker.end()));
      const pressing = await press(cluster.place.address);
      return {
        ...played,
        failures: [...played.failures, ...pressing.failures],
        pressed: pressing.passed,
      };
    } finally {
      await Promise.all(workers.map((worker) => worker.end()));
      await stage.close();
    }
  } finally {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  }
}

type Batch = { readonly name: string; readonly run: string; readonly rows: readonly Row[] };
type Row = Pick<Wanted, 'account' | 'currency'> & { readonly id: string; readonly amount: string };

class Play {
  readonly #stage: Stage;
  readonly #cluster: Cluster;
  readonly #workers: readonly WorkerProcess[];
  readonly #options: ClusterOptions;
  readonly #date = new Date().toISOString().slice(0, 10);
  #harms = 0;

  constructor(stage: Stage, cluster: Cluster, workers: readonly WorkerProcess[], options: ClusterOptions) {
    this.#stage = stage;
    this.#cluster = cluster;
    this.#workers = workers;
    this.#options = options;
  }

  async all(): Promise<Omit<ClusterResult, 'pressed'>> {
    const { payments, tell } = this.#options;
    const idle = await this.#oneByOne(IDLE_CONVERSIONS, 'idle');
    const bytesBefore = await this.#cluster.bytes();
    const batches = [batchOf('first', this.#date, payments), batchOf('second', this.#date, payments)];
    const startedAt = performance.now();
    await Promise.all(batches.map((batch) => this.#submit(batch)));
    const [rebalancing, conversions] = await Promise.all([
      this.#start('gbp', REBALANCING, RATES_FILE),
      this.#conversionsBeside(),
      this.#harm(),
    ]);
    // What failed in the middle of the harm waits for minutes before it tries again.
    const waking = setInterval(() => void this.#wakeAll().catch(() => {}), WAKE_EVERY_MS);
    let seconds = 0;
    try {
      await this.#untilBooked(1);
      seconds = (performance.now() - startedAt) / 1_000;
      for (const run of [...conversions, rebalancing]) await run.report();
      for (const { run } of batches) await this.#untilEnded(run);
    } finally {
      clearInterval(waking);
    }
    const bytes = (await this.#cluster.bytes()) - bytesBefore;
    const all = 2 * payments;
    tell(`${all} payments in ${seconds.toFixed(0)} s: ${(all / seconds).toFixed(0)} a second.`);
    tell(`The databases grew by ${(bytes / all).toFixed(0)} bytes a payment.`);
    await this.#tellTimes('idle', idle);
    await this.#tellTimes('beside the batches', conversions);
    const failures = this.#judge(batches, [...idle, ...conversions], rebalancing);
    const reports = await Promise.all([...idle, ...conversions, rebalancing].map((run) => run.now()));
    for (const { run, status } of reports)
      if (status !== 'COMPLETED') failures.push(`${run} ended ${status}, though nothing stands against it.`);
    return {
      failures,
      paid: this.#stage.sandbox.ledger().withdrawals.length - idle.length - conversions.length,
      smallRuns: conversions.length + 1,
      harms: this.#harms,
    };
  }

  /** As a user types it. */
  async #submit({ name, rows }: Batch): Promise<void> {
    const { folder } = this.#stage;
    const policy = `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\nzone: UTC\npayout: { fund: { mode: none } }\n`;
    const lines = rows.map(({ id, account, currency, amount }) => [id, account, currency, amount].join());
    await writeFile(join(folder, `${name}.yaml`), policy);
    await writeFile(join(folder, `${name}.csv`), `id,account,currency,amount\n${lines.join('\n')}\n`);
    const id = `${this.#date}-cluster`;
    const typed = ['run', `${name}.yaml`, '--batch', `${name}.csv`, '--id', id, '--detach'];
    assertExit(await commandProcess(this.#stage, typed), GOES_ON);
  }

  /** Started until somebody hears it: the server may be away. */
  async #start(name: string, policy: string, files: Readonly<Record<string, string>> = {}): Promise<Run> {
    const run = this.#stage.find(policy, { name, files });
    await patiently(() => run.startAgain());
    return run;
  }

  async #oneByOne(count: number, name: string): Promise<readonly Run[]> {
    const runs: Run[] = [];
    for (let number = 1; number <= count; number += 1) {
      const run = await this.#start(`${name}-${number}`, convertPolicy());
      await run.report();
      runs.push(run);
    }
    return runs;
  }

  /** One after the other, at even distances of what is paid. */
  async #conversionsBeside(): Promise<readonly Run[]> {
    const runs: Run[] = [];
    for (let number = 1; number <= CONVERSIONS; number += 1) {
      await this.#untilBooked((number - 0.5) / CONVERSIONS);
      runs.push(await this.#start(`conversion-${number}`, convertPolicy()));
    }
    return runs;
  }

  /** Each worker dies once, each process of the server too, and the database is away for a while. */
  async #harm(): Promise<void> {
    const { seed, tell } = this.#options;
    const dice = diceOf(seed, 'cluster');
    const kills = this.#workers.map((worker, index) => ({
      what: `worker ${index + 1} is killed`,
      harm: () => worker.kill(),
    }));
    const harms = [
      ...kills,
      { what: 'the history and the matching service are killed', harm: () => this.#cluster.kill('back') },
      { what: 'the frontend is killed', harm: () => this.#cluster.kill('front') },
      { what: 'the database is away', harm: () => this.#cluster.cutOffFor(CUT_OFF_MS) },
    ].toSorted(() => dice.share() - 0.5);
    for (const [index, { what, harm }] of harms.entries()) {
      await this.#untilBooked((index + 0.2 + 0.6 * dice.share()) / harms.length);
      const booked = this.#booked();
      tell(`${booked} payments are made: ${what}.`);
      if (booked < 2 * this.#options.payments) this.#harms += 1;
      await harm();
    }
  }

  /** Has every run, plan and chunk that is open look at once, as a person may. */
  async #wakeAll(): Promise<void> {
    const { temporal, env } = this.#stage;
    const query = `TaskQueue = '${env['CAMBIST_TASK_QUEUE']}' AND ExecutionStatus = 'Running' AND WorkflowType IN ('run', 'plan', 'chunk')`;
    for await (const { workflowId } of temporal.client.workflow.list({ query }))
      await temporal.client.workflow.getHandle(workflowId).signal(wakeSignal);
  }

  #booked(): number {
    const { withdrawals } = this.#stage.sandbox.ledger();
    return withdrawals.filter((row) => JSON.stringify(row['metadata']).includes('-cluster.')).length;
  }

  async #untilBooked(share: number): Promise<void> {
    const wanted = 2 * this.#options.payments * share;
    await eventually(
      `${Math.ceil(wanted)} payments`,
      () => this.#booked() >= wanted,
      async () => this.#booked(),
    );
  }

  async #untilEnded(run: string): Promise<void> {
    const handle = this.#stage.temporal.client.workflow.getHandle(`sandbox/${run}`);
    const status = await eventually(
      `the end of ${run}`,
      async () => {
        const { status: now } = await patiently(() => handle.describe());
        return now.name === 'RUNNING' ? null : now.name;
      },
      async () => (await handle.describe()).historyLength,
    );
    if (status !== 'COMPLETED') throw new Error(`${run} ended ${status}.`);
  }

  #judge(batches: readonly Batch[], conversions: readonly Run[], rebalancing: Run): string[] {
    const names = conversions.map(({ name }) => `${name.policy}.${name.id}`);
    const trades: WantedTrade[] = [
      ...names.map((name): WantedTrade => ({
        reference: `${name}.usd-mxn-1`,
        ...{ sell: 'USD', buy: 'MXN', side: 'sellAmount', amount: '1000.00' },
      })),
      {
        reference: `${rebalancing.name.policy}.${rebalancing.name.id}.usd-gbp-1`,
        ...{ sell: 'USD', buy: 'GBP', side: 'buyAmount', amount: '40000.00' },
      },
    ];
    const payments: Wanted[] = [
      ...batches.flatMap(({ run, rows }) =>
        rows.map(({ id, ...row }) => ({ ...row, reference: `${run}.${id}` })),
      ),
      ...names.map((name) => ({
        reference: `${name}.supplier`,
        account: MXN_ACCOUNT,
        currency: 'MXN',
        amount: { allOf: `${name}.usd-mxn-1` },
      })),
    ];
    return [...judged(this.#stage.sandbox.ledger(), { payments, trades })];
  }

  async #tellTimes(when: string, runs: readonly Run[]): Promise<void> {
    const { quotes, trades } = this.#stage.sandbox.ledger();
    const quotedAt = new Map(quotes.map((quote) => [quote['id'], Date.parse(String(quote['createdAt']))]));
    const gaps = runs.map(({ name }) => {
      const trade = trades.find((row) => row['clientReferenceId'] === `${name.policy}.${name.id}.usd-mxn-1`);
      return Date.parse(String(trade?.['createdAt'])) - (quotedAt.get(trade?.['quoteId']) ?? Number.NaN);
    });
    const whole = await Promise.all(
      runs.map(async ({ handle }) => {
        const { startTime, closeTime } = await handle.describe();
        return (closeTime?.getTime() ?? Number.NaN) - startTime.getTime();
      }),
    );
    const { tell } = this.#options;
    tell(
      `A conversion ${when}, from quote to trade: ${spread(gaps)}; from its start to its end: ${spread(whole)}.`,
    );
  }
}

function batchOf(name: string, date: string, payments: number): Batch {
  const rows = Array.from({ length: payments }, (_, index): Row => {
    const [currency, account] = PAYEES[index % PAYEES.length] ?? PAYEES[0];
    return {
      id: `inv-${index + 1}`,
      account,
      currency,
      amount: `${1 + (index % 97)}.${11 + 2 * (index % 44)}`,
    };
  });
  return { name, run: `${name}.${date}-cluster`, rows };
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): string =>
    `${Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN)} ms`;
  return `${at(0.5)} (median), ${at(1)} (slowest of ${times.length})`;
}
