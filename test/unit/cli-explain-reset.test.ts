/** What `explain-reset` says of a reset, as text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainedText } from '../../cli/views/explain-reset-text.ts';
import type { ResetExplained } from '../../operations/replay/explain.ts';
import { goOnCommand } from '../../domain/replacement.ts';
import { againCommand } from '../../operations/decide/next-start.ts';
import type { ResetPoint } from '../../operations/replay/points.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const RUN = { policy: 'p', id: '2026-11-21' };

function pointOf(eventId: number, step = `Step ${eventId}`): ResetPoint {
  return {
    eventId,
    id: eventId as never,
    kind: 'WorkflowTaskCompleted',
    atMs: NOW_MS,
    step,
    isEndedBeside: false,
  };
}

function explainedOf(points: readonly ResetPoint[], more: Partial<ResetExplained> = {}): ResetExplained {
  const point = points.at(-1) ?? pointOf(4);
  return {
    run: 'p.2026-11-21',
    status: 'FAILED',
    zone: 'UTC',
    point,
    recommended: point,
    otherCommand: null,
    points,
    items: [],
    next: [],
    isUnplanned: true,
    safetyWait: null,
    said: [],
    ...more,
  };
}

function textOf(explained: ResetExplained): string {
  return explainedText(explained, { nowMs: NOW_MS, width: 500 });
}

test('a run that is cancelled is not told to replay, which refuses it, but what takes the cancel back', () => {
  const points = [pointOf(4), pointOf(10)];
  assert.match(textOf(explainedOf(points)), /^10 .*Step 10 \(`replay` takes it\)$/m);
  const text = textOf(explainedOf(points, { status: 'CANCELLED', otherCommand: goOnCommand(RUN) }));
  assert.match(text, /^p\.2026-11-21 is CANCELLED\. This is what a reset to event 10 does; /);
  assert.match(
    text,
    /`replay` refuses it\. Type instead: `npx cambist run POLICY --id 2026-11-21 --go-on`\./,
  );
  assert.doesNotMatch(text, /`replay` takes/);
  assert.match(text, /^10 .*Step 10$/m);
});

test('of a run that has no plan yet, no leg is named beside its safety wait', () => {
  const waiting = explainedOf([pointOf(4)], { safetyWait: { items: [], lastsMs: 77_000 } });
  assert.match(
    textOf(waiting),
    /^Safety wait: yes, if its plan trades something, about 77 s; the worker uses its own service file\.$/m,
  );
});

test('of very many events the first and the last are listed, and those that are spoken of', () => {
  const points = Array.from({ length: 100 }, (_, index) => pointOf(index + 1));
  const listed = (explained: ResetExplained): readonly string[] =>
    [...textOf(explained).matchAll(/^(\d+)  .*  Step/gm)].map(([, eventId = '']) => eventId);
  const ends = {
    first: '1 2 3 4 5 6 7 8 9 10'.split(' '),
    last: points.slice(-25).map((one) => `${one.eventId}`),
  };
  assert.deepEqual(listed(explainedOf(points)), [...ends.first, ...ends.last]);
  assert.match(textOf(explainedOf(points)), /^65 more in between; --json has them all$/m);
  assert.deepEqual(listed(explainedOf(points, { point: pointOf(42) })), [...ends.first, '42', ...ends.last]);
  assert.equal(listed(explainedOf(points.slice(0, 35))).length, 35);
});

test('what tries a run again is `replay`, and of a cancelled one `--go-on`', () => {
  assert.equal(againCommand(RUN, { status: 'FAILED' }), 'npx cambist replay p.2026-11-21');
  assert.equal(againCommand(RUN, { status: 'CANCELLED' }), 'npx cambist run POLICY --id 2026-11-21 --go-on');
});
