-- Generated from the migrations. Do not edit: write a migration and generate again.
-- Each table with its columns, constraints, indexes and triggers; the functions at the end of
-- each schema. Further cells are as the first.

-- public: the global tables.

create table application_secrets (
  secret_hash bytea not null,
  application_id text collate "C" not null,
  last_four text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint application_secrets_pkey primary key (secret_hash),
  constraint application_secrets_application_id_fkey foreign key (application_id) references applications(id),
  constraint application_secrets_secret_hash_check check (octet_length(secret_hash) = 32)
);
create index application_secrets_by_application on application_secrets (application_id);

create table applications (
  id text collate "C" not null,
  name text not null,
  scopes text[] not null,
  redirect_uris text[] not null,
  jwks jsonb,
  created_at timestamp with time zone not null,
  disabled_at timestamp with time zone,
  constraint applications_pkey primary key (id)
);

create table audit_head (
  is_only boolean not null default true,
  day date not null,
  number bigint not null,
  hash bytea not null,
  constraint audit_head_pkey primary key (is_only),
  constraint audit_head_is_only_check check (is_only)
);
create trigger audit_head_kept before delete on audit_head for each row execute function refuse_change();
create trigger audit_head_not_emptied before truncate on audit_head for each statement execute function refuse_change();

create table audit_records (
  day date not null,
  number bigint not null,
  line text not null,
  hash bytea not null,
  constraint audit_records_pkey primary key (day, number)
);
create trigger audit_records_immutable before delete or update on audit_records for each row execute function refuse_change();
create trigger audit_records_not_emptied before truncate on audit_records for each statement execute function refuse_change();

create table cells (
  name text collate "C" not null,
  version integer not null,
  created_at timestamp with time zone not null default now(),
  constraint cells_pkey primary key (name)
);

create table credential_tokens (
  token_hash bytea not null,
  merchant_id text collate "C" not null,
  credential_id text collate "C" not null,
  last_four text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  scopes text[],
  constraint credential_tokens_pkey primary key (token_hash),
  constraint credential_tokens_merchant_id_credential_id_fkey foreign key (merchant_id, credential_id) references credentials(merchant_id, id),
  constraint credential_tokens_token_hash_check check (octet_length(token_hash) = 32)
);
create index credential_tokens_by_credential on credential_tokens (merchant_id, credential_id);

create table credentials (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  kind text not null,
  name text not null,
  is_operator boolean not null default false,
  role text,
  name_key text collate "C",
  invited_at timestamp with time zone,
  invitation_hash bytea,
  invitation_expires_at timestamp with time zone,
  application_id text collate "C",
  scopes text[] not null,
  all_locations boolean not null,
  location_ids text[] collate "C" not null,
  version integer not null default 1,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  approval_id text collate "C",
  given_by bytea,
  requests_per_minute integer,
  request_burst integer,
  constraint credentials_pkey primary key (merchant_id, id),
  constraint credentials_application_id_fkey foreign key (application_id) references applications(id),
  constraint credentials_given_by_fkey foreign key (given_by) references credential_tokens(token_hash),
  constraint credentials_merchant_id_approval_id_fkey foreign key (merchant_id, approval_id) references credentials(merchant_id, id),
  constraint credentials_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint credentials_check check (not all_locations or location_ids = '{}'::text[]),
  constraint credentials_check1 check (role is null or kind = 'personal_access_token' and not is_operator),
  constraint credentials_check2 check ((role is null) = (name_key is null)),
  constraint credentials_check3 check ((role is null) = (invited_at is null)),
  constraint credentials_check4 check (role is not null or invitation_hash is null),
  constraint credentials_check5 check ((invitation_hash is null) = (invitation_expires_at is null)),
  constraint credentials_check6 check ((kind = 'oauth_access_token') = (application_id is not null)),
  constraint credentials_check7 check (approval_id is null or application_id is not null),
  constraint credentials_check8 check ((approval_id is null) = (given_by is null)),
  constraint credentials_invitation_hash_check check (octet_length(invitation_hash) = 32),
  constraint credentials_kind_check check (kind = any (array['personal_access_token', 'oauth_access_token'])),
  constraint credentials_request_burst_check check (request_burst >= 1),
  constraint credentials_requests_per_minute_check check (requests_per_minute >= 0),
  constraint credentials_role_check check (role = any (array['owner', 'keeper', 'cashier', 'viewer'])),
  constraint credentials_version_check check (version >= 1)
);
create index credentials_by_application on credentials (application_id, id) where (application_id is not null);
create index credentials_by_approval on credentials (merchant_id, approval_id) where (approval_id is not null);
create index credentials_by_consent on credentials (id) where (approval_id is not null);
create index credentials_by_giver on credentials (given_by) where (given_by is not null);
create index credentials_invitation on credentials (invitation_hash) where (invitation_hash is not null);
create unique index credentials_one_approval on credentials (merchant_id, application_id) where ((application_id is not null) and (approval_id is null));
create unique index credentials_one_operator on credentials (merchant_id) where is_operator;
create unique index credentials_person on credentials (merchant_id, name_key) where ((role is not null) and (revoked_at is null));

