// `npm run demo`: the main job before your eyes, with two accidents on purpose, then a rebalancing day, a batch of 200
// payments with more accidents, and an attack; in about a minute after the set-up.
// Everything runs on this machine, on free ports and in a temporary folder; nothing stays behind.
// `npm run demo -- convert` runs only the part of that name, `-- payout --payments 10000` a larger batch, with two killed
// workers; `-- --keep` leaves everything up until Ctrl-C.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { killGroup, OWN_GROUP } from './lib/group.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { setup } from './setup.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CAMBIST = join('bin', 'cambist.mjs');

/** What can be shown, in order; each is a function of the stage. */
const PARTS = { convert: showConvert, rebalance: showRebalancing, payout: showPayout, attack: showAttack };

/** Whom the batch pays, in turn. */
const PAYEES = [
  ['wac_7Hk2mQ9vT4xR', 'MXN'],
  ['wac_EuR5epaLive1', 'EUR'],
  ['wac_U5DFedw1re9', 'USD'],
];
const PAYMENTS = 200;
/** From so many on, every 50th reply is lost, and two workers are killed. */
const MANY_PAYMENTS = 1_000;
const MOST_PAYMENTS = 20_000;

/** Nothing in the demo takes longer, on a slow machine neither; a batch takes longer for each payment. */
const STEP_LIMIT_MS = 90_000;
const PAYMENT_LIMIT_MS = 50;

/**
 * @typedef {import('node:child_process').ChildProcess} ChildProcess
 * @typedef {{ env: NodeJS.ProcessEnv, folder: string, adminUrl: string, uiUrl: string, worker: ChildProcess,
 *   payments: number }} Stage
 * @typedef {{ id: string, clientReferenceId: string, sellCurrency: string, buyCurrency: string, sellAmount?: string,
 *   buyAmount?: string, executedAmount: string }} Trade
 * @typedef {{ id: string, currency: string, withdrawalAmount: string, withdrawalAccountId: string, status: string,
 *   metadata: { cambist?: string } | null }} Withdrawal
 * @typedef {{ trades: Trade[], withdrawals: Withdrawal[] }} Ledger
 * @typedef {{ seq: number, operation: string, idempotencyKey: string | null, faults: string[] }} LoggedRequest
 */

/** @type {Set<ChildProcess>} */
const children = new Set();
let isEnding = false;

await runIfMain(import.meta.url, async () => {
  const { parts, keep, payments } = readArguments(process.argv.slice(2));
  await setup({ ownServer: true });
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stopped.abort());
  const folder = mkdtempSync(join(tmpdir(), 'cambist-demo-'));
  process.once('exit', () => {
    for (const child of children) killGroup(child);
    rmSync(folder, { recursive: true, force: true });
  });
  try {
    const stage = await untilStopped(stopped.signal, play(folder, parts, payments));
    if (keep) await linger(stage, stopped.signal);
    return 0;
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    return 130;
  } finally {
    await endAll();
  }
});

/** @param {string[]} given */
function readArguments(given) {
  const known = Object.keys(PARTS);
  const { values, positionals } = parseArgs({
    args: given,
    allowPositionals: true,
    strict: false,
    options: { keep: { type: 'boolean' }, payments: { type: 'string', default: String(PAYMENTS) } },
  });
  const unknown = [
    ...positionals.filter((word) => !known.includes(word)),
    ...Object.keys(values).filter((name) => name !== 'keep' && name !== 'payments'),
  ];
  if (unknown.length > 0)
    throw new ScriptFailed(
      `'${unknown[0]}' is not known. There is '--keep', '--payments N', and the parts: ${known.join(', ')}.`,
    );
  const payments = Number(values['payments']);
  if (!Number.isSafeInteger(payments) || payments < 10 || payments > MOST_PAYMENTS)
    throw new ScriptFailed(`'--payments' takes a number from 10 to ${MOST_PAYMENTS}.`);
  return {
    parts: positionals.length > 0 ? positionals : known,
    keep: values['keep'] === true,
    payments,
  };
}

