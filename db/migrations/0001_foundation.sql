-- Merchants, credentials, customers, products, locations, operations and the inventory ledger.
--
-- Every table of a merchant has merchant_id first in its primary key, its unique constraints and
-- its foreign keys, so that the schema distributes by merchant. IDs are minted by the service and
-- compared byte by byte (collate "C"). Nothing depends on sequences, session state or advisory
-- locks.
--
-- Keys are added after the other indexes of their table. On a table without statistics all indexes
-- seem to cost the same, and the planner takes the one made last: with the key made first, the
-- foreign-key checks of a young database walked all movements of a location until the first
-- ANALYZE.

create table merchants (
  id text collate "C" primary key,
  name text not null,
  created_at timestamptz not null
);

-- The record a caller acts as. Rotating its token keeps the record, and with it the namespace of
-- its idempotency keys. Grants are an array: authentication reads one row and is done.
create table credentials (
  merchant_id text collate "C" not null references merchants (id),
  id text collate "C" not null,
  kind text not null check (kind in ('personal_access_token', 'oauth_access_token')),
  name text not null,
  -- The merchant's own record for what its operator does by command; it never has a token.
  is_operator boolean not null default false,
  application_id text collate "C",
  scopes text[] not null,
  all_locations boolean not null,
  location_ids text[] collate "C" not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (merchant_id, id),
  check (not all_locations or location_ids = '{}')
);

create unique index credentials_one_operator on credentials (merchant_id) where is_operator;

-- Only the SHA-256 of a token is kept: 238 random bits need no salt and no slow hash. During a
-- rotation two tokens lead to one credential. Found by hash alone, before the merchant is known.
create table credential_tokens (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  merchant_id text collate "C" not null,
  credential_id text collate "C" not null,
  last_four text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  foreign key (merchant_id, credential_id) references credentials (merchant_id, id)
);

create index credential_tokens_by_credential on credential_tokens (merchant_id, credential_id);

create table customers (
  merchant_id text collate "C" not null references merchants (id),
  id text collate "C" not null,
  name text not null,
  email text not null,
  phone text,
  external_id text,
  note text,
  metadata jsonb not null default '{}',
  status text not null default 'active' check (status in ('active', 'archived')),
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  erased_at timestamptz,
  -- The address as it is compared: its domain in lower case (RFC 5321 section 2.3.11 leaves the
  -- local part to its host). Made by the service: a domain may have letters beyond ASCII.
  email_key text collate "C" not null,
  -- The words of name and e-mail address, cut by the service (core/format.ts).
  search tsvector not null default ''
);

create unique index customers_external_id on customers (merchant_id, external_id)
  where external_id is not null;
create index customers_email on customers (merchant_id, email_key, id);
create index customers_status on customers (merchant_id, status, id);
create index customers_updated on customers (merchant_id, updated_at);
create index customers_search on customers using gin (search);
alter table customers add primary key (merchant_id, id);

create table products (
  merchant_id text collate "C" not null references merchants (id),
  id text collate "C" not null,
  name text not null,
  description text,
  sku text collate "C",
  barcode text collate "C",
  status text not null default 'active' check (status in ('active', 'archived')),
  inventory_tracked boolean not null default true,
  unit_code text not null,
  unit_precision smallint not null check (unit_precision between 0 and 5),
  price_amount numeric check (price_amount >= 0),
  price_currency text,
  external_id text,
  metadata jsonb not null default '{}',
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The words of name and SKU, cut by the service (core/format.ts).
  search tsvector not null default '',
  check ((price_amount is null) = (price_currency is null))
);

create unique index products_sku on products (merchant_id, sku) where sku is not null;
create unique index products_external_id on products (merchant_id, external_id)
  where external_id is not null;
create index products_barcode on products (merchant_id, barcode, id) where barcode is not null;
create index products_status on products (merchant_id, status, id);
create index products_updated on products (merchant_id, updated_at);
create index products_search on products using gin (search);
alter table products add primary key (merchant_id, id);

