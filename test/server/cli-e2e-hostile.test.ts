/**
 * A service that answers with escape sequences and forged lines, end to end: every command about a run, as text and as
 * JSON, prints them as data.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertExit, command, putPolicy, startCommand, type Ended } from '../support/commands.ts';
import { openStage, type Stage } from '../support/stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
  await stage.startWorker();
});
after(() => stage.close());

const HOSTILE = '\u001b[2J\u009b31m\r\n12:00:00 payment supplier: PAID\u202e';
// oxlint-disable-next-line no-control-regex -- these are what must not come out
const OBEYED =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

function assertHarmless({ stdout, stderr }: Ended): void {
  for (const text of [stdout, stderr]) {
    assert.doesNotMatch(text, OBEYED);
    assert.doesNotMatch(text, /^12:00:00/m);
  }
}

test('codes and statuses with escapes and forged lines steer no terminal, whatever is asked', async () => {
  const policy = await putPolicy(stage);
  const error = { code: `EVIL${HOSTILE}`, type: HOSTILE, message: HOSTILE, retryStrategy: HOSTILE };
  stage.sandbox.addFault({
    operation: 'createWithdrawal',
    effect: { kind: 'error', status: 400, body: { error: { ...error, details: { reason: HOSTILE } } } },
  });
  const running = startCommand(stage, ['run', policy.file, '--wait']);
  await running.says(/payment supplier: .*waits/);
  const about = async (...argv: readonly string[]): Promise<void> => {
    for (const more of [[], ['--json']]) {
      // One command after the other.
      assertHarmless(await command(stage, [...argv, ...more]));
    }
  };
  await Promise.all([
    about('status', policy.runText),
    about('status'),
    about('list'),
    about('list', '--attention'),
    about('report', policy.runText),
    about('report', policy.runText, '--refresh'),
    about('plan', policy.file),
  ]);
  await about(
    'resolve',
    policy.runText,
    'supplier',
    '--not-executed',
    '--evidence',
    HOSTILE,
    '--by',
    `ana${HOSTILE}`,
  );
  await about('cancel', policy.runText, '--by', `ana${HOSTILE}`);
  stage.sandbox.clearFaults();
  assertHarmless(await stage.during(policy.workflowId, () => running.ended));
  await about('run', policy.file);

  const paid = await putPolicy(stage);
  const ran = await command(stage, ['run', paid.file, '--json']);
  assertExit(ran, 0);
  const { payments, legs } = JSON.parse(ran.stdout) as {
    payments: { withdrawalId: string }[];
    legs: { tradeId: string }[];
  };
  stage.sandbox.setStatus({ id: payments[0]?.withdrawalId ?? '', status: HOSTILE });
  stage.sandbox.setStatus({ id: legs[0]?.tradeId ?? '', status: HOSTILE });
  await about('report', paid.runText, '--refresh');
  await about('run', paid.file, '--pay-again', 'supplier', '--reason', HOSTILE, '--by', 'ana');
  await about('run', paid.file, '--id', `${paid.run.id}-second`);
});