create table merchants (
  id text collate "C" not null,
  name text not null,
  cell text collate "C" not null default 'cell_1',
  created_at timestamp with time zone not null,
  disabled_at timestamp with time zone,
  requests_per_minute integer,
  request_burst integer,
  constraint merchants_pkey primary key (id),
  constraint merchants_cell_fkey foreign key (cell) references cells(name),
  constraint merchants_request_burst_check check (request_burst >= 1),
  constraint merchants_requests_per_minute_check check (requests_per_minute >= 0)
);

create table oauth_records (
  id_hash bytea not null,
  kind text not null,
  credential_id text collate "C",
  payload jsonb not null,
  expires_at timestamp with time zone not null,
  consumed_at timestamp with time zone,
  constraint oauth_records_pkey primary key (id_hash),
  constraint oauth_records_id_hash_check check (octet_length(id_hash) = 32)
);
create index oauth_records_by_credential on oauth_records (credential_id) where (credential_id is not null);
create index oauth_records_by_end on oauth_records (expires_at);

create table person_passkeys (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  credential_id text collate "C" not null,
  public_key bytea not null,
  counter bigint not null,
  set_at timestamp with time zone not null,
  constraint person_passkeys_pkey primary key (merchant_id, id),
  constraint person_passkeys_merchant_id_credential_id_fkey foreign key (merchant_id, credential_id) references credentials(merchant_id, id),
  constraint person_passkeys_counter_check check (counter >= 0)
);
create unique index person_passkeys_by_id on person_passkeys (id);

create table person_passwords (
  merchant_id text collate "C" not null,
  credential_id text collate "C" not null,
  hash text not null,
  set_at timestamp with time zone not null,
  constraint person_passwords_pkey primary key (merchant_id, credential_id),
  constraint person_passwords_merchant_id_credential_id_fkey foreign key (merchant_id, credential_id) references credentials(merchant_id, id)
);

create unlogged table rate_buckets (
  merchant_id text collate "C" not null,
  credential_id text collate "C" not null,
  full_at timestamp with time zone not null,
  next_ask_at timestamp with time zone,
  constraint rate_buckets_pkey primary key (merchant_id, credential_id)
) with (fillfactor=50);

create table schema_migrations (
  number integer not null,
  name text not null,
  checksum text not null,
  steps integer not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey primary key (number)
);

create unlogged table sign_in_challenges (
  challenge_hash bytea not null,
  expires_at timestamp with time zone not null,
  constraint sign_in_challenges_pkey primary key (challenge_hash),
  constraint sign_in_challenges_challenge_hash_check check (octet_length(challenge_hash) = 32)
);
create index sign_in_challenges_by_end on sign_in_challenges (expires_at);

create unlogged table sign_in_tries (
  subject bytea not null,
  full_at timestamp with time zone not null,
  constraint sign_in_tries_pkey primary key (subject),
  constraint sign_in_tries_subject_check check (octet_length(subject) = 32)
);
create index sign_in_tries_by_end on sign_in_tries (full_at);