/**
 * @param {string} folder
 * @param {string[]} parts
 * @param {number} payments of the batch
 */
async function play(folder, parts, payments) {
  const startedAt = performance.now();
  const stage = { ...(await raise(folder)), payments };
  for (const [name, show] of Object.entries(PARTS)) if (parts.includes(name)) await show(stage);
  tell(`The runs, event by event: ${stage.uiUrl}/namespaces/default/workflows`);
  tell(`Done in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s.`);
  return stage;
}

/**
 * Temporal with its UI, the sandbox and a worker, each a process of its own.
 *
 * @param {string} folder
 * @returns {Promise<Omit<Stage, 'payments'>>}
 */
async function raise(folder) {
  title('The stage');
  tell(
    'A Temporal dev server, a sandbox that stands for the service, and a worker: three processes, free ports.',
  );
  tell('A file of keys seals what Temporal keeps; a fourth process opens it for the Temporal UI.');
  const keyFile = join(folder, 'key.json');
  const sealKeys = join(folder, 'seal.json');
  const serviceFile = join(folder, 'service.yaml');
  writeFileSync(serviceFile, 'list_lag: 1s # the sandbox lists new records at once\n');
  const bare = withoutConfiguration();
  const [temporal, sandbox] = await Promise.all([
    startService(['temporal', '--port', '0', '--ui-port', '0'], bare),
    startService(['sandbox', '--port', '0', '--admin-port', '0', '--key-file', keyFile], bare),
    ask({ env: bare }, ['keys', 'new', sealKeys]),
  ]);
  const uiUrl = text(temporal.ready['uiUrl']);
  const env = {
    ...bare,
    TEMPORAL_ADDRESS: text(temporal.ready['address']),
    CAMBIST_BASE_URL: text(sandbox.ready['baseUrl']),
    CAMBIST_KEY_FILE: keyFile,
    CAMBIST_SERVICE_FILE: serviceFile,
    CAMBIST_FILES: join(ROOT, 'policies'),
    CAMBIST_POLICIES: join(ROOT, 'policies'),
    CAMBIST_APP_MODE: 'SANDBOX',
    CAMBIST_SEAL_KEYS: sealKeys,
    CAMBIST_UI_URL: uiUrl,
  };
  const codec = ['codec', '--port', '0', '--ui', new URL(uiUrl).origin];
  const [{ child: worker }, opens] = await Promise.all([
    startService(['worker'], env),
    startService(codec, env),
  ]);
  const adminUrl = text(sandbox.ready['adminUrl']);
  list([
    `Temporal UI  ${uiUrl}`,
    `codec        ${text(opens.ready['endpoint'])} (set it as the codec endpoint of the UI)`,
    `sandbox      ${env.CAMBIST_BASE_URL}`,
    `worker       process ${worker.pid}`,
  ]);
  return { env, folder, adminUrl, uiUrl, worker };
}

