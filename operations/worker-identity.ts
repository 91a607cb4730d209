/** How a worker calls itself in Temporal: so whoever asks which workers there are is told their versions. */

export function workerIdentity(version: string, { pid, host }: { pid: number; host: string }): string {
  return `cambist/${version} ${pid}@${host}`;
}

export function isOfVersion(identity: string, version: string): boolean {
  return identity.startsWith(`cambist/${version} `);
}
