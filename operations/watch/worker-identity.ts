/** How a worker names itself in Temporal, so that Temporal shows the versions of the workers. */
import type { Trouble } from '../../language/text/problem.ts';

export function workerIdentity(version: string, { pid, host }: { pid: number; host: string }): string {
  return `cambist/${version} ${pid}@${host}`;
}

/** Whether a worker of this machine, or container, names itself so. */
export function isOfHost(identity: string, host: string): boolean {
  return identity.endsWith(`@${host}`);
}

function isOfVersion(identity: string, version: string): boolean {
  return identity.startsWith(`cambist/${version} `);
}

/** The problem when workers of other versions than the command line ask for work; null: there are none. */
export function versionDiffers(
  version: string,
  { taskQueue, identities }: { readonly taskQueue: string; readonly identities: readonly string[] },
): Trouble | null {
  const others = identities.filter((identity) => !isOfVersion(identity, version));
  if (others.length === 0) return null;
  return {
    code: 'WORKER_VERSION_DIFFERS',
    place: taskQueue,
    message: `this is version ${version}, but other versions asked for work in the last minute: ${others.join(', ')}`,
    fix: 'Start all workers with the version of the command line; Temporal names a worker for about a minute after it has ended.',
  };
}