create function append_audit(entries json, once text default null)
 returns void
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $function$
declare
  head audit_head;
  entry json;
  moment timestamptz;
  today date;
  follows text;
  line text;
begin
  select h.is_only, h.day, h.number, h.hash into head from audit_head h for update;
  -- It was a moment ago: all nodes together do not append as many lines in between.
  if once is not null and exists (
    select from (
      select r.line from audit_records r order by r.day desc, r.number desc limit 10000
    ) recent where strpos(recent.line, once) > 0)
  then
    return;
  end if;
  for entry in select value from json_array_elements(entries) loop
    -- Read behind the lock, and never before the last line's: days do not go back with a clock.
    moment := clock_timestamp();
    today := greatest(head.day, (moment at time zone 'UTC')::date);
    follows := '';
    if today > head.day then
      if head.number > 0 then
        follows := ',"follows":{"day":"' || to_char(head.day, 'YYYY-MM-DD') || '","number":'
          || head.number || '}';
      end if;
      head.day := today;
      head.number := 0;
    end if;
    head.number := head.number + 1;
    moment := moment - (entry ->> 'age')::float8 * interval '1 millisecond';
    line := '{"day":"' || to_char(head.day, 'YYYY-MM-DD') || '","number":' || head.number
      || follows || ',"at":"' || to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      || '",' || substr((entry -> 'entry')::text, 2);
    head.hash := sha256(head.hash || convert_to(line, 'UTF8'));
    insert into audit_records (day, number, line, hash)
      values (head.day, head.number, line, head.hash);
  end loop;
  update audit_head set day = head.day, number = head.number, hash = head.hash;
end $function$;

create function expect_primary(latest integer)
 returns integer
 language plpgsql
as $function$
declare
  timeline integer;
begin
  if not pg_is_in_recovery() then
    timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
    if timeline >= latest then
      return timeline;
    end if;
  end if;
  raise exception 'this server is a standby, or of a timeline before %', latest
    using errcode = 'read_only_sql_transaction';
end $function$;

create function expect_rows(changed bigint, expected bigint)
 returns boolean
 language plpgsql
as $function$
begin
  if changed is distinct from expected then
    raise exception 'expected to change % rows, changed %', expected, changed
      using errcode = 'assert_failure';
  end if;
  return true;
end $function$;

create function refuse_change()
 returns trigger
 language plpgsql
as $function$
begin
  raise exception 'rows of % are never changed or removed', tg_table_name
    using errcode = 'integrity_constraint_violation';
end $function$;

-- cell_1: merchants' data.

create table customers (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  email text not null,
  phone text,
  external_id text,
  note text,
  metadata jsonb not null default '{}',
  status text collate "C" not null default 'active',
  version integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  erased_at timestamp with time zone,
  email_key text collate "C" not null,
  search tsvector not null default '',
  constraint customers_pkey primary key (merchant_id, id),
  constraint customers_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint customers_status_check check (status = any (array['active', 'archived'])),
  constraint customers_version_check check (version >= 1)
);
create index customers_email on customers (merchant_id, email_key, id);
create unique index customers_external_id on customers (merchant_id, external_id) where (external_id is not null);
create index customers_search on customers using gin (search);
create index customers_status on customers (merchant_id, status, id);
create index customers_updated on customers (merchant_id, updated_at);

create table inventory_counts (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  location_id text collate "C" not null,
  note text,
  reference text,
  lines json not null,
  line_count integer not null,
  operation_id text collate "C" not null,
  position bigint not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamp with time zone not null,
  constraint inventory_counts_pkey primary key (merchant_id, id),
  constraint inventory_counts_line_count_check check (line_count >= 1)
);
create index inventory_counts_by_location on inventory_counts (merchant_id, location_id, id);
create trigger inventory_counts_immutable before delete or update on inventory_counts for each row execute function refuse_change();
create trigger inventory_counts_not_emptied before truncate on inventory_counts for each statement execute function refuse_change();

