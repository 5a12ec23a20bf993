// What makes two requests the same, from their bytes on: decoded, checked, normalised and printed
// as the pipeline does it, for every kind of write.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/app.ts';
import type { WriteContract } from '../../src/contract/contract.ts';
import { ordinaryBody } from '../../src/contract/contract.ts';
import { decodeJsonObject, type JsonObject, type JsonValue } from '../../src/contract/json.ts';
import { BodyParser } from '../../src/contract/parse.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import { mintId } from '../../src/core/id.ts';
import { fingerprint } from '../../src/operations/fingerprint.ts';
import { allScopes, roleNames } from '../kit/access-bodies.ts';
import {
  anyBody,
  anyPatch,
  defaultsOf,
  type Noun,
  reasons,
  spoilsOf,
  withOther,
  writtenTypes,
} from '../kit/bodies.ts';
import { extent } from '../kit/extent.ts';
import { anySpelling, plainSpelling, type Spelling, spelled } from '../kit/spelling.ts';
import { spoilt } from '../kit/spoil.ts';
import { comingReasons, leavingReasons } from '../kit/stock-bodies.ts';

const key = '0123456789abcdef';

const parsers = new Map(
  endpoints
    .map(({ contract }) => contract)
    .filter((contract): contract is WriteContract => contract.kind === 'write')
    .map((contract) => [contract.name, new BodyParser(contract)]),
);

const isPatch = (type: OperationType) => /\.(?:update|upsert)$/.test(type);
const nounOf = (type: OperationType) => type.split('.')[0] as Noun | 'inventory';

/** What is bound to the key when these bytes are sent. */
function printOf(
  type: OperationType,
  text: string,
  path = '',
  ifMatch?: number,
  externalId?: string,
): string {
  const parser = parserOf(type);
  const body = decodeJsonObject(Buffer.from(text, 'utf8'), ordinaryBody);
  expect(parser.faults(body), text).toEqual([]);
  const meaning = { type, id: path, externalId, ifMatch, body: parser.normalise(body) };
  return fingerprint(key, meaning).toString('hex');
}

/** What the key's is compared with when these bytes are sent, which are refused. */
function printOfRefused(type: OperationType, text: string): string {
  const parser = parserOf(type);
  const sent = decodeJsonObject(Buffer.from(text, 'utf8'), ordinaryBody);
  const body = { ...sent, ...parser.normalise(sent) };
  return fingerprint(key, { type, id: '', ifMatch: undefined, body }).toString('hex');
}

function parserOf(type: OperationType): BodyParser {
  const parser = parsers.get(type);
  if (parser === undefined) throw new Error(`there is no write ${type}`);
  return parser;
}

function textOf(type: OperationType, body: JsonObject, spelling: Spelling): string {
  return spelled(body, spelling, isPatch(type) ? {} : defaultsOf(type));
}

const quantities = fc.constantFrom<JsonValue>('0', '5', '12.5', '999999999999.99999');
const adjustment: fc.Arbitrary<JsonObject> = fc.record(
  {
    product_id: fc.constantFrom(mintId('prod_'), 'x'),
    location_id: fc.constantFrom(mintId('loc_'), 'y'),
    target_quantity: quantities,
    reason: fc.constantFrom(...reasons),
    expected_quantity: fc.oneof(fc.constant(null), quantities),
    note: fc.oneof(fc.constant(null), fc.string({ unit: 'grapheme', maxLength: 20 })),
    reference: fc.constantFrom(null, '', '5.0', '5'),
  },
  { noNullPrototype: true },
);

const moved: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      location: fc.constantFrom(mintId('loc_'), 'y'),
      isInwards: fc.boolean(),
      isRecorded: fc.boolean(),
      coming: fc.constantFrom(...comingReasons),
      leaving: fc.constantFrom(...leavingReasons),
      lines: fc.uniqueArray(
        fc.record(
          {
            product_id: fc.constantFrom(mintId('prod_'), 'x', 'z'),
            quantity: fc.constantFrom('5', '12.5', '999999999999.99999'),
          },
          { noNullPrototype: true },
        ),
        { minLength: 1, maxLength: 3, selector: ({ product_id }) => product_id },
      ),
      note: fc.constantFrom(null, 'Note', ''),
      reference: fc.constantFrom(null, '', '5.0', '5'),
    },
    { noNullPrototype: true },
  )
  .map(({ location, isInwards, isRecorded, coming, leaving, ...rest }) => ({
    ...rest,
    reason: isInwards ? coming : leaving,
    from_location_id: isInwards ? null : location,
    to_location_id: isInwards ? location : null,
    shortage: isRecorded && !isInwards ? 'record' : 'refuse',
  }));

const remarks = {
  note: fc.constantFrom(null, 'Note', ''),
  reference: fc.constantFrom(null, '', '5.0', '5'),
};
const place = fc.constantFrom(mintId('loc_'), 'y');
const products = fc.constantFrom(mintId('prod_'), 'x', 'z');
const positions = fc.constantFrom(null, '0', '42');

