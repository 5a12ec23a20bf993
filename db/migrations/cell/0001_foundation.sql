-- A cell: the data of many merchants, customers, products, locations, operations and the inventory
-- ledger. Each cell is a schema with all that follows (docs/decisions/0028).
--
-- Every table has merchant_id first in its primary key, its unique constraints and its foreign
-- keys, because merchants share a cell.
--
-- Nothing here names a schema: the tables go where the search path of the migration begins, which
-- leads to the global tables behind them. Functions that read tables keep that path (`set
-- search_path from current`), so that no session can put a table of its own before theirs, and
-- those of a cell never look into another.
--
-- A trigger that looks at all rows of a statement copies what it needs of them into a JSON variable
-- first: a distributed engine does not join a transition table with a distributed one.
--
-- Keys are added after the other indexes of their table. On a table without statistics all indexes
-- seem to cost the same, and the planner takes the one made last: with the key made first, the
-- foreign-key checks of a young database walked all movements of a location until the first
-- ANALYZE.

create table customers (
  merchant_id text collate "C" not null references merchants (id),
  id text collate "C" not null,
  name text not null,
  email text not null,
  phone text,
  external_id text,
  note text,
  metadata jsonb not null default '{}',
  status text collate "C" not null default 'active' check (status in ('active', 'archived')),
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
  status text collate "C" not null default 'active' check (status in ('active', 'archived')),
  inventory_tracked boolean not null default true,
  unit_code text not null,
  unit_precision smallint not null check (unit_precision between 0 and 5),
  price_amount numeric check (price_amount >= 0),
  price_currency text,
  -- What is available at a location runs out once it is no more than this. Null: nobody is told.
  low_stock_at numeric check (low_stock_at >= 0 and low_stock_at < 1e12
    and scale(low_stock_at) <= 5 and scale(low_stock_at) = min_scale(low_stock_at)),
  external_id text,
  metadata jsonb not null default '{}',
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The words of name, SKU and barcode, cut by the service (contract/format.ts).
  search tsvector not null default '',
  -- What the name is sorted by.
  name_key text collate "C" not null default '',
  check ((price_amount is null) = (price_currency is null))
);

create unique index products_sku on products (merchant_id, sku) where sku is not null;
create unique index products_external_id on products (merchant_id, external_id)
  where external_id is not null;
create index products_barcode on products (merchant_id, barcode, id) where barcode is not null;
create index products_status on products (merchant_id, status, id);
create index products_updated on products (merchant_id, updated_at);
-- Lists of stock, by name and by SKU: those without one come last.
create index products_by_name on products (merchant_id, status, name_key, id)
  where inventory_tracked;
create index products_by_sku on products (merchant_id, status, coalesce('0' || sku, '1'), id)
  where inventory_tracked;
-- What may have run out.
create index products_low_stock on products (merchant_id, id)
  where low_stock_at is not null and inventory_tracked and status = 'active';
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

-- The journal of a merchant is the order of its operations that changed something: each has a
-- position, 1, 2, 3 …, without gaps, in the order of commit. A transaction that adds such
-- operations locks this row first and reads the last position afterwards, by index. The row does
-- not count itself: while an old snapshot is open, every update of it left a version behind, and
-- 1,000 of them took 480 ms instead of 25. No foreign key: merchants are global, and this is their
-- data.
create table journals (
  merchant_id text collate "C" primary key,
  -- Which journal positions belong to. A restore gives it another ID, because it takes positions
  -- back that may have been read.
  id text collate "C" not null
);

