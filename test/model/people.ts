/**
 * People: what they say about a run, true or false, and what the commands do with it. Words are kept in Temporal outside
 * the run's own history; a run is woken when something was said.
 */
import type { Instruction } from '../../domain/instructions.ts';
import type { Misfortune } from './schedule.ts';
import type { World } from './world.ts';

const LEG = 'usd-mxn-1';
/** The items of the plan; not every policy has the last. */
const ITEMS = [LEG, 'supplier', 'second'] as const;

export class People {
  readonly #world: World;
  /** Who has heard the truth, and how much the ledger held then. */
  readonly #toldTheTruth = new Map<string, number>();
  #told = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Where Temporal cannot be reached, nothing is said. */
  #say(instruction: Instruction): void {
    const { temporal } = this.#world;
    if (!temporal.isAway()) temporal.keep(instruction);
  }

  #said(): { readonly id: string; readonly by: string; readonly why: string } {
    this.#told += 1;
    return { id: `said-${this.#told}`, by: 'ana', why: 'seen' };
  }

  /** The command keeps the word and presses the button; either may happen alone. */
  async cancel(how: 'button' | 'command' | 'both'): Promise<void> {
    if (how !== 'button') this.#say({ kind: 'cancel', ...this.#said() });
    if (how !== 'command') await this.#world.temporal.cancel();
  }

  /** `run --go-on`: takes a cancel back, and starts what has ended. */
  async goOn(): Promise<void> {
    const { temporal } = this.#world;
    if (temporal.kept.instructions.some(({ kind }) => kind === 'cancel'))
      this.#say({ kind: 'go-on', item: null, ...this.#said() });
    await temporal.start('go on');
    await temporal.wake();
  }

  /** `resolve`: a decision about an item, which need not be so. */
  async decide(what: Extract<Misfortune, { kind: 'executed' | 'not executed' }>): Promise<void> {
    const item = ITEMS[what.item];
    if (what.kind === 'not executed') this.#sayNotExecuted(item);
    else this.#sayExecuted(item, what.claim);
    await this.#world.temporal.wake();
  }

  #sayNotExecuted(item: string): void {
    const { service, oracle } = this.#world;
    const sends = [...service.alive(), ...service.ledger.map(({ send }) => send)];
    // Whoever says so of something that was, or still may be, answers for it.
    if (sends.some(({ write }) => write.item === item)) oracle.misled.add(item);
    this.#say({ kind: 'not executed', item, ...this.#said() });
  }

  #sayExecuted(item: string, claim: 'true' | 'twin' | 'other' | 'none'): void {
    const { ledger, twinIds } = this.#world.service;
    const recordIds = {
      true: ledger.find(({ send }) => send.write.item === item)?.record.id,
      other: ledger.findLast(({ send }) => send.write.item !== item)?.record.id,
      twin: twinIds[0],
      none: item === LEG ? 'tde_none' : 'wtd_none',
    };
    const recordId = recordIds[claim];
    if (recordId === undefined) return;
    if (claim === 'twin') this.#world.oracle.misled.add(item);
    this.#say({ kind: 'executed', item, recordId, ...this.#said() });
  }

  /** `run … --pay-again`: only for a payment that the report calls NOT_PAID. */
  async payAgain(which: 0 | 1, ahead: 0 | 1): Promise<void> {
    const { temporal, oracle } = this.#world;
    const item = which === 0 ? 'supplier' : 'second';
    const record = temporal.newest()?.state.payments.find(({ payment }) => payment.id === item);
    if (record?.outcome !== 'NOT_PAID' || oracle.misled.has(item) || temporal.isAway()) return;
    const generation = Math.max(2, this.#world.latestGeneration(item) + ahead);
    this.#say({ kind: 'pay again', item, follows: generation - 1, recordId: null, ...this.#said() });
    await temporal.start('go on');
    await temporal.wake();
  }

  /**
   * Whatever waits for a person hears the truth: once, and again when something was booked since, which no earlier word
   * has judged. True when there was something to say.
   */
  sayTheTruth(): boolean {
    const { temporal, service, coverage } = this.#world;
    const state = temporal.current?.state;
    const waiting = [
      ...(state?.legs ?? []).flatMap(({ leg, outcome }) => (outcome === 'NEEDS_HUMAN' ? [leg.id] : [])),
      ...(state?.payments ?? []).flatMap(({ payment, outcome }) =>
        outcome === 'NEEDS_HUMAN' ? [payment.id] : [],
      ),
    ].filter((item) => (this.#toldTheTruth.get(item) ?? -1) < service.ledger.length);
    for (const item of waiting) {
      this.#toldTheTruth.set(item, service.ledger.length);
      const record = service.ledger.find(({ send }) => send.write.item === item)?.record;
      const taker = state?.payments.find(
        ({ payment, accepted }) => payment.id !== item && accepted?.withdrawalId === record?.id,
      );
      // Somebody named this one's record for an equal payment: it can be only one payment's.
      if (record === undefined || taker !== undefined)
        this.#say({ kind: 'not executed', item, ...this.#said() });
      else this.#say({ kind: 'executed', item, recordId: record.id, ...this.#said() });
    }
    coverage.hit('event', 'a person decides what is left', waiting.length);
    return waiting.length > 0;
  }
}
