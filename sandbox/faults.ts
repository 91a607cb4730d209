// Which requests the faults hit, and how often they did. Only authentic requests are counted and hit; what an
// effect means for a reply or a booking is carried out by the code that serves the request.

import { validateHeaderName, validateHeaderValue } from 'node:http';

import type { Check } from './checks.ts';
import {
  BadInput,
  anything,
  count,
  currency,
  either,
  filledText,
  flag,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  positiveCount,
  share,
  shape,
  text,
} from './checks.ts';
import { isCode } from './catalogue.ts';
import { dice } from './ids.ts';
import type { FaultEffect, SandboxFault, StoredFault } from './fault-kinds.ts';
import type { Operation } from './operations.ts';
import { isOperation, isWrite } from './operations.ts';
import type { Store } from './store.ts';

/** What a request is about, as far as it can be read; faults are matched against it. */
export interface RequestFacts {
  readonly operation: Operation;
  readonly currencies: readonly string[];
  readonly account: string | null;
  readonly references: readonly string[];
}

type EffectOf<K extends FaultEffect['kind']> = Extract<FaultEffect, { kind: K }>;

/** The faults that hit one request, by what they change: its way, its booking, its reply or its record. */
export interface FaultPlan {
  readonly ids: readonly string[];
  readonly waits: readonly { readonly id: string; readonly effect: EffectOf<'delay' | 'hold'> }[];
  readonly record: readonly EffectOf<'word' | 'outcome' | 'list-lag'>[];
  /** At most one decides the reply. */
  readonly reply: Exclude<FaultEffect, { kind: 'delay' | 'hold' | 'word' | 'outcome' | 'list-lag' }> | null;
}

export class Faults {
  readonly #store: Store;
  readonly #seed: string;
  readonly #nextId: () => number;
  readonly #holds = new Map<string, Set<() => void>>();
  readonly #hit: (id: string) => void;

  constructor(store: Store, seed: string, nextId: () => number, hit: (id: string) => void) {
    this.#store = store;
    this.#seed = seed;
    this.#nextId = nextId;
    this.#hit = hit;
  }

  /** Adds a fault and returns its id; a fault of the same id is replaced and counted anew. */
  add(value: unknown): string {
    const fault = faultCheck(value, 'fault') as SandboxFault;
    if (fault.operation !== '*' && !applies(fault.effect, fault.operation)) {
      throw new BadInput(`fault.effect "${fault.effect.kind}" means nothing for "${fault.operation}".`);
    }
    const id = fault.id ?? `fault_${this.#nextId()}`;
    this.#store.tables.faults.put({ ...fault, id, seen: 0, hits: 0 });
    return id;
  }

  view(): StoredFault[] {
    return [...this.#store.tables.faults.values()];
  }

  hits(id: string): number {
    return this.#store.tables.faults.get(id)?.hits ?? 0;
  }

  /** Removes one fault, or all; requests it holds go on. */
  clear(id?: string): void {
    for (const fault of this.view()) {
      if (id === undefined || fault.id === id) {
        this.#store.tables.faults.delete(fault.id);
        this.release(fault.id);
      }
    }
  }

  /** Lets the requests go on that a fault holds now, or that any fault holds. Returns how many. */
  release(id?: string): number {
    let released = 0;
    for (const [holder, holds] of this.#holds) {
      if (id !== undefined && holder !== id) continue;
      for (const go of holds) {
        go();
        released += 1;
      }
    }
    return released;
  }

  /** Counts the request, and returns what is to happen to it. */
  plan(facts: RequestFacts): FaultPlan {
    const hit: StoredFault[] = [];
    let reply: FaultPlan['reply'] = null;
    for (const fault of this.view()) {
      if (!matches(fault, facts)) continue;
      const decidesReply = replyEffectOf(fault.effect) !== null;
      const seen = fault.seen + 1;
      const strikes = !(decidesReply && reply !== null) && this.#strikes(fault, seen);
      this.#store.tables.faults.put({ ...fault, seen, hits: fault.hits + (strikes ? 1 : 0) });
      if (!strikes) continue;
      hit.push(fault);
      reply ??= replyEffectOf(fault.effect);
    }
    for (const { id } of hit) this.#hit(id);
    return {
      ids: hit.map(({ id }) => id),
      waits: hit.flatMap(({ id, effect }) =>
        effect.kind === 'delay' || effect.kind === 'hold' ? [{ id, effect }] : [],
      ),
      record: hit.flatMap(({ effect }) =>
        effect.kind === 'word' || effect.kind === 'outcome' || effect.kind === 'list-lag' ? [effect] : [],
      ),
      reply,
    };
  }

  /** Carries out the waits of one side of the commit. */
  async wait(plan: FaultPlan, when: 'before' | 'after'): Promise<void> {
    for (const { id, effect } of plan.waits) {
      // Waits of one request follow each other.
      if ((effect.when ?? 'before') === when) await this.#waitFor(id, effect.ms ?? null);
    }
  }

  #waitFor(id: string, ms: number | null): Promise<void> {
    return new Promise((resolve) => {
      const holds = this.#holds.get(id) ?? new Set();
      this.#holds.set(id, holds);
      const go = (): void => {
        if (timer !== null) clearTimeout(timer);
        holds.delete(go);
        resolve();
      };
      const timer = ms === null ? null : setTimeout(go, ms);
      holds.add(go);
    });
  }

