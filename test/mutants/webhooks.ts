// Mutants of webhooks: who delivers, what is signed, and what may be sent.

import type { Mutant } from './mutant.ts';

const store = 'src/webhooks/delivery-store.ts';
const check = 'src/webhooks/delivery-check.ts';
const runner = 'src/webhooks/delivery-runner.ts';
const sender = 'src/webhooks/send.ts';

export const webhookMutants: readonly Mutant[] = [
  {
    name: 'claimed-without-the-condition',
    breaks: 'a node claims webhooks that another one has',
    edits: [
      {
        file: store,
        from: `
        and (p.lease_ends_at is null or p.lease_ends_at <= now() or p.lease_holder = $2)
      returning`,
        to: `
        and $2::text is not null
      returning`,
      },
    ],
    suites: ['src/webhooks/lease.test.ts'],
  },
  {
    name: 'epoch-not-checked',
    breaks: 'what a paused node saves late undoes a redelivery',
    edits: [
      {
        file: store,
        from: ` and p.epoch = a.epoch
      returning p.merchant_id, p.webhook_id as id\``,
        to: `
      returning p.merchant_id, p.webhook_id as id\``,
      },
    ],
    suites: ['src/webhooks/lease.test.ts'],
  },
  {
    name: 'signature-over-other-bytes',
    breaks: 'what is signed is not byte for byte what is sent',
    edits: [
      {
        file: check,
        from: 'signatureHeaders({ id: event.id, at, body, secrets })',
        to: "signatureHeaders({ id: event.id, at, body: body.concat(' '), secrets })",
      },
    ],
    suites: ['src/webhooks/delivery.test.ts'],
  },
  {
    name: 'redirect-followed',
    breaks: 'a receiver sends calls on to wherever it likes',
    edits: [
      {
        file: sender,
        from: '        dispatcher: this.#agent,\n',
        to: `        dispatcher: this.#agent.compose(
          interceptors.redirect({ maxRedirections: 3 })),
`,
      },
      {
        file: sender,
        from: 'errors, Pool, request }',
        to: 'errors, interceptors, Pool, request }',
      },
    ],
    suites: ['src/webhooks/send.test.ts'],
  },
  {
    name: 'rights-not-checked-again',
    breaks: 'events are sent by what was allowed when they were read',
    edits: [
      {
        file: runner,
        from: `    // Otherwise they were read by what was allowed before.
    if (verdict?.reach !== reach) return;`,
        to: '    if (verdict === undefined || reach === undefined) return;',
      },
      {
        file: runner,
        from: 'if (this.#reach !== undefined && this.#reach !== verdict.reach) this.#unchoose();',
        to: '',
      },
    ],
    suites: ['src/webhooks/delivery.test.ts', 'src/webhooks/delivery-retry.prove.ts'],
  },
];
