// `tallybook demo`: makes a demo merchant and prints its token.

import { type CommonFlags, define, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count, members, show } from './output.ts';

export function defineDemo(program: DocumentedCommand): void {
  define(program, {
    name: 'demo',
    description: 'Make a demo merchant, with a token for it. Again, it makes another one.',
    example: 'tallybook demo --data ./data',
  }).action(demo);
}

async function demo(flags: CommonFlags): Promise<void> {
  const made = await withStore(
    flags,
    async ({ database, secret }) => {
      const { createService } = await import('../app.ts');
      const { createDemo } = await import('../demo/demo.ts');
      return createDemo(createService({ database, secret }), database);
    },
    { mustExist: false },
  );
  await show(flags, made, (one) =>
    [
      members([
        ['Merchant', `${one.merchant_id} (${one.merchant_name})`],
        ['Credential', one.credential_id],
        ['Token', `${one.token}  (until ${one.expires_at})`],
        ['Owner', `${one.owner.id}  ("tallybook person reinvite" makes a link to the console)`],
      ]),
      `It has ${count(one.locations, 'location')}, ${count(one.products, 'product')}, ` +
        `${count(one.customers, 'customer')} and ${count(one.movements, 'movement')}.`,
    ].join('\n\n'),
  );
}
