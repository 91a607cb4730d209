/** Reads what many commands need first: the settings of the environment, and the policy that a command line names. */
import { loadSettings, type Settings } from '../config/config.ts';
import { CommandFailure } from '../operations/failure.ts';
import { readDecimals, readPolicyFile, type PolicyFile } from '../operations/policy-file.ts';
import type { Output } from './terminal/output.ts';

/** The settings. Warnings go to stderr. @throws ConfigurationError with every problem */
export async function readSettings(output: Output): Promise<Settings> {
  const { io } = output;
  const settings = await loadSettings(io.env, io.cwd);
  for (const warning of settings.warnings) output.note(`warning: ${warning}`);
  return settings;
}

/** One policy. Warnings go to stderr. @throws CommandFailure with every mistake */
export async function readPolicy(output: Output, file: string): Promise<PolicyFile> {
  const { caller } = output;
  const decimals = await readDecimals(caller);
  const read = await readPolicyFile(file, { cwd: caller.cwd, decimals, nowMs: caller.now() });
  const { policyFile, problems, warnings } = read;
  for (const warning of warnings) output.warn(warning);
  if (policyFile === null) throw new CommandFailure('bad input', problems);
  return policyFile;
}
