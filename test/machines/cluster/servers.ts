/**
 * A Temporal server as operators run it: two processes over PostgreSQL, with a wire between them and the database. One has
 * what clients speak to, the other one what keeps runs and gives out tasks. Each can be killed and comes back.
 */
import { execFile } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ensureTemporalSqlTool } from '../../../scripts/temporal-server-binary.mjs';
import { startPostgres, type Postgres } from '../../support/postgres.ts';
import { openWire, type Wire } from '../../support/proxy.ts';
import {
  makePlace,
  startServices,
  untilServing,
  type ServerPlace,
  type ServerProcess,
  type Service,
} from '../../support/temporal-server.ts';

/** What each process has. */
const PROCESSES = { front: ['frontend', 'worker'], back: ['history', 'matching'] } as const satisfies Record<
  string,
  readonly Service[]
>;
export type Side = keyof typeof PROCESSES;
const SIDES = ['front', 'back'] as const;
const RESTART_AFTER_MS = 2_000;

/** By the schema that Temporal has for each. */
const DATABASES = { temporal: 'temporal', visibility: 'temporal_visibility' } as const;
/** More than one, so that runs are kept in several parts. It can never be changed. */
const SHARDS = 4;
const CONNECTIONS = 20;

const call = promisify(execFile);

export class Cluster {
  readonly place: ServerPlace;
  readonly postgres: Postgres;
  /** Between the server and its database. */
  readonly #wire: Wire;
  readonly #processes: Record<Side, ServerProcess>;
  #isWanted = true;

  /** @param log the file that gets the end of what each process said that has ended */
  static async open(log: string): Promise<Cluster> {
    const postgres = await startPostgres();
    await makeTables(postgres);
    const wire = await openWire(postgres.address);
    const place = await makePlace({
      stores: {
        runs: storeOf(wire, postgres, DATABASES.temporal),
        list: storeOf(wire, postgres, DATABASES.visibility),
      },
      shards: SHARDS,
      dynamicConfig: { 'frontend.WorkflowPauseEnabled': true },
    });
    // One after the other: only one process may be the first of a new database.
    const front = await startServices(place, PROCESSES.front);
    await untilServing(place.address, [front]);
    const back = await startServices(place, PROCESSES.back);
    const cluster = new Cluster(place, postgres, wire, { front, back });
    for (const side of SIDES) void cluster.#keepUp(side, log);
    return cluster;
  }

  private constructor(
    place: ServerPlace,
    postgres: Postgres,
    wire: Wire,
    processes: Record<Side, ServerProcess>,
  ) {
    this.place = place;
    this.postgres = postgres;
    this.#wire = wire;
    this.#processes = processes;
  }

  /** As a power cut of one machine: the next one begins a while later. */
  async kill(side: Side): Promise<void> {
    await this.#processes[side].kill();
  }

  /** Every connection to the database is reset, and none is let in for so long. */
  async cutOffFor(ms: number): Promise<void> {
    this.#wire.setWeather({ kind: 'refusing' });
    await sleep(ms);
    this.#wire.setWeather({ kind: 'clear' });
  }

  /** Whatever ends a process, the next one begins, as systemd or Kubernetes would have it. */
  async #keepUp(side: Side, log: string): Promise<void> {
    for (;;) {
      await this.#processes[side].exited;
      appendFileSync(
        log,
        `--- ${new Date().toISOString()} ${side} has ended\n${this.#processes[side].output()}\n`,
      );
      await sleep(RESTART_AFTER_MS);
      if (!this.#isWanted) return;
      this.#processes[side] = await startServices(this.place, PROCESSES[side]);
    }
  }

  /** How many bytes its databases take. */
  async bytes(): Promise<number> {
    const sizes = Object.values(DATABASES).map(async (name) => {
      const [size = '0'] = await this.postgres.ask(name, 'SELECT pg_database_size(current_database())');
      return Number(size);
    });
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  async close(): Promise<void> {
    this.#isWanted = false;
    await Promise.all(Object.values(this.#processes).map((one) => one.kill()));
    await this.#wire.close();
    await this.postgres.close();
    await rm(this.place.folder, { recursive: true, force: true });
  }
}

/** As an operator makes them, by Temporal's own tool. */
async function makeTables({ address, user }: Postgres): Promise<void> {
  const tool = await ensureTemporalSqlTool();
  const [host = '', port = ''] = address.split(':');
  for (const [schema, database] of Object.entries(DATABASES)) {
    const at = ['--plugin', 'postgres12', '--ep', host, '-p', port, '-u', user, '--db', database];
    await call(tool, [...at, 'create-database']);
    await call(tool, [...at, 'setup-schema', '-v', '0.0']);
    await call(tool, [...at, 'update-schema', '--schema-name', `postgresql/v12/${schema}`]);
  }
}

function storeOf(wire: Wire, { user }: Postgres, databaseName: string): object {
  return {
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: wire.address,
      connectProtocol: 'tcp',
      user,
      maxConns: CONNECTIONS,
      maxIdleConns: CONNECTIONS,
      maxConnLifetime: '1h',
    },
  };
}