/** @param {Stage} stage */
async function showConvert(stage) {
  title('First run: the reply to a trade is lost');
  tell('The policy sells 1,000 dollars for pesos, waits until they are there, and pays a supplier.');
  tell(
    'The sandbox will book the trade and drop the connection without a word. Trading again would trade twice.',
  );
  await admin(stage, 'POST', '/faults', {
    id: 'lost',
    operation: 'createTrade',
    times: 1,
    effect: { kind: 'lose-reply' },
  });
  await cambist(stage, ['run', 'policies/mxn-supplier.yaml']);
  await tellAccident(stage, { fault: 'lost', what: 'booked; connection dropped', look: 'listTrades' });
  tell('Sent once: the trade was found in the list of trades, by its reference, and taken as done.');

  title('Second run: the worker is killed while a payment is under way');
  tell(
    'The policy buys 12,500 euros and pays an invoice. The sandbox books the withdrawal and holds its reply back;',
  );
  tell('at that moment the worker gets SIGKILL. No program of ours knows that the money has left.');
  await admin(stage, 'POST', '/faults', {
    id: 'held',
    operation: 'createWithdrawal',
    times: 1,
    effect: { kind: 'hold', when: 'after' },
  });
  const run = cambist(stage, ['run', 'policies/eur-invoice.yaml']);
  run.catch(() => {});
  await untilHeld(stage, run);
  const { worker } = stage;
  worker.kill('SIGKILL');
  await once(worker, 'exit');
  tell(`Killed process ${worker.pid}. A new worker takes over; Temporal gives it the run within seconds.`);
  await admin(stage, 'DELETE', '/faults');
  ({ child: stage.worker } = await startService(['worker'], stage.env));
  await run;
  await tellAccident(stage, {
    fault: 'held',
    what: 'booked; reply held back, worker killed',
    look: 'listWithdrawals',
  });
  tell('Sent once: before it sent anything, the new worker looked, and found the withdrawal by its tag.');

  title("The sandbox's own ledger");
  await checkLedger(stage, ['mxn-supplier', 'eur-invoice']);
  tell('One trade and one withdrawal for each run, the same as in the reports. Nothing twice: checked.');
}

/** @param {Stage} stage */
async function showRebalancing(stage) {
  title('A rebalancing day: the schedule starts it, and a second start sends nothing');
  tell('A treasury has a target for each currency. This morning there are too many pesos, which the policy');
  tell('sells for dollars, and too few euros, pounds and reais, which it buys.');
  await admin(stage, 'PUT', '/balances', {
    balances: { USD: '607700', EUR: '180000', GBP: '10000', MXN: '3426200', BRL: '0' },
  });
  await cambist(stage, ['schedule', 'apply', 'policies/daily-treasury.yaml']);
  tell('Temporal starts it from now on, every weekday at 09:30 in Paris. The demo does not wait for that:');
  const trigger = ['schedule', 'trigger', 'daily-treasury'];
  await cambist(stage, trigger);
  const trades = await tradesOf(stage);
  tell('The same once more, as if the schedule came late, or a person had not looked:');
  await cambist(stage, trigger, { shows: 'remarks' });
  const afterwards = await tradesOf(stage);
  const { run } = JSON.parse(await ask(stage, ['list', '--json'])).runs.find(
    (/** @type {{ run: string }} */ known) => known.run.startsWith('daily-treasury.'),
  );
  const report = JSON.parse(await ask(stage, ['report', run, '--json']));
  const reported = report.legs.map((/** @type {{ tradeId: string }} */ leg) => leg.tradeId);
  const booked = afterwards.map(({ id }) => id);
  if (
    report.status !== 'COMPLETED' ||
    trades.length !== afterwards.length ||
    booked.toSorted().join() !== reported.toSorted().join()
  )
    throw new ScriptFailed(
      `${run}: ${trades.length} trades, then ${booked.join(', ')}; reported ${reported.join(', ')}, ${report.status}`,
    );
  tell(
    "In the sandbox's own ledger there is one trade for each currency, the same as in the report: checked.",
  );
  for (const trade of afterwards) listTrade(trade);
}

