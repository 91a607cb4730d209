// The admin interface over HTTP, on a loopback port of its own: JSON in, JSON out, one route per control.

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import { BadInput, anything, count, filledText, flag, listOf, objectOf, shape, whole } from './checks.ts';
import type { BookSelector, SandboxControls } from './controls.ts';
import { selectorCheck } from './controls.ts';
import type { SandboxAccount } from './default-accounts.ts';
import type { SandboxFault } from './fault-kinds.ts';
import type { SandboxKey } from './records.ts';
import type { SettingsPatch } from './settings.ts';

interface AdminRequest {
  readonly body: unknown;
  readonly query: URLSearchParams;
  /** The `{id}` of the path. */
  readonly id: string;
}

type AdminAction = (controls: SandboxControls, request: AdminRequest) => unknown;

const selector = { organization: anything, mode: anything };
const balancesBody = shape({ balances: anything }, selector);
const depositBody = shape({ currency: anything, amount: anything }, selector);
const accountsBody = shape({ accounts: listOf(anything) }, selector);
const ratesBody = shape({ rates: anything }, {});
const clockBody = shape({}, { offsetMs: whole, frozen: flag, at: count });
const advanceBody = shape({ ms: whole }, {});
const statusBody = shape({ status: filledText }, { money: anything });

/** Method and path to what is done; the README's table mirrors this one. */
export const adminRoutes: Readonly<Record<string, AdminAction>> = {
  'GET /state': (controls) => controls.state(),
  'GET /ledger': (controls, { query }) => controls.ledger(bookIn(Object.fromEntries(query))),
  'GET /requests': (controls, { query }) => ({
    requests: controls.requests(Number(query.get('after') ?? 0)),
  }),
  'PUT /balances': (controls, { body }) => {
    const { balances, ...book } = balancesBody(body, 'body');
    controls.setBalances(balances as Record<string, string>, bookIn(book));
    return controls.ledger(bookIn(book)).balances;
  },
  'POST /deposits': (controls, { body }) => {
    const { currency, amount, ...book } = depositBody(body, 'body');
    return {
      id: controls.deposit({ currency, amount } as { currency: string; amount: string }, bookIn(book)),
    };
  },
  'PUT /rates': (controls, { body }) => {
    controls.setRates(ratesBody(body, 'body').rates as Record<string, string>);
    return { rates: controls.state()['rates'] };
  },
  'PUT /accounts': (controls, { body }) => {
    const { accounts, ...book } = accountsBody(body, 'body');
    controls.putAccounts(accounts as SandboxAccount[], bookIn(book));
    return { accounts };
  },
  'PUT /keys': (controls, { body }) => {
    controls.putKey(body as SandboxKey);
    return { keys: controls.state()['keys'] };
  },
  'GET /settings': (controls) => controls.settings(),
  'PUT /settings': (controls, { body }) => {
    controls.setSettings(body as SettingsPatch);
    return controls.settings();
  },
  'GET /clock': (controls) => controls.state()['clock'],
  'PUT /clock': (controls, { body }) => {
    const { offsetMs, frozen, at } = clockBody(body, 'body');
    if (at !== undefined && frozen !== true) throw new BadInput('body.at needs "frozen": true.');
    if (offsetMs !== undefined) controls.clock.setOffset(offsetMs);
    if (frozen === true) controls.clock.freeze(at);
    if (frozen === false) controls.clock.resume();
    return controls.state()['clock'];
  },
  'POST /clock/advance': (controls, { body }) => {
    controls.clock.advance(advanceBody(body, 'body').ms);
    return controls.state()['clock'];
  },
  'GET /faults': (controls) => ({ faults: controls.faults() }),
  'POST /faults': (controls, { body }) => {
    const faults = Array.isArray(body) ? (body as SandboxFault[]) : [body as SandboxFault];
    return { ids: faults.map((fault) => controls.addFault(fault)) };
  },
  'DELETE /faults': (controls) => {
    controls.clearFaults();
    return { faults: [] };
  },
  'DELETE /faults/{id}': (controls, { id }) => {
    controls.clearFaults(id);
    return { faults: controls.faults() };
  },
  'POST /faults/release': (controls) => ({ released: controls.releaseFaults() }),
  'POST /faults/{id}/release': (controls, { id }) => ({ released: controls.releaseFaults(id) }),
  'PUT /records/{id}/status': (controls, { id, body }) => {
    const { status, money } = statusBody(body, 'body');
    controls.setStatus({
      id,
      status,
      ...(money === undefined ? {} : { money: money as 'kept' | 'returned' }),
    });
    return { id, status };
  },
};

export function createAdminServer(controls: SandboxControls): Server {
  return createServer((request, response) => {
    void serve(controls, request, response);
  });
}

async function serve(
  controls: SandboxControls,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let status = 200;
  let result: unknown;
  try {
    refuseForeign(request);
    result = await act(controls, request);
  } catch (error) {
    status = error instanceof NoSuchRoute ? 404 : error instanceof BadInput ? 400 : 500;
    result = { error: { message: error instanceof Error ? error.message : String(error) } };
  }
  const body = JSON.stringify(result ?? {});
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

class NoSuchRoute extends Error {}

/** A page in a browser must not be able to reach this port under another name, or by a form. */
function refuseForeign(request: IncomingMessage): void {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  if (host !== '127.0.0.1' && host !== 'localhost')
    throw new BadInput(`The host "${host}" is not this machine.`);
  if (request.headers.origin !== undefined) throw new BadInput('Requests from web pages are refused.');
}

async function act(controls: SandboxControls, request: IncomingMessage): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const exact = adminRoutes[`${request.method} ${pathname}`];
  const parts = pathname.split('/');
  const id = decodeURIComponent(parts[2] ?? '');
  const general =
    adminRoutes[`${request.method} ${[...parts.slice(0, 2), '{id}', ...parts.slice(3)].join('/')}`];
  const action = exact ?? (id === '' ? undefined : general);
  if (action === undefined) {
    const known = Object.keys(adminRoutes).join(', ');
    throw new NoSuchRoute(`There is no ${request.method} ${pathname}; there is ${known}.`);
  }
  return action(controls, { body: await readJson(request), query: searchParams, id });
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  if (text === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new BadInput('The body is not JSON.');
  }
}

function bookIn(value: unknown): BookSelector {
  return selectorCheck(objectOf(value, 'body'), 'book');
}
