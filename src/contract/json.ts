// The strict JSON decoder. It returns exactly what the bytes say: it drops no duplicate member,
// replaces no character and rounds no number, but refuses them. The same value is validated,
// fingerprinted and stored, so the request that is judged is the request that is written.

import type { BodyLimits } from './contract.ts';

export type JsonObject = { [name: string]: JsonValue };
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** Why bytes are not acceptable JSON. The message is public. */
export class JsonFault extends Error {}

/** Members and elements, of all levels. */
export function valuesIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + 1 + valuesIn(inner), 0);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes one JSON object (RFC 8259).
 * @throws JsonFault on anything else: another type, a duplicate member (after unescaping), invalid
 *   UTF-8, a byte order mark, a lone surrogate, a number beyond the doubles, `__proto__`, more
 *   levels or more values in it than `most` says.
 */
export function decodeJsonObject(
  bytes: Uint8Array,
  most: Pick<BodyLimits, 'depth' | 'values'>,
): JsonObject {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new JsonFault('the body is not valid UTF-8');
  }
  const decoder = new Decoder(text, most);
  const value = decoder.document();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new JsonFault('the body must be a JSON object');
  }
  return value;
}

const numberGrammar = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class Decoder {
  readonly #text: string;
  readonly #most: Pick<BodyLimits, 'depth' | 'values'>;
  #at = 0;
  /** Without the document itself. */
  #values = -1;

  constructor(text: string, most: Pick<BodyLimits, 'depth' | 'values'>) {
    this.#text = text;
    this.#most = most;
  }

  document(): JsonValue {
    const value = this.#value(0);
    this.#skipBlanks();
    if (this.#at < this.#text.length) throw this.#fault('unexpected text after the end');
    return value;
  }

  #value(depth: number): JsonValue {
    this.#skipBlanks();
    this.#values += 1;
    if (this.#values > this.#most.values) {
      throw this.#fault(`more than ${this.#most.values} values`);
    }
    const character = this.#text[this.#at];
    if (character === '{') return this.#object(depth + 1);
    if (character === '[') return this.#array(depth + 1);
    if (character === '"') return this.#string();
    if (this.#text.startsWith('true', this.#at)) return this.#word('true', true);
    if (this.#text.startsWith('false', this.#at)) return this.#word('false', false);
    if (this.#text.startsWith('null', this.#at)) return this.#word('null', null);
    return this.#number();
  }

  #object(depth: number): JsonObject {
    this.#enter(depth);
    // No prototype: a member named like a method of Object is only a member.
    const object: JsonObject = Object.create(null);
    this.#skipBlanks();
    if (this.#takes('}')) return object;
    do {
      this.#skipBlanks();
      if (this.#text[this.#at] !== '"') throw this.#fault('expected a member name');
      const name = this.#string();
      if (name === '__proto__') throw this.#fault('the member name __proto__ is not allowed');
      if (name in object) throw this.#fault(`the member ${JSON.stringify(name)} appears twice`);
      this.#skipBlanks();
      if (!this.#takes(':')) throw this.#fault('expected ":"');
      object[name] = this.#value(depth);
      this.#skipBlanks();
    } while (this.#takes(','));
    if (!this.#takes('}')) throw this.#fault('expected "," or "}"');
    return object;
  }

  #array(depth: number): JsonValue[] {
    this.#enter(depth);
    const array: JsonValue[] = [];
    this.#skipBlanks();
    if (this.#takes(']')) return array;
    do {
      array.push(this.#value(depth));
      this.#skipBlanks();
    } while (this.#takes(','));
    if (!this.#takes(']')) throw this.#fault('expected "," or "]"');
    return array;
  }

  #string(): string {
    const start = this.#at + 1;
    let end = start;
    // The usual string has no escapes: one slice.
    for (;;) {
      const code = this.#text.charCodeAt(end);
      if (code === 0x22) break;
      if (code === 0x5c) return this.#escapedString(start);
      if (Number.isNaN(code)) throw this.#fault('a string does not end');
      if (code < 0x20) throw this.#fault('a control character in a string must be escaped');
      end += 1;
    }
    this.#at = end + 1;
    // UTF-8 cannot carry a lone surrogate, so only escapes need that check.
    return this.#text.slice(start, end);
  }

  #escapedString(start: number): string {
    let result = '';
    let at = start;
    for (;;) {
      const character = this.#text[at];
      if (character === undefined) throw this.#fault('a string does not end');
      if (character === '"') break;
      if (character < ' ') throw this.#fault('a control character in a string must be escaped');
      if (character === '\\') {
        const unescaped = this.#escape(at + 1);
        result += unescaped.text;
        at = unescaped.next;
      } else {
        result += character;
        at += 1;
      }
    }
    this.#at = at + 1;
    if (!isWellFormed(result)) throw this.#fault('a string has a lone surrogate');
    return result;
  }

  #escape(at: number): { text: string; next: number } {
    const letter = this.#text[at] ?? '';
    const simple = escapes[letter];
    if (simple !== undefined) return { text: simple, next: at + 1 };
    const digits = this.#text.slice(at + 1, at + 5);
    if (letter !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#fault('a bad escape');
    return { text: String.fromCharCode(Number.parseInt(digits, 16)), next: at + 5 };
  }

  #number(): number {
    numberGrammar.lastIndex = this.#at;
    const found = numberGrammar.exec(this.#text)?.[0];
    if (found === undefined) throw this.#fault('expected a value');
    this.#at += found.length;
    const value = Number(found);
    if (!Number.isFinite(value)) throw this.#fault('a number is too large');
    return value === 0 ? 0 : value;
  }

  #word<T>(word: string, value: T): T {
    this.#at += word.length;
    return value;
  }

  #enter(depth: number): void {
    if (depth > this.#most.depth) throw this.#fault(`more than ${this.#most.depth} levels`);
    this.#at += 1;
  }

  #takes(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipBlanks(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }

  #fault(what: string): JsonFault {
    return new JsonFault(`${what}, at character ${this.#at}`);
  }
}

/** Whether every surrogate has its partner (`isWellFormed` of strings needs a newer library). */
function isWellFormed(text: string): boolean {
  return !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}
