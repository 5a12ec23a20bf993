// What proxies before a deployment may do wrong, each with the sentence of `tallybook check` that
// finds it.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, Passed } from './broken-proxy.ts';

interface ProxyFault {
  readonly name: string;
  readonly found: string;
  readonly fault: () => Fault;
}

/** Does something to each answer. */
const toAnswers =
  (change: (answer: Passed) => void): (() => Fault) =>
  () =>
  async (asked, pass) => {
    const answer = await pass(asked);
    change(answer);
    return answer;
  };

const withoutHeader = (name: string): (() => Fault) =>
  toAnswers((answer) => {
    delete answer.headers[name];
  });

const withoutRequestHeader =
  (name: string): (() => Fault) =>
  () =>
  (asked, pass) => {
    delete asked.headers[name];
    return pass(asked);
  };

/** As caches do that look at less than they should. */
const caching =
  (keyOf: (path: string, token: string) => string): (() => Fault) =>
  () => {
    const kept = new Map<string, Promise<Passed>>();
    return async (asked, pass) => {
      if (asked.method !== 'GET') return pass(asked);
      const key = keyOf(asked.path, asked.headers.authorization ?? '');
      const answer = kept.get(key) ?? pass(asked);
      kept.set(key, answer);
      const { status, headers, body } = await answer;
      return { status, headers: { ...headers }, body };
    };
  };

const html = (status: number): Passed => {
  const headers = { 'content-type': 'text/html' };
  return { status, headers, body: Buffer.from(`<html>${status}</html>`) };
};

export const proxyFaults: readonly ProxyFault[] = [
  {
    name: 'drops Idempotency-Key',
    found: 'Idempotency-Key reaches the service',
    fault: withoutRequestHeader('idempotency-key'),
  },
  {
    name: 'sends a write again with a key of its own',
    found: 'A write that is sent once is done once',
    fault: () => async (asked, pass) => {
      const headers = { ...asked.headers, 'idempotency-key': randomUUID() };
      if (asked.method === 'POST') await pass({ ...asked, headers });
      return pass(asked);
    },
  },
  {
    name: 'drops If-Match',
    found: 'If-Match reaches the service',
    fault: withoutRequestHeader('if-match'),
  },
  { name: 'drops ETag', found: 'ETag comes back as it was made', fault: withoutHeader('etag') },
  {
    name: 'drops Idempotent-Replayed',
    found: 'Idempotent-Replayed comes back with a replay',
    fault: withoutHeader('idempotent-replayed'),
  },
  {
    name: 'drops Retry-After',
    found: 'Above the limit the answer is 429, with Retry-After in seconds',
    fault: withoutHeader('retry-after'),
  },
  {
    name: 'drops X-Request-Id',
    found: 'X-Request-Id comes with each success',
    fault: withoutHeader('x-request-id'),
  },
  {
    name: 'writes keys in small letters',
    found: 'Idempotency-Key reaches it letter for letter',
    fault: () => (asked, pass) => {
      const key = asked.headers['idempotency-key'];
      if (typeof key === 'string') asked.headers['idempotency-key'] = key.toLowerCase();
      return pass(asked);
    },
  },
  {
    name: 'makes numbers of decimals',
    found: 'Decimals stay texts, digit for digit, in both directions',
    fault: toAnswers((answer) => {
      const text = answer.body.toString();
      answer.body = Buffer.from(text.replaceAll(/"quantity":"([\d.]+)"/g, '"quantity":$1'));
    }),
  },
  {
    name: 'caches what a token was answered',
    found: 'No answer comes from a cache on the way',
    fault: caching((path, token) => path + token),
  },
  {
    name: 'caches what anybody was answered',
    found: 'No answer to one token is given to another',
    fault: caching((path) => path),
  },
  {
    name: 'has a clock that is five minutes ahead',
    found: 'Date is right, by the clock of who asks',
    fault: toAnswers((answer) => {
      answer.headers.date = new Date(Date.now() + 300_000).toUTCString();
    }),
  },
  {
    name: 'answers refusals with pages of its own',
    found: 'An unknown path is answered by the service',
    fault: () => async (asked, pass) => {
      const answer = await pass(asked);
      return answer.status === 404 ? html(404) : answer;
    },
  },
  {
    name: 'takes bodies of 16 KiB at most',
    found: 'A body of 60 KB passes',
    fault: () => async (asked, pass) => (asked.body.length > 16_384 ? html(413) : pass(asked)),
  },
  {
    name: 'unescapes addresses',
    found: 'Escaped characters of the address arrive as they are',
    fault: () => (asked, pass) => {
      asked.path = asked.path.replaceAll('%26', '&');
      return pass(asked);
    },
  },
  {
    name: 'shows the same to whoever says which version is known',
    found: 'If-None-Match reaches the service, and 304 comes back without a body',
    fault: withoutRequestHeader('if-none-match'),
  },
];

/** A slow line is no fault. */
export const slow: Fault = async (asked, pass) => {
  await sleep(150);
  return pass(asked);
};
