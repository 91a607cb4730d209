// Resource ids: a prefix and a base58 identifier of up to 22 characters, and the seeded dice of the faults.

import { createHash, randomBytes } from 'node:crypto';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

export class IdMaker {
  readonly #seed: string | null;

  /** With a seed the same sequence numbers always give the same ids. */
  constructor(seed: string | null) {
    this.#seed = seed;
  }

  make(prefix: string, sequence: number): string {
    const bytes =
      this.#seed === null ? randomBytes(16) : digest(`${this.#seed}:${prefix}:${sequence}`).subarray(0, 16);
    return `${prefix}_${base58(bytes)}`;
  }
}

/** A number in [0, 1) that depends on the seed and the counter alone. */
export function dice(seed: string, counter: number): number {
  return digest(`${seed}:dice:${counter}`).readUInt32BE(0) / 2 ** 32;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function base58(bytes: Buffer): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  while (rest > 0n) {
    text = `${alphabet.charAt(Number(rest % 58n))}${text}`;
    rest /= 58n;
  }
  return text.padStart(21, '1').slice(-22);
}