-- One row per idempotency key: the key, the outcome and the record of the write in one. No row ever
-- changes. No foreign keys: merchants, credentials and locations are never deleted, and a lock
-- shared on one hot row would cost every batch.
create table operations (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  credential_id text collate "C" not null,
  type text collate "C" not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  fingerprint_version smallint not null,
  status text not null check (status in ('succeeded', 'rejected')),
  resource_id text collate "C",
  -- Whether it created that resource. What an operation that may create or change answered, and
  -- what it is in the feed, depends on it.
  created boolean not null default false,
  -- How many movements of inventory it made.
  movements integer not null check (movements >= 0),
  -- Its place in the journal; null when it changed nothing.
  position bigint check (position >= 1),
  error_code text,
  error_details json,
  location_id text collate "C",
  -- Of what goes from one location to another.
  to_location_id text collate "C",
  request_id text collate "C" not null,
  -- What its event says beside its movements.
  notices json,
  created_at timestamptz not null,
  check ((status = 'rejected') = (error_code is not null)),
  check ((error_code is null) = (error_details is null)),
  check ((status = 'succeeded') = (resource_id is not null)),
  check (status = 'succeeded' or not created),
  check (status = 'succeeded' or position is null),
  check (movements = 0 or position is not null)
);

create index operations_by_credential on operations (merchant_id, credential_id, id);
-- IDs of requests begin with their time, so what is added is at the end of a merchant's. A request
-- has few operations: they need no order here.
create index operations_by_request on operations (merchant_id, request_id);
create unique index operations_position on operations (merchant_id, position)
  where position is not null;
alter table operations add primary key (merchant_id, id);
alter table operations add constraint operations_key
  unique (merchant_id, credential_id, type, key_hash);

-- The facts: immutable, in one chain per level, each a line of the operation that made it.
create table inventory_movements (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  sequence bigint not null check (sequence >= 1),
  type text not null
    check (type in ('adjustment', 'transfer_in', 'transfer_out', 'count', 'fulfilment')),
  reason text not null check (reason in ('stock_count', 'external_adjustment', 'correction',
    'transfer', 'sale', 'return', 'receipt', 'damage', 'loss', 'production', 'other')),
  quantity_before numeric not null check (scale(quantity_before) = min_scale(quantity_before)),
  quantity_delta numeric not null check (scale(quantity_delta) = min_scale(quantity_delta)),
  quantity_after numeric not null check (scale(quantity_after) = min_scale(quantity_after)),
  note text,
  reference text,
  operation_id text collate "C" not null,
  -- That of its operation in the journal.
  position bigint not null,
  -- Its place among the movements of its operation, from 1 on.
  line integer not null check (line >= 1),
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamptz not null,
  check (quantity_after = quantity_before + quantity_delta),
  check (quantity_delta <> 0),
  check (quantity_after >= 0 and quantity_after < 1e12 and scale(quantity_after) <= 5),
  check (sequence > 1 or quantity_before = 0)
);

create index inventory_movements_by_location
  on inventory_movements (merchant_id, location_id, position, line);
create index inventory_movements_by_level
  on inventory_movements (merchant_id, product_id, location_id, position, line);
alter table inventory_movements add constraint inventory_movements_line
  unique (merchant_id, position, line);
alter table inventory_movements add primary key (merchant_id, id);
alter table inventory_movements add constraint inventory_movements_sequence
  unique (merchant_id, product_id, location_id, sequence);

-- The state: always what its last movement left. A level with sequence 0 is there to be locked for
-- a pair that never moved; no read shows it. Updates touch no indexed column, so they stay on their
-- page (fillfactor leaves room).
create table inventory_levels (
  merchant_id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  quantity numeric not null default 0 check (scale(quantity) = min_scale(quantity)),
  sequence bigint not null default 0 check (sequence >= 0),
  last_movement_id text collate "C",
  -- Of its first movement: before it there was no such level.
  first_position bigint,
  updated_at timestamptz,
  primary key (merchant_id, product_id, location_id),
  foreign key (merchant_id, product_id) references products (merchant_id, id),
  foreign key (merchant_id, location_id) references locations (merchant_id, id),
  check (sequence > 0 or quantity = 0),
  check ((sequence > 0) = (last_movement_id is not null)),
  check ((sequence > 0) = (first_position is not null)),
  check ((sequence > 0) = (updated_at is not null))
) with (fillfactor = 80);