create table locations (
  merchant_id text collate "C" not null references merchants (id),
  id text collate "C" not null,
  name text not null,
  code text collate "C",
  type text not null default 'other' check (type in ('other', 'store', 'warehouse')),
  status text not null default 'active' check (status in ('active', 'inactive')),
  timezone text not null default 'UTC',
  external_id text,
  metadata jsonb not null default '{}',
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create unique index locations_code on locations (merchant_id, code) where code is not null;
create unique index locations_external_id on locations (merchant_id, external_id)
  where external_id is not null;
alter table locations add primary key (merchant_id, id);

-- One row per idempotency key: the claim, the outcome and the audit record in one. A row is written
-- as 'claimed' and gets its outcome in the same transaction; no default means success. No foreign
-- keys: merchants, credentials and locations are never deleted, and a lock shared on one hot row
-- would cost every batch.
create table operations (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  credential_id text collate "C" not null,
  type text collate "C" not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  fingerprint_version smallint not null,
  status text not null check (status in ('claimed', 'succeeded', 'rejected')),
  resource_id text collate "C",
  error_code text,
  error_details json,
  location_id text collate "C",
  request_id text not null,
  created_at timestamptz not null,
  check ((status = 'rejected') = (error_code is not null)),
  check ((error_code is null) = (error_details is null)),
  check ((status = 'succeeded') = (resource_id is not null))
);

create index operations_by_credential on operations (merchant_id, credential_id, id);
alter table operations add primary key (merchant_id, id);
alter table operations add constraint operations_key
  unique (merchant_id, credential_id, type, key_hash);

-- The facts. Each movement continues its predecessor: the foreign key to (sequence, quantity_after)
-- of the one before makes a gap or a forged quantity_before uncommittable.
create table inventory_movements (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  sequence bigint not null check (sequence >= 1),
  previous_sequence bigint generated always as (nullif(sequence - 1, 0)) stored,
  type text not null check (type in ('adjustment')),
  reason text not null check (reason in ('stock_count', 'external_adjustment', 'correction')),
  quantity_before numeric not null check (scale(quantity_before) = min_scale(quantity_before)),
  quantity_delta numeric not null check (scale(quantity_delta) = min_scale(quantity_delta)),
  quantity_after numeric not null check (scale(quantity_after) = min_scale(quantity_after)),
  note text,
  reference text,
  operation_id text collate "C" not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamptz not null,
  check (quantity_after = quantity_before + quantity_delta),
  check (quantity_delta <> 0),
  check (quantity_after >= 0 and quantity_after < 1e12 and scale(quantity_after) <= 5),
  check (sequence > 1 or quantity_before = 0)
);

create index inventory_movements_by_location on inventory_movements (merchant_id, location_id, id);
create index inventory_movements_by_level
  on inventory_movements (merchant_id, product_id, location_id, id);
alter table inventory_movements add primary key (merchant_id, id);
alter table inventory_movements add constraint inventory_movements_sequence
  unique (merchant_id, product_id, location_id, sequence);
alter table inventory_movements add constraint inventory_movements_chain
  unique (merchant_id, product_id, location_id, sequence, quantity_after);
alter table inventory_movements add constraint inventory_movements_continue
  foreign key (merchant_id, product_id, location_id, previous_sequence, quantity_before)
  references inventory_movements (merchant_id, product_id, location_id, sequence, quantity_after);

-- The state: always its last movement, by a foreign key that is checked at commit. A level with
-- sequence 0 is a lock anchor for a pair that never moved; no read shows it. Updates touch no
-- indexed column, so they stay on their page (fillfactor leaves room).
create table inventory_levels (
  merchant_id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  quantity numeric not null default 0 check (scale(quantity) = min_scale(quantity)),
  sequence bigint not null default 0 check (sequence >= 0),
  last_sequence bigint generated always as (nullif(sequence, 0)) stored,
  last_movement_id text collate "C",
  updated_at timestamptz,
  primary key (merchant_id, product_id, location_id),
  foreign key (merchant_id, product_id) references products (merchant_id, id),
  foreign key (merchant_id, location_id) references locations (merchant_id, id),
  constraint inventory_levels_ledger
    foreign key (merchant_id, product_id, location_id, last_sequence, quantity)
    references inventory_movements (merchant_id, product_id, location_id, sequence, quantity_after)
    deferrable initially deferred,
  check (sequence > 0 or quantity = 0),
  check ((sequence > 0) = (last_movement_id is not null)),
  check ((sequence > 0) = (updated_at is not null))
) with (fillfactor = 80);

create index inventory_levels_by_location
  on inventory_levels (merchant_id, location_id, product_id);

-- Second nets, for hands with more rights than the service's role. A distributed engine that has no
-- triggers relies on the role's rights and on `tallybook verify`.

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are never changed or removed', tg_table_name
    using errcode = 'integrity_constraint_violation';
end $$;

create trigger inventory_movements_immutable before update or delete on inventory_movements
  for each row execute function refuse_change();
create trigger inventory_movements_kept before truncate on inventory_movements
  for each statement execute function refuse_change();
create trigger inventory_levels_kept before delete on inventory_levels
  for each row execute function refuse_change();
create trigger inventory_levels_not_emptied before truncate on inventory_levels
  for each statement execute function refuse_change();
create trigger operations_kept before delete on operations
  for each row execute function refuse_change();
create trigger operations_not_emptied before truncate on operations
  for each statement execute function refuse_change();

create function refuse_second_outcome() returns trigger language plpgsql as $$
begin
  if old.status <> 'claimed' or new.status = 'claimed'
    or (new.merchant_id, new.id, new.credential_id, new.type, new.key_hash, new.fingerprint)
      is distinct from
      (old.merchant_id, old.id, old.credential_id, old.type, old.key_hash, old.fingerprint)
  then
    raise exception 'an operation changes once, from claimed to its outcome'
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger operations_change_once before update on operations
  for each row execute function refuse_second_outcome();

create function refuse_shrinking_level() returns trigger language plpgsql as $$
begin
  if new.sequence <= old.sequence
    or (new.merchant_id, new.product_id, new.location_id)
      is distinct from (old.merchant_id, old.product_id, old.location_id)
  then
    raise exception 'a level changes only by further movements'
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger inventory_levels_grow before update on inventory_levels
  for each row execute function refuse_shrinking_level();

create function refuse_movement_beyond_level() returns trigger language plpgsql as $$
begin
  if exists (
    select from added a
    left join public.inventory_levels l on (l.merchant_id, l.product_id, l.location_id)
      = (a.merchant_id, a.product_id, a.location_id)
    where l.sequence is null or l.sequence < a.sequence
  ) then
    raise exception 'a movement beyond its level: the level is saved first'
      using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;

create trigger inventory_movements_within_level after insert on inventory_movements
  referencing new table as added
  for each statement execute function refuse_movement_beyond_level();

-- Aborts the transaction when a statement changed another number of rows than the service meant:
-- the check travels with the statement, so that saving and committing stay one round trip.
create function expect_rows(changed bigint, expected bigint) returns void language plpgsql as $$
begin
  if changed is distinct from expected then
    raise exception 'expected to change % rows, changed %', expected, changed
      using errcode = 'assert_failure';
  end if;
end $$;
