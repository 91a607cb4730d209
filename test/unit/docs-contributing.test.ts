/** CONTRIBUTING, the glossary and the citations of the design name what is there. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPage } from '../support/docs-tables.ts';
import { ROOT } from '../support/root.ts';

const contributing = readPage('CONTRIBUTING.md');
const glossary = readPage('docs/glossary.md');
const architecture = readPage('docs/architecture.md');

test('every folder has a line that says what lives there', () => {
  const hidden = ['node_modules', 'dist', 'dist.next', 'dist.old'];
  const folders = readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !hidden.includes(entry.name))
    .map(({ name }) => `\`${name}/\``);
  const written = contributing.rows('Where things are').map(([folder = '']) => folder);
  assert.deepEqual(new Set(written), new Set(folders));
});

test('every folder of durable/ and operations/ has a line that says what is in it', () => {
  const inner = ['durable', 'operations'].flatMap((top) => [
    `\`${top}/\``,
    ...readdirSync(join(ROOT, top), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `\`${top}/${name}/\``),
  ]);
  const written = architecture.rows('What is in `durable/` and `operations/`');
  assert.deepEqual(written.map(([folder = '']) => folder).toSorted(), inner.toSorted());
  for (const [folder = '', meaning = ''] of written) assert.ok(meaning.length > 20, folder);
});

test('the files that a change touches are there', () => {
  const named = contributing.text.match(/`[\w-]+\/[\w./-]+\.(?:ts|md)`|`[A-Z]+\.md`/g) ?? [];
  assert.ok(named.length > 20);
  const missing = named
    .map((name) => name.replaceAll('`', ''))
    .filter((name) => name !== 'cli/commands/NAME.ts' && !existsSync(join(ROOT, name)));
  assert.deepEqual([...new Set(missing)], []);
});

test('the table of workflows has each type once', () => {
  const names = readFileSync(join(ROOT, 'workflows/names.ts'), 'utf8');
  const types = [...names.matchAll(/^export const [A-Z]+_TYPE = '(\w+)';$/gm)].map(([, type = '']) => type);
  assert.ok(types.length > 5);
  const written = architecture.rows('A run').map(([type = '']) => type.replaceAll('`', ''));
  assert.deepEqual(written.toSorted(), types.toSorted());
});

test('the files that the drawings of the architecture name are there', () => {
  const drawings = [...architecture.text.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(
    ([, drawing = '']) => drawing,
  );
  const named = drawings.flatMap((drawing) => drawing.match(/[\w-][\w./-]*\.ts\b/g) ?? []);
  assert.ok(named.length > 30);
  const all = sources('.');
  const isThere = (name: string): boolean =>
    all.some((file) => file === name || (!name.includes('/') && file.endsWith(`/${name}`)));
  assert.deepEqual(
    named.filter((name) => !isThere(name)),
    [],
  );
});

test('each word of the glossary stands once, in order, with one line that says what it means', () => {
  const rows = glossary.rows('Glossary');
  const words = rows.map(([word = '']) => word);
  assert.deepEqual(words, [...new Set(words)].toSorted());
  assert.ok(words.length > 20);
  for (const [word, meaning = ''] of rows) {
    assert.match(meaning, /^[A-Z].*\.$/, word);
    assert.ok(meaning.length <= 110, word);
  }
});

test('what the code cites of the design is a heading of it or of a page of reference', () => {
  const headings = new Set(
    ['docs/design.md', 'docs/policies.md', 'docs/configuration.md', 'docs/commands.md'].flatMap((file) =>
      [...readPage(file).text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading),
    ),
  );
  const wrong = sources('.').flatMap((file) =>
    citationsIn(readFileSync(join(ROOT, file), 'utf8'))
      .filter((heading) => !headings.has(heading))
      .map((heading) => `${file}: "${heading}"`),
  );
  assert.deepEqual(wrong, []);
});

test('a citation is found wherever a comment breaks', () => {
  const text =
    ' * Kept apart (design: "In doubt,\n   * absent", "The chain rule").\n// design:\n// "Identity"';
  assert.deepEqual(citationsIn(text), ['In doubt, absent', 'The chain rule', 'Identity']);
});

/** The headings that comments cite: `design: "…"`, or several with commas between. */
function citationsIn(text: string): string[] {
  const flat = text.replaceAll(/\s*\n\s*(?:\*|\/\/)?\s*/g, ' ');
  return [...flat.matchAll(/\bdesign: ("[^"]+"(?:, "[^"]+")*)/g)].flatMap(([, cited = '']) =>
    [...cited.matchAll(/"([^"]+)"/g)].map(([, heading = '']) => heading),
  );
}

/** Sources but those of this test, relative to the root. */
function sources(folder: string): string[] {
  const skipped = ['node_modules', 'dist', 'dist.next', 'dist.old', 'docs-contributing.test.ts'];
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith('.') || skipped.includes(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.(ts|mjs)$/.test(entry.name) ? [path] : [];
  });
}