create table inventory_last_counts (
  merchant_id text collate "C" not null,
  location_id text collate "C" not null,
  product_id text collate "C" not null,
  count_id text collate "C" not null,
  credential_id text collate "C" not null,
  position bigint not null,
  counted_at timestamp with time zone not null,
  constraint inventory_last_counts_pkey primary key (merchant_id, location_id, product_id)
);
create trigger inventory_last_counts_grow after update on inventory_last_counts for each row when (new."position" <= old."position" or new.merchant_id is distinct from old.merchant_id or new.location_id is distinct from old.location_id or new.product_id is distinct from old.product_id) execute function refuse_change();
create trigger inventory_last_counts_kept before delete on inventory_last_counts for each row execute function refuse_change();
create trigger inventory_last_counts_not_emptied before truncate on inventory_last_counts for each statement execute function refuse_change();

create table inventory_levels (
  merchant_id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  quantity numeric not null default 0,
  sequence bigint not null default 0,
  last_movement_id text collate "C",
  first_position bigint,
  updated_at timestamp with time zone,
  constraint inventory_levels_pkey primary key (merchant_id, product_id, location_id),
  constraint inventory_levels_merchant_id_location_id_fkey foreign key (merchant_id, location_id) references locations(merchant_id, id),
  constraint inventory_levels_merchant_id_product_id_fkey foreign key (merchant_id, product_id) references products(merchant_id, id),
  constraint inventory_levels_check check (sequence > 0 or quantity = 0),
  constraint inventory_levels_check1 check ((sequence > 0) = (last_movement_id is not null)),
  constraint inventory_levels_check2 check ((sequence > 0) = (first_position is not null)),
  constraint inventory_levels_check3 check ((sequence > 0) = (updated_at is not null)),
  constraint inventory_levels_quantity_check check (scale(quantity) = min_scale(quantity)),
  constraint inventory_levels_sequence_check check (sequence >= 0)
) with (fillfactor=80);
create index inventory_levels_by_location on inventory_levels (merchant_id, location_id, product_id);
create trigger inventory_levels_grow after update on inventory_levels for each row when (new.sequence <= old.sequence or new.merchant_id is distinct from old.merchant_id or new.product_id is distinct from old.product_id or new.location_id is distinct from old.location_id) execute function refuse_change();
create trigger inventory_levels_kept before delete on inventory_levels for each row execute function refuse_change();
create constraint trigger inventory_levels_ledger after insert or update on inventory_levels deferrable initially deferred for each row when (new.sequence > 0) execute function refuse_level_off_ledger();
create trigger inventory_levels_not_emptied before truncate on inventory_levels for each statement execute function refuse_change();

create table inventory_movements (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  sequence bigint not null,
  type text not null,
  reason text not null,
  quantity_before numeric not null,
  quantity_delta numeric not null,
  quantity_after numeric not null,
  note text,
  reference text,
  operation_id text collate "C" not null,
  position bigint not null,
  line integer not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamp with time zone not null,
  constraint inventory_movements_pkey primary key (merchant_id, id),
  constraint inventory_movements_line unique (merchant_id, "position", line),
  constraint inventory_movements_sequence unique (merchant_id, product_id, location_id, sequence),
  constraint inventory_movements_check check (quantity_after = (quantity_before + quantity_delta)),
  constraint inventory_movements_check1 check (sequence > 1 or quantity_before = 0),
  constraint inventory_movements_line_check check (line >= 1),
  constraint inventory_movements_quantity_after_check check (scale(quantity_after) = min_scale(quantity_after)),
  constraint inventory_movements_quantity_after_check1 check (quantity_after >= 0 and quantity_after < '1000000000000' and scale(quantity_after) <= 5),
  constraint inventory_movements_quantity_before_check check (scale(quantity_before) = min_scale(quantity_before)),
  constraint inventory_movements_quantity_delta_check check (scale(quantity_delta) = min_scale(quantity_delta)),
  constraint inventory_movements_quantity_delta_check1 check (quantity_delta <> 0),
  constraint inventory_movements_reason_check check (reason = any (array['stock_count', 'external_adjustment', 'correction', 'transfer', 'sale', 'return', 'receipt', 'damage', 'loss', 'production', 'other'])),
  constraint inventory_movements_sequence_check check (sequence >= 1),
  constraint inventory_movements_type_check check (type = any (array['adjustment', 'transfer_in', 'transfer_out', 'count', 'fulfilment']))
);
create index inventory_movements_by_level on inventory_movements (merchant_id, product_id, location_id, "position", line);
create index inventory_movements_by_location on inventory_movements (merchant_id, location_id, "position", line);
create trigger inventory_movements_immutable before delete or update on inventory_movements for each row execute function refuse_change();
create trigger inventory_movements_not_emptied before truncate on inventory_movements for each statement execute function refuse_change();
create trigger inventory_movements_sound after insert on inventory_movements referencing new table as added for each statement execute function refuse_unsound_movement();