/** Each of another product. */
const linesOf = (members: Readonly<Record<string, fc.Arbitrary<JsonValue>>>) =>
  fc.uniqueArray(fc.record({ product_id: products, ...members }, { noNullPrototype: true }), {
    minLength: 1,
    maxLength: 3,
    selector: ({ product_id }) => product_id,
  });

const ofStock: Readonly<Record<OperationType, fc.Arbitrary<JsonObject>>> = {
  'inventory.transfer': moved,
  'inventory.count': fc.record(
    {
      location_id: place,
      lines: linesOf({
        counted_quantity: quantities,
        expected_quantity: fc.oneof(fc.constant(null), quantities),
        counted_at_position: positions,
      }),
      counted_at_position: positions,
      journal: fc.constantFrom(mintId('jrn_'), 'j'),
      ...remarks,
    },
    { noNullPrototype: true },
  ),
  'inventory.reserve': fc.record(
    {
      location_id: place,
      lines: linesOf({ quantity: fc.constantFrom('5', '12.5', '999999999999.99999') }),
      expires_at: fc.constantFrom(null, '2026-01-31T12:00:00.000Z', '2026-02-01T00:00:00.500Z'),
      ...remarks,
    },
    { noNullPrototype: true },
  ),
  'inventory.release': fc.record({ note: remarks.note }, { noNullPrototype: true }),
  'inventory.fulfil': fc.record(
    { reason: fc.constantFrom(...leavingReasons), ...remarks },
    { noNullPrototype: true },
  ),
};

const places = {
  all_locations: fc.constant(false),
  location_ids: fc.constantFrom<JsonValue>([], [mintId('loc_')]),
};
const person = { name: fc.constantFrom('Ada', 'Grace', ' ada'), ...places };
const role = fc.constantFrom(...roleNames);
const token = {
  ...person,
  scopes: fc.subarray([...allScopes], { minLength: 1 }),
  expires_in_days: fc.constantFrom(1, 90, 365),
};
const ended = fc.constant('revoked');
const some = { requiredKeys: [], noNullPrototype: true };

const ofAccess: Readonly<Record<OperationType, fc.Arbitrary<JsonObject>>> = {
  'people.invite': fc.record({ ...person, role }, { noNullPrototype: true }),
  'people.update': fc.record({ ...person, role, status: ended }, some),
  'people.invite_again': fc.record({ ...person, role }, some),
  'tokens.create': fc.record(token, { noNullPrototype: true }),
  'tokens.update': fc.record({ ...token, status: ended }, some),
};

const isPrintable = ({ note }: JsonObject) => typeof note !== 'string' || !/\p{Cc}/u.test(note);

function bodiesOf(type: OperationType): fc.Arbitrary<JsonObject> {
  const own = ofAccess[type];
  if (own !== undefined) return own;
  const noun = nounOf(type);
  if (noun === 'inventory') return ofStock[type] ?? adjustment.filter(isPrintable);
  return isPatch(type) ? anyPatch(noun) : anyBody(noun);
}

describe.each(writtenTypes)('%s', (type) => {
  const body = bodiesOf(type);

  test('is the same request under every rewriting of its bytes', () => {
    fc.assert(
      fc.property(body, anySpelling, (meant, spelling) => {
        const plain = printOf(type, textOf(type, meant, plainSpelling));
        expect(printOf(type, textOf(type, meant, spelling))).toBe(plain);
      }),
      { numRuns: extent(150, 1_500) },
    );
  });

  test('is another request with another value in any one member', () => {
    fc.assert(
      fc.property(body, anySpelling, (meant, spelling) => {
        const texts = Object.keys(meant).map((name) =>
          textOf(type, withOther(type, meant, name), spelling),
        );
        // A PATCH that does not name a member keeps it; one that says null clears it.
        const without = Object.keys(isPatch(type) ? meant : {}).map((name) => {
          const { [name]: _, ...rest } = meant;
          return textOf(type, rest, spelling);
        });
        const prints = [...texts, ...without].map((text) => printOf(type, text));
        const own = printOf(type, textOf(type, meant, spelling));
        expect(new Set([own, ...prints]).size).toBe(1 + prints.length);
      }),
      { numRuns: extent(50, 300) },
    );
  });

  test('is another request with a member that is refused', () => {
    fc.assert(
      fc.property(
        body,
        fc.constantFrom(...spoilsOf(type)),
        anySpelling,
        (meant, spoil, spelling) => {
          const refused = textOf(type, spoilt(meant, spoil), spelling);
          const own = printOf(type, textOf(type, meant, plainSpelling));
          expect(printOfRefused(type, refused), refused).not.toBe(own);
        },
      ),
      { numRuns: extent(50, 300) },
    );
  });

  test('is the same as any other exactly when both mean the same', () => {
    fc.assert(
      fc.property(body, body, anySpelling, (one, other, spelling) => {
        const isSame =
          printOf(type, textOf(type, one, plainSpelling)) ===
          printOf(type, textOf(type, other, spelling));
        expect(isSame).toBe(sorted(one) === sorted(other));
      }),
      { numRuns: extent(100, 500) },
    );
  });

  test('is another one for another path, version or ID in the query', () => {
    fc.assert(
      fc.property(body, fc.nat(9), fc.nat(9), (meant, n, version) => {
        const text = textOf(type, meant, plainSpelling);
        const prints = [
          printOf(type, text),
          printOf(type, text, `path${n}`),
          printOf(type, text, '', version),
          printOf(type, text, `path${n}`, version),
          printOf(type, text, '', undefined, `path${n}`),
        ];
        expect(new Set(prints).size).toBe(prints.length);
      }),
      { numRuns: extent(20, 50) },
    );
  });
});

