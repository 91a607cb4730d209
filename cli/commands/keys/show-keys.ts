/** What commands show of a file of keys: never a secret of it. */
import { isAbsolute, join } from 'node:path';
import type { SealKeys } from '../../../config/seal/keys.ts';
import { CommandFailure } from '../../../operations/failure.ts';
import type { Output } from '../../terminal/output.ts';
import { table } from '../../terminal/text.ts';

/** The file that the command names, or else CAMBIST_SEAL_KEYS. @throws CommandFailure where neither names one */
export function keyFileOf({ io }: Output, named: string | undefined): string {
  const path = named ?? io.env['CAMBIST_SEAL_KEYS'] ?? '';
  if (path !== '') return isAbsolute(path) ? path : join(io.cwd, path);
  throw new CommandFailure('bad input', [
    {
      code: 'SEAL_KEYS_UNNAMED',
      place: null,
      message: 'no file of keys is named',
      fix: 'Name it, or set CAMBIST_SEAL_KEYS.',
    },
  ]);
}

/** @param next what to do now */
export function showKeys(output: Output, file: string, { keys, active }: SealKeys, next: string): void {
  const newestFirst = keys.toReversed();
  const rows = newestFirst.map(({ id, made }) => [id, made, useOf(id, newestFirst, active.id)]);
  output.show(table([{ title: 'key' }, { title: 'made' }, { title: 'use' }], rows, output.width));
  output.say('', next);
  const shown = keys.map(({ id, made }) => ({ id, made, seals: id === active.id }));
  output.document({ file, keys: shown });
}

function useOf(id: string, newestFirst: SealKeys['keys'], active: string): string {
  if (id === active) return 'seals and reads';
  return id === newestFirst[0]?.id ? 'reads; the next to seal' : 'reads';
}
