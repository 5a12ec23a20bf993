// Conditions on the merchant that change nothing when they are left out, each with its proof. They
// stay in the product: a proof may end with the next change, and they keep statements on the index
// that begins with the merchant.

const ownRows =
  'It locks nothing and its rows say their merchant: operations/batch.ts gives each merchant’s ' +
  'commands the rows of this merchant and no others.';

const worthALook =
  'It only says whether it is worth to look, and what is looked for is of the merchant.';

const ofTheMerchant = 'What it lets through is of another merchant, and the end asks for his own.';

/** By the name of the mutant. */
export const harmless: Readonly<Record<string, string>> = {
  'src/records/store.ts findHolders: r.merchant_id = a.merchant_id': ownRows,
  'src/records/list-store.ts walkOf: r.merchant_id = $1':
    'It is of the rows that a walk begins with, and the walk asks for the merchant.',
  'src/inventory/store.ts findProducts: (p.merchant_id, p.id) in': ownRows,
  'src/inventory/store.ts findProductsOf: (p.merchant_id, p.id) in': ownRows,
  'src/inventory/read-store.ts shownLevels: o.merchant_id = $1': worthALook,
  'src/inventory/low-stock-store.ts listLowLevels: o.merchant_id = $1': worthALook,
  'src/operations/store.ts ofRequest: merchant_id = $1':
    'It says which rows to look at; the statement around it asks for the merchant of each.',
  'src/operations/store.ts findOperationsByKey: k.merchant_id = $1': ofTheMerchant,
  ['src/operations/store.ts findOperationsByKey: (f.merchant_id, f.credential_id, f.type, ' +
    'f.key_hash) = (k.merchant_id, k.id, t.type, $5)']: ofTheMerchant,
  'src/operations/store.ts findOperationsByKey: o.merchant_id = $1':
    'Its rows are of the merchants of credentials, and those are of the merchant.',
  'src/reservations/store.ts listReservations: r.merchant_id = $1':
    'The rows that it is asked of are of the merchant: each walk under it asks for him.',
  'src/batches/store.ts findBatches: o.merchant_id = $1':
    'It says that a batch is there, and nothing else of it; its ID is of a key of the merchant.',
  'src/inventory/verify-reservations-store.ts walkReserved: v.merchant_id = $1':
    'It says at which pairs to look; what is reserved there, and by which lines, is asked of the ' +
    'merchant, and where he has neither nothing differs.',
  'src/inventory/store.ts createLevels: l.merchant_id = a.merchant_id':
    'The location was proved to be the merchant’s with the credential, and locations are never ' +
    'deleted; the foreign key on (merchant_id, location_id) refuses any other.',
  'src/access/managed-store.ts joined: t.merchant_id = c.merchant_id':
    'The hash is the primary key of tokens, and who consents gives the hash of a token of the ' +
    'same merchant.',
  'src/access/managed-store.ts endTokens: t.merchant_id = s.merchant_id':
    'The hash is the primary key of tokens, and readTokens found it as one of the merchant.',
  'src/access/managed-store.ts updateEnds: t.merchant_id = s.merchant_id':
    'The hash is the primary key of tokens, and the inner statement asks for the merchant.',
  'src/access/operator/prune-store.ts removeEndedTokens: t.merchant_id = $1':
    'The hash is the primary key of tokens, and the hashes are those of tokens of the merchant.',
  ['db/migrations/cell/0001_foundation.sql inventory_levels_grow: (new.merchant_id, ' +
    'new.product_id, new.location_id) is distinct from (old.merchant_id, old.product_id, ' +
    'old.location_id)']:
    'A level that is moved needs its movement at the other merchant (inventory_levels_ledger); ' +
    'no movement is without its level, so the primary key refuses a second one there.',
};
