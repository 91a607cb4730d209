/** Of the judge: which writes people have halted, counted here once more from what they said. */
import type { Write } from './service.ts';
import type { World } from './world.ts';

/** A worker may go by what it has read for so long; then no write leaves that a halt stops. */
const HALTS_WITHIN_MS = 1_000;

/** What stops this write, although every worker must know it by now; null: nothing does. */
export function haltIn(
  { halts, gate, agenda }: World,
  policy: string,
  currencies: readonly string[],
): string | null {
  /** Since when it is halted, and which halt of its scope is the newest, by Temporal's clock. */
  const standing = new Map<string, { readonly sinceMs: number; readonly haltAtMs: number }>();
  const resumed = new Set<string>();
  for (const { word, scope, said, atMs, trueMs } of [...(gate?.seenAndLost ?? []), ...halts.words]) {
    const isOurs = scope.policy === null || scope.policy === policy;
    if (!isOurs || !(scope.currency === null || currencies.includes(scope.currency))) continue;
    const name = `${scope.policy ?? 'every policy'} in ${scope.currency ?? 'every currency'}`;
    const before = standing.get(name);
    if (word === 'resume') {
      const { haltAtMs } = said as { haltAtMs: number };
      resumed.add(`${name} ${haltAtMs}`);
      if (before?.haltAtMs === haltAtMs) standing.delete(name);
      continue;
    }
    // A worker may put back what a person has just taken back.
    const haltAtMs = word === 'halt' ? atMs : (said as { atMs: number }).atMs;
    if (resumed.has(`${name} ${haltAtMs}`)) continue;
    standing.set(name, { sinceMs: before?.sinceMs ?? trueMs, haltAtMs });
  }
  // A restore may have taken a resume away.
  const knownAtMs = agenda.nowMs - HALTS_WITHIN_MS;
  if (halts.backAtMs > knownAtMs) return null;
  for (const [name, { sinceMs }] of standing) if (sinceMs <= knownAtMs) return name;
  return null;
}

/** A leg belongs to both its currencies, which its name tells. */
export function currenciesOf(write: Write, id: string): readonly string[] {
  if (write.step === 'withdrawal') return [write.request.currency];
  const [sell = '', buy = ''] = id.toUpperCase().split('-');
  return [sell, buy];
}
