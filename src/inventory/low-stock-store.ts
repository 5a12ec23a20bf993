// The statement that lists the levels at a location of which little is available. Products that say
// what is little are walked along an index of them, and the level of each is judged as it is now.

import { byColumn } from '../contract/columns.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Statement } from '../core/statement.ts';
import {
  countsBy,
  type LevelFilter,
  type LevelPage,
  type LookedTo,
  levelNames,
  now,
} from './read-store.ts';
import { reservedNow } from './store.ts';

/**
 * The same as in `listLevels`, and a page looks at so many products at most: where the look ends is
 * sought only when the page is not full. With products it is planned anew: one plan for any took
 * their merchant for a small one, and walked along all its products by their SKUs.
 */
export function listLowLevels(filter: LevelFilter): Statement<LevelPage & LookedTo> {
  const { merchant, location, products, updatedAfter, after, limit } = filter;
  const some = products !== undefined;
  const walked = `from products p
    where p.merchant_id = $1 and p.id > $3 and p.low_stock_at is not null and p.inventory_tracked
      and p.status = 'active' ${some ? 'and p.id = any ($5)' : ''}
    order by p.id`;
  const shown = [...levelNames, 'reserved', 'counts'].map((name) => `page.${name}`).join(', ');
  const looks = limits.levelsLookedAtMax;
  return {
    name: some ? '' : `list_low_levels_${limit}`,
    text: `
      with ${now}
      select ${shown}, case when page.rows < ${limit}
          then (select p.id ${walked} offset ${looks - 1} limit 1) end as looked_to
      from (
        select count(*) as rows, ${byColumn([...levelNames, 'reserved'])},
          ${countsBy('product_id', 'c.location_id = $2')}
        from (
          select a.product_id, a.location_id, a.quantity::text as quantity, a.sequence,
            a.last_movement_id, a.updated_at, r.reserved
          from (select p.id, p.low_stock_at ${walked} limit ${looks}) p
          cross join lateral (
            select * from inventory_levels v
            where v.merchant_id = $1 and v.location_id = $2 and v.product_id = p.id
              and v.sequence > 0 and v.updated_at >= $4::timestamptz
            limit 1) a
          cross join lateral (
            select case when exists (select from inventory_reserved o where o.merchant_id = $1)
              then ${reservedNow} end as reserved
            offset 0) r
          where a.quantity - coalesce(r.reserved::numeric, 0) <= p.low_stock_at
          order by p.id limit ${limit}) v) page`,
    values: [
      ...[merchant, location, after ?? '', updatedAfter ?? '-infinity'],
      ...(some ? [products.map(lookupId)] : []),
    ],
  };
}