/** @param {Stage} stage */
async function showPayout(stage) {
  const { payments: count } = stage;
  const isLarge = count >= MANY_PAYMENTS;
  const every = isLarge ? 50 : 20;
  const kills = isLarge ? [1 / 3, 2 / 3] : [1 / 2];
  const killed = isLarge ? 'two workers are killed' : 'the worker is killed half-way';
  title(`A batch of ${count} payments: every ${every}th reply is lost, and ${killed}`);
  tell(
    `A file of ${count} payments in three currencies. There are no pesos: what is missing is bought in one trade.`,
  );
  await admin(stage, 'PUT', '/balances', { balances: { USD: '2000000', EUR: '1000000', MXN: '0' } });
  const payments = Array.from({ length: count }, (_, index) => {
    const [account, currency] = PAYEES[index % PAYEES.length] ?? [];
    return { id: `inv-${index + 1}`, account, currency, amount: `${50 + (index % 100)}.50` };
  });
  const rows = payments.map(({ id, account, currency, amount }) => [id, account, currency, amount].join(','));
  const file = join(stage.folder, 'contractors.csv');
  writeFileSync(file, `ref,account,ccy,amount\n${rows.join('\n')}\n`);
  await admin(stage, 'POST', '/faults', {
    id: 'lost',
    operation: 'createWithdrawal',
    every,
    effect: { kind: 'lose-reply' },
  });
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'Europe/Paris' }).format(new Date());
  const name = `contractors.${today}-demo`;
  const run = cambist(stage, [
    ...['run', 'policies/contractors.yaml', '--batch', file, '--id', `${today}-demo`],
    ...['--expect-count', String(count)],
  ]);
  run.catch(() => {});
  const booked = () => withdrawalsOf(stage, name);
  for (const part of kills) {
    const untilBooked = async () => {
      while ((await booked()).length < count * part) await Promise.race([sleep(isLarge ? 1_000 : 100), run]);
    };
    await within(`${Math.round(100 * part)} % of the batch`, untilBooked, limitOf(stage));
    stage.worker.kill('SIGKILL');
    await once(stage.worker, 'exit');
    tell(
      `Killed process ${stage.worker.pid} after ${(await booked()).length} payments. A new worker takes over.`,
    );
    ({ child: stage.worker } = await startService(['worker'], stage.env));
  }
  await run;
  await admin(stage, 'DELETE', '/faults');
  const paid = (await booked()).map(({ metadata, withdrawalAccountId, currency, withdrawalAmount }) =>
    [metadata?.cambist, withdrawalAccountId, currency, Number(withdrawalAmount)].join(' '),
  );
  const wanted = payments.map(({ id, account, currency, amount }) =>
    [`${name}.${id}`, account, currency, Number(amount)].join(' '),
  );
  if (paid.toSorted().join() !== wanted.toSorted().join())
    throw new ScriptFailed(`${paid.length} payments are booked, and they are not those of the file.`);
  tell(`In the sandbox's own ledger each of the ${count} payments is there once, to the cent: checked.`);
}

/** @param {Stage} stage */
async function showAttack(stage) {
  title('An attack: a stranger with the Temporal namespace tries to pay himself');
  tell('He may do everything in Temporal, and has neither the key of the service nor the file of keys.');
  tell(
    'He starts a run under a name of ours, with a policy of his own that pays 50,000 dollars to his account.',
  );
  const { trades, withdrawals } = /** @type {Ledger} */ (await admin(stage, 'GET', '/ledger'));
  const { Client, Connection } = await import('@temporalio/client');
  const connection = await Connection.connect({ address: text(stage.env['TEMPORAL_ADDRESS']) });
  try {
    const id = `${new Date().toISOString().slice(0, 10)}-bonus`;
    const run = { policy: 'mxn-supplier', id };
    const policyText = readFileSync(join(ROOT, 'policies/mxn-supplier.yaml'), 'utf8')
      .replace('"1000.00"', '"50000.00"')
      .replace(/account: \S+/, 'account: wac_U5DFedw1re9');
    const input = { run, mode: 'SANDBOX', policyText, policyHash: '', policyFile: 'his.yaml', files: {} };
    const handle = await new Client({ connection }).workflow.start('run', {
      taskQueue: 'cambist-sandbox',
      workflowId: `sandbox/${run.policy}.${id}`,
      args: [{ ...input, startedBy: 'the CFO' }],
    });
    // What it says is sealed, so that he cannot even read why.
    await within('The run of the stranger', () => handle.result().catch(() => {}));
    const { events } = await handle.fetchHistory();
    const { failure } = events?.at(-1)?.workflowExecutionFailedEventAttributes ?? {};
    const end = failure?.applicationFailureInfo?.type ?? 'in another way';
    if (end !== 'INPUT_INVALID') throw new ScriptFailed(`The run of the stranger ended otherwise: ${end}.`);
    tell(`Refused (${end}): no key of ours has sealed it for this run, so a worker reads nothing in it.`);
  } finally {
    await connection.close();
  }
  const after = /** @type {Ledger} */ (await admin(stage, 'GET', '/ledger'));
  const made = after.trades.length + after.withdrawals.length - trades.length - withdrawals.length;
  if (made !== 0) throw new ScriptFailed(`The attack has made ${made} entries in the ledger.`);
  tell("In the sandbox's own ledger there is no new entry: checked.");
}

