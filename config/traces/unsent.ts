/** What a program says where it sends no spans. Nothing else depends on it. */

export type Unsent = { readonly code: 'TRACES_UNSENT'; readonly message: string; readonly fix: string };

/** @param why a sentence without its full stop */
export function unsent(why: string): Unsent {
  return {
    code: 'TRACES_UNSENT',
    message: why,
    fix: 'Start the collector, or correct the variables that begin with OTEL_EXPORTER_OTLP_, or unset them.',
  };
}

export function unsentText({ code, message, fix }: Unsent): string {
  return `${code}: ${message}. ${fix}`;
}
