/** The secured door of a rehearsal on one machine. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { certificatesIn } from '../../worker/rehearsal-certificates.ts';
import { openTlsFront } from '../../worker/tls-front.ts';
import { NO_PROC } from '../support/open-ports.ts';

/** 127.0.0.1, as Linux writes an address into its list of sockets. */
const LOOPBACK = '0100007F';

/** The addresses on which somebody on this machine listens at this port. */
function listeningAt(port: number): readonly string[] {
  const name = port.toString(16).toUpperCase().padStart(4, '0');
  const rows = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, 'utf8').split('\n').slice(1),
  );
  return rows.flatMap((row) => {
    const [, local, , state] = row.trim().split(/\s+/);
    const [address = '', at] = local?.split(':') ?? [];
    return state === '0A' && at === name ? [address] : [];
  });
}

test('it listens on loopback only', { skip: NO_PROC }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-tls-'));
  try {
    const front = await openTlsFront('127.0.0.1:1', 0, await certificatesIn(folder));
    try {
      assert.deepEqual(listeningAt(front.port), [LOOPBACK]);
    } finally {
      await front.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
