/**
 * Configuration from the environment (design: "Commands"): read once, checked whole, never logged.
 * Keys stay in the client; everything here may be shown.
 */
import { isDefinitive } from '../domain/service/reply-rules.ts';
import type { Mode } from '../domain/service/records.ts';
import { DEFAULT_SERVICE_FACTS, type ServiceFacts } from '../domain/service/facts.ts';
import type { Problem } from '../domain/problems.ts';
import { loadServiceFacts } from '../language/load-service-facts.ts';
import { placeOf } from '../language/text/problem.ts';
import { parseAddress, type ServiceAddress } from '../service/address.ts';
import { createServiceClient, type Requested, type ServiceClient } from '../service/client.ts';
import { ServiceConfigurationError } from '../service/errors.ts';
import { readKeyFile, type ApiKey } from '../service/key.ts';
import { sealerOf } from '../service/quote-seal.ts';
import { uncheckedCertificates } from './certificates.ts';
import { withDevEnvironment } from './dev-environment.ts';
import { ConfigurationError, type ConfigurationProblem } from './errors.ts';
import { readTextFile } from './read-text-file.ts';
import { canNameDeployment, taskQueueOf } from './task-queue.ts';

/** Everything that a worker or a command needs to reach the service. */
export type Settings = {
  readonly address: ServiceAddress;
  readonly key: ApiKey;
  /** Null: reads are signed with `key`. */
  readonly readKey: ApiKey | null;
  readonly mode: Mode;
  readonly issuer: string;
  readonly facts: ServiceFacts;
  /** Folder of reference files for scheduled policies; null when none is named. */
  readonly filesFolder: string | null;
  /** Folder of the policies by which a worker sends; null: it sends what its runs plan, and in live it does not start. */
  readonly policiesFolder: string | null;
  /** While this file is there, a worker sends nothing; null when none is named. */
  readonly haltFile: string | null;
  /** Folder in which a worker keeps its journal; null: it keeps none. */
  readonly auditFolder: string | null;
  readonly taskQueue: string;
  /** host:port at which a worker shows its metrics; null: it shows none. */
  readonly metricsAddress: string | null;
  /** The build, by which Temporal tells these workers from those of another build; null: it does not. */
  readonly build: { readonly deployment: string; readonly id: string } | null;
  readonly warnings: readonly string[];
};

/**
 * A request must end before its attempt does. So it gets the start-to-close time, less the time in which it
 * may be sent, less some slack.
 */
const REQUEST_LIMIT_MS = 15_000;

/** @throws ConfigurationError with every problem that was found */
export async function loadSettings(environment: NodeJS.ProcessEnv, cwd: string): Promise<Settings> {
  const env = await withDevEnvironment(environment, cwd);
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  const note = (error: unknown): null => {
    problems.push(asProblem(error));
    return null;
  };
  const mode = readMode(env['CAMBIST_APP_MODE'], problems);
  if (mode === 'LIVE') problems.push(...uncheckedCertificates(env));
  const address = await attempt(() => parseAddress(env['CAMBIST_BASE_URL'] ?? ''), note);
  const key = await attempt(() => keyFrom(env['CAMBIST_KEY_FILE'], mode, 'CAMBIST_KEY_FILE', warnings), note);
  const readKeyPath = env['CAMBIST_READ_KEY_FILE'];
  const readOnly = readKeyPath
    ? await attempt(() => keyFrom(readKeyPath, mode, 'CAMBIST_READ_KEY_FILE', warnings), note)
    : null;
  const facts = await readFacts(env['CAMBIST_SERVICE_FILE'], problems);
  const buildId = readBuildId(env['CAMBIST_BUILD_ID'], problems);
  const metricsAddress = readMetricsAddress(env['CAMBIST_METRICS'], problems);
  if (key !== null && readOnly !== null && readOnly.organisation !== key.organisation)
    problems.push(foreignReadKey(key, readOnly));
  if (mode !== null && buildId !== null) problems.push(...unfitForBuilds(taskQueueOf(env, mode)));
  if (mode === null || address === null || key === null || problems.length > 0)
    throw new ConfigurationError(problems);
  return {
    address,
    key,
    readKey: readOnly,
    mode,
    issuer: env['CAMBIST_ISSUER'] || 'service',
    facts,
    filesFolder: env['CAMBIST_FILES'] || null,
    policiesFolder: env['CAMBIST_POLICIES'] || null,
    haltFile: env['CAMBIST_HALT_FILE'] || null,
    auditFolder: env['CAMBIST_AUDIT'] || null,
    taskQueue: taskQueueOf(env, mode),
    metricsAddress,
    // The deployment has the same name as its task queue.
    build: buildId === null ? givenBuild(env) : { deployment: taskQueueOf(env, mode), id: buildId },
    warnings,
  };
}

/** Makes the one client of a process for writes, or the one for reads. */
export function createClient(
  settings: Settings,
  use: 'write' | 'read',
  timeoutMs = REQUEST_LIMIT_MS,
  onRequest?: (request: Requested) => void,
): ServiceClient {
  return createServiceClient({
    baseUrl: settings.address,
    key: use === 'read' ? (settings.readKey ?? settings.key) : settings.key,
    mode: settings.mode,
    issuer: settings.issuer,
    timeoutMs,
    isDefinitive,
    ...(onRequest !== undefined && { onRequest }),
  });
}

/** Seals facts with the worker's API key (`service/quote-seal.ts`). */
export function createSealer({ key }: Pick<Settings, 'key'>): (facts: readonly string[]) => string {
  return sealerOf(key);
}