  #strikes(fault: StoredFault, seen: number): boolean {
    if (fault.times !== undefined && fault.hits >= fault.times) return false;
    if (fault.nth !== undefined && ![fault.nth].flat().includes(seen)) return false;
    if (fault.every !== undefined && seen % fault.every !== 0) return false;
    return fault.probability === undefined || dice(`${this.#seed}:${fault.id}`, seen) < fault.probability;
  }
}

function matches(fault: StoredFault, facts: RequestFacts): boolean {
  if (fault.operation !== '*' && fault.operation !== facts.operation) return false;
  if (!applies(fault.effect, facts.operation)) return false;
  const { currency: wantedCurrency, account, reference } = fault.when ?? {};
  if (wantedCurrency !== undefined && !facts.currencies.includes(wantedCurrency)) return false;
  if (account !== undefined && facts.account !== account) return false;
  if (reference === undefined) return true;
  return facts.references.some((found) =>
    reference.endsWith('*') ? found.startsWith(reference.slice(0, -1)) : found === reference,
  );
}

/** Some effects need a record that is made; with `*` they leave the operations alone that make none. */
function applies(effect: FaultEffect, operation: Operation): boolean {
  switch (effect.kind) {
    case 'outcome':
      return operation === 'createWithdrawal';
    case 'late-commit':
    case 'word':
    case 'list-lag':
      return operation === 'createTrade' || operation === 'createWithdrawal';
    case 'stored-failure':
      return isWrite(operation);
    case 'lose-reply':
    case 'close-before':
    case 'cut-body':
    case 'delay':
    case 'hold':
    case 'error':
    case 'html':
    case 'rate-limit':
    case 'status':
      return true;
  }
}

function replyEffectOf(effect: FaultEffect): FaultPlan['reply'] {
  switch (effect.kind) {
    case 'delay':
    case 'hold':
    case 'word':
    case 'outcome':
    case 'list-lag':
      return null;
    case 'lose-reply':
    case 'close-before':
    case 'cut-body':
    case 'error':
    case 'stored-failure':
    case 'late-commit':
    case 'html':
    case 'rate-limit':
    case 'status':
      return effect;
  }
}

const when = oneOf('before', 'after');
const status: Check<number> = (value, at) => {
  const given = positiveCount(value, at);
  if (given < 200 || given > 599) throw new BadInput(`${at} is ${given}; it must be from 200 to 599.`);
  return given;
};

const headers: Check<Readonly<Record<string, string>>> = (value, at) => {
  const given = mapOf(text)(value, at);
  for (const [name, content] of Object.entries(given)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, content);
    } catch (cause) {
      throw new BadInput(`${at}.${name} cannot be a header.`, { cause });
    }
  }
  return given;
};

const effectChecks: { readonly [K in FaultEffect['kind']]: Check<unknown> } = {
  'lose-reply': shape({ kind: text }, {}),
  'close-before': shape({ kind: text }, {}),
  'cut-body': shape({ kind: text }, {}),
  delay: shape({ kind: text, ms: count }, { when }),
  hold: shape({ kind: text }, { ms: count, when }),
  error: (value, at) => {
    const effect = shape(
      { kind: text },
      {
        code: filledText,
        status,
        details: mapOf(anything),
        body: anything,
        headers,
        stored: flag,
        committed: flag,
      },
    )(value, at);
    if (effect.code === undefined && effect.status === undefined) {
      throw new BadInput(`${at} lacks "code" or "status".`);
    }
    if (effect.code !== undefined && effect.status === undefined && !isCode(effect.code)) {
      throw new BadInput(`${at}.code "${effect.code}" is not in the catalogue; give it a "status" too.`);
    }
    return effect;
  },
  'stored-failure': shape({ kind: text }, { code: filledText, committed: flag, timeoutMs: count }),
  'late-commit': shape(
    { kind: text, ms: count },
    { reply: oneOf('lost', '500'), key: oneOf('in-flight', 'free', 'stored') },
  ),
  html: shape({ kind: text }, { status, committed: flag }),
  'rate-limit': shape({ kind: text }, { retryAfter: count }),
  status: shape({ kind: text }, { status, body: text }),
  word: shape({ kind: text, word: filledText }, { money: oneOf('moved', 'returned', 'kept') }),
  outcome: shape(
    { kind: text, outcome: oneOf('completed', 'failed', 'returned', 'returned-after-completed', 'stuck') },
    {},
  ),
  'list-lag': shape({ kind: text, ms: count }, { byId: flag }),
};

export const effectKinds: readonly string[] = Object.keys(effectChecks);

const effectCheck: Check<unknown> = (value, at) => {
  const kind = filledText(objectOf(value, at)['kind'], `${at}.kind`);
  if (!Object.hasOwn(effectChecks, kind)) {
    throw new BadInput(`${at}.kind is "${kind}"; it must be one of ${effectKinds.join(', ')}.`);
  }
  return effectChecks[kind as FaultEffect['kind']](value, at);
};

const operationCheck: Check<Operation | '*'> = (value, at) => {
  const name = filledText(value, at);
  if (name === '*' || isOperation(name)) return name;
  throw new BadInput(`${at} is "${name}"; it must be "*" or an operation like "createTrade".`);
};

const faultCheck = shape(
  { operation: operationCheck, effect: effectCheck },
  {
    id: filledText,
    nth: either(positiveCount, listOf(positiveCount)),
    every: positiveCount,
    probability: share,
    times: count,
    when: shape({}, { currency, account: filledText, reference: filledText }),
  },
);
