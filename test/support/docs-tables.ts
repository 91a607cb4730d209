/** Reads the tables, fenced blocks and links of the documentation, for the tests that compare them with the code. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './root.ts';

/** One documentation file. */
export type Page = {
  readonly file: string;
  readonly text: string;
  /** The rows of the first table under a heading, cells as they are read, without the head. */
  rows(heading: string): readonly (readonly string[])[];
  /** The first fenced block in a language under a heading. */
  block(heading: string, language: string): string;
  /** Every fenced block in a language. */
  blocks(language: string): readonly string[];
};

export function readPage(file: string): Page {
  return pageOf(file, readFileSync(join(ROOT, file), 'utf8'));
}

export function pageOf(file: string, text: string): Page {
  return {
    file,
    text,
    rows: (heading) => rowsOf(sectionOf(file, text, heading)),
    block: (heading, language) => {
      const [block] = blocksOf(sectionOf(file, text, heading), language);
      if (block === undefined) throw new Error(`${file} has no ${language} block under "${heading}".`);
      return block;
    },
    blocks: (language) => blocksOf(text, language),
  };
}

/** What stands between a heading and the next one. */
function sectionOf(file: string, text: string, heading: string): string {
  const lines = withoutBlocks(text).split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start < 0) throw new Error(`${file} has no heading "${heading}".`);
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line));
  return text
    .split('\n')
    .slice(start + 1, length < 0 ? undefined : start + 1 + length)
    .join('\n');
}

/** As many lines, those inside fenced blocks empty: a comment of a shell is no heading. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^```[^]*?^```$/gm, (block) => block.replaceAll(/[^\n]/g, ''));
}

function rowsOf(section: string): string[][] {
  const lines = section.split('\n');
  const first = lines.findIndex((line) => line.startsWith('|'));
  const after = lines.findIndex((line, index) => index > first && !line.startsWith('|'));
  return lines.slice(first + 2, after < 0 ? undefined : after).map((line) =>
    line
      .slice(1, line.lastIndexOf('|'))
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}

function blocksOf(text: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(pattern)].map(([, block = '']) => block);
}

/** The links to files of this repository, and to headings of Markdown pages, that lead nowhere. */
export function brokenLinksOf(page: Page): readonly string[] {
  const links = [...withoutBlocks(page.text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page.file : join(dirname(page.file), path);
    if (path !== '' && !existsSync(join(ROOT, file))) return true;
    if (anchor === undefined) return false;
    const text = path === '' ? page.text : readFileSync(join(ROOT, file), 'utf8');
    return !anchorsIn(text).has(anchor);
  });
}

function anchorsIn(text: string): ReadonlySet<string> {
  const headings = withoutBlocks(text).matchAll(/^#+ (.+)$/gm);
  return new Set([...headings].map(([, heading = '']) => anchorOf(heading)));
}

/** As the hosts of repositories make them: lower case, blanks become hyphens, other signs go. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** `a`, `b`: each in backticks. */
export function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