function readMode(text: string | undefined, problems: ConfigurationProblem[]): Mode | null {
  const mode = text?.toUpperCase();
  if (mode === 'SANDBOX' || mode === 'LIVE') return mode;
  problems.push({
    code: 'MODE_MISSING',
    item: null,
    message:
      text === undefined || text === '' ? 'CAMBIST_APP_MODE is not set.' : `CAMBIST_APP_MODE is "${text}".`,
    fix: 'Set it to SANDBOX or LIVE; there is no default, so that live money is never touched by accident.',
  });
  return null;
}

/** People type it into commands, and Temporal puts it behind a delimiter in its names of versions. */
const BUILD_ID = /^[A-Za-z0-9][A-Za-z0-9.-]{0,63}$/;

function readBuildId(text: string | undefined, problems: ConfigurationProblem[]): string | null {
  if (text === undefined || text === '') return null;
  if (BUILD_ID.test(text)) return text;
  problems.push({
    code: 'BUILD_ID_INVALID',
    item: null,
    message: `CAMBIST_BUILD_ID is "${text}".`,
    fix: 'Use up to 64 letters, digits, dots and dashes, a letter or digit first: a version such as "1.4.0", or the id of a commit. Or unset it: then workers have no build.',
  });
  return null;
}

/** `9464` is a port of this machine alone. Any other address must be written out. */
const METRICS_ADDRESS = /^(?:(localhost|[0-9.]+|\[[0-9a-fA-F:]+\]):)?([1-9][0-9]{0,4})$/;

function readMetricsAddress(text: string | undefined, problems: ConfigurationProblem[]): string | null {
  if (text === undefined || text === '') return null;
  const [, host = '127.0.0.1', port = ''] = METRICS_ADDRESS.exec(text) ?? [];
  if (port !== '' && Number(port) <= 65_535) return `${host === 'localhost' ? '127.0.0.1' : host}:${port}`;
  problems.push({
    code: 'METRICS_ADDRESS_INVALID',
    item: null,
    message: `CAMBIST_METRICS is "${text}".`,
    fix: 'Write an IP address and a port, such as "127.0.0.1:9464", or a port alone: then only this machine reads it. Or unset it: then the worker shows no metrics.',
  });
  return null;
}

/** What the Temporal Worker Controller sets in the pods that it makes; null where it has made none of this. */
function givenBuild(env: NodeJS.ProcessEnv): Settings['build'] {
  const deployment = env['TEMPORAL_DEPLOYMENT_NAME'];
  const id = env['TEMPORAL_WORKER_BUILD_ID'];
  return deployment && id ? { deployment, id } : null;
}

/** The deployment has the queue's name: another name could be that of another queue's deployment. */
function unfitForBuilds(taskQueue: string): readonly Problem[] {
  if (canNameDeployment(taskQueue)) return [];
  return [
    {
      code: 'BUILD_ID_INVALID',
      item: null,
      message: `CAMBIST_BUILD_ID is set, and CAMBIST_TASK_QUEUE is "${taskQueue}", which cannot name a deployment in Temporal.`,
      fix: 'Use a task queue whose name has only letters, digits, "-" and "_", for workers and commands. Or unset CAMBIST_BUILD_ID: then workers have no build.',
    },
  ];
}

async function keyFrom(
  path: string | undefined,
  mode: Mode | null,
  place: string,
  warnings: string[],
): Promise<ApiKey> {
  if (path === undefined || path === '') {
    throw new ServiceConfigurationError({
      code: 'KEY_FILE_NOT_FOUND',
      place,
      problem: 'no key file is named.',
      fix: 'Set it to the path of the API key record (JSON with `name` and `privateKey`).',
    });
  }
  const read = await readKeyFile({ path, mode: mode ?? 'LIVE', place });
  warnings.push(
    ...read.warnings.map((warning) => `${warning.code}: ${warning.place}: ${warning.problem} ${warning.fix}`),
  );
  return read.key;
}

/** With a key of another organisation, reads would show nothing, and everything would seem absent. */
function foreignReadKey(key: ApiKey, readKey: ApiKey): Problem {
  return {
    code: 'READ_KEY_FOREIGN',
    item: null,
    message: `CAMBIST_READ_KEY_FILE is a key of organisation "${readKey.organisation}", CAMBIST_KEY_FILE of "${key.organisation}".`,
    fix: 'Use a read key of the same organisation, or none.',
  };
}

async function readFacts(path: string | undefined, problems: ConfigurationProblem[]): Promise<ServiceFacts> {
  if (path === undefined || path === '') return DEFAULT_SERVICE_FACTS;
  const read = await readTextFile(path);
  if (!read.ok) {
    problems.push({
      code: 'SERVICE_FILE_NOT_FOUND',
      item: null,
      message: `CAMBIST_SERVICE_FILE "${path}" cannot be read: ${read.message}.`,
      fix: 'Name a readable YAML file, or unset the variable.',
    });
    return DEFAULT_SERVICE_FACTS;
  }
  const loaded = loadServiceFacts(read.text, path);
  if (loaded.ok) return loaded.facts;
  problems.push(
    ...loaded.problems.map((problem) => ({
      code: problem.code,
      item: null,
      message: problem.message,
      fix: problem.fix,
      place: placeOf(problem),
      excerpt: problem.excerpt,
    })),
  );
  return DEFAULT_SERVICE_FACTS;
}

async function attempt<T>(read: () => T | Promise<T>, note: (error: unknown) => null): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    return note(error);
  }
}

function asProblem(error: unknown): Problem {
  if (!(error instanceof ServiceConfigurationError)) throw error;
  return { code: error.code, item: null, message: `${error.place}: ${error.problem}`, fix: error.fix };
}
