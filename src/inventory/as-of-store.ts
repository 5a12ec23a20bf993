// The statements that read levels as they were after some operation: each as its last movement up
// to there had left it.

import { type ByColumn, byColumn } from '../contract/columns.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';
import { journalOfMerchant } from '../journal/store.ts';
import type { SeenJournal, WalkAsOf } from './as-of.ts';
import type { LevelRow } from './ledger.ts';
import { levelNames, type VisibleLocations } from './read-store.ts';

type LevelsAsOf = ByColumn<Omit<LevelRow, 'first_position'>> & SeenJournal;

interface Walk extends WalkAsOf {
  readonly merchant: MerchantId;
  readonly limit: number;
}

/** The last position of the journal and its name, and the moment that `parameter` names: parts. */
export const momentAt = (parameter: string): string => `
  journal as materialized (${journalOfMerchant}),
  moment as materialized (
    select p.position, o.created_at as time
    from (select coalesce(${parameter}::bigint, last) as position from journal) p
    left join lateral (
      select created_at from operations
      where merchant_id = $1 and position = p.position limit 1) o on true)`;

/**
 * The last movement of a level `v` up to `moment`, as a part of statements; none when the level has
 * not moved since, and is as it is now. The last row up to there in the order of an index.
 */
export const movementAtMoment = `(
  select * from inventory_movements m
  where v.updated_at >= (select time from moment)
    and (m.merchant_id, m.product_id, m.location_id, m.position, m.line)
      <= (v.merchant_id, v.product_id, v.location_id, (select position from moment),
        2147483647)
  order by m.merchant_id desc, m.product_id desc, m.location_id desc, m.position desc,
    m.line desc
  limit 1)`;

/** The levels at one location by product. */
export function listLevelsAsOf(
  walk: Walk & { location: GrantedLocationId; products: readonly string[] | undefined },
): Statement<LevelsAsOf> {
  const { products } = walk;
  return levelsAsOf('list_levels_as_of', walk, {
    folder: ['location_id', walk.location],
    key: 'product_id',
    only: products?.map(lookupId) ?? null,
  });
}

/** The levels of one product by location. */
export function listProductLevelsAsOf(
  walk: Walk & { product: string; locations: VisibleLocations },
): Statement<LevelsAsOf> {
  return levelsAsOf('list_product_levels_as_of', walk, {
    folder: ['product_id', lookupId(walk.product)],
    key: 'location_id',
    only: walk.locations,
  });
}

/**
 * Levels are walked along an index, and looked at until the page is full; where the look ends
 * otherwise is sought only when it is not. A level that has not moved since is as it is now: times
 * and positions have one order, so what has a time before that of the position comes before it. Of
 * the others the last movement is sought as the last row up to the position in the order of an
 * index, 4 µs for each however many movements come before or after it. That there is one is known:
 * the first is not behind the position.
 */
function levelsAsOf(
  name: string,
  { merchant, position, after, limit }: Walk,
  {
    folder: [folder, id],
    key,
    only,
  }: {
    readonly folder: readonly ['location_id' | 'product_id', string];
    readonly key: 'location_id' | 'product_id';
    readonly only: readonly string[] | null;
  },
): Statement<LevelsAsOf> {
  const walked = `from inventory_levels v
    where v.merchant_id = $1 and v.${folder} = $4 and v.${key} > $3
      ${only === null ? '' : `and v.${key} = any ($5)`}
    order by v.${key}`;
  const shown = levelNames.map((column) => `shown.${column}`).join(', ');
  const looks = limits.levelsLookedAtMax;
  return {
    name: `${name}_${only === null ? '' : 'some_'}${limit}`,
    text: `
      with ${momentAt('$2')}
      select ${shown}, journal.id as journal, journal.last,
        case when shown.rows < ${limit}
          then (select v.${key} ${walked} offset ${looks - 1} limit 1) end as looked_to
      from journal, (
        select count(*) as rows, ${byColumn(levelNames)} from (
          select v.product_id, v.location_id,
            coalesce(m.quantity_after, v.quantity)::text as quantity,
            coalesce(m.sequence, v.sequence) as sequence,
            coalesce(m.id, v.last_movement_id) as last_movement_id,
            coalesce(m.recorded_at, v.updated_at) as updated_at
          from (
            select * from (select v.* ${walked} limit ${looks}) v
            where v.first_position <= (select position from moment)
            order by v.${key} limit ${limit}) v
          left join lateral ${movementAtMoment} m on true
          order by v.${key}) page) shown`,
    values: [merchant, position ?? null, after ?? '', id, ...(only === null ? [] : [only])],
  };
}