/** The members of an object sorted, those of objects inside it as well. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

const product_id = 'prod_01k9x3v7c2e4r8t1m5n6p0q9sa';
const location_id = 'loc_01k9x3v7c2e4r8t1m5n6p0q9sb';

/**
 * Frozen: what requests of today print as. Databases hold these. A member that is added to a
 * contract, another default or another way to normalise changes them, and every retry across the
 * upgrade would be 409: keep them, or count up the version and compare with both.
 */
const frozen: Readonly<Record<OperationType, readonly [text: string, print: string]>> = {
  'customers.create': [
    '{"name":"Ada","email":"ada@example.com"}',
    '4e501052cb57a7b85ea135e96801ffac8d2c4f517e69d3d40ba0ed3eff6263ad',
  ],
  'customers.update': [
    '{"note":null,"metadata":{"a":null,"B":"x"}}',
    'b70626d09cb7ea5ed6f57e8c9f30c9a89e52272971b47201f21c094bf89f491d',
  ],
  'customers.upsert': [
    '{"external_id":"E-1","phone":null}',
    '4459c6ff19ba6fd25067b6aa4b7d2cc77149519bba841267578f16b0cd7dd11a',
  ],
  'products.create': [
    '{"name":"Flour","unit":{"precision":3,"code":"kg"}}',
    '8d9ab943d73471c792d165a250548380f911e353a69cdeca7b3fc9ddc3615cf9',
  ],
  'products.update': [
    '{"price":{"amount":"1.20","currency":"EUR"},"sku":null}',
    'b1ffca67637868c5690a174d0f1c1d2a5c41220ca7722955f4a18f5c310affe2',
  ],
  'products.upsert': [
    '{"external_id":"E-1","name":"Flour","unit":{"precision":3,"code":"kg"}}',
    'b1a4334a61cbfaf82441dae20d6533f073352a2f4690194e21d4ea894f608dbd',
  ],
  'locations.create': [
    '{"name":"Main Street","code":"M-1"}',
    '490637d18d44e18769cb323fe74ff273168218b377f4ffd87844e4c3ef23da14',
  ],
  'locations.update': [
    '{"status":"inactive"}',
    '97342e5f69f505f7e5fe343042e35caa1ba887e031a776ca957dfcbfb9ecac8e',
  ],
  'locations.upsert': [
    '{"external_id":"E-1","type":"store"}',
    '0facca7b56bb8f17c385dc52e2ac82baa8968db4054dae8a8204c4d6f61c9deb',
  ],
  'inventory.adjust': [
    JSON.stringify({ product_id, location_id, target_quantity: '12.50', reason: 'correction' }),
    '5be2a2ff85dbd6a4d7e06d54cfdc46eda8ded4f9380047e7cc796772ce26638e',
  ],
  'inventory.transfer': [
    JSON.stringify({
      from_location_id: location_id,
      reason: 'sale',
      lines: [{ quantity: '2.50', product_id }],
    }),
    'be51ba51b4e2f651ea0e3a736c4cf1f012f73c2c41bc373234529df33cbf553a',
  ],
  'inventory.count': [
    JSON.stringify({ location_id, lines: [{ counted_quantity: '2.50', product_id }] }),
    'c228402bed2f6240e0690381254858591e8eac858b53fe8209c91b7d358453a3',
  ],
  'inventory.reserve': [
    JSON.stringify({ location_id, lines: [{ quantity: '2.50', product_id }] }),
    '03b0b1bed935abb0c19a923317a7e0b98ab0d007910a2684d16745602a0e5a76',
  ],
  'inventory.release': ['{}', 'ebeafcb94884e24d701544646ca9a669a7b1da589c40e5c1d01988e990cea19a'],
  'inventory.fulfil': [
    '{"reason":"sale"}',
    '2f12b2915794c213a025ae259386d9cf9849cdd54893da1a598a04ad89be30fd',
  ],
};

test('every kind of write prints as it always did', () => {
  const prints = Object.entries(frozen).map(([type, [text]]) => {
    const path = /\.(?:update|release|fulfil)$/.test(type) ? 'x' : '';
    const version = type.endsWith('.update') ? 7 : undefined;
    const named = type.endsWith('.upsert') ? 'E-1' : undefined;
    return printOf(type as OperationType, text, path, version, named);
  });
  expect(prints).toEqual(Object.values(frozen).map(([, print]) => print));
});
