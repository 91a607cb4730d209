/**
 * Reads the service once before a command relies on it: does it answer, does it know our key, do the clocks agree? A fault
 * that may pass (a rate limit, a 5xx) does not stop the command, since a run waits until it has passed.
 */
import { classOfReply } from '../domain/service/reply-rules.ts';
import type { Reply } from '../domain/service/reply.ts';
import { ADVICE, codeOf, explain, skewOf } from '../domain/writes/step.ts';
import type { ServiceClient } from '../service/client.ts';
import { createClient, type Settings } from '../config/config.ts';
import { CommandFailure, troubleOfItem } from './failure.ts';

/** Runs `work` with a client that only reads, and closes it. `address` is how messages name the service. */
export async function atService<T>(
  settings: Settings,
  work: (service: Omit<ServiceClient, 'createTrade' | 'createWithdrawal'>, address: string) => Promise<T>,
): Promise<T> {
  const { origin, basePath } = settings.address;
  const service = createClient(settings, 'read');
  try {
    return await work(service, `${origin}${basePath}`);
  } finally {
    await service.close();
  }
}

/**
 * Checked before a person says anything about a run: a person whose clock is wrong would misread the service's times
 * (design: "Before every write").
 * @returns a remark about a fault that may pass, null when all is well. @throws CommandFailure when the service cannot be
 * relied on
 */
export async function requireService(settings: Settings, now: () => number): Promise<string | null> {
  return atService(settings, (service, address) => checkService(service, { address, now }));
}

/** @returns a remark about a fault that may pass, null when all is well. @throws CommandFailure */
export async function checkService(
  client: Pick<ServiceClient, 'balances'>,
  options: { readonly address: string; readonly now: () => number },
): Promise<string | null> {
  const before = options.now();
  const reply = await client.balances();
  const after = options.now();
  const skew = skewProblem(reply, (before + after) / 2);
  if (skew !== null) throw skew;
  if (reply.kind === 'DONE') return null;
  const failure = serviceFailure(reply, options.address);
  if (failure.ending === 'configuration' || reply.kind === 'NOT_SENT') throw failure;
  return `${explain(reply)} The run waits until the service answers as it should.`;
}

/** A reply that must stop the command. */
export function serviceFailure(reply: Reply<unknown>, address: string): CommandFailure {
  const replyClass = classOfReply(reply);
  const isConfiguration = replyClass === 'pause everything' || replyClass === 'pause the policy';
  return new CommandFailure(isConfiguration ? 'configuration' : 'infrastructure', [
    {
      code: reply.kind === 'NOT_SENT' ? 'SERVICE_UNREACHABLE' : codeOf(reply),
      place: address,
      message: explain(reply),
      fix: isConfiguration
        ? ADVICE[replyClass].replace(/; the run goes on by itself\.$/, ', then try again.')
        : 'See that the service is there (CAMBIST_BASE_URL), then try again; nothing was sent.',
    },
  ]);
}

/**
 * The problem when the clocks differ too much for quotes and send windows; null when they agree, or when the reply does not
 * tell.
 */
function skewProblem(reply: Reply<unknown>, atMs: number): CommandFailure | null {
  const serviceTimeMs = reply.kind === 'NOT_SENT' ? null : reply.facts.serviceTimeMs;
  const problem = skewOf(serviceTimeMs === null ? null : serviceTimeMs - atMs);
  if (problem === null) return null;
  return new CommandFailure('configuration', [
    {
      ...troubleOfItem(problem),
      fix: 'Set the clock of this machine (NTP), then try again; nothing was sent.',
    },
  ]);
}
