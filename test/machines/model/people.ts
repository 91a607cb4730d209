/**
 * People: what they say about a run, true or false, and what the commands do with it. A command takes three steps of time:
 * it looks, asks its person, and keeps what was said; meanwhile everything else goes on. Instructions are kept in Temporal
 * outside the run's own history; a run is woken when something was said.
 */
import { equal } from '../../../domain/money.ts';
import {
  newestCancel,
  newestSaid,
  type Instruction,
  type PaidAgain,
} from '../../../domain/people/instructions.ts';
import { hashOfList } from '../../../language/batch/chunk-hash.ts';
import { SUPERSEDED } from '../../../domain/replacement.ts';
import { acceptedOf, legOutcome, paymentOutcome, type LegRecord } from '../../../domain/run/items.ts';
import { generationIn } from './oracle.ts';
import { paymentsOf } from './ours.ts';
import type { Misfortune } from './schedule.ts';
import { isFailed, type Movement } from './service.ts';
import type { Temporal } from './temporal.ts';
import { units } from './units.ts';
import type { World } from './world.ts';

/** Records that are younger than this are judged by no "not executed", since a clock may have been wrong. */
const YOUNG_MS = 10 * 60_000;

export class People {
  readonly #world: World;
  readonly #temporal: Temporal;
  /** Who has heard the truth, and how much the ledger held then. */
  readonly #toldTheTruth = new Map<string, number>();
  #told = 0;

  constructor(world: World, temporal: Temporal) {
    this.#world = world;
    this.#temporal = temporal;
  }

  /** The number of the newest entry that a person sees who looks now. */
  #seen(): number {
    return newestSaid(this.#temporal.kept.instructions);
  }

  /** Where nobody can be told, nothing is said. False: it is refused, because of what its person had not seen. */
  #say(instruction: Instruction, seen = this.#seen()): boolean {
    if (!this.#temporal.keeps() || this.#temporal.keep(instruction, seen)) return true;
    this.#world.coverage.hit('event', 'somebody has said something since');
    return false;
  }

