/**
 * Business identity as text (design: "Identity"). Everything that names money is a pure function of policy, run, item
 * and generation: no run id of Temporal, no uuid, attempt, activity id, clock or random value is ever part of it (M1).
 */
import type { Mode } from './service/records.ts';

const PART = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** True for a name that can be a part of a reference, between its dots. */
export function isPart(text: string): boolean {
  return PART.test(text);
}

/** A run: policy and id, `daily-treasury.2026-11-21`. */
export type RunName = { readonly policy: string; readonly id: string };

/** Lower case only: people would mix up two runs whose names differ only in capitals. */
const RUN_PART = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** True for a text that can be the name of a policy, or the id of a run. */
export function isRunPart(text: string): boolean {
  return RUN_PART.test(text);
}

/** `policy.id`: the name of a run. Refuses parts that could be read in two ways. */
export function runName({ policy, id }: RunName): string {
  for (const text of [policy, id])
    if (!isRunPart(text)) throw new RangeError(`"${text}" cannot be part of a run's name.`);
  return `${policy}.${id}`;
}

/** The text before the first dot is the policy, the rest the id; null when it is not a run's name. */
export function parseRunName(text: string): RunName | null {
  const [policy, id, ...rest] = text.split('.');
  if (policy === undefined || id === undefined || rest.length > 0 || !isRunPart(policy) || !isRunPart(id))
    return null;
  return { policy, id };
}

/** The beginning of every reference of a run, with its last dot. */
export function runPrefix(run: RunName): string {
  return `${runName(run)}.`;
}

/** The reference of an item: `policy.id.item`, and from the second generation on `policy.id.item~2`. */
export function reference(run: RunName, item: string, generation = 1): string {
  if (!Number.isSafeInteger(generation) || generation < 1)
    throw new RangeError(`"${generation}" is no generation.`);
  const base = `${runPrefix(run)}${part(item)}`;
  return generation === 1 ? base : `${base}~${generation}`;
}

/** The run whose item a reference names; null when it is no reference of ours. */
export function runOf(text: string): RunName | null {
  const [policy, id, item, ...rest] = firstReference(text).split('.');
  if (item === undefined || !isPart(item) || rest.length > 0) return null;
  return parseRunName(`${policy ?? ''}.${id ?? ''}`);
}

/** The generation of the item with the first reference `base` that `text` names; null when it names another item. */
export function generationOf(base: string, text: string): number | null {
  if (text === base) return 1;
  if (!text.startsWith(`${base}~`)) return null;
  const digits = text.slice(base.length + 1);
  return /^[1-9][0-9]{0,5}$/.test(digits) && digits !== '1' ? Number(digits) : null;
}

/** The first reference of the item that `text` names in some generation. No part of a reference has a `~`. */
export function firstReference(text: string): string {
  const end = text.indexOf('~');
  return end < 0 ? text : text.slice(0, end);
}

/** The workflow id of a run: the mode and the run's name. */
export function workflowIdOf(mode: Mode, run: RunName): string {
  return `${mode.toLowerCase()}/${runName(run)}`;
}

/** The beginning of the ids of the runs of a policy and of the workflows beside them; null: of every policy. */
export function workflowIdsOf(mode: Mode, policy: string | null): string {
  return `${mode.toLowerCase()}/${policy === null ? '' : `${policy}.`}`;
}

/** The run that a workflow id names; null for other workflow ids. */
export function runOfWorkflowId(workflowId: string): RunName | null {
  const match = /^(?:sandbox|live)\/([^/]+)$/.exec(workflowId);
  return match?.[1] === undefined ? null : parseRunName(match[1]);
}

/** The run to which a workflow belongs: the run itself, or its plan, chunk or instructions. Null for other workflow ids. */
export function runOfAnyWorkflowId(workflowId: string): RunName | null {
  return runOfWorkflowId(workflowId.split('/').slice(0, 2).join('/'));
}

/** The write endpoints, as they are a part of keys. */
export type WriteEndpoint = 'trades' | 'withdrawals';

/**
 * The text whose SHA-256 is an idempotency key. Each part has its length in front, so that no two different lists of parts
 * make the same text. `quoteId` is only for trades: a trade's key changes with its quote, its reference never does.
 */
export function keyMaterial(identity: {
  readonly mode: Mode;
  readonly organisation: string;
  readonly endpoint: WriteEndpoint;
  readonly reference: string;
  readonly quoteId: string | null;
}): string {
  const parts = ['cambist-1', identity.mode, identity.organisation, identity.endpoint, identity.reference];
  if (identity.quoteId !== null) parts.push(identity.quoteId);
  return parts.map((text) => `${text.length}:${text}`).join('');
}

function part(text: string): string {
  if (!isPart(text)) throw new RangeError(`"${text}" cannot be part of a reference.`);
  return text;
}
