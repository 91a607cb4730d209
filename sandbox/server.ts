// The sandbox: a service of its own on a loopback port, written from the interface document alone, with an
// admin side. Tests and `cambist sandbox` start it. It never listens beyond this machine, and shares no code
// with the client it is there to meet.

import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { createAdminServer } from './admin.ts';
import { BadInput, listOf } from './checks.ts';
import type { SandboxControls } from './controls.ts';
import { balancesCheck, controlsOf, ratesCheck } from './controls.ts';
import { Core } from './core.ts';
import type { SandboxAccount } from './default-accounts.ts';
import { accountCheck, defaultAccounts, defaultBalances } from './default-accounts.ts';
import type { SandboxFault } from './fault-kinds.ts';
import { serveRequest } from './front.ts';
import type { SandboxKey } from './records.ts';
import { putKey } from './keys.ts';
import { basePath } from './operations.ts';
import { defaultRates } from './rates.ts';
import type { SettingsPatch } from './settings.ts';
import { defaultSettings, withPatch } from './settings.ts';

export type { LedgerView } from './controls.ts';
export type { SandboxAccount } from './default-accounts.ts';
export type { FaultEffect, SandboxFault } from './fault-kinds.ts';
export type { SandboxKey } from './records.ts';
export type { SettingsPatch } from './settings.ts';

export interface SandboxOptions {
  /** 0, the default: any free port. Always on 127.0.0.1. */
  readonly port?: number;
  readonly adminPort?: number;
  readonly settings?: SettingsPatch;
  /** Makes ids and the dice of faults repeatable. */
  readonly seed?: string | number;
  readonly keys?: readonly SandboxKey[];
  /** Opening balances of every organisation; replaces the default ones. */
  readonly balances?: Readonly<Record<string, string>>;
  /** `A/B`: how many B one A is worth; added to the default ones. */
  readonly rates?: Readonly<Record<string, string>>;
  /** Withdrawal accounts of every organisation; replaces the default ones. */
  readonly accounts?: readonly SandboxAccount[];
  readonly faults?: readonly SandboxFault[];
  /**
   * A file in which the state outlives the process; made when missing. What it holds stands above these options:
   * settings and rates changed since, and the faults as they were left; `faults` is for a new file.
   */
  readonly statePath?: string;
}

export interface Sandbox extends SandboxControls {
  /** `http://127.0.0.1:<port>/v3`. */
  readonly baseUrl: string;
  /** `http://127.0.0.1:<port>`. */
  readonly adminUrl: string;
  /** The most connections to the service that were open side by side until now. */
  readonly mostConnections: () => number;
  /** Stops listening, drops open connections and writes the state. */
  readonly close: () => Promise<void>;
}

/** Starts a sandbox. Throws `BadInput` for a wrong option and what `listen` throws for a taken port. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const core = new Core({
    seed: options.seed === undefined ? null : String(options.seed),
    statePath: options.statePath ?? null,
    settings: withPatch(defaultSettings, options.settings ?? {}),
    rates: { ...defaultRates, ...ratesCheck(options.rates ?? {}, 'rates') },
    balances: balancesCheck(options.balances ?? defaultBalances, 'balances'),
    accounts: listOf(accountCheck)(options.accounts ?? defaultAccounts, 'accounts'),
  });
  for (const key of options.keys ?? []) putKey(core.store, key);
  if (!core.store.restored) for (const fault of options.faults ?? []) core.faults.add(fault);
  for (const { organization, mode } of core.store.tables.keys.values())
    core.openBook(`${organization}/${mode}`);
  core.flush();

  const controls = controlsOf(core);
  const service = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    void serveRequest(core, request, response);
  });
  const connections = counted(service);
  const admin = createAdminServer(controls);
  const port = await listen(service, options.port ?? 0);
  let adminPort: number;
  try {
    adminPort = await listen(admin, options.adminPort ?? 0);
  } catch (error) {
    await stop(service);
    throw error;
  }
  return {
    ...controls,
    baseUrl: `http://127.0.0.1:${port}${basePath}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    mostConnections: () => connections.most,
    close: async () => {
      core.faults.release();
      await Promise.all([stop(service), stop(admin)]);
      core.flush();
    },
  };
}

function counted(server: Server): { readonly most: number } {
  const connections = { open: 0, most: 0 };
  server.on('connection', (socket) => {
    connections.open += 1;
    connections.most = Math.max(connections.most, connections.open);
    socket.once('close', () => (connections.open -= 1));
  });
  return connections;
}

function listen(server: Server, port: number): Promise<number> {
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new BadInput(`The port ${port} is not one.`);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
