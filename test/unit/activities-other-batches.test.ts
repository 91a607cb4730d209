/** Whether another batch has paid a payment: only what the service says now ends or refuses one (M3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deps } from '../../activities/deps.ts';
import { askOthers, findNewOthers, findOthers } from '../../activities/claims.ts';
import type { Holders } from '../../domain/run/claims.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import { done, failed, NOW, RUN, WITHDRAWAL } from '../support/scripts.ts';
import { NO_OTHER_RUNS, inActivity, worker } from '../support/activities.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const OTHER = 'p.2026-11-20';
const NOBODY: Holders = { held: new Map(), silent: null };
const ASKED = { mode: 'SANDBOX', run: RUN, names: ['a'], sinceMs: NOW - 30 * DAY_MS } as const;

function recordOf(id: string, agoMs: number, more: Partial<Withdrawal> = {}): Withdrawal {
  return { ...WITHDRAWAL, id, tag: null, createdAt: new Date(NOW - agoMs).toISOString(), ...more };
}

/** The service's list: a page that later scans read, and an older page, which has the record of another batch. */
class List {
  status = 'PENDING';
  isShown = true;
  isAway = false;
  nowMs = 0;
  holders = NOBODY;
  readonly #worker = worker(
    {
      listWithdrawals: async ({ startingAfter } = {}) => {
        if (this.isAway) return failed('INTERNAL_ERROR');
        const older = recordOf('wtd_2', 2 * DAY_MS, { tag: `${OTHER}.a`, status: this.status });
        const items = startingAfter === undefined ? [recordOf('wtd_3', DAY_MS)] : this.isShown ? [older] : [];
        return done({ items, nextCursor: startingAfter === undefined ? 'older' : null, prevCursor: null });
      },
    },
    {
      clock: { wallMs: () => NOW + this.nowMs, monotonicMs: () => this.nowMs },
      claims: { ...NO_OTHER_RUNS, holders: async () => this.holders },
    },
  );

  get scans(): number {
    return this.#worker.sent('listWithdrawals').length;
  }

  /** The run that has payment `a`, or the code of what is waited for; null: nobody has it. */
  async payer(find: (deps: Deps) => ReturnType<typeof findOthers> = (deps) => findOthers(deps, ASKED)) {
    return inActivity({}, async () => {
      const found = await find(this.#worker.deps);
      const held = 'wait' in found ? found : await askOthers(this.#worker.deps, ASKED, found);
      return 'wait' in held ? held.wait.problem.code : (held.get('a') ?? null);
    });
  }

  found(): ReturnType<typeof findOthers> {
    return inActivity({}, () => findOthers(this.#worker.deps, ASKED));
  }
}

test('a payment that another batch has paid may be paid as soon as the service says that it came back', async () => {
  const list = new List();
  assert.equal(await list.payer(), OTHER);
  list.nowMs += 5 * MINUTE_MS;
  list.status = 'FAILED';
  assert.equal(await list.payer(), null, 'whatever was read of it five minutes ago');
  list.nowMs += MINUTE_MS;
  list.status = 'COMPLETED';
  assert.equal(await list.payer(), OTHER);
});

test('a chunk of another batch holds a payment only while its record may pay', async () => {
  const list = new List();
  list.holders = { held: new Map([['a', { run: OTHER, withdrawalId: 'wtd_2' }]]), silent: null };
  assert.equal(await list.payer(), OTHER);
  list.nowMs += MINUTE_MS;
  list.status = 'FAILED';
  assert.equal(await list.payer(), null);
  list.holders = { held: new Map([['a', { run: OTHER, withdrawalId: null }]]), silent: null };
  assert.equal(await list.payer(), OTHER, 'it may still send');
});

test('what was found before a turn is judged in the turn, by what the service says then', async () => {
  const list = new List();
  const before = await list.found();
  assert.ok(!('wait' in before));
  list.nowMs += 9 * MINUTE_MS;
  list.status = 'FAILED';
  assert.equal(await list.payer((deps) => findNewOthers(deps, ASKED, before)), null);
});

test('a record that the list does not show any more still counts, and a list that cannot be read proves nothing', async () => {
  const list = new List();
  const before = await list.found();
  assert.ok(!('wait' in before));
  list.nowMs += MINUTE_MS;
  list.isShown = false;
  assert.equal(await list.payer(async () => before), OTHER);
  list.nowMs += MINUTE_MS;
  list.isAway = true;
  assert.equal(await list.payer(async () => before), 'LOOKUP_INCOMPLETE');
});

test('the list is not read once more for a status that was read a moment ago, or for nobody', async () => {
  const list = new List();
  await list.payer();
  assert.equal(list.scans, 2, 'the two pages of the search');
  list.nowMs += MINUTE_MS;
  const none = { beganAtMs: NOW, suspects: [], records: new Map() };
  assert.equal(await list.payer(async () => none), null);
  assert.equal(list.scans, 2);
});