  #said(): { readonly id: string; readonly by: string; readonly why: string } {
    this.#told += 1;
    return { id: `said-${this.#told}`, by: 'ana', why: 'seen' };
  }

  /** A person reads what a command shows, and answers. Where that is refused, the person types the command again. */
  #afterPrompt(promptMs: number, say: () => Promise<void>): void {
    if (promptMs > 0) this.#world.coverage.hit('event', 'a prompt stands open');
    this.#world.later(promptMs, say);
  }

  /** The command keeps the word and presses the button; either may happen alone. */
  async cancel(how: 'button' | 'command' | 'both'): Promise<void> {
    if (how !== 'button') this.#say({ kind: 'cancel', ...this.#said() });
    if (how !== 'command') await this.#temporal.cancel();
  }

  /** `run … --instead-of`: the run in its place is not played. */
  async supersede(): Promise<void> {
    this.#say({ kind: 'superseded', ...this.#said(), id: SUPERSEDED, instead: 'another' });
    await this.#temporal.wake();
  }

  /** `run --go-on`: takes a cancel back, and starts what has ended. Said also where the command would refuse it. */
  goOn(what: Extract<Misfortune, { kind: 'go on' }>): void {
    const temporal = this.#temporal;
    const { instructions } = temporal.kept;
    const takesBack = newestCancel(instructions);
    const isBack = instructions.some(({ kind }) => kind === 'cancel' || kind === 'superseded');
    const seen = this.#seen();
    this.#afterPrompt(what.promptMs, async () => {
      if (isBack && !this.#say({ kind: 'go-on', item: null, takesBack, ...this.#said() }, seen))
        return this.goOn(what);
      await temporal.start('go on');
      await temporal.wake();
    });
  }

  /** `run --go-on ITEM`: its cause is gone. */
  causeGone(what: Extract<Misfortune, { kind: 'cause gone' }>): void {
    const item = this.#temporal.ours.items[what.item];
    const seen = this.#seen();
    this.#afterPrompt(what.promptMs, async () => {
      if (!this.#say({ kind: 'go-on', item, takesBack: null, ...this.#said() }, seen))
        return this.causeGone(what);
      await this.#temporal.start('go on');
      await this.#temporal.wake();
    });
  }

  /** `resolve`: a decision about an item, which need not be so, or not any more when it is kept. */
  decide(what: Extract<Misfortune, { kind: 'executed' | 'not executed' }>): void {
    const { batch, rebalance, policy, items } = this.#temporal.ours;
    const item = items[what.item];
    // The command takes no payment that the policy does not have.
    const isOfPolicy = what.item !== 2 || batch !== null || rebalance !== null;
    if (!isOfPolicy && !paymentsOf(policy).some(({ id }) => id === item)) return;
    const recordId = what.kind === 'executed' ? this.#recordFor(item, what.claim) : null;
    if (what.kind === 'executed' && recordId === null) return;
    const seen = this.#seen();
    this.#afterPrompt(what.promptMs, async () => {
      const isKept =
        recordId === null
          ? this.#sayNotExecuted(item, seen)
          : this.#say({ kind: 'executed', item, recordId, ...this.#said() }, seen);
      if (!isKept) return this.decide(what);
      await this.#temporal.wake();
    });
  }

  /** `resolve --not-this`: of each withdrawal of somebody else that looks like the item's. */
  async notThis(which: 0 | 1 | 2): Promise<void> {
    const item = this.#temporal.ours.items[which];
    for (const recordId of this.#world.service.twinIds)
      this.#say({ kind: 'not this', item, recordId, ...this.#said() });
    await this.#temporal.wake();
  }

  #sayNotExecuted(item: string, seen: number): boolean {
    const { service, oracle } = this.#world;
    const name = this.#temporal.itemOf(item);
    if (!this.#say({ kind: 'not executed', item, ...this.#said() }, seen)) return false;
    // Whoever says so answers for what the service is still at work on, which nobody can see, and for a record that is
    // there and shows no name: only a person can judge those.
    const isInWork = service.alive().some(({ write, state }) => write.item === name && state === 'in work');
    const isThere = service.ledger.some(({ send }) => send.write.item === name);
    const isNameless = service.settings.metadataInLists !== 'always';
    if (isInWork || (isThere && isNameless)) oracle.misled.add(name);
    return true;
  }

  /** The newest record of an item. The command takes none that had failed when a person had the item paid again. */
  #recordOf(item: string): Movement['record'] | undefined {
    const name = this.#temporal.itemOf(item);
    const closedIds = this.#temporal.kept.instructions.flatMap((said) =>
      said.kind === 'pay again' && said.item === item ? (said.recordId ?? []) : [],
    );
    return this.#world.service.ledger.findLast(
      ({ send, record }) => send.write.item === name && !closedIds.includes(record.id),
    )?.record;
  }

  #recordFor(item: string, claim: 'true' | 'twin' | 'other' | 'none'): string | null {
    const { ledger, twinIds } = this.#world.service;
    const name = this.#temporal.itemOf(item);
    if (claim === 'twin') this.#world.oracle.misled.add(name);
    switch (claim) {
      case 'true':
        return this.#recordOf(item)?.id ?? null;
      case 'other':
        return ledger.findLast(({ send }) => send.write.item !== name)?.record.id ?? null;
      case 'twin':
        return twinIds[0] ?? null;
      case 'none':
        return item.includes('usd') ? 'tde_none' : 'wtd_none';
    }
  }

  /**
   * `run … --pay-again`: only for a payment that the report calls NOT_PAID, when the command looks. Where no run is open, the
   * report is that of its end, and the command reads the service too: a payment may have come back since.
   */
  payAgain(what: Extract<Misfortune, { kind: 'pay again' }>): void {
    const { item: which, ahead, promptMs } = what;
    const temporal = this.#temporal;
    const item = which === 0 ? 'supplier' : 'second';
    const name = temporal.itemOf(item);
    const record = temporal.payments().find(({ payment }) => payment.id === item);
    const outcome = record === undefined ? null : paymentOutcome(record);
    const isUnpaid = outcome === 'NOT_PAID' || (outcome === 'PAID' && this.#hasComeBack(name));
    if (record === undefined || !isUnpaid || this.#world.oracle.misled.has(name) || temporal.isAway()) return;
    const follows = Math.max(2, this.#world.latestGeneration(name) + ahead) - 1;
    // The command names the record that the report names for the generation that it follows.
    const known = acceptedOf(record);
    const recordId = known !== null && generationIn(known.reference) === follows ? known.withdrawalId : null;
    const seen = this.#seen();
    if (temporal.standing() === 'terminated')
      this.#world.coverage.hit('event', 'pay again of a run that was ended');
    this.#afterPrompt(promptMs, async () => {
      if (!this.#sayPayAgain([item, follows, recordId], seen)) return this.payAgain(what);
      await temporal.start('go on');
      await temporal.wake();
    });
  }

  /** Of a batch, the workflow of the chunk keeps which payment is meant, before the instruction. */
  #sayPayAgain([item, follows, recordId]: PaidAgain, seen: number): boolean {
    const temporal = this.#temporal;
    const said = this.#said();
    if (temporal.ours.batch === null)
      return this.#say({ kind: 'pay again', item, follows, recordId, ...said }, seen);
    const items: readonly PaidAgain[] = [[item, follows, recordId]];
    if (temporal.keeps()) temporal.note([{ kind: 'to pay again', said: said.id, items }]);
    return this.#say({ kind: 'pay these again', chunks: [[1, 1, hashOfList(items)]], ...said }, seen);
  }

  /** No run is open, and every record of the item has failed. */
  #hasComeBack(name: string): boolean {
    const moved = this.#world.oracle.movementsOf(name);
    return this.#temporal.current === null && moved.every(({ status }) => isFailed(status));
  }

  /** The trade of this leg came out worse than planned, and waits for a person who accepts it. */
  holdsTheTradeOf(id: string): boolean {
    const { legs = [] } = this.#temporal.current?.state ?? {};
    return legs.some((record) => record.leg.id === id && heldTradeOf(record) !== null);
  }

  /** Items of the open run that wait for a person. */
  waiting(): readonly string[] {
    const state = this.#temporal.current?.state;
    const payments = state === undefined ? [] : this.#temporal.payments();
    return [
      ...(state?.legs ?? [])
        .filter((record) => legOutcome(record) === 'NEEDS_HUMAN' || heldTradeOf(record) !== null)
        .map(({ leg }) => leg.id),
      ...payments
        .filter((record) => paymentOutcome(record) === 'NEEDS_HUMAN')
        .map(({ payment }) => payment.id),
    ];
  }

  /**
   * Whatever waits for a person hears the truth (a trade that came out worse is accepted): once, and again when something was
   * booked since, which no earlier word has judged. True when there was something to say.
   */
  sayTheTruth(): boolean {
    const { service, coverage } = this.#world;
    const payments = this.#temporal.payments();
    const waiting = this.waiting().filter(
      (id) => (this.#toldTheTruth.get(id) ?? -1) < service.ledger.length && !this.#isTooSoon(id),
    );
    for (const item of waiting) {
      this.#toldTheTruth.set(item, service.ledger.length);
      const worse = this.#temporal.current?.state.legs.find(({ leg }) => leg.id === item);
      const heldTrade = worse === undefined ? null : heldTradeOf(worse);
      if (heldTrade !== null) {
        this.#say({ kind: 'accept', item, recordId: heldTrade, ...this.#said() });
        continue;
      }
      const name = this.#temporal.itemOf(item);
      const record = this.#recordOf(item);
      // Somebody named this one's record for an equal payment: it can be only one payment's, and the command says so.
      const equals = payments.filter(
        ({ payment, amount }) =>
          payment.id !== item &&
          amount !== null &&
          record !== undefined &&
          'withdrawalAmount' in record &&
          equal(amount, record.withdrawalAmount),
      );
      const isTaken = equals.some(
        (other) =>
          acceptedOf(other)?.withdrawalId === record?.id ||
          this.#temporal.kept.instructions.some(
            (said) =>
              said.kind === 'executed' && said.item === other.payment.id && said.recordId === record?.id,
          ),
      );
      // Who named it answers for this one too.
      if (isTaken) this.#world.oracle.misled.add(name);
      if (record === undefined || isTaken) this.#say({ kind: 'not executed', item, ...this.#said() });
      else this.#say({ kind: 'executed', item, recordId: record.id, ...this.#said() });
    }
    coverage.hit('event', 'a person decides what is left', waiting.length);
    return waiting.length > 0;
  }
  /** Nothing of it is there, and what could be it is so young that `resolve` refuses to judge it. */
  #isTooSoon(item: string): boolean {
    const { service, agenda } = this.#world;
    const record = this.#temporal.payments().find(({ payment }) => payment.id === item);
    if (record === undefined || record.amount === null) return false;
    if (this.#recordOf(item) !== undefined) return false;
    return service
      .untaggedLike(record.payment.account, units(record.amount))
      .some(({ createdAt }) => Date.parse(createdAt) + YOUNG_MS > agenda.nowMs);
  }
}

/** The trade that came out worse than planned, and holds what depends on it until a person accepts it; null: none does. */
function heldTradeOf({ stage }: LegRecord): string | null {
  const isHeld = stage.kind === 'traded' && stage.worse?.isHeld === true;
  return isHeld ? stage.traded.tradeId : null;
}
