/**
 * A page of the documentation, typed as a reader types it: every command runs, and prints what the page shows. `…` stands
 * for anything; times, ids, dates, ports and line breaks may differ, and lines of progress depend on who looks when. A policy
 * that is shown is saved under its name.
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { todayIn } from '../../calendar/business-date.ts';
import { commandProcess, flat, startCommand, type Ended, type Started } from './commands.ts';
import { ROOT } from './root.ts';

/** The date of the runs that the pages show. */
const SHOWN_DATE = '2026-11-21';
const ADMIN = 'http://127.0.0.1:7301';

type Block = { readonly language: string; readonly text: string };
type Typed = { readonly line: string; readonly shown: string };

function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w+)\n([^]*?)^```/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
}

/** What is typed in a block, and what the page shows after it; of `sh` nothing is shown. */
function typedIn({ language, text }: Block): readonly Typed[] {
  const joined = text.replaceAll(/\\\n\s*/g, '');
  if (language === 'sh')
    return joined
      .trim()
      .split('\n')
      .map((line) => ({ line, shown: '' }));
  return [...joined.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n?)*)/gm)].map(([, line = '', shown = '']) => ({
    line,
    shown,
  }));
}

/** The text as a pattern that only it matches. */
const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);

/** What was printed, as a pattern; null when only progress is shown. */
function patternOf(shown: string): RegExp | null {
  const lines = shown.split('\n').filter((line) => !/^\d\d:\d\d:\d\d /.test(line));
  const text = flat(lines.join('\n')).trim();
  if (text === '') return null;
  const pattern = literally(text)
    .replaceAll(/ ?… ?/g, '[^]*')
    .replaceAll(/\d\d:\d\d(:\d\d)?/g, (time) => time.replaceAll(/\d/g, String.raw`\d`))
    .replaceAll(/\d{4}-\d\d-\d\d/g, String.raw`\d{4}-\d\d-\d\d`)
    .replaceAll(/\b(Mon|Tue|Wed|Thu|Fri)\b/g, String.raw`\w{3}`)
    .replaceAll(/(tde|wtd)_\w+/g, String.raw`$1_\w+`)
    .replaceAll('Started by ana', String.raw`Started by \S+`)
    .replaceAll(/process \d+/g, String.raw`process \d+`)
    .replaceAll(/(127\\\.0\\\.0\\\.1):\d+/g, String.raw`$1:\d+`);
  return new RegExp(pattern);
}

function assertShown({ line, shown }: Typed, { stdout, stderr }: Ended): void {
  const pattern = patternOf(shown);
  if (pattern === null) return;
  const printed = [flat(`${stderr}\n${stdout}`), flat(`${stdout}\n${stderr}`)];
  assert.ok(
    printed.some((text) => pattern.test(text)),
    `\`${line}\` printed:\n${stdout}\n${stderr}\nThe page shows:\n${shown}`,
  );
}

/** The README and the tutorial that goes on from it, of the package in a folder, without what sets up that folder. */
export function readmeAndTutorial(own = ROOT): string {
  const [readme = '', tutorial] = ['README.md', 'docs/tutorial.md'].map((file) =>
    readFileSync(join(own, file), 'utf8'),
  );
  return `${readme.replaceAll(/^```sh\nnpm (?:install|run) [^]*?^```$/gm, '')}\n${tutorial}`;
}

/** Types every command of the page, one after the other, by the package in a folder. @returns how many there are */
export async function typePage(t: TestContext, page: string, own = ROOT): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-page-'));
  cpSync(join(own, 'policies'), join(folder, 'policies'), { recursive: true });
  const place = { folder, env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TZ: 'UTC' } };
  const program = { node: process.execPath, bin: join(own, 'bin/cambist.mjs') };
  let up: Started | null = null;
  let admin = ADMIN;
  t.after(async () => {
    up?.process.kill('SIGTERM');
    await up?.ended;
    rmSync(folder, { recursive: true, force: true });
  });

  /** Of the policy that the line names, by its file or by its run, in its zone. */
  const dateFor = (line: string): string => {
    const [file] = /\S+\.yaml/.exec(line) ?? [];
    const [, policy] = /(\S+)\.\d{4}-/.exec(line) ?? [];
    const path = join(folder, file ?? `policies/${policy ?? ''}.yaml`);
    const zone = existsSync(path) ? /^zone: (\S+)/m.exec(readFileSync(path, 'utf8')) : null;
    return todayIn(zone?.[1] ?? 'UTC', Date.now());
  };
  const type = async (typed: Typed): Promise<void> => {
    const date = dateFor(typed.line);
    const line = typed.line.replaceAll(SHOWN_DATE, date);
    const { shown } = typed;
    const [, method, path, body] = /^curl -s -X (\w+) http:\/\/[\w.:]+(\/\w+) *-d '(.*)'$/.exec(line) ?? [];
    if (method !== undefined && path !== undefined && body !== undefined) {
      const reply = await fetch(`${admin}${path}`, { method, body });
      assert.ok(reply.ok, `${line}: ${reply.status} ${await reply.text()}`);
      return;
    }
    const [, rest] = /^npx cambist (.*)$/.exec(line) ?? [];
    assert.ok(rest !== undefined, `Nobody here knows how to type \`${line}\`.`);
    if (rest === 'up') {
      up = startCommand(place, ['up'], { program });
      let stdout = '';
      up.process.stdout?.on('data', (text: string) => (stdout += text));
      await up.says(/\n {2}key .*\n/);
      admin = /admin (http:\S+)\)/.exec(stdout)?.[1] ?? admin;
      assertShown({ line, shown }, { exitCode: null, stdout, stderr: '' });
      return;
    }
    const words = rest.split(' ');
    if (!words.includes('--wait')) {
      assertShown({ line, shown }, await commandProcess(place, words, { program }));
      return;
    }
    // What comes after the first line of progress takes minutes: a reader leaves it with Ctrl-C, too.
    const [, first = ''] = /^\d\d:\d\d:\d\d (.*?)…?$/m.exec(shown) ?? [];
    const waiting = startCommand(place, words, { program });
    await waiting.says(new RegExp(literally(first.trim())));
    waiting.process.kill('SIGINT');
    await waiting.ended;
  };

  let typed = 0;
  for (const block of blocksOf(page)) {
    const [, policy] = /^policy: 1\n(?:.*\n)*?name: (\S+)/.exec(block.text) ?? [];
    if (policy !== undefined) {
      writeFileSync(join(folder, `${policy}.yaml`), block.text);
      continue;
    }
    for (const each of typedIn(block)) {
      // One after the other, as a reader types.
      await type(each);
      typed += 1;
    }
  }
  return typed;
}