/**
 * @param {Stage} stage
 * @param {string} run
 */
async function withdrawalsOf(stage, run) {
  const { withdrawals } = /** @type {Ledger} */ (await admin(stage, 'GET', '/ledger'));
  return withdrawals.filter(({ metadata }) => metadata?.cambist?.startsWith(`${run}.`));
}

/**
 * @param {Stage} stage
 * @returns {Promise<Trade[]>} those of the treasury, oldest first
 */
async function tradesOf(stage) {
  const { trades } = /** @type {Ledger} */ (await admin(stage, 'GET', '/ledger'));
  return trades.filter((trade) => trade.clientReferenceId.startsWith('daily-treasury.')).toReversed();
}

/** @param {Trade} trade */
function listTrade(trade) {
  const [sold, bought] =
    trade.sellAmount === undefined
      ? [trade.executedAmount, trade.buyAmount]
      : [trade.sellAmount, trade.executedAmount];
  const amounts = `${sold} ${trade.sellCurrency} for ${bought} ${trade.buyCurrency}`;
  list([`trade       ${amounts.padEnd(34)}  ${trade.clientReferenceId}`]);
}

/**
 * Waits until the sandbox holds the reply back. The run is watched too: it must not end before.
 *
 * @param {Stage} stage
 * @param {Promise<void>} run
 */
async function untilHeld(stage, run) {
  const isHeld = async () => {
    const { faults } = /** @type {{ faults: { id: string, hits: number }[] }} */ (
      await admin(stage, 'GET', '/faults')
    );
    return faults.some(({ id, hits }) => id === 'held' && hits > 0);
  };
  let ended = false;
  const over = run.finally(() => {
    ended = true;
  });
  over.catch(() => {});
  await within('The payment of the second run', async () => {
    while (!(await isHeld())) {
      if (ended) throw new ScriptFailed('The second run ended before its payment was held.');
      await sleep(20);
    }
  });
}

/**
 * What the ledger says must be one trade and one withdrawal for each policy, and the same as in the reports.
 *
 * @param {Stage} stage
 * @param {string[]} policies
 */
async function checkLedger(stage, policies) {
  const ledger = /** @type {Ledger} */ (await admin(stage, 'GET', '/ledger'));
  const { runs } = JSON.parse(await ask(stage, ['list', '--json']));
  const wrong = [];
  for (const policy of policies) {
    const trades = ledger.trades.filter((trade) => trade.clientReferenceId.startsWith(`${policy}.`));
    const withdrawals = ledger.withdrawals.filter(({ metadata }) =>
      metadata?.cambist?.startsWith(`${policy}.`),
    );
    for (const trade of trades) listTrade(trade);
    for (const withdrawal of withdrawals) {
      const amount = `${withdrawal.withdrawalAmount} ${withdrawal.currency} to ${withdrawal.withdrawalAccountId}`;
      list([`withdrawal  ${amount.padEnd(34)}  ${withdrawal.metadata?.cambist}`]);
    }
    const { run } = runs.find((/** @type {{ run: string }} */ known) => known.run.startsWith(`${policy}.`));
    const report = JSON.parse(await ask(stage, ['report', run, '--json']));
    const booked = [trades, withdrawals].map((records) => records.map(({ id }) => id).join(' and '));
    const reported = [report.legs[0]?.tradeId, report.payments[0]?.withdrawalId];
    if (booked[0] !== reported[0] || booked[1] !== reported[1] || report.status !== 'COMPLETED')
      wrong.push(
        `${run}: booked ${booked.join(', ') || 'nothing'}; reported ${reported.join(', ')}, ${report.status}`,
      );
  }
  const records = ledger.trades.length + ledger.withdrawals.length;
  if (records !== 2 * policies.length) wrong.push(`${records} records where ${2 * policies.length} are due`);
  if (wrong.length > 0) throw new ScriptFailed(`The ledger is not what it has to be.\n${wrong.join('\n')}`);
}

