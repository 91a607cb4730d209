// A JSON reader that refuses what JSON.parse lets pass: duplicate keys, broken UTF-8, a byte order mark.

export type JsonValue =
  null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };

export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError';
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

const deepest = 64;

/** Parses a whole JSON text from its bytes, or throws `StrictJsonError`. */
export function parseStrictJson(bytes: Uint8Array): JsonValue {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new StrictJsonError('', 'the body is not valid UTF-8');
  }
  try {
    JSON.parse(text);
  } catch {
    throw new StrictJsonError('', 'the body is not valid JSON');
  }
  // The text is known to be well formed from here on; this walk only has to see names and depth.
  return new Walk(text).value('', 0);
}

class Walk {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(path: string, depth: number): JsonValue {
    if (depth > deepest) throw new StrictJsonError(path, 'the body is nested too deeply');
    this.#space();
    const first = this.#text.charAt(this.#at);
    let value: JsonValue;
    if (first === '{') value = this.#object(path, depth);
    else if (first === '[') value = this.#array(path, depth);
    else if (first === '"') value = this.#string();
    else value = this.#literal();
    this.#space();
    return value;
  }

  #object(path: string, depth: number): JsonValue {
    const object: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>;
    this.#at += 1;
    this.#space();
    while (this.#text.charAt(this.#at) !== '}') {
      this.#space();
      const name = this.#string();
      const here = path === '' ? name : `${path}.${name}`;
      if (name in object) throw new StrictJsonError(here, 'duplicate key');
      this.#space();
      this.#at += 1; // the colon
      object[name] = this.value(here, depth + 1);
      if (this.#text.charAt(this.#at) === ',') this.#at += 1;
    }
    this.#at += 1;
    return object;
  }

  #array(path: string, depth: number): JsonValue {
    const array: JsonValue[] = [];
    this.#at += 1;
    this.#space();
    while (this.#text.charAt(this.#at) !== ']') {
      array.push(this.value(`${path}[${array.length}]`, depth + 1));
      if (this.#text.charAt(this.#at) === ',') this.#at += 1;
    }
    this.#at += 1;
    return array;
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    while (this.#text.charAt(this.#at) !== '"') this.#at += this.#text.charAt(this.#at) === '\\' ? 2 : 1;
    this.#at += 1;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #literal(): JsonValue {
    const literal = /[^\s,\]}]+/y;
    literal.lastIndex = this.#at;
    const word = literal.exec(this.#text)?.[0] ?? '';
    this.#at += word.length;
    return JSON.parse(word) as JsonValue;
  }

  #space(): void {
    while (/[ \t\n\r]/.test(this.#text.charAt(this.#at))) this.#at += 1;
  }
}
