// The sandbox as a program: what `cambist sandbox` runs once it has read its arguments. It says where it
// listens, makes an API key when there is none, and stops on SIGINT or SIGTERM.

import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { BadInput, filledText, listOf, oneOf, shape } from './checks.ts';
import type { SandboxKey } from './records.ts';
import { generateKey } from './keys.ts';
import type { Sandbox, SandboxOptions } from './server.ts';
import { startSandbox } from './server.ts';

export interface RunSandboxOptions extends Omit<SandboxOptions, 'keys'> {
  /**
   * A JSON file with one API key record or a list of them: `{ name, privateKey }` as a client has it, or
   * `{ name, publicKeyPem }`, each with `scope` (default `write`) and `mode` (default `SANDBOX`) if wanted. A
   * missing file is made, with a new key. Without a file a key is made that lives as long as the process.
   */
  readonly keyFile?: string;
  /** Says where it listens as one line of JSON instead of prose. */
  readonly json?: boolean;
  /** Where it says so; standard output unless given. */
  readonly write?: (text: string) => void;
}

export interface RunningSandbox {
  readonly sandbox: Sandbox;
  /** Closes the sandbox; `stopped` then resolves. */
  readonly stop: () => Promise<void>;
  /** Resolves when it has stopped, by a signal or by `stop`. */
  readonly stopped: Promise<void>;
}

export async function runSandbox(options: RunSandboxOptions = {}): Promise<RunningSandbox> {
  const { keyFile, json = false, write = (text) => process.stdout.write(text), ...rest } = options;
  const made = keyFile === undefined || !existsSync(keyFile) ? generateKey() : null;
  if (keyFile !== undefined && made !== null) writeKeyFile(keyFile, made.name, made.privateKeyPem);
  const keys: readonly SandboxKey[] =
    made === null
      ? readKeyFile(keyFile ?? '')
      : [{ name: made.name, publicKeyPem: made.publicKeyPem, scope: 'write', mode: 'SANDBOX' }];
  const sandbox = await startSandbox({ ...rest, keys });

  let stopping: Promise<void> | null = null;
  let markStopped: () => void = () => {};
  const stopped = new Promise<void>((resolve) => {
    markStopped = resolve;
  });
  const stop = (): Promise<void> => {
    stopping ??= sandbox.close().then(() => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
      markStopped();
      return undefined;
    });
    return stopping;
  };
  const onSignal = (): void => void stop();
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);

  const { baseUrl, adminUrl } = sandbox;
  const names = keys.map((key) => key.name);
  // A key that is in no file can be used only if it is said.
  const loose =
    made !== null && keyFile === undefined ? { name: made.name, privateKey: made.privateKeyPem } : null;
  if (json)
    write(`${JSON.stringify({ baseUrl, adminUrl, keyFile: keyFile ?? null, keys: names, key: loose })}\n`);
  else {
    write(`The sandbox answers at ${baseUrl}\n`);
    write(`Its admin interface is at ${adminUrl}\n`);
    write(`API keys: ${names.join(', ')}${keyFile === undefined ? '' : ` (${keyFile})`}\n`);
    if (loose !== null) write(`The key record, for this run only:\n${JSON.stringify(loose)}\n`);
  }
  return { sandbox, stop, stopped };
}

const keyFileCheck = shape(
  { name: filledText },
  {
    privateKey: filledText,
    publicKeyPem: filledText,
    scope: oneOf('read', 'write'),
    mode: oneOf('SANDBOX', 'LIVE'),
  },
);

function readKeyFile(path: string): SandboxKey[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new BadInput(`The key file "${path}" is not JSON.`, { cause });
  }
  const records = listOf(keyFileCheck)(Array.isArray(content) ? content : [content], `"${path}"`);
  if (records.length === 0) throw new BadInput(`The key file "${path}" holds no key.`);
  return records.map(({ name, privateKey, publicKeyPem, scope = 'write', mode = 'SANDBOX' }) => {
    if (publicKeyPem !== undefined) return { name, publicKeyPem, scope, mode };
    if (privateKey === undefined) {
      throw new BadInput(`The key "${name}" in "${path}" has neither "privateKey" nor "publicKeyPem".`);
    }
    return { name, publicKeyPem: publicHalf(privateKey, name), scope, mode };
  });
}

function publicHalf(privateKeyPem: string, name: string): string {
  try {
    const publicKey = createPublicKey(createPrivateKey(privateKeyPem));
    return publicKey.export({ type: 'spki', format: 'pem' }).toString();
  } catch (cause) {
    throw new BadInput(`The "privateKey" of "${name}" is not a private key in PEM form.`, { cause });
  }
}

function writeKeyFile(path: string, name: string, privateKey: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify({ name, privateKey }, null, 2)}\n`, { mode: 0o600 });
}
