/** Connections to Temporal, by its own variables and profile files, and the search attributes of runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
  type ConnectionOptions,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import { defaultPayloadConverter, type PayloadCodec } from '@temporalio/common';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { Mode } from '../domain/service/records.ts';
import { keyNeededFor } from '../domain/unreadable.ts';
import type { Problem, ProblemCode } from '../domain/problems.ts';
import { ASK_AGAIN, HAS_ENDED, SEARCH_ATTRIBUTES } from '../workflows/names.ts';
import { uncheckedCertificates } from './certificates.ts';
import { ConfigurationError, InfrastructureError } from './errors.ts';
import { READABLE } from './readable.ts';
import { PLAIN_CODEC, keyMissing, sealingCodec } from './seal/codec.ts';
import { sealKeysOf } from './seal/key-file.ts';
import { openedTraces } from './traces.ts';

export type Temporal = {
  readonly client: Client;
  readonly connection: Connection;
  readonly namespace: string;
  readonly address: string;
  /** Through it goes every value from and to Temporal, the client's too. */
  readonly codec: PayloadCodec;
  /** True where it seals. */
  readonly isSealed: boolean;
};

const CONNECT_LIMIT_MS = 5_000;
/** When connecting takes longer than this, the person is told what the command waits for. */
const SILENT_MS = 2_000;
const RETRY_MS = 500;
/** A query that a workflow refuses is asked so many times in all, with this pause after the first. */
const QUESTION_TRIES = 8;
const ASK_AGAIN_MS = 50;
/** At the pace of the retries, this takes some seconds. */
const NOT_READY_TRIES = 8;
/** `RUNNING` of the server's enumeration of states. */
const RUNNING = 1;
/** `KEYWORD` of the server's enumeration of indexed value types. */
const KEYWORD = 2;
const isKeyword = (type: number): boolean => type === KEYWORD;

/** How long to wait for a Temporal that is still starting, and whom to tell. */
export type Patience = { readonly ms: number; readonly say: (message: string) => void };

const NO_PATIENCE: Patience = { ms: 0, say: () => {} };

/**
 * Connects, and resolves when the namespace is there and takes runs. People start server, worker and run in
 * any order.
 *
 * @param connectLimitMs for each try
 * @throws ConfigurationError for a profile that cannot be used, InfrastructureError when Temporal does not
 * answer
 */