create table inventory_reservation_lines (
  merchant_id text collate "C" not null,
  reservation_id text collate "C" not null,
  line integer not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  quantity numeric not null,
  expires_at timestamp with time zone,
  is_active boolean not null,
  constraint inventory_reservation_lines_pkey primary key (merchant_id, reservation_id, line),
  constraint inventory_reservation_lines_line_check check (line >= 1),
  constraint inventory_reservation_lines_quantity_check check (quantity > 0 and scale(quantity) = min_scale(quantity))
) with (fillfactor=80);
create index inventory_reservation_lines_active on inventory_reservation_lines (merchant_id, product_id, location_id, expires_at) include (quantity) where is_active;
create trigger inventory_reservation_lines_end before update on inventory_reservation_lines for each row when (not old.is_active or new.merchant_id is distinct from old.merchant_id or new.reservation_id is distinct from old.reservation_id or new.line is distinct from old.line or new.product_id is distinct from old.product_id or new.location_id is distinct from old.location_id or new.quantity is distinct from old.quantity or new.expires_at is distinct from old.expires_at) execute function refuse_change();
create trigger inventory_reservation_lines_kept before delete on inventory_reservation_lines for each row execute function refuse_change();
create trigger inventory_reservation_lines_not_emptied before truncate on inventory_reservation_lines for each statement execute function refuse_change();

create table inventory_reservations (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  location_id text collate "C" not null,
  status text collate "C" not null,
  expires_at timestamp with time zone,
  note text,
  reference text collate "C",
  operation_id text collate "C" not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamp with time zone not null,
  end_operation_id text collate "C",
  ended_at timestamp with time zone,
  end_note text,
  movement_ids text[] collate "C" not null default '{}'::text[],
  constraint inventory_reservations_pkey primary key (merchant_id, id),
  constraint inventory_reservations_check check ((status = 'active') = (end_operation_id is null)),
  constraint inventory_reservations_check1 check ((status = 'active') = (ended_at is null)),
  constraint inventory_reservations_check2 check ((status = 'fulfilled') = (movement_ids <> '{}'::text[])),
  constraint inventory_reservations_status_check check (status = any (array['active', 'fulfilled', 'released', 'expired']))
) with (fillfactor=80);
create index inventory_reservations_at on inventory_reservations (merchant_id, location_id, status, id);
create index inventory_reservations_due on inventory_reservations (expires_at) where ((status = 'active') and (expires_at is not null));
create index inventory_reservations_reference on inventory_reservations (merchant_id, reference, id) where (reference is not null);
create trigger inventory_reservations_end before update on inventory_reservations for each row when (old.status <> 'active' or new.merchant_id is distinct from old.merchant_id or new.id is distinct from old.id or new.location_id is distinct from old.location_id or new.expires_at is distinct from old.expires_at or new.operation_id is distinct from old.operation_id) execute function refuse_change();
create trigger inventory_reservations_kept before delete on inventory_reservations for each row execute function refuse_change();
create trigger inventory_reservations_not_emptied before truncate on inventory_reservations for each statement execute function refuse_change();

