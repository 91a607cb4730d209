/** The one line that tells that a server is ready, and where; and the wait for the signal that ends it. */
import type { Io } from './io.ts';
import type { Output } from './output.ts';

/** `ready sandbox baseUrl=http://…`, or the same as one line of JSON. */
export function sayReady(
  output: Output,
  what: string,
  facts: Readonly<Record<string, string | number | null>>,
): void {
  const known = Object.entries(facts).filter(([, value]) => value !== null);
  const text = ['ready', what, ...known.map(([name, value]) => `${name}=${value}`)].join(' ');
  output.ready(text, { ready: what, ...facts });
}

/** Resolves at the first Ctrl-C or similar signal; the next one ends the process as usual. */
export function untilInterrupted(io: Io): Promise<void> {
  return new Promise((resolve) => {
    const stopListening = io.onInterrupt(() => {
      stopListening();
      resolve();
    });
  });
}
