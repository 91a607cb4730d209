/** `cambist up` with a file of keys: the other commands seal too, and its Temporal UI is told where it is opened. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, Connection } from '@temporalio/client';
import { assertExit, commandProcess, reportOf } from '../support/commands.ts';
import { MXN_ACCOUNT } from '../support/policies.ts';
import { ROOT } from '../support/root.ts';
import { openUpPlace, readyOf, startUp } from '../support/up.ts';

test(
  'a run of `up` with keys is sealed in Temporal, and its UI has it opened for people',
  { timeout: 600_000 },
  async (t) => {
    const opened = openUpPlace((close) => t.after(close));
    assertExit(await commandProcess(opened, ['keys', 'new', 'seal.json']), 0);
    const place = { ...opened, env: { ...opened.env, CAMBIST_SEAL_KEYS: 'seal.json' } };
    const { temporal } = await readyOf(startUp(place));
    // The others find the file by what `up` has left.
    const policy = join(ROOT, 'policies/mxn-supplier.yaml');
    const ended = await commandProcess(opened, ['run', policy, '--wait', '--json']);
    assertExit(ended, 0);
    const { workflowId } = reportOf(ended);

    const connection = await Connection.connect({ address: temporal.address });
    t.after(() => connection.close());
    const { events } = await new Client({ connection }).workflow.getHandle(workflowId).fetchHistory();
    const kept = JSON.stringify(events, (_name, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    );
    assert.ok(kept.includes('mxn-supplier') && !kept.includes(MXN_ACCOUNT));

    const { uiUrl } = temporal;
    const settings = (await (await fetch(`${uiUrl}/api/v1/settings`)).json()) as {
      readonly Codec: { readonly Endpoint: string };
    };
    const sealed = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
    const names = Object.entries(sealed?.metadata ?? {}).map(([name, value]) => [name, base64(value)]);
    const json = {
      metadata: Object.fromEntries(names) as unknown,
      data: base64(sealed?.data ?? new Uint8Array()),
    };
    const answer = await fetch(`${settings.Codec.Endpoint}/decode`, {
      method: 'POST',
      headers: { origin: uiUrl, 'content-type': 'application/json', 'x-namespace': 'default' },
      body: JSON.stringify({ payloads: [json] }),
    });
    assert.equal(answer.headers.get('access-control-allow-origin'), uiUrl);
    const { payloads } = (await answer.json()) as { readonly payloads: readonly { readonly data: string }[] };
    const shown = Buffer.from(payloads[0]?.data ?? '', 'base64').toString();
    assert.ok(shown.includes(MXN_ACCOUNT), shown);
  },
);

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
