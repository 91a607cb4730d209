/**
 * Recorded histories of runs still replay: a worker can take over what another one began, also where nobody meant to change
 * a workflow. Where one changes on purpose, `test/support/record-histories.ts` records them again; those of a release are
 * never recorded again, and replay with every later version.
 */
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { changedReleases, historiesIn, historyFolders } from '../../scripts/lib/kept-histories.mjs';
import { ROOT, urlOf } from '../support/root.ts';
import { silenceRuntime } from '../support/silent-runtime.ts';

const FOLDER = urlOf('test/machines/histories/');
const BUNDLE = join(ROOT, 'dist/workflow-bundle.js');

type RecordedHistory = { readonly events: readonly Readonly<Record<string, unknown>>[] };

// What is replayed in vain below is logged as an error: expected.
silenceRuntime();

const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.json'));

async function read(name: string): Promise<string> {
  return readFile(new URL(name, FOLDER), 'utf8');
}

function replay(text: string): Promise<void> {
  const workflowId = /"workflowId":"([^"]+)"/.exec(text)?.[1];
  return Worker.runReplayHistory(
    { workflowBundle: { codePath: BUNDLE } },
    JSON.parse(text) as RecordedHistory,
    workflowId,
  );
}

/** The text of a history with its payloads readable. */
function readable(text: string): string {
  return text.replaceAll(
    /"data":"([A-Za-z0-9+/=]+)"/g,
    (_, data: string) => `"data":${Buffer.from(data, 'base64').toString('utf8')}`,
  );
}

/** What each kind of history holds, by which it is known to be one. */
const KINDS: Readonly<Record<string, RegExp>> = {
  happy: /"eventType":"EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED"/,
  requoted: /QUOTE_EXPIRED/,
  held: /SHORTFALL/,
  refused: /OUTSIDE_GUARD/,
  'refused-with-payment': /OUTSIDE_GUARD[^]*"name":"createWithdrawals"/,
  'in-doubt': /"reason":"doubt"/,
  late: /"eventType":"EVENT_TYPE_TIMER_FIRED"/,
  reset: /"resetWorkflowFailureInfo"/,
  cancelled: /"eventType":"EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED"/,
  'cancelled-reset': /"resetWorkflowFailureInfo"[^]*"kind":"cancelled"/,
  'cancelled-in-trade': /"eventType":"EVENT_TYPE_MARKER_RECORDED"/,
  'cancelled-instructions': /"kind":"cancel"/,
  'several-payments': /("name":"createWithdrawals"[^]*){3}/,
  'paid-again': /supplier~9/,
  'paid-again-instructions': /"kind":"pay again"/,
  resolved: /IDEMPOTENCY_MISMATCH[^]*DECIDED_NOT_EXECUTED/,
  'continued-from': /"eventType":"EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW"/,
  continued: /"continuedExecutionRunId":"[^"]/,
  rebalanced: /eur-usd-1[^]*usd-gbp-1/,
  'quiet-plan': /"eventType":"EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED"/,
  'batch-of-one-chunk': /"callSize":36[^]*("name":"createWithdrawals"[^]*){2}/,
  instead: /"insteadOf":"/,
  'instead-plan': /INSTEAD_WAITS[^]*"safeAtMs":\d/,
  superseded: /"resetWorkflowFailureInfo"[^]*took the place of this one/,
  scheduled: /"name":"startScheduled"[^]*"kind":"started"/,
  turn: /"name":"take"[^]*"signalName":"giveBack"/,
  'unseen-plan': /"kind":"wait"/,
  'killed-unscheduled': /"eventType":"EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT"/,
  'killed-in-trade': /"activityTaskStartedEventAttributes":.*"attempt":2/,
  'killed-in-withdrawal': /"activityTaskStartedEventAttributes":.*"attempt":2/,
  'killed-unreported': /"activityTaskStartedEventAttributes":.*"attempt":2/,
};

for (const [kind, mark] of Object.entries(KINDS))
  test(`there is a history of the kind ${kind}`, async () => {
    assert.match(readable(await read(`${kind}.json`)), mark);
  });

for (const name of names) {
  test(`${name} replays`, async () => {
    await replay(await read(name));
  });

  test(`${name} holds nothing of the machine that it was recorded on`, async () => {
    const text = readable(await read(name));
    for (const trace of [
      /node_modules/,
      /file:\/\//,
      /\/(?:home|Users|root|work|tmp|usr|var)\//,
      /\bat \S+ \(/,
    ])
      assert.doesNotMatch(text, trace);
    assert.doesNotMatch(text, /"identity":"(?!recorder"|history-service")/);
    assert.doesNotMatch(text, /PRIVATE KEY|Bearer |eyJhbGciOiJFUzI1NiIs/);
  });
}

test('the histories of each release are as they were kept', () => {
  assert.deepEqual(changedReleases(), []);
});

for (const { version, folder } of historyFolders())
  if (version !== null)
    test(`every history of release ${version} replays`, async () => {
      const workflowBundle = { codePath: BUNDLE };
      const refused: string[] = [];
      for await (const { workflowId, error } of Worker.runReplayHistories(
        { workflowBundle },
        historiesIn(folder),
      ))
        if (error !== undefined) refused.push(`${workflowId}: ${String(error)}`);
      assert.deepEqual(refused, []);
    });

/** A history that another workflow would have made. */
const INCOMPATIBLE: readonly (readonly [string, string, string])[] = [
  ['an activity of another name', '"name":"executeTrade"', '"name":"tradeQuote"'],
  ['the trade before the quote', '"name":"requestQuote"', '"name":"executeTrade"'],
];

for (const [what, ours, theirs] of INCOMPATIBLE)
  test(`a history with ${what} is found not to fit`, async () => {
    const text = await read('happy.json');
    assert.ok(text.includes(ours));
    await assert.rejects(replay(text.replaceAll(ours, theirs)), DeterminismViolationError);
  });
