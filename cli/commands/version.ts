/** The version of this package, for `--version`. */
import { readFileSync } from 'node:fs';

/** The package file is one folder above the sources, and two above the build. */
const PLACES = [
  new URL('../../package.json', import.meta.url),
  new URL('../../../package.json', import.meta.url),
];

export function packageVersion(): string {
  for (const place of PLACES) {
    const text = textOf(place);
    if (text === null) continue;
    const { name, version }: { name?: unknown; version?: unknown } = JSON.parse(text);
    if (name === 'cambist' && typeof version === 'string') return version;
  }
  return 'unknown';
}

function textOf(place: URL): string | null {
  try {
    return readFileSync(place, 'utf8');
  } catch {
    return null;
  }
}
