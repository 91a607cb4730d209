/** Why payments are not paid, or wait, in few words and with how many each. The page of codes says the rest. Pure. */
import type { ProblemCode } from '../../domain/problems.ts';

/** So many payments have this code. */
type Reason = { readonly code: string; readonly payments: number };

/** In few words. Another code stands for itself. */
const WORDS: Readonly<Record<string, string>> = {
  ACCOUNT_MISSING: 'account not registered',
  ACCOUNT_UNUSABLE: 'account not verified or closed',
  ACCOUNT_CURRENCY: 'wrong currency',
  CURRENCY_NOT_WITHDRAWABLE: 'currency not paid out',
  PAID_BY_ANOTHER_BATCH: 'paid by another batch',
  BATCH_STOPPED: 'batch stopped',
  CANCELLED: 'cancelled',
  WINDOW_PASSED: 'too late to send',
  WITHDRAWAL_FAILED: 'failed after it was accepted',
  IN_DOUBT: 'in doubt',
  LOOKS_PAID: 'looks paid already',
  WITHDRAWAL_INSUFFICIENT_BALANCE: 'money missing',
  WITHDRAWAL_PENDING_DEPOSIT_REQUIRED: 'deposit missing',
  WITHDRAWAL_ADDRESS_NOT_VERIFIED: 'account not verified',
  WITHDRAWAL_ACCOUNT_NOT_LIVE: 'account not live',
  WITHDRAWAL_ADDRESS_NOT_FOUND: 'account not found',
} satisfies Partial<Record<ProblemCode, string>>;

/** `135 account not verified or closed, 2 wrong currency`. @param all how many there are; the codes of some may be unknown */
export function reasonsText(reasons: readonly Reason[], all: number): string {
  const byWords = new Map<string, number>();
  for (const { code, payments } of reasons) {
    const words = WORDS[code] ?? code;
    byWords.set(words, (byWords.get(words) ?? 0) + payments);
  }
  const others = all - reasons.reduce((sum, { payments }) => sum + payments, 0);
  return [
    ...[...byWords].toSorted(([, a], [, b]) => b - a).map(([words, payments]) => `${payments} ${words}`),
    ...(others > 0 && byWords.size > 0 ? [`${others} for other reasons`] : []),
  ].join(', ');
}
