// Requests that are almost right: valid ones of every route, changed by the grammar they obey and
// then by their bytes. All of it follows from a seed, batch by batch.

import { type Case, cases, pathOf } from '../kit/cases.ts';
import type { TestMerchant } from '../kit/merchant.ts';
import { jsonValues, methods, names, paths, values, versions } from './vocabulary.ts';

/** One request. Its texts have one character for each byte. */
interface Message {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly lines: readonly (readonly [name: string, value: string])[];
  readonly content: string;
}

/** A generator of numbers that look random (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A whole number from 0, below `count`. */
  below(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }
}

/** @param outside whether to ask what is outside the version, and has forms of its own. */
export function mutatedBatch(
  shop: TestMerchant,
  seed: number,
  number: number,
  size: number,
  outside: boolean,
): string[] {
  const dice = new Dice(Math.imul(seed, 0x9e3779b1) + number);
  const batch: string[] = [];
  while (batch.length < size) {
    const valid = outside
      ? dice.pick(outsideMessages)
      : validMessage(dice.pick(cases), shop, number * size + batch.length, dice);
    const first = dice.pick(batch.length === 0 ? [''] : batch);
    batch.push(dice.below(20) === 0 && first !== '' ? first : mutated(valid, dice));
  }
  return batch;
}

function validMessage(one: Case, shop: TestMerchant, n: number, dice: Dice): Message {
  const body = one.example.body?.(shop, n);
  const key = `mutated-${n}-0123456789`;
  const from = `10.${dice.below(256)}.${dice.below(256)}.${dice.below(256)}`;
  return {
    method: one.method,
    target: `/api/v1${pathOf(one, shop)}`,
    version: 'HTTP/1.1',
    lines: [
      ['Host', 'shop.example'],
      ['Authorization', `Bearer ${shop.token}`],
      ['X-Forwarded-For', from],
      ...(body === undefined ? [] : ([jsonLine, ['Idempotency-Key', key]] as const)),
    ],
    content: body === undefined ? '' : JSON.stringify(body),
  };
}

const jsonLine = ['Content-Type', 'application/json'] as const;

const outsideMessages: readonly Message[] = [
  ...['/oauth/token', '/oauth/revoke', '/oauth/introspect'].map((target) => ({
    method: 'POST',
    target,
    version: 'HTTP/1.1',
    lines: [
      ['Host', 'shop.example'],
      ['Authorization', 'Basic YXBwXzAxOnNlY3JldA=='],
      ['Content-Type', 'application/x-www-form-urlencoded'],
    ] as const,
    content: 'grant_type=client_credentials&scope=inventory.read&token=tb_oat_0',
  })),
  ...[
    ...['/healthz', '/readyz', '/.well-known/oauth-authorization-server'],
    '/oauth/authorize?client_id=app_1&response_type=code&redirect_uri=https://a.example/',
  ].map((target) => ({
    method: 'GET',
    target,
    version: 'HTTP/1.1',
    lines: [['Host', 'shop.example']] as const,
    content: '',
  })),
];

function mutated(message: Message, dice: Dice): string {
  const count = dice.pick([0, 1, 1, 1, 1, 2, 2, 3]);
  let changed = message;
  let bytes = 0;
  for (let n = 0; n < count; n += 1) {
    const change = dice.pick([...grammar, ...grammar, undefined]);
    if (change === undefined) bytes += 1;
    else changed = change(changed, dice);
  }
  let text = written(changed, dice);
  for (let n = 0; n < bytes; n += 1) text = dice.pick(damages)(text, dice);
  return text;
}