create index inventory_levels_by_location
  on inventory_levels (merchant_id, location_id, product_id);

-- What moved together. A fact, like its movements.
create table inventory_transfers (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  -- Null: the outside.
  from_location_id text collate "C",
  to_location_id text collate "C",
  reason text not null,
  note text,
  reference text,
  -- What was asked for, in its order, with the movements that it became.
  lines json not null,
  -- Something of it was not there, and did not move.
  is_short boolean not null,
  operation_id text collate "C" not null,
  position bigint not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamptz not null,
  check (from_location_id is distinct from to_location_id),
  check ((reason = 'transfer')
    = (from_location_id is not null and to_location_id is not null)),
  check (not is_short or to_location_id is null)
);

create index inventory_transfers_from on inventory_transfers (merchant_id, from_location_id, id)
  where from_location_id is not null;
create index inventory_transfers_to on inventory_transfers (merchant_id, to_location_id, id)
  where to_location_id is not null;
create index inventory_transfers_short on inventory_transfers (merchant_id, id) where is_short;
alter table inventory_transfers add primary key (merchant_id, id);

-- What was counted together. A fact, like the movements that came of it.
create table inventory_counts (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  location_id text collate "C" not null,
  note text,
  reference text,
  -- What was counted, in its order, with what was found and the movements that it became.
  lines json not null,
  -- How many lines there are: a page is cut by it, without reading them.
  line_count integer not null check (line_count >= 1),
  operation_id text collate "C" not null,
  position bigint not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamptz not null
);

create index inventory_counts_by_location on inventory_counts (merchant_id, location_id, id);
alter table inventory_counts add primary key (merchant_id, id);

-- Who counted a product at a location last, and when: as the last count that names it says. It
-- changes under the lock of the level, and stands beside it, because what was counted may never
-- have moved. Updates touch no indexed column.
create table inventory_last_counts (
  merchant_id text collate "C" not null,
  location_id text collate "C" not null,
  product_id text collate "C" not null,
  count_id text collate "C" not null,
  credential_id text collate "C" not null,
  position bigint not null,
  counted_at timestamptz not null,
  primary key (merchant_id, location_id, product_id)
);

-- What is put aside. Whoever changes one, its lines, or what is reserved of a level, has locked the
-- levels of all its lines. One whose time has come counts no more, and is shown as expired, before
-- anything says so here.
create table inventory_reservations (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  location_id text collate "C" not null,
  status text collate "C" not null check (status in ('active', 'fulfilled', 'released', 'expired')),
  -- Null: never.
  expires_at timestamptz,
  note text,
  reference text collate "C",
  operation_id text collate "C" not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamptz not null,
  -- The write that ended it, when, and what it moved, in the order of the lines.
  end_operation_id text collate "C",
  ended_at timestamptz,
  end_note text,
  movement_ids text[] collate "C" not null default '{}',
  check ((status = 'active') = (end_operation_id is null)),
  check ((status = 'active') = (ended_at is null)),
  check ((status = 'fulfilled') = (movement_ids <> '{}'))
) with (fillfactor = 80);

create index inventory_reservations_at
  on inventory_reservations (merchant_id, location_id, status, id);
create index inventory_reservations_reference on inventory_reservations (merchant_id, reference, id)
  where reference is not null;
-- For whoever looks for those of all merchants whose time has come.
create index inventory_reservations_due on inventory_reservations (expires_at)
  where status = 'active' and expires_at is not null;
alter table inventory_reservations add primary key (merchant_id, id);

