// Conditions on the merchant that change nothing when they are left out, each with its proof. They
// stay in the product: a proof may end with the next change, and they keep statements on the index
// that begins with the merchant.

const ownRows =
  'It locks nothing and its rows say their merchant: operations/batch.ts gives each merchant’s ' +
  'commands the rows of this merchant and no others.';

/** By the name of the mutant. */
export const harmless: Readonly<Record<string, string>> = {
  'src/customers/store.ts findHolders: c.merchant_id = a.merchant_id': ownRows,
  'src/locations/store.ts findHolders: l.merchant_id = a.merchant_id': ownRows,
  'src/locations/store.ts findHolders: l.merchant_id = a.merchant_id (2)': ownRows,
  'src/products/store.ts findHolders: p.merchant_id = a.merchant_id': ownRows,
  'src/products/store.ts findHolders: p.merchant_id = a.merchant_id (2)': ownRows,
  'src/inventory/store.ts findProducts: (p.merchant_id, p.id) in': ownRows,
  'src/inventory/store.ts createLevels: l.merchant_id = a.merchant_id':
    'The location was proved to be the merchant’s with the credential, and locations are never ' +
    'deleted; the foreign key on (merchant_id, location_id) refuses any other.',
  'src/access/operator/prune-store.ts removeEndedTokens: t.merchant_id = $1':
    'The hash is the primary key of tokens, and the hashes are those of tokens of the merchant.',
  ['db/migrations/0001_foundation.sql refuse_second_outcome: (new.merchant_id, new.id, ' +
    'new.credential_id, new.type, new.key_hash, new.fingerprint) is distinct from ' +
    '(old.merchant_id, old.id, old.credential_id, old.type, old.key_hash, old.fingerprint)']:
    'No row that is claimed is ever committed. Whoever turns one over to another merchant has ' +
    'inserted it in the same transaction, and could as well have inserted it there.',
  ['db/migrations/0003_ledger_by_set.sql inventory_levels_grow: (new.merchant_id, ' +
    'new.product_id, new.location_id) is distinct from (old.merchant_id, old.product_id, ' +
    'old.location_id)']:
    'A level that is moved needs its movement at the other merchant (inventory_levels_ledger); ' +
    'no movement is without its level, so the primary key refuses a second one there.',
};