/**
 * The write that the fault hit, and how we learned of its fate, from the sandbox's request log.
 *
 * @param {Stage} stage
 * @param {{ fault: string, what: string, look: string }} accident the fault's id, what it did, and the list that told
 */
async function tellAccident(stage, { fault, what, look }) {
  const { requests } = /** @type {{ requests: LoggedRequest[] }} */ (await admin(stage, 'GET', '/requests'));
  const hit = requests.find(({ faults }) => faults.includes(fault));
  if (hit === undefined) throw new ScriptFailed(`The fault '${fault}' has hit no request.`);
  const sends = requests.filter(({ idempotencyKey }) => idempotencyKey === hit.idempotencyKey);
  const next = requests.find(({ seq, operation }) => seq > hit.seq && operation === look);
  if (sends.length !== 1 || next === undefined)
    throw new ScriptFailed(
      `${hit.operation} was sent ${sends.length} times, ${look} asked ${next ? 'after it' : 'never'}.`,
    );
  tell("From the sandbox's request log:");
  list([`${hit.operation.padEnd(16)}  ${what}`, `${next.operation.padEnd(16)}  it is there`]);
}

/**
 * A process that serves until it is ended, once it has printed that it is ready.
 *
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ child: ChildProcess, ready: Record<string, unknown> }>}
 */
async function startService(args, env) {
  const child = start([...args, '--json'], env);
  const output = readAll(child.stderr);
  const line = new Promise((/** @type {(line: string | null) => void} */ resolve) => {
    createInterface({ input: orThrow(child.stdout) }).once('line', resolve);
    child.once('close', () => resolve(null));
  });
  const ready = await within(`'cambist ${args[0]}'`, () => line);
  if (ready === null) throw new ScriptFailed(`'cambist ${args[0]}' did not start.\n${await output}`);
  return { child, ready: JSON.parse(ready) };
}

/**
 * Runs a command to its end and shows what it prints, as a person would see it.
 *
 * @param {Stage} stage
 * @param {string[]} args
 * @param {{ shows: 'answer' | 'remarks' }} [what] its standard output, or what it says beside it
 */
async function cambist(stage, args, { shows } = { shows: 'answer' }) {
  process.stdout.write(`\n  $ npx cambist ${args.join(' ')}\n`);
  const child = start(args, stage.env);
  const output = readAll(child.stderr);
  createInterface({ input: orThrow(shows === 'answer' ? child.stdout : child.stderr) }).on('line', (line) =>
    process.stdout.write(`${`  │ ${line}`.trimEnd()}\n`),
  );
  if (shows === 'remarks') child.stdout?.resume();
  const [code] = await within(`'cambist ${args.join(' ')}'`, () => once(child, 'close'), limitOf(stage));
  if (code !== 0) throw new ScriptFailed(`'cambist ${args.join(' ')}' ended with ${code}.\n${await output}`);
  process.stdout.write('\n');
}

/**
 * The standard output of a command.
 *
 * @param {Pick<Stage, 'env'>} stage
 * @param {string[]} args
 */
async function ask(stage, args) {
  const child = start(args, stage.env);
  const [printed, output] = [readAll(child.stdout), readAll(child.stderr)];
  const [code] = await within(`'cambist ${args.join(' ')}'`, () => once(child, 'close'));
  if (code !== 0) throw new ScriptFailed(`'cambist ${args.join(' ')}' ended with ${code}.\n${await output}`);
  return printed;
}

