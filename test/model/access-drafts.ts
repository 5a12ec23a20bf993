// From the numbers of a command to writes of people and tokens.

import type { JsonObject } from '../../src/contract/json.ts';
import { accessDefaults } from '../kit/access-bodies.ts';
import type { Managed } from './access.ts';
import { idOf } from './stock-drafts.ts';
import { type Merchant, pick, type World, type Write } from './world.ts';

/** Numbers name locations of the merchant; `both`: what excludes each other. */
export type Places = 'keep' | 'all' | 'none' | 'both' | readonly number[];

export type AccessDraft =
  | {
      readonly kind: 'invite' | 'make token';
      readonly body: JsonObject;
      readonly places: Places;
    }
  | {
      readonly kind: 'invite again' | 'change person' | 'change token';
      readonly which: number;
      readonly body: JsonObject;
      readonly places: Places;
      readonly ifMatch: 'none' | 'current' | 'stale';
    };

const typeOf = {
  invite: 'people.invite',
  'make token': 'tokens.create',
  'invite again': 'people.invite_again',
  'change person': 'people.update',
  'change token': 'tokens.update',
} as const;

export const isAccess = (what: { readonly kind: string }): what is AccessDraft =>
  what.kind in typeOf;

export function accessWriteOf(world: World, merchant: Merchant, what: AccessDraft): Write {
  const type = typeOf[what.kind];
  const body = { ...what.body, ...placesOf(world, merchant, what.places) };
  if (!('which' in what)) {
    return { type, id: '', ifMatch: undefined, body: { ...accessDefaults[type], ...body } };
  }
  const noun = what.kind === 'change token' ? 'tokens' : 'people';
  const id = managedId(world, merchant, noun, what.which);
  const version = merchant[noun].get(id)?.version ?? 1;
  // It takes no If-Match.
  const asked = what.kind === 'invite again' ? 'none' : what.ifMatch;
  const ifMatch = { none: undefined, current: version, stale: version + 1 }[asked];
  return { type, id, ifMatch, body };
}

function placesOf(world: World, merchant: Merchant, places: Places): JsonObject {
  const id = (n: number) => idOf(world, merchant, 'locations', n);
  switch (places) {
    case 'keep':
      return {};
    case 'all':
      return { all_locations: true };
    case 'none':
      return { all_locations: false };
    case 'both':
      return { all_locations: true, location_ids: [id(0)] };
    default:
      return { location_ids: places.map(id) };
  }
}

/** Those that the operator has made are changed rarely: most commands need who may do all. */
function managedId(world: World, own: Merchant, noun: Managed, n: number): string {
  const all = [...own[noun].values()];
  const usual = all.filter(({ isIssued }) => !isIssued);
  const from = n < 90 && usual.length > 0 ? usual : all;
  const foreign = world.merchants.find((one) => one !== own);
  return pick(
    from.map(({ id }) => id),
    [...(foreign?.[noun].keys() ?? [])],
    n,
  );
}
