/**
 * Conducts a batch: gives its chunks their go, a few side by side; reads how they stand when they say that
 * there is news; and tells them what has changed. The run of a batch holds no payment: it says of them what
 * its chunks have said last.
 */
import { lanesOf } from '../batch.ts';
import { makeProblem } from '../problems.ts';
import { activityFailed } from './activity-failed.ts';
import { hasHeard, hasNoCanary, heldOf, isCanaryAccepted, isDone, type ChunkRecord } from './chunk-state.ts';
import { StepFailed, failed, type Ports } from './ports.ts';
import { stopOf } from './stop-rule.ts';
import type { Conducting } from './parts.ts';
import type { RunInput } from './calls.ts';
import { waitingOf, type Waiting } from '../waits.ts';
import type { RunState } from './state.ts';

type Ending = { readonly input: RunInput; readonly ports: Pick<Ports, 'readChunks'> };

/** So many chunks are read or told in one call. A payload has room for many times as many. */
const OF_ONE_CALL = 50;
/** So often all chunks that are not done are read. */
const LONGEST_SILENCE_MS = 600_000;

export async function conduct(run: Conducting): Promise<void> {
  run.isConducting = true;
  await Promise.all([untilOver(run), readNowAndThen(run)]);
}

/**
 * Reads all chunks that are not done now and then, however much some of them say: the news of one may be lost. Its timer begins
 * anew, for what is left of the time, whenever payments begin to wait for something else: the text beside a timer says for what
 * the run is held, and people see the newest one first.
 */
async function readNowAndThen(run: Conducting): Promise<void> {
  const { state, ports, news } = run;
  for (let atMs = ports.nowMs() + LONGEST_SILENCE_MS; ;) {
    const { heldBy } = run;
    const isOther = (): boolean => !run.isConducting || run.heldBy !== heldBy;
    const leftMs = Math.max(atMs - ports.nowMs(), 1);
    const isEarly = await ports.waitUntil(isOther, leftMs, 'Then it reads all open chunks');
    if (!run.isConducting) return;
    if (isEarly) continue;
    for (const chunk of state.chunks) if (!isDone(chunk, state.knownAs)) news.add(chunk.number);
    atMs = ports.nowMs() + LONGEST_SILENCE_MS;
  }
}

async function untilOver(run: Conducting): Promise<void> {
  const { state, ports, pauses, news, input } = run;
  const { chunks } = state;
  const isToBeTold = (chunk: ChunkRecord): boolean =>
    chunk.mayGo && chunk.toldOf !== run.releases && !isDone(chunk, state.knownAs);
  const hasToAsk = (): boolean => news.size > 0 || chunks.some(isToBeTold);
  for (const { number } of chunks) news.add(number);
  for (let failures = 0; ;) {
    letGo(state);
    await ports.waitUntil(() => hasToAsk() || run.isOver());
    if (!hasToAsk()) break;
    if (ports.historyIsLong()) await run.leaveLongHistory();
    const read = [...news].slice(0, OF_ONE_CALL);
    const toTell = chunks.filter(isToBeTold).slice(0, OF_ONE_CALL);
    for (const number of read) news.delete(number);
    const { releases } = run;
    const { asked } = pauses;
    const tell = toTell.map(({ number }) => number);
    const answer = await ports
      .readChunks({ mode: input.mode, run: input.run, read, tell, isEnding: false })
      .catch(failed);
    if (answer instanceof StepFailed) {
      failures += 1;
      for (const number of read) news.add(number);
      await pauses.pause(state, activityFailed(answer.message, failures), asked);
      continue;
    }
    if (failures > 0) pauses.goesOn(state);
    failures = 0;
    const knownAs = run.knownAs(answer.runId);
    // The run was reset: every chunk is told, having heard of an earlier Temporal run or ended since.
    if (state.knownAs !== null && state.knownAs !== knownAs) {
      run.releases += 1;
      for (const { number } of chunks) news.add(number);
    }
    beginAs(state, knownAs);
    run.takeUp(answer.runId);
    for (const chunk of toTell) chunk.toldOf = releases;
    for (const { number, state: standing, isClosed } of answer.chunks) {
      const chunk = chunks[number - 1];
      if (chunk === undefined) continue;
      Object.assign(chunk, { state: standing, isClosed });
      chunk.waiting = standing === null ? missing(chunk, ports.nowMs()) : null;
      // A chunk that has ended with something undone is told, which starts it again.
      if (isClosed && !isDone(chunk, knownAs)) chunk.toldOf = -1;
    }
    run.heldBy = heldOf(chunks)
      .map(({ code, currency, payments }) => `${code} ${currency} ${payments}`)
      .join();
    decide(run);
    ports.show();
  }
  run.isConducting = false;
}