/**
 * Ctrl-C reaches this process only, which then ends the others in order.
 *
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function start(args, env) {
  if (isEnding) throw new ScriptFailed('Stopped.');
  const child = spawn(process.execPath, [CAMBIST, ...args], {
    cwd: ROOT,
    env,
    ...OWN_GROUP,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Ends what is still running, the youngest first: the worker before what it works with. */
async function endAll() {
  isEnding = true;
  for (const child of [...children].toReversed()) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    // With what it has started itself, such as the server behind `cambist temporal`.
    const late = setTimeout(() => killGroup(child), 5_000);
    await ended;
    clearTimeout(late);
  }
}

/**
 * @param {Stage} stage
 * @param {AbortSignal} stopped
 */
async function linger(stage, stopped) {
  title('Everything stays up until Ctrl-C');
  tell('In another terminal, in this folder:');
  const names = [
    'CAMBIST_BASE_URL',
    'CAMBIST_KEY_FILE',
    'CAMBIST_APP_MODE',
    'CAMBIST_UI_URL',
    'CAMBIST_SEAL_KEYS',
    'TEMPORAL_ADDRESS',
  ];
  list(names.map((name) => `export ${name}=${stage.env[name]}`));
  list(['npx cambist list', 'npx cambist run policies/mxn-supplier.yaml', `curl ${stage.adminUrl}/ledger`]);
  if (!stopped.aborted)
    await new Promise((resolve) => stopped.addEventListener('abort', resolve, { once: true }));
}

/**
 * The admin interface of the sandbox.
 *
 * @param {Stage} stage
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<unknown>}
 */
async function admin({ adminUrl }, method, path, body) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${adminUrl}${path}`, { method, ...sent });
  if (!response.ok) throw new ScriptFailed(`The sandbox refused ${method} ${path}: ${await response.text()}`);
  return response.json();
}

/** The environment without what configures Cambist or Temporal: the demo must not touch what these name. */
function withoutConfiguration() {
  const others = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('CAMBIST_') && !name.startsWith('TEMPORAL_'),
  );
  return Object.fromEntries(others);
}

/** @param {Pick<Stage, 'payments'>} stage */
function limitOf({ payments }) {
  return STEP_LIMIT_MS + payments * PAYMENT_LIMIT_MS;
}

/**
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 * @param {number} [limitMs]
 */
async function within(what, work, limitMs = STEP_LIMIT_MS) {
  const over = new AbortController();
  const late = sleep(limitMs, undefined, { signal: over.signal }).then(() => {
    throw new ScriptFailed(`${what} took longer than ${limitMs / 1_000} s.`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([work(), late]);
  } finally {
    over.abort();
  }
}

/**
 * @template T
 * @param {AbortSignal} stopped
 * @param {Promise<T>} work
 * @returns {Promise<T>}
 */
async function untilStopped(stopped, work) {
  /** @type {Promise<never>} */
  const end = new Promise((_resolve, reject) => {
    stopped.addEventListener('abort', () => reject(new ScriptFailed('Stopped.')), { once: true });
  });
  end.catch(() => {});
  work.catch(() => {});
  return Promise.race([work, end]);
}

/** @param {import('node:stream').Readable | null} stream */
async function readAll(stream) {
  let all = '';
  for await (const chunk of orThrow(stream).setEncoding('utf8')) all += chunk;
  return all;
}

/**
 * @template T
 * @param {T | null} value
 */
function orThrow(value) {
  if (value === null) throw new TypeError('A pipe is missing.');
  return value;
}

/** @param {unknown} value */
function text(value) {
  return typeof value === 'string' ? value : '';
}

/** @param {string} line */
function title(line) {
  process.stdout.write(`\n${line}\n${'-'.repeat(line.length)}\n`);
}

/** @param {string} line */
function tell(line) {
  process.stdout.write(`${line}\n`);
}

/** @param {string[]} lines */
function list(lines) {
  for (const line of lines) process.stdout.write(`  ${line}\n`);
}