/** Usually with the length that it has. */
function written({ method, target, version, lines, content }: Message, dice: Dice): string {
  const isFramed = lines.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const hasLength = content !== '' && !isFramed;
  const isChunked = hasLength && dice.below(10) === 0;
  const all = [
    ...lines,
    ...(isChunked ? ([['Transfer-Encoding', 'chunked']] as const) : []),
    ...(hasLength && !isChunked ? ([['Content-Length', `${content.length}`]] as const) : []),
  ];
  const head = `${method} ${target} ${version}\r\n`;
  const rest = all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${head}${rest}\r\n${isChunked ? inChunks(content, dice) : content}`;
}

function inChunks(content: string, dice: Dice): string {
  const at = dice.below(content.length);
  const chunks = [content.slice(0, at), content.slice(at)].filter((chunk) => chunk !== '');
  return `${chunks.map((one) => `${one.length.toString(16)}\r\n${one}\r\n`).join('')}0\r\n\r\n`;
}

type Change = (message: Message, dice: Dice) => Message;

const grammar: readonly Change[] = [
  (message, dice) => ({ ...message, method: dice.pick(methods) }),
  (message, dice) => ({ ...message, version: dice.pick(versions) }),
  (message, dice) => ({ ...message, target: message.target + dice.pick(paths) }),
  (message, dice) => ({ ...message, target: spliced(message.target, dice.pick(paths), dice) }),
  (message, dice) => ({ ...message, lines: message.lines.toSpliced(at(message, dice), 1) }),
  (message, dice) => {
    const index = at(message, dice);
    return {
      ...message,
      lines: message.lines.toSpliced(index, 0, message.lines[index] ?? jsonLine),
    };
  },
  (message, dice) => {
    const index = at(message, dice);
    const [name] = message.lines[index] ?? jsonLine;
    return { ...message, lines: message.lines.toSpliced(index, 1, [name, dice.pick(values)]) };
  },
  (message, dice) => {
    const line = [dice.pick(names), dice.pick(values)] as const;
    return { ...message, lines: message.lines.toSpliced(at(message, dice), 0, line) };
  },
  (message, dice) => {
    const length = message.content.length + dice.pick([-2, -1, 1, 2, 50, 70_000]);
    return { ...message, lines: [...message.lines, ['Content-Length', `${length}`]] };
  },
  otherMember,
  otherMember,
  otherMember,
];

function at({ lines }: Message, dice: Dice): number {
  return dice.below(Math.max(1, lines.length));
}

/** Sets a member of a JSON object, known or not, to anything. */
function otherMember(message: Message, dice: Dice): Message {
  const members = [...message.content.matchAll(/"([a-z_]+)":("[^"]*"|\{[^}]*\})/g)];
  if (members.length === 0) return { ...message, content: dice.pick(jsonValues) };
  const member = dice.pick(members);
  const name =
    dice.below(8) === 0 ? dice.pick(['a', 'id', 'version', 'status', 'unit']) : member[1];
  const value = dice.pick(jsonValues);
  const separator = dice.below(12) === 0 ? `${member[0]},` : '';
  const changed = `${separator}"${name}":${value}`;
  return { ...message, content: message.content.replace(member[0], () => changed) };
}

type Damage = (text: string, dice: Dice) => string;

const damages: readonly Damage[] = [
  (text, dice) => {
    const index = dice.below(text.length);
    const flipped = (text.charCodeAt(index) ^ (1 << dice.below(8))) & 0xff;
    return text.slice(0, index) + String.fromCharCode(flipped) + text.slice(index + 1);
  },
  (text, dice) => {
    const index = dice.below(text.length);
    return text.slice(0, index) + text.slice(index + 1 + dice.below(4));
  },
  (text, dice) => spliced(text, String.fromCharCode(dice.below(256)), dice),
  (text, dice) => {
    const index = dice.below(text.length);
    return spliced(text, text.slice(index, index + dice.below(40)), dice);
  },
  (text, dice) => text.slice(0, 1 + dice.below(text.length)),
];

function spliced(text: string, part: string, dice: Dice): string {
  const index = dice.below(text.length + 1);
  return text.slice(0, index) + part + text.slice(index);
}