/**
 * The chunks know the run by this name from now on. If that is another Temporal run than before, nothing has stopped the batch,
 * and its first payments go first again.
 */
export function beginAs(state: RunState, knownAs: string): void {
  if (state.knownAs === knownAs) return;
  Object.assign(state, { knownAs, stopped: null, isTested: false });
  for (const chunk of state.chunks) chunk.mayGo = false;
}

/** Decides whether the batch stops, and whether its first payments are accepted: all chunks hear of it. */
function decide(run: Conducting): void {
  const { state } = run;
  const { chunks, plan } = state;
  const batch = plan?.batch ?? null;
  if (batch === null) return;
  // Refusals under an earlier Temporal run do not count, because these payments are tried again.
  const own = chunks.filter(({ state: standing }) => hasHeard(standing, state.knownAs));
  const refusals = own.flatMap((chunk) => chunk.state?.refusals ?? []);
  const { rules } = batch;
  const isAccepted = state.isTested || isCanaryAccepted(rules.canary, chunks[0]);
  const stopped = state.stopped ?? stopOf({ ...rules, isTested: isAccepted }, refusals);
  const isTested = isAccepted || hasNoCanary(chunks[0], state.knownAs);
  if (stopped !== state.stopped || isTested !== state.isTested) run.releases += 1;
  Object.assign(state, { stopped, isTested });
}

/** The run ends, so that its chunks end as well. A chunk that does not hear of it asks the run later. */
export async function tellEnd({ input, ports }: Ending): Promise<void> {
  const { mode, run, batch } = input;
  const numbers = (batch?.chunks ?? []).map((_chunk, index) => index + 1);
  for (let first = 0; first < numbers.length; first += OF_ONE_CALL) {
    const tell = numbers.slice(first, first + OF_ONE_CALL);
    await ports.readChunks({ mode, run, read: [], tell, isEnding: true }).catch(failed);
  }
}

/** Lets the next chunks go as soon as the chunks before them have nothing to send any more. */
function letGo({ chunks, knownAs, plan, isTested, stopped }: RunState): void {
  const batch = plan?.batch ?? null;
  if (knownAs === null || batch === null) return;
  const most = lanesOf(batch);
  let sending = chunks.filter((chunk) => chunk.mayGo && isSending(chunk, knownAs)).length;
  // The first payments are in the first chunk. Until they are accepted, no other chunk goes, even while the
  // first one waits.
  for (const chunk of isTested || stopped !== null ? chunks : chunks.slice(0, 1)) {
    if (sending >= most) return;
    if (chunk.mayGo) continue;
    chunk.mayGo = true;
    if (!isDone(chunk, knownAs)) sending += 1;
  }
}

/** A chunk that has not heard of its go yet counts as sending, because it is about to. */
function isSending({ state, waiting }: ChunkRecord, knownAs: string): boolean {
  if (waiting !== null) return false;
  return state === null || state.isSending || (state.counts.open > 0 && !hasHeard(state, knownAs));
}

function missing({ number, waiting }: ChunkRecord, nowMs: number): Waiting {
  const problem = makeProblem('CHUNK_MISSING', null, {
    message: `Chunk ${number} of the batch is not in Temporal, so it is not known here what of it was paid.`,
  });
  return waitingOf({ reason: 'person', problem, afterMs: LONGEST_SILENCE_MS }, nowMs, waiting);
}