-- What a reservation holds. Product, location and quantity never change, so whoever wants to lock
-- the levels may read them first.
create table inventory_reservation_lines (
  merchant_id text collate "C" not null,
  reservation_id text collate "C" not null,
  line integer not null check (line >= 1),
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  quantity numeric not null check (quantity > 0 and scale(quantity) = min_scale(quantity)),
  -- That of its reservation.
  expires_at timestamptz,
  -- Whether its reservation is.
  is_active boolean not null
) with (fillfactor = 80);

create index inventory_reservation_lines_active
  on inventory_reservation_lines (merchant_id, product_id, location_id, expires_at)
  include (quantity) where is_active;
alter table inventory_reservation_lines add primary key (merchant_id, reservation_id, line);

-- The sum of all active lines of a level, those whose time has come included: what is reserved is
-- that without them. Apart from the level, which changes by movements only.
create table inventory_reserved (
  merchant_id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  quantity numeric not null check (quantity >= 0),
  primary key (merchant_id, product_id, location_id)
) with (fillfactor = 80);

-- A consumer of the journal that the service calls. No foreign keys: credentials are global, and
-- locations are never deleted.
create table webhooks (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  -- Who made it, and nobody else changes it. It is sent what this credential may read,
  credential_id text collate "C" not null,
  -- within what the token that made it was limited to. Null: all that the credential may.
  token_scopes text[],
  url text not null,
  -- Null: all.
  types text[] collate "C",
  -- Null: all that are granted.
  location_ids text[] collate "C",
  -- Only what runs out.
  low_stock boolean not null default false,
  description text,
  status text not null check (status in ('active', 'paused')),
  pause_reason text,
  -- Encrypted with a key derived from the service's secret. An old one signs along for a while.
  secret bytea not null,
  old_secret bytea,
  old_secret_ends_at timestamptz,
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((status = 'paused') = (pause_reason is not null)),
  check ((old_secret is null) = (old_secret_ends_at is null))
);

create index webhooks_active on webhooks (merchant_id, id) where status = 'active';
alter table webhooks add primary key (merchant_id, id);

-- How far a webhook has come. Apart from it, because each delivery changes this.
create table webhook_progress (
  merchant_id text collate "C" not null,
  webhook_id text collate "C" not null,
  -- In the journal: what is up to here was sent, or waits among the failures.
  position bigint not null check (position >= 0),
  -- Whoever delivers raises it, and saves only while it is the same. A change raises it as well.
  epoch bigint not null default 1,
  lease_holder text,
  lease_ends_at timestamptz,
  failing_since timestamptz,
  last_status integer,
  -- The events that wait for another attempt.
  failures jsonb not null default '[]',
  -- The last attempts, oldest first.
  attempts jsonb not null default '[]',
  saved_at timestamptz not null,
  -- The database in which that was. In another one this is a copy, which calls nobody.
  saved_on text not null,
  primary key (merchant_id, webhook_id),
  foreign key (merchant_id, webhook_id) references webhooks (merchant_id, id)
) with (fillfactor = 50);

-- What follows holds also against mistakes of the program and against hands with more rights than
-- the service's role. A distributed engine that has no triggers relies on the role's rights and on
-- `tallybook verify`.

-- The service may lock the row, for which PostgreSQL asks for the right to update a column of it:
-- this one.
create trigger journals_keep_merchant before update on journals
  for each row when (new.merchant_id is distinct from old.merchant_id)
  execute function refuse_change();
create trigger journals_kept before delete on journals
  for each row execute function refuse_change();
create trigger journals_not_emptied before truncate on journals
  for each statement execute function refuse_change();
create trigger operations_immutable before update or delete on operations
  for each row execute function refuse_change();
create trigger operations_not_emptied before truncate on operations
  for each statement execute function refuse_change();
create trigger inventory_movements_immutable before update or delete on inventory_movements
  for each row execute function refuse_change();
create trigger inventory_movements_not_emptied before truncate on inventory_movements
  for each statement execute function refuse_change();
create trigger inventory_transfers_immutable before update or delete on inventory_transfers
  for each row execute function refuse_change();
