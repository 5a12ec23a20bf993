-- Generated from the migrations. Do not edit: write a migration, then generate it again.
-- Each table with its columns, constraints, indexes and triggers; the functions at the end.

create table credential_tokens (
  token_hash bytea not null,
  merchant_id text collate "C" not null,
  credential_id text collate "C" not null,
  last_four text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint credential_tokens_pkey PRIMARY KEY (token_hash),
  constraint credential_tokens_merchant_id_credential_id_fkey FOREIGN KEY (merchant_id, credential_id) REFERENCES credentials(merchant_id, id),
  constraint credential_tokens_token_hash_check CHECK (octet_length(token_hash) = 32)
);
CREATE INDEX credential_tokens_by_credential ON public.credential_tokens USING btree (merchant_id, credential_id);

create table credentials (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  kind text not null,
  name text not null,
  is_operator boolean not null default false,
  application_id text collate "C",
  scopes text[] not null,
  all_locations boolean not null,
  location_ids text[] collate "C" not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint credentials_pkey PRIMARY KEY (merchant_id, id),
  constraint credentials_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchants(id),
  constraint credentials_check CHECK (NOT all_locations OR location_ids = '{}'::text[]),
  constraint credentials_kind_check CHECK (kind = ANY (ARRAY['personal_access_token'::text, 'oauth_access_token'::text]))
);
CREATE UNIQUE INDEX credentials_one_operator ON public.credentials USING btree (merchant_id) WHERE is_operator;

