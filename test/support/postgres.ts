/**
 * PostgreSQL as this machine's packages have it, with a folder and a port of its own and nobody else's data. It listens on
 * loopback only, ends with this process, and leaves the PostgreSQL that the machine may run alone.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { ScriptFailed } from '../../scripts/lib/main.mjs';
import { freePort } from '../../worker/dev-server.ts';
import { eventually } from './patience.ts';

export type Postgres = {
  /** host:port. Whoever is on this machine may come in, as this user. */
  readonly address: string;
  readonly user: string;
  /** What one query gives, a value a line. */
  ask(database: string, query: string): Promise<readonly string[]>;
  close(): Promise<void>;
};

const HOST = '127.0.0.1';
const USER = 'temporal';
/** Debian keeps the programs of each version in a folder that is on nobody's PATH. */
const DEBIAN = '/usr/lib/postgresql';
const INSTALL = 'On Debian: apt-get install --no-install-recommends postgresql';

const call = promisify(execFile);

/** @throws ScriptFailed when the machine has no PostgreSQL, or no user who may run it */
export async function startPostgres(): Promise<Postgres> {
  const programs = await findPrograms();
  const who = await whoRunsIt();
  const folder = await mkdtemp(join(tmpdir(), 'cambist-postgres-'));
  if (who !== null) await chown(folder, who.uid, who.gid);
  const data = join(folder, 'data');
  const own = { ...who, cwd: folder };
  await call(
    join(programs, 'initdb'),
    ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
    own,
  );
  const port = await freePort();
  const server = spawn(
    join(programs, 'postgres'),
    ['-D', data, '-h', HOST, '-p', String(port), '-k', folder],
    { ...own, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let output = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-4_000);
  });
  // It ends at once, and its own processes with it.
  const endWithUs = (): boolean => server.kill('SIGQUIT');
  process.once('exit', endWithUs);
  const exited = once(server, 'exit');
  const ask: Postgres['ask'] = async (database, query) => {
    const asked = ['-h', HOST, '-p', String(port), '-U', USER, '-d', database, '-XAtc', query];
    const { stdout } = await call(join(programs, 'psql'), asked);
    return stdout.split('\n').filter((line) => line !== '');
  };
  await eventually('PostgreSQL answers', async () => {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}.\n${output}`);
    return ask('postgres', 'SELECT 1').catch(() => null);
  });
  return {
    address: `${HOST}:${port}`,
    user: USER,
    ask,
    close: async () => {
      process.removeListener('exit', endWithUs);
      server.kill('SIGQUIT');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The folder of its programs, of the newest version that is there. */
async function findPrograms(): Promise<string> {
  const versions = (await readdir(DEBIAN).catch(() => []))
    .filter((name) => /^\d+$/.test(name))
    .toSorted((one, other) => Number(other) - Number(one));
  const folders = [
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  for (const folder of folders) if (existsSync(join(folder, 'initdb'))) return folder;
  throw new ScriptFailed(`This machine has no PostgreSQL, over which the server could run. ${INSTALL}`);
}

/** PostgreSQL refuses to be run by root. Then the user runs it whom the package has made. Null: who runs this process. */
async function whoRunsIt(): Promise<{ readonly uid: number; readonly gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (what) => Number((await call('id', [what, 'postgres'])).stdout)),
    );
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  } catch {
    // Said below.
  }
  throw new ScriptFailed(
    `PostgreSQL does not run as root, and this machine has no user 'postgres'. ${INSTALL}`,
  );
}
