// Lists of the interface, as the operator sees them.

import type { CollectionEndpoint } from '../contract/endpoint.ts';
import { limits } from '../core/limits.ts';
import { readsOf } from '../core/statement.ts';
import type { Database } from '../database/connect.ts';
import { atMerchant } from './access.ts';

/** Every page of one. @throws Problem when there is no such merchant. */
export async function everyPage<Item>(
  database: Database,
  merchant: string,
  name: 'locations.list' | 'people.list',
): Promise<Item[]> {
  const { endpoints } = await import('../app.ts');
  const { operatorAt } = await import('../access/operator/operator.ts');
  const { reader } = await atMerchant(database, merchant);
  const principal = await operatorAt(reader, merchant);
  const endpoint = endpoints.find(({ contract }) => contract.name === name);
  if (endpoint === undefined) throw new Error(`there is no list ${name}`);
  const { run } = endpoint as CollectionEndpoint;
  const found: Item[] = [];
  for (let after: string | undefined, isMore = true; isMore; isMore = after !== undefined) {
    const page = await run(readsOf(reader), {
      principal,
      id: '',
      query: {},
      location: undefined,
      page: { limit: limits.pageSizeMax, after },
      keyHash: undefined,
    });
    found.push(...(page.items as Item[]));
    after = page.next;
  }
  return found;
}