create table customers (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  email text not null,
  phone text,
  external_id text,
  note text,
  metadata jsonb not null default '{}'::jsonb,
  status text not null default 'active'::text,
  version integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  erased_at timestamp with time zone,
  email_key text collate "C" generated always as (((split_part(email, '@'::text, 1) || '@'::text) || lower((split_part(email, '@'::text, 2) COLLATE "C")))) stored,
  search tsvector not null default ''::tsvector,
  constraint customers_pkey PRIMARY KEY (merchant_id, id),
  constraint customers_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchants(id),
  constraint customers_status_check CHECK (status = ANY (ARRAY['active'::text, 'archived'::text])),
  constraint customers_version_check CHECK (version >= 1)
);
CREATE INDEX customers_email ON public.customers USING btree (merchant_id, email_key, id);
CREATE UNIQUE INDEX customers_external_id ON public.customers USING btree (merchant_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX customers_search ON public.customers USING gin (search);
CREATE INDEX customers_status ON public.customers USING btree (merchant_id, status, id);
CREATE INDEX customers_updated ON public.customers USING btree (merchant_id, updated_at);

create table inventory_levels (
  merchant_id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  quantity numeric not null default 0,
  sequence bigint not null default 0,
  last_sequence bigint generated always as (NULLIF(sequence, 0)) stored,
  last_movement_id text collate "C",
  updated_at timestamp with time zone,
  constraint inventory_levels_pkey PRIMARY KEY (merchant_id, product_id, location_id),
  constraint inventory_levels_ledger FOREIGN KEY (merchant_id, product_id, location_id, last_sequence, quantity) REFERENCES inventory_movements(merchant_id, product_id, location_id, sequence, quantity_after) DEFERRABLE INITIALLY DEFERRED,
  constraint inventory_levels_merchant_id_location_id_fkey FOREIGN KEY (merchant_id, location_id) REFERENCES locations(merchant_id, id),
  constraint inventory_levels_merchant_id_product_id_fkey FOREIGN KEY (merchant_id, product_id) REFERENCES products(merchant_id, id),
  constraint inventory_levels_check CHECK (sequence > 0 OR quantity = 0::numeric),
  constraint inventory_levels_check1 CHECK ((sequence > 0) = (last_movement_id IS NOT NULL)),
  constraint inventory_levels_check2 CHECK ((sequence > 0) = (updated_at IS NOT NULL)),
  constraint inventory_levels_quantity_check CHECK (scale(quantity) = min_scale(quantity)),
  constraint inventory_levels_sequence_check CHECK (sequence >= 0)
) with (fillfactor=80);
CREATE INDEX inventory_levels_by_location ON public.inventory_levels USING btree (merchant_id, location_id, product_id);
CREATE TRIGGER inventory_levels_grow BEFORE UPDATE ON inventory_levels FOR EACH ROW EXECUTE FUNCTION refuse_shrinking_level();
CREATE TRIGGER inventory_levels_kept BEFORE DELETE ON inventory_levels FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER inventory_levels_not_emptied BEFORE TRUNCATE ON inventory_levels FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table inventory_movements (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  sequence bigint not null,
  previous_sequence bigint generated always as (NULLIF((sequence - 1), 0)) stored,
  type text not null,
  reason text not null,
  quantity_before numeric not null,
  quantity_delta numeric not null,
  quantity_after numeric not null,
  note text,
  reference text,
  operation_id text collate "C" not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamp with time zone not null,
  constraint inventory_movements_pkey PRIMARY KEY (merchant_id, id),
  constraint inventory_movements_chain UNIQUE (merchant_id, product_id, location_id, sequence, quantity_after),
  constraint inventory_movements_sequence UNIQUE (merchant_id, product_id, location_id, sequence),
  constraint inventory_movements_continue FOREIGN KEY (merchant_id, product_id, location_id, previous_sequence, quantity_before) REFERENCES inventory_movements(merchant_id, product_id, location_id, sequence, quantity_after),
  constraint inventory_movements_check CHECK (quantity_after = (quantity_before + quantity_delta)),
  constraint inventory_movements_check1 CHECK (sequence > 1 OR quantity_before = 0::numeric),
  constraint inventory_movements_quantity_after_check CHECK (scale(quantity_after) = min_scale(quantity_after)),
  constraint inventory_movements_quantity_after_check1 CHECK (quantity_after >= 0::numeric AND quantity_after < '1000000000000'::numeric AND scale(quantity_after) <= 5),
  constraint inventory_movements_quantity_before_check CHECK (scale(quantity_before) = min_scale(quantity_before)),
  constraint inventory_movements_quantity_delta_check CHECK (scale(quantity_delta) = min_scale(quantity_delta)),
  constraint inventory_movements_quantity_delta_check1 CHECK (quantity_delta <> 0::numeric),
  constraint inventory_movements_reason_check CHECK (reason = ANY (ARRAY['stock_count'::text, 'external_adjustment'::text, 'correction'::text])),
  constraint inventory_movements_sequence_check CHECK (sequence >= 1),
  constraint inventory_movements_type_check CHECK (type = 'adjustment'::text)
);
CREATE INDEX inventory_movements_by_level ON public.inventory_movements USING btree (merchant_id, product_id, location_id, id);
CREATE INDEX inventory_movements_by_location ON public.inventory_movements USING btree (merchant_id, location_id, id);
CREATE TRIGGER inventory_movements_immutable BEFORE DELETE OR UPDATE ON inventory_movements FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER inventory_movements_kept BEFORE TRUNCATE ON inventory_movements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER inventory_movements_within_level AFTER INSERT ON inventory_movements REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION refuse_movement_beyond_level();

create table locations (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  code text collate "C",
  type text not null default 'other'::text,
  status text not null default 'active'::text,
  timezone text not null default 'UTC'::text,
  external_id text,
  metadata jsonb not null default '{}'::jsonb,
  version integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint locations_pkey PRIMARY KEY (merchant_id, id),
  constraint locations_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchants(id),
  constraint locations_status_check CHECK (status = ANY (ARRAY['active'::text, 'inactive'::text])),
  constraint locations_type_check CHECK (type = ANY (ARRAY['other'::text, 'store'::text, 'warehouse'::text])),
  constraint locations_version_check CHECK (version >= 1)
);
CREATE UNIQUE INDEX locations_code ON public.locations USING btree (merchant_id, code) WHERE (code IS NOT NULL);
CREATE UNIQUE INDEX locations_external_id ON public.locations USING btree (merchant_id, external_id) WHERE (external_id IS NOT NULL);

create table merchants (
  id text collate "C" not null,
  name text not null,
  created_at timestamp with time zone not null,
  constraint merchants_pkey PRIMARY KEY (id)
);

create table operations (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  credential_id text collate "C" not null,
  type text collate "C" not null,
  key_hash bytea not null,
  fingerprint bytea not null,
  fingerprint_version smallint not null,
  status text not null,
  resource_id text collate "C",
  error_code text,
  error_details jsonb,
  location_id text collate "C",
  request_id text not null,
  created_at timestamp with time zone not null,
  constraint operations_pkey PRIMARY KEY (merchant_id, id),
  constraint operations_key UNIQUE (merchant_id, credential_id, type, key_hash),
  constraint operations_check CHECK ((status = 'rejected'::text) = (error_code IS NOT NULL)),
  constraint operations_check1 CHECK ((error_code IS NULL) = (error_details IS NULL)),
  constraint operations_check2 CHECK ((status = 'succeeded'::text) = (resource_id IS NOT NULL)),
  constraint operations_fingerprint_check CHECK (octet_length(fingerprint) = 32),
  constraint operations_key_hash_check CHECK (octet_length(key_hash) = 32),
  constraint operations_status_check CHECK (status = ANY (ARRAY['claimed'::text, 'succeeded'::text, 'rejected'::text]))
);
CREATE INDEX operations_by_credential ON public.operations USING btree (merchant_id, credential_id, id);
CREATE TRIGGER operations_change_once BEFORE UPDATE ON operations FOR EACH ROW EXECUTE FUNCTION refuse_second_outcome();
CREATE TRIGGER operations_kept BEFORE DELETE ON operations FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER operations_not_emptied BEFORE TRUNCATE ON operations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table products (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  description text,
  sku text collate "C",
  barcode text collate "C",
  status text not null default 'active'::text,
  inventory_tracked boolean not null default true,
  unit_code text not null,
  unit_precision smallint not null,
  price_amount numeric,
  price_currency text,
  external_id text,
  metadata jsonb not null default '{}'::jsonb,
  version integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  search tsvector not null default ''::tsvector,
  constraint products_pkey PRIMARY KEY (merchant_id, id),
  constraint products_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchants(id),
  constraint products_check CHECK ((price_amount IS NULL) = (price_currency IS NULL)),
  constraint products_price_amount_check CHECK (price_amount >= 0::numeric),
  constraint products_status_check CHECK (status = ANY (ARRAY['active'::text, 'archived'::text])),
  constraint products_unit_precision_check CHECK (unit_precision >= 0 AND unit_precision <= 5),
  constraint products_version_check CHECK (version >= 1)
);
CREATE INDEX products_barcode ON public.products USING btree (merchant_id, barcode, id) WHERE (barcode IS NOT NULL);
CREATE UNIQUE INDEX products_external_id ON public.products USING btree (merchant_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX products_search ON public.products USING gin (search);
CREATE UNIQUE INDEX products_sku ON public.products USING btree (merchant_id, sku) WHERE (sku IS NOT NULL);
CREATE INDEX products_status ON public.products USING btree (merchant_id, status, id);
CREATE INDEX products_updated ON public.products USING btree (merchant_id, updated_at);

create table schema_migrations (
  number integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey PRIMARY KEY (number)
);

CREATE OR REPLACE FUNCTION public.expect_rows(changed bigint, expected bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if changed is distinct from expected then
    raise exception 'expected to change % rows, changed %', expected, changed
      using errcode = 'assert_failure';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'rows of % are never changed or removed', tg_table_name
    using errcode = 'integrity_constraint_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_movement_beyond_level()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from added a
    left join inventory_levels l on (l.merchant_id, l.product_id, l.location_id)
      = (a.merchant_id, a.product_id, a.location_id)
    where l.sequence is null or l.sequence < a.sequence
  ) then
    raise exception 'a movement beyond its level: the level is saved first'
      using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_second_outcome()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_shrinking_level()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.sequence <= old.sequence
    or (new.merchant_id, new.product_id, new.location_id)
      is distinct from (old.merchant_id, old.product_id, old.location_id)
  then
    raise exception 'a level changes only by further movements'
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $function$;