create table inventory_reserved (
  merchant_id text collate "C" not null,
  product_id text collate "C" not null,
  location_id text collate "C" not null,
  quantity numeric not null,
  constraint inventory_reserved_pkey primary key (merchant_id, product_id, location_id),
  constraint inventory_reserved_quantity_check check (quantity >= 0)
) with (fillfactor=80);

create table inventory_transfers (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  from_location_id text collate "C",
  to_location_id text collate "C",
  reason text not null,
  note text,
  reference text,
  lines json not null,
  is_short boolean not null,
  operation_id text collate "C" not null,
  position bigint not null,
  credential_id text collate "C" not null,
  actor_kind text not null,
  application_id text collate "C",
  recorded_at timestamp with time zone not null,
  constraint inventory_transfers_pkey primary key (merchant_id, id),
  constraint inventory_transfers_check check (from_location_id is distinct from to_location_id),
  constraint inventory_transfers_check1 check ((reason = 'transfer') = (from_location_id is not null and to_location_id is not null)),
  constraint inventory_transfers_check2 check (not is_short or to_location_id is null)
);
create index inventory_transfers_from on inventory_transfers (merchant_id, from_location_id, id) where (from_location_id is not null);
create index inventory_transfers_short on inventory_transfers (merchant_id, id) where is_short;
create index inventory_transfers_to on inventory_transfers (merchant_id, to_location_id, id) where (to_location_id is not null);
create trigger inventory_transfers_immutable before delete or update on inventory_transfers for each row execute function refuse_change();
create trigger inventory_transfers_not_emptied before truncate on inventory_transfers for each statement execute function refuse_change();

create table journals (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  constraint journals_pkey primary key (merchant_id)
);
create trigger journals_keep_merchant before update on journals for each row when (new.merchant_id is distinct from old.merchant_id) execute function refuse_change();
create trigger journals_kept before delete on journals for each row execute function refuse_change();
create trigger journals_not_emptied before truncate on journals for each statement execute function refuse_change();

create table locations (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  code text collate "C",
  type text not null default 'other',
  status text not null default 'active',
  timezone text not null default 'UTC',
  external_id text,
  metadata jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint locations_pkey primary key (merchant_id, id),
  constraint locations_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint locations_status_check check (status = any (array['active', 'inactive'])),
  constraint locations_type_check check (type = any (array['other', 'store', 'warehouse'])),
  constraint locations_version_check check (version >= 1)
);
create unique index locations_code on locations (merchant_id, code) where (code is not null);
create unique index locations_external_id on locations (merchant_id, external_id) where (external_id is not null);

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
  created boolean not null default false,
  movements integer not null,
  position bigint,
  error_code text,
  error_details json,
  location_id text collate "C",
  to_location_id text collate "C",
  request_id text collate "C" not null,
  notices json,
  created_at timestamp with time zone not null,
  constraint operations_pkey primary key (merchant_id, id),
  constraint operations_key unique (merchant_id, credential_id, type, key_hash),
  constraint operations_check check ((status = 'rejected') = (error_code is not null)),
  constraint operations_check1 check ((error_code is null) = (error_details is null)),
  constraint operations_check2 check ((status = 'succeeded') = (resource_id is not null)),
  constraint operations_check3 check (status = 'succeeded' or not created),
  constraint operations_check4 check (status = 'succeeded' or "position" is null),
  constraint operations_check5 check (movements = 0 or "position" is not null),
  constraint operations_fingerprint_check check (octet_length(fingerprint) = 32),
  constraint operations_key_hash_check check (octet_length(key_hash) = 32),
  constraint operations_movements_check check (movements >= 0),
  constraint operations_position_check check ("position" >= 1),
  constraint operations_status_check check (status = any (array['succeeded', 'rejected']))
);
create index operations_by_credential on operations (merchant_id, credential_id, id);
create index operations_by_request on operations (merchant_id, request_id);
create unique index operations_position on operations (merchant_id, "position") where ("position" is not null);
create trigger operations_immutable before delete or update on operations for each row execute function refuse_change();
create trigger operations_not_emptied before truncate on operations for each statement execute function refuse_change();
create constraint trigger operations_whole after insert on operations deferrable initially deferred for each row when (new.movements > 0) execute function refuse_missing_movements();

