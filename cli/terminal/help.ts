/** Writes help, as the parser of the command line has laid it out. Apart from `Output`, so that it needs nothing else. */
import type { Sink } from './io.ts';
import { forTerminal } from './safe.ts';

export function writeHelp(sink: Sink, text: string): void {
  sink.write(`${forTerminal(text.replace(/\n$/, ''), false)}\n`);
}