create trigger inventory_transfers_not_emptied before truncate on inventory_transfers
  for each statement execute function refuse_change();
create trigger inventory_counts_immutable before update or delete on inventory_counts
  for each row execute function refuse_change();
create trigger inventory_counts_not_emptied before truncate on inventory_counts
  for each statement execute function refuse_change();
create trigger inventory_last_counts_kept before delete on inventory_last_counts
  for each row execute function refuse_change();
create trigger inventory_last_counts_not_emptied before truncate on inventory_last_counts
  for each statement execute function refuse_change();
create trigger inventory_reservations_kept before delete on inventory_reservations
  for each row execute function refuse_change();
create trigger inventory_reservations_not_emptied before truncate on inventory_reservations
  for each statement execute function refuse_change();
create trigger inventory_reservation_lines_kept before delete on inventory_reservation_lines
  for each row execute function refuse_change();
create trigger inventory_reservation_lines_not_emptied before truncate
  on inventory_reservation_lines for each statement execute function refuse_change();
-- A reservation ends once, and what it holds is what it was made for.
create trigger inventory_reservations_end before update on inventory_reservations
  for each row
  when (old.status <> 'active'
    or (new.merchant_id, new.id, new.location_id, new.expires_at, new.operation_id)
      is distinct from (old.merchant_id, old.id, old.location_id, old.expires_at, old.operation_id))
  execute function refuse_change();
create trigger inventory_reservation_lines_end before update on inventory_reservation_lines
  for each row
  when (not old.is_active
    or (new.merchant_id, new.reservation_id, new.line, new.product_id, new.location_id,
        new.quantity, new.expires_at)
      is distinct from (old.merchant_id, old.reservation_id, old.line, old.product_id,
        old.location_id, old.quantity, old.expires_at))
  execute function refuse_change();
create trigger inventory_levels_kept before delete on inventory_levels
  for each row execute function refuse_change();
create trigger inventory_levels_not_emptied before truncate on inventory_levels
  for each statement execute function refuse_change();

-- A level changes only by further movements. The condition is judged without calling a function: 20
-- levels in 5 µs instead of 60.
create trigger inventory_levels_grow after update on inventory_levels
  for each row
  when (new.sequence <= old.sequence
    or (new.merchant_id, new.product_id, new.location_id)
      is distinct from (old.merchant_id, old.product_id, old.location_id))
  execute function refuse_change();

-- The last count is followed by later ones only.
create trigger inventory_last_counts_grow after update on inventory_last_counts
  for each row
  when (new.position <= old.position
    or (new.merchant_id, new.location_id, new.product_id)
      is distinct from (old.merchant_id, old.location_id, old.product_id))
  execute function refuse_change();

-- Every movement lies within its level, begins where its predecessor ended, and is a line of its
-- operation. Together with the unique sequence: no gap, no fork, no forged quantity_before. With
-- the unique line, and the trigger on operations below: as many movements as the operation says.
--
-- Predecessors are sought as the last row before this one in the order of an index, operations as
-- the only row of their key: sought by equal columns in a join, the planner takes any index that
-- begins with some of them once it believes that levels or merchants are small, and walked all
-- movements of the one that is not.
create function refuse_unsound_movement() returns trigger language plpgsql
  set search_path from current as $$
declare
  copied json := (
    select json_agg(json_build_object('merchant_id', a.merchant_id, 'id', a.id,
      'product_id', a.product_id, 'location_id', a.location_id, 'sequence', a.sequence,
      'quantity_before', a.quantity_before, 'operation_id', a.operation_id,
      'position', a.position, 'line', a.line))
    from added a);
  fault_found text;