create table products (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  description text,
  sku text collate "C",
  barcode text collate "C",
  status text collate "C" not null default 'active',
  inventory_tracked boolean not null default true,
  unit_code text not null,
  unit_precision smallint not null,
  price_amount numeric,
  price_currency text,
  low_stock_at numeric,
  external_id text,
  metadata jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  search tsvector not null default '',
  name_key text collate "C" not null default '',
  constraint products_pkey primary key (merchant_id, id),
  constraint products_merchant_id_fkey foreign key (merchant_id) references merchants(id),
  constraint products_check check ((price_amount is null) = (price_currency is null)),
  constraint products_low_stock_at_check check (low_stock_at >= 0 and low_stock_at < '1000000000000' and scale(low_stock_at) <= 5 and scale(low_stock_at) = min_scale(low_stock_at)),
  constraint products_price_amount_check check (price_amount >= 0),
  constraint products_status_check check (status = any (array['active', 'archived'])),
  constraint products_unit_precision_check check (unit_precision >= 0 and unit_precision <= 5),
  constraint products_version_check check (version >= 1)
);
create index products_barcode on products (merchant_id, barcode, id) where (barcode is not null);
create index products_by_name on products (merchant_id, status, name_key, id) where inventory_tracked;
create index products_by_sku on products (merchant_id, status, coalesce(('0' || sku), '1'), id) where inventory_tracked;
create unique index products_external_id on products (merchant_id, external_id) where (external_id is not null);
create index products_low_stock on products (merchant_id, id) where ((low_stock_at is not null) and inventory_tracked and (status = 'active'));
create index products_search on products using gin (search);
create unique index products_sku on products (merchant_id, sku) where (sku is not null);
create index products_status on products (merchant_id, status, id);
create index products_updated on products (merchant_id, updated_at);

create table webhook_progress (
  merchant_id text collate "C" not null,
  webhook_id text collate "C" not null,
  position bigint not null,
  epoch bigint not null default 1,
  lease_holder text,
  lease_ends_at timestamp with time zone,
  failing_since timestamp with time zone,
  last_status integer,
  failures jsonb not null default '[]',
  attempts jsonb not null default '[]',
  saved_at timestamp with time zone not null,
  saved_on text not null,
  constraint webhook_progress_pkey primary key (merchant_id, webhook_id),
  constraint webhook_progress_merchant_id_webhook_id_fkey foreign key (merchant_id, webhook_id) references webhooks(merchant_id, id),
  constraint webhook_progress_position_check check ("position" >= 0)
) with (fillfactor=50);

create table webhooks (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  credential_id text collate "C" not null,
  token_scopes text[],
  url text not null,
  types text[] collate "C",
  location_ids text[] collate "C",
  low_stock boolean not null default false,
  description text,
  status text not null,
  pause_reason text,
  secret bytea not null,
  old_secret bytea,
  old_secret_ends_at timestamp with time zone,
  version integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint webhooks_pkey primary key (merchant_id, id),
  constraint webhooks_check check ((status = 'paused') = (pause_reason is not null)),
  constraint webhooks_check1 check ((old_secret is null) = (old_secret_ends_at is null)),
  constraint webhooks_status_check check (status = any (array['active', 'paused'])),
  constraint webhooks_version_check check (version >= 1)
);
create index webhooks_active on webhooks (merchant_id, id) where (status = 'active');

create function refuse_level_off_ledger()
 returns trigger
 language plpgsql
 set search_path to 'cell_1', 'public', 'pg_temp'
as $function$
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
end $function$;

create function refuse_missing_movements()
 returns trigger
 language plpgsql
 set search_path to 'cell_1', 'public', 'pg_temp'
as $function$
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
end $function$;

create function refuse_unsound_movement()
 returns trigger
 language plpgsql
 set search_path to 'cell_1', 'public', 'pg_temp'
as $function$
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
end $function$;
