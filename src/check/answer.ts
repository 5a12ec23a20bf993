// An answer as it came, and what one says of it. The faults name the request, because the operator
// finds it in the log by its ID.

import { isDeepStrictEqual } from 'node:util';

export type Values = Readonly<Record<string, unknown>>;

export interface Received {
  readonly status: number;
  /** By lower-case name, as they came; several of one name are joined. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly milliseconds: number;
  /** What was asked, in words. */
  readonly asked: string;
}

export class Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly bytes: Buffer;
  readonly milliseconds: number;
  /** Undefined when it is no JSON. */
  readonly body: unknown;
  readonly asked: string;

  constructor({ status, headers, bytes, milliseconds, asked }: Received) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
    this.text = bytes.toString('utf8');
    this.milliseconds = milliseconds;
    this.asked = asked;
    this.body = parsed(this.text);
  }

  /** A member by its path, such as `error.details.0.field`. */
  at(path: string): unknown {
    return memberAt(this.body, path);
  }

  textAt(path: string): string {
    const value = this.at(path);
    if (typeof value === 'string') return value;
    throw this.#without(path, value, 'a text');
  }

  listAt(path: string): readonly unknown[] {
    const value = this.at(path);
    if (Array.isArray(value)) return value;
    throw this.#without(path, value, 'a list');
  }

  /** With the status, because an answer without what it must have is often a refusal. */
  #without(path: string, value: unknown, kind: string): Unmet {
    const got = `${this.asked} was answered with ${described(this)}`;
    return new Unmet(`${path} is ${shown(value)}, and not ${kind}: ${got}`);
  }

  get id(): string {
    return this.textAt('data.id');
  }

  get operation(): string {
    return this.textAt('meta.operation_id');
  }

  get isReplay(): boolean {
    return this.headers['idempotent-replayed'] === 'true';
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function memberAt(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, name) => (Object(at) === at ? (at as Values)[name] : undefined), value);
}

/** The deployment did not do what the sentence says. */
export class Unmet extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Unmet';
  }
}

/** That a value is this one. */
export function is(what: string, actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Unmet(`${what}: ${shown(actual)}, and not ${shown(expected)}`);
}

export function holds(what: string, isSo: boolean): void {
  if (!isSo) throw new Unmet(what);
}

/** That it was done, with this status; its members are then there. */
export function done(answer: Answer, status = 200): Answer {
  if (answer.status === status) return answer;
  throw new Unmet(`${answer.asked} was answered with ${described(answer)}, and not with ${status}`);
}

/** That it was refused so. */
export function refused(answer: Answer, status: number, code: string): Answer {
  if (answer.status === status && answer.at('error.code') === code) return answer;
  throw new Unmet(
    `${answer.asked} was answered with ${described(answer)}, and not with ${status} ${code}`,
  );
}

/** That its details name this field, for this reason. */
export function names(answer: Answer, field: string, code: string): void {
  const details = answer
    .listAt('error.details')
    .map((one) => [memberAt(one, 'field'), memberAt(one, 'code')]);
  if (details.some((one) => isDeepStrictEqual(one, [field, code]))) return;
  throw new Unmet(`${answer.asked} names ${shown(details)}, and not ${field} (${code})`);
}

export function matches(what: string, actual: unknown, pattern: RegExp): void {
  if (typeof actual === 'string' && pattern.test(actual)) return;
  throw new Unmet(`${what}: ${shown(actual)}, which is not of the form ${pattern.source}`);
}

function described({ status, headers, text, body: all }: Answer): string {
  const code = memberAt(all, 'error.code');
  const id = headers['x-request-id'];
  const what = typeof code === 'string' ? ` ${code}` : '';
  const body = what === '' && status >= 300 && text !== '' ? ` ${shown(text)}` : '';
  return `${status}${what}${body}${id === undefined ? '' : ` (${id})`}`;
}

function shown(value: unknown): string {
  const all = value instanceof Set ? [...value] : value;
  const text = all === undefined ? 'nothing' : JSON.stringify(all);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