begin
  select f.fault into fault_found
  from (
    select case
        when l.sequence is null or l.sequence < a.sequence
          then 'a movement beyond its level: the level is saved first'
        when coalesce(before.sequence, 0) <> a.sequence - 1
          or coalesce(before.quantity_after, 0) <> a.quantity_before
          then 'a movement does not begin where the one before it ended'
        when o.id is null
          or o.type not in ('inventory.adjust', 'inventory.transfer', 'inventory.count',
            'inventory.fulfil')
          or o.movements < a.line or o.position <> a.position
          or (o.type = 'inventory.adjust' and a.line = 1 and o.resource_id <> a.id)
          then 'a movement that its operation does not name'
        when a.line > 1 and (previous.merchant_id, previous.position, previous.line)
          is distinct from (a.merchant_id, a.position, a.line - 1)
          then 'a movement without the line before it'
      end as fault
    from json_to_recordset(copied) as a (merchant_id text, id text, product_id text,
      location_id text, sequence bigint, quantity_before numeric, operation_id text,
      position bigint, line integer)
    left join lateral (
      select * from inventory_levels l
      where l.merchant_id = a.merchant_id and l.product_id = a.product_id
        and l.location_id = a.location_id
      limit 1) l on true
    left join lateral (
      select * from inventory_movements m
      where (m.merchant_id, m.product_id, m.location_id, m.sequence)
        < (a.merchant_id, a.product_id, a.location_id, a.sequence)
      order by m.merchant_id desc, m.product_id desc, m.location_id desc, m.sequence desc
      limit 1) before
      on before.merchant_id = a.merchant_id and before.product_id = a.product_id
        and before.location_id = a.location_id
    left join lateral (
      select * from operations o
      where o.merchant_id = a.merchant_id and o.id = a.operation_id
      limit 1) o on true
    left join lateral (
      select * from inventory_movements m
      where a.line > 1
        and (m.merchant_id, m.position, m.line) < (a.merchant_id, a.position, a.line)
      order by m.merchant_id desc, m.position desc, m.line desc
      limit 1) previous on true) f
  where f.fault is not null
  limit 1;
  if fault_found is not null then
    raise exception '%', fault_found using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;

create trigger inventory_movements_sound after insert on inventory_movements
  referencing new table as added
  for each statement execute function refuse_unsound_movement();

-- An operation has as many movements as it says, once the transaction is complete: the last of them
-- is there, and none is there without the one before. Deferred, because a restore saves operations
-- first.
-- It asks by one simple query, as does the check of levels below, because Citus plans any other
-- anew for each row: a commit of 16 writes took 14.8 ms, and 4.6 so.
create function refuse_missing_movements() returns trigger language plpgsql
  set search_path from current as $$
declare
  last record;
begin
  select m.merchant_id, m.position, m.line into last from inventory_movements m
  where (m.merchant_id, m.position, m.line) <= (new.merchant_id, new.position, new.movements)
  order by m.merchant_id desc, m.position desc, m.line desc
  limit 1;
  if (last.merchant_id, last.position, last.line)
    is distinct from (new.merchant_id, new.position, new.movements) then
    raise exception 'an operation with fewer movements than it says'
      using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;

create constraint trigger operations_whole after insert on operations
  deferrable initially deferred
  for each row when (new.movements > 0) execute function refuse_missing_movements();

-- A level is its last movement, once the transaction is complete: the level is saved first.
create function refuse_level_off_ledger() returns trigger language plpgsql
  set search_path from current as $$
begin
  perform from inventory_movements m
  where m.merchant_id = new.merchant_id and m.id = new.last_movement_id
    and m.product_id = new.product_id and m.location_id = new.location_id
    and m.sequence = new.sequence and m.quantity_after = new.quantity;
  if not found then
    raise exception 'a level differs from its last movement: % at % of %',
        new.product_id, new.location_id, new.merchant_id
      using errcode = 'integrity_constraint_violation', table = tg_table_name;
  end if;
  return null;
end $$;

create constraint trigger inventory_levels_ledger after insert or update on inventory_levels
  deferrable initially deferred
  for each row when (new.sequence > 0) execute function refuse_level_off_ledger();