export async function connectTemporal(
  env: NodeJS.ProcessEnv,
  mode: Mode,
  patience: Patience = NO_PATIENCE,
  connectLimitMs = CONNECT_LIMIT_MS,
): Promise<Temporal> {
  const profile = readProfile(env, mode);
  const keys = sealKeysOf(env, mode);
  const sealing = { codec: keys === null ? PLAIN_CODEC : sealingCodec(keys), isSealed: keys !== null };
  const endsAtMs = performance.now() + patience.ms;
  const wait = `Waiting up to ${Math.round(patience.ms / 1_000)} s for Temporal at ${profile.address} …`;
  const timer = patience.ms > 0 ? setTimeout(() => patience.say(wait), SILENT_MS) : undefined;
  try {
    for (;;) {
      try {
        return await connectOnce(profile, sealing, connectLimitMs);
      } catch (error) {
        if (error instanceof ConfigurationError || performance.now() >= endsAtMs) throw error;
        await sleep(RETRY_MS);
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

async function connectOnce(
  { options, namespace, address }: Profile,
  sealing: Pick<Temporal, 'codec' | 'isSealed'>,
  limitMs: number,
): Promise<Temporal> {
  let connection: Connection;
  try {
    const interceptors = [tryAgain];
    connection = await Connection.connect({ ...options, interceptors, connectTimeout: limitMs });
  } catch (error) {
    throw refusedBy(address, error) ?? unreachable(address, error);
  }
  try {
    await untilRunsAreTaken(connection, namespace, address);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const traces = openedTraces();
  const client = new Client({
    connection,
    namespace,
    dataConverter: { payloadCodecs: [READABLE, sealing.codec] },
    interceptors: {
      workflow: [askAgain(connection, namespace), ...(traces === null ? [] : [traces.starts])],
    },
  });
  return { client, connection, namespace, address, ...sealing };
}

type CallInterceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/**
 * While a workflow has a task under way, Temporal keeps at most one query for it, and refuses the next one in
 * these words. A task takes some milliseconds. At the pace for other refusals, a second or two would be lost.
 */
export const QUESTION_BEFORE = /query buffer is full/;
const PACE = defaultGrpcRetryOptions();
const QUESTION_PACE = defaultGrpcRetryOptions({ initialIntervalMs: () => 20 });

/**
 * When more comes for a workflow that is about to go on in a new history, the workflow takes no instructions
 * until it has gone on. Temporal says so in these words, with this code of gRPC.
 */
const NOT_READY = /^Update-with-Start could not be executed/;
const isFailedPrecondition = (code: number): boolean => code === 9;
const isNotReady: (typeof PACE)['retryableDecider'] = (attempt, { code, details }) =>
  attempt < NOT_READY_TRIES && isFailedPrecondition(code) && NOT_READY.test(details);

/** How a call is repeated that has failed, or was refused for the moment. */
export const RETRIES: typeof PACE = {
  retryableDecider: (attempt, status) =>
    PACE.retryableDecider(attempt, status) || isNotReady(attempt, status),
  delayFunction: (attempt, status) =>
    (QUESTION_BEFORE.test(status.details) ? QUESTION_PACE : PACE).delayFunction(attempt, status),
};
const AGAIN = makeGrpcRetryInterceptor(RETRIES);
const ONCE = makeGrpcRetryInterceptor({ ...RETRIES, retryableDecider: () => false });

/** Repeats a call whose answer was lost, unless it is a reset: each reset makes a new run. */
const tryAgain: CallInterceptor = (options, next) => {
  const isReset = options.method_definition.path.endsWith('/ResetWorkflowExecution');
  return (isReset ? ONCE : AGAIN)(options, next);
};

/**
 * Asks a workflow again that is about to go on in a new history, because it answers once it has gone on. If a
 * person has terminated it before, the next query says that it has ended. An answer that is sealed is an error where there are no
 * keys.
 */
export function askAgain(connection: Connection, namespace: string): WorkflowClientInterceptor {
  return {
    query: async (input, next) => {
      let { headers } = input;
      for (let tries = 1; ; tries += 1) {
        try {
          const answer: unknown = await next({ ...input, headers });
          const key = keyNeededFor(answer);
          if (key !== null) throw keyMissing(key);
          return answer;
        } catch (error) {
          const isToAsk = error instanceof Error && error.message === ASK_AGAIN;
          if (!isToAsk || tries === QUESTION_TRIES) throw error;
          const { workflowExecutionInfo } = await connection.workflowService.describeWorkflowExecution({
            namespace,
            execution: input.workflowExecution,
          });
          const hasEnded = Number(workflowExecutionInfo?.status) !== RUNNING;
          if (hasEnded) headers = { ...headers, [HAS_ENDED]: defaultPayloadConverter.toPayload(true) };
          else await sleep(ASK_AGAIN_MS * tries);
        }
      }
    },
  };
}

/**
 * Registers the search attributes that the namespace does not know. Without them it refuses each start, and
 * each list of runs.
 */
async function untilRunsAreTaken(connection: Connection, namespace: string, address: string): Promise<void> {
  if (await knowsSearchAttributes(connection, namespace, address)) return;
  await registerSearchAttributes(connection, namespace);
  if (await knowsSearchAttributes(connection, namespace, address)) return;
  throw new InfrastructureError({
    code: 'SEARCH_ATTRIBUTES_PENDING',
    message: `Temporal at ${address} got the search attributes of Cambist a moment ago, and cannot use them yet.`,
    fix: 'Try again in a minute.',
  });
}

async function knowsSearchAttributes(
  connection: Connection,
  namespace: string,
  address: string,
): Promise<boolean> {
  const query = SEARCH_ATTRIBUTES.map((name) => `${name} = 'none'`).join(' AND ');
  try {
    await connection.workflowService.countWorkflowExecutions({ namespace, query });
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === GRPC.invalidArgument) return false;
    if (code === GRPC.notFound) {
      throw new InfrastructureError({
        code: 'TEMPORAL_NAMESPACE',
        message: `Temporal at ${address} has no namespace "${namespace}".`,
        fix: 'Create it, or name another one in TEMPORAL_NAMESPACE.',
        cause: error,
      });
    }
    throw refusedBy(address, error) ?? unreachable(address, error);
  }
}

/** gRPC's status codes that mean something other than "not now". */
const GRPC = { invalidArgument: 3, notFound: 5, permissionDenied: 7, unauthenticated: 16 };

function codeOf(error: unknown): number | null {
  return isGrpcServiceError(error) ? error.code : null;
}

/** Why the server refuses us; null: it does not. */
function refusedBy(address: string, error: unknown): ConfigurationError | null {
  const code = codeOf(error);
  if (code !== GRPC.permissionDenied && code !== GRPC.unauthenticated) return null;
  return new ConfigurationError([
    {
      code: 'TEMPORAL_REFUSED',
      item: null,
      message: `Temporal at ${address} does not accept the API key or the certificate.`,
      fix: 'Check TEMPORAL_API_KEY, or the client certificate, and what they may do in TEMPORAL_NAMESPACE.',
    },
  ]);
}

/**
 * Adds the search attributes that are missing. One that exists with another type would leave every run stuck, so that is an
 * error. So is a namespace to which we may not add any.
 */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const names = SEARCH_ATTRIBUTES;
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const wrong = names.filter((name) => !isKeyword(customAttributes?.[name] ?? KEYWORD));
  const missing = names.filter((name) => customAttributes?.[name] === undefined);
  const commands = missing.map(
    (name) =>
      `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type Keyword`,
  );
  if (wrong.length > 0) {
    throw new ConfigurationError([
      {
        code: 'SEARCH_ATTRIBUTE_TYPE',
        item: null,
        message: `Search attribute(s) ${wrong.join(', ')} of namespace "${namespace}" are not of type Keyword.`,
        fix: 'Use a namespace where they are, or where they do not exist yet.',
      },
    ]);
  }
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  } catch (error) {
    // Another program that started at the same time may have added it first.
    const now = await connection.operatorService.listSearchAttributes({ namespace });
    if (names.every((name) => isKeyword(now.customAttributes?.[name] ?? 0))) return;
    throw new ConfigurationError([
      {
        code: 'SEARCH_ATTRIBUTE_MISSING',
        item: null,
        message: `Namespace "${namespace}" does not have the search attribute(s) ${missing.join(', ')}, and Cambist could not add them: ${error instanceof Error ? error.message : String(error)}.`,
        fix: `Have an administrator run: ${commands.join(' && ')}`,
      },
    ]);
  }
}

export type Profile = {
  readonly options: ReturnType<typeof loadClientConnectConfig>['connectionOptions'];
  readonly namespace: string;
  readonly address: string;
};

/** @throws ConfigurationError for a profile that cannot be used, or that is not safe enough for live money */
export function readProfile(env: NodeJS.ProcessEnv, mode: Mode): Profile {
  const { connectionOptions, namespace } = loadProfile(env);
  if (mode === 'LIVE') requireSafe(env, connectionOptions, namespace);
  const address = connectionOptions.address || '127.0.0.1:7233';
  return { options: { ...connectionOptions, address }, namespace: namespace ?? 'default', address };
}

function loadProfile(env: NodeJS.ProcessEnv): ReturnType<typeof loadClientConnectConfig> {
  try {
    return loadClientConnectConfig({ configFileStrict: true, overrideEnvVars: definedOf(env) });
  } catch (error) {
    throw new ConfigurationError([
      {
        code: 'TEMPORAL_PROFILE',
        item: null,
        message: `The Temporal configuration cannot be used: ${error instanceof Error ? error.message : String(error)}.`,
        fix: 'Check the TEMPORAL_* variables and the profile file.',
      },
    ]);
  }
}

/**
 * Every program that can write to Temporal can start runs, and every machine between us and Temporal can read the
 * policies. So live runs need a server whose address a person has set, which proves who it is, and which asks
 * who we are.
 */
function requireSafe(
  env: NodeJS.ProcessEnv,
  options: Profile['options'],
  namespace: string | undefined,
): void {
  const problems: Problem[] = [...uncheckedCertificates(env)];
  const add = (code: ProblemCode, message: string, fix: string): void => {
    problems.push({ code, item: null, message: `In LIVE, ${message}.`, fix });
  };
  if (!options.address)
    add('TEMPORAL_ADDRESS_MISSING', 'the address of Temporal must be named', 'Set TEMPORAL_ADDRESS.');
  if (!namespace)
    add('TEMPORAL_NAMESPACE_MISSING', 'the namespace of Temporal must be named', 'Set TEMPORAL_NAMESPACE.');
  const { tls } = options;
  const hasCertificate = typeof tls === 'object' && tls !== null && Boolean(tls.clientCertPair);
  if (!tls || !(hasCertificate || options.apiKey))
    add(
      'TEMPORAL_NOT_SECURED',
      'Temporal must be reached by TLS, with a client certificate or an API key',
      'Set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or TEMPORAL_API_KEY.',
    );
  if (problems.length > 0) throw new ConfigurationError(problems);
}

function definedOf(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    ),
  );
}

export function unreachable(address: string, cause: unknown): InfrastructureError {
  return new InfrastructureError({
    code: 'TEMPORAL_UNREACHABLE',
    message: `Temporal does not answer at ${address}.`,
    fix: 'Start it (`npx cambist up`, `npx cambist temporal`), or set TEMPORAL_ADDRESS.',
    cause,
  });
}
