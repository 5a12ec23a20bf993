-- The global tables: merchants, applications, credentials and their tokens, what people sign in
-- with, what OAuth and rate limits keep, and the audit trail. Merchants' data is in cells
-- (db/migrations/cell). A statement writes tables of one kind.
--
-- IDs are minted by the service and compared byte by byte (collate "C"). Nothing depends on
-- sequences, session state or advisory locks.
--
-- Keys come after the other indexes of a table, as in the cells. Nothing here names a schema: the
-- tables go where the search path of the migration begins. Functions that read or write tables keep
-- that path (`set search_path from current`, with pg_temp at its end), so that no session can put a
-- table of its own before theirs.

create table merchants (
  id text collate "C" primary key,
  name text not null,
  -- Which schema its data is in, for ever.
  cell text collate "C" not null default 'cell_1' references cells (name),
  created_at timestamptz not null,
  -- From then on its tokens are refused. Null: they are not.
  disabled_at timestamptz,
  -- Null: the default. 0: no limit.
  requests_per_minute integer check (requests_per_minute >= 0),
  request_burst integer check (request_burst >= 1)
);

-- Made by the operator, above the merchants. An application proves itself with a secret, or with a
-- key of which only the public half is here.
create table applications (
  id text collate "C" primary key,
  name text not null,
  -- The most that any approval may give it.
  scopes text[] not null,
  -- Empty: it acts for itself only, never for a merchant's staff.
  redirect_uris text[] not null,
  jwks jsonb,
  created_at timestamptz not null,
  disabled_at timestamptz
);

-- As with tokens, the SHA-256 alone. During a rotation two secrets are valid.
create table application_secrets (
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  application_id text collate "C" not null references applications (id),
  last_four text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index application_secrets_by_application on application_secrets (application_id);
alter table application_secrets add primary key (secret_hash);

-- The record a caller acts as. Rotating its token keeps the record, and with it the namespace of
-- its idempotency keys. Grants are an array: authentication reads one row and is done.
--
-- An approval (what the operator lets an application do at a merchant) and a consent (what somebody
-- with a token of the merchant lets it do under that approval) are credentials of their own, so
-- that the namespace of their keys outlives their hourly tokens. A consent is worth what its
-- approval and the token that gave it are worth at the moment it is used.
create table credentials (
  merchant_id text collate "C" not null references merchants (id),
  id text collate "C" not null,
  kind text not null check (kind in ('personal_access_token', 'oauth_access_token')),
  name text not null,
  -- The merchant's own record for what its operator does by command; it never has a token.
  is_operator boolean not null default false,
  -- Of a person, who has no token: a preset of scopes. Null: a program's, or the operator's.
  role text check (role in ('owner', 'keeper', 'cashier', 'viewer')),
  -- A person's name as it is compared.
  name_key text collate "C",
  -- Whatever a person signs in with, or has signed in, from before this moment is void.
  invited_at timestamptz,
  -- The SHA-256 of the invitation that a person has not used yet, and when it ends.
  invitation_hash bytea check (octet_length(invitation_hash) = 32),
  invitation_expires_at timestamptz,
  application_id text collate "C" references applications (id),
  scopes text[] not null,
  all_locations boolean not null,
  location_ids text[] collate "C" not null,
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  approval_id text collate "C",
  given_by bytea,
  -- Null: the default. 0: no limit.
  requests_per_minute integer check (requests_per_minute >= 0),
  request_burst integer check (request_burst >= 1),
  primary key (merchant_id, id),
  foreign key (merchant_id, approval_id) references credentials (merchant_id, id),
  check (not all_locations or location_ids = '{}'),
  check (role is null or kind = 'personal_access_token' and not is_operator),
  check ((role is null) = (name_key is null)),
  check ((role is null) = (invited_at is null)),
  check (role is not null or invitation_hash is null),
  check ((invitation_hash is null) = (invitation_expires_at is null)),
  check ((kind = 'oauth_access_token') = (application_id is not null)),
  check (approval_id is null or application_id is not null),
  check ((approval_id is null) = (given_by is null))
);

-- Two people who work at a merchant have two names. Those who left keep theirs.
create unique index credentials_person on credentials (merchant_id, name_key)
  where role is not null and revoked_at is null;
create index credentials_invitation on credentials (invitation_hash)
  where invitation_hash is not null;
create unique index credentials_one_operator on credentials (merchant_id) where is_operator;
-- One approval per merchant, also after a revocation: approved again, it keeps its namespace.
create unique index credentials_one_approval on credentials (merchant_id, application_id)
  where application_id is not null and approval_id is null;
create index credentials_by_application on credentials (application_id, id)
  where application_id is not null;
create index credentials_by_approval on credentials (merchant_id, approval_id)
  where approval_id is not null;
create index credentials_by_consent on credentials (id) where approval_id is not null;
create index credentials_by_giver on credentials (given_by) where given_by is not null;

-- Only the SHA-256 of a token is kept: 238 random bits need no salt and no slow hash. During a
-- rotation two tokens lead to one credential. Found by hash alone, before the merchant is known.
create table credential_tokens (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  merchant_id text collate "C" not null,
  credential_id text collate "C" not null,
  last_four text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- What an OAuth access token was asked to be limited to; null: all that its credential may.
  scopes text[],
  foreign key (merchant_id, credential_id) references credentials (merchant_id, id)
);

create index credential_tokens_by_credential on credential_tokens (merchant_id, credential_id);
alter table credentials add foreign key (given_by) references credential_tokens (token_hash);

-- What a person signs in with: scrypt, with its cost and salt. Older than the last invitation it is
-- void.
create table person_passwords (
  merchant_id text collate "C" not null,
  credential_id text collate "C" not null,
  hash text not null,
  set_at timestamptz not null,
  primary key (merchant_id, credential_id),
  foreign key (merchant_id, credential_id) references credentials (merchant_id, id)
);

-- The public half of each passkey of a person.
create table person_passkeys (
  merchant_id text collate "C" not null,
  -- As its authenticator calls it.
  id text collate "C" not null,
  credential_id text collate "C" not null,
  public_key bytea not null,
  -- How often it was used, where it counts that.
  counter bigint not null check (counter >= 0),
  set_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, credential_id) references credentials (merchant_id, id)
);

-- Found by their ID alone: no two authenticators make the same.
create unique index person_passkeys_by_id on person_passkeys (id);

-- What passkeys were asked to sign, by its SHA-256, until one has.
create unlogged table sign_in_challenges (
  challenge_hash bytea primary key check (octet_length(challenge_hash) = 32),
  expires_at timestamptz not null
);

create index sign_in_challenges_by_end on sign_in_challenges (expires_at);

-- How often somebody tried a password lately: the moment at which all tries are back. By the
-- SHA-256 of the name as it was given. Unlogged: a crash gives all tries back, which helps once.
create unlogged table sign_in_tries (
  subject bytea primary key check (octet_length(subject) = 32),
  full_at timestamptz not null
);

create index sign_in_tries_by_end on sign_in_tries (full_at);

-- Authorization codes, refresh tokens, authorization requests under way and the IDs of client
-- assertions that were used. Whatever gives access is here as its SHA-256, and not in the payload.
create table oauth_records (
  id_hash bytea not null check (octet_length(id_hash) = 32),
  kind text not null,
  -- The consent that it belongs to.
  credential_id text collate "C",
  payload jsonb not null,
  expires_at timestamptz not null,
  consumed_at timestamptz
);

create index oauth_records_by_credential on oauth_records (credential_id)
  where credential_id is not null;
create index oauth_records_by_end on oauth_records (expires_at);
alter table oauth_records add primary key (id_hash);

-- How far each limited caller has come: the moment at which its bucket will be full again.
-- Unlogged: after a crash all buckets are full, which harms nobody, and a lease flushes no log.
create unlogged table rate_buckets (
  merchant_id text collate "C" not null,
  -- The ID of a credential; empty for the merchant as a whole.
  credential_id text collate "C" not null,
  full_at timestamptz not null,
  -- When the next node that finds the bucket empty may ask it.
  next_ask_at timestamptz,
  primary key (merchant_id, credential_id)
) with (fillfactor = 50);

-- Guards what never changes, here and in the cells.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are never changed or removed', tg_table_name
    using errcode = 'integrity_constraint_violation';
end $$;

-- Aborts the transaction when a statement changed another number of rows than the service meant:
-- the check travels with the statement, so that saving and committing stay one round trip.
-- Returns something, because a distributed engine keeps what a part of a statement selects.
create function expect_rows(changed bigint, expected bigint) returns boolean language plpgsql as $$
begin
  if changed is distinct from expected then
    raise exception 'expected to change % rows, changed %', expected, changed
      using errcode = 'assert_failure';
  end if;
  return true;
end $$;

-- Behind a pooler the server may change between two transactions, and the one from before a
-- failover may come back. Returns the timeline of this one, which each promotion raises.
create function expect_primary(latest integer) returns integer language plpgsql as $$
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
end $$;

-- What operators did and whom the service turned away. Each line is chained to the one before by
-- its hash: an altered, removed or inserted line breaks the chain at that place. Lines are numbered
-- by day (UTC).
create table audit_records (
  day date not null,
  number bigint not null,
  line text not null,
  hash bytea not null,
  primary key (day, number)
);

-- The end of the chain. Whoever appends locks it, so that there is one chain.
create table audit_head (
  is_only boolean primary key default true check (is_only),
  day date not null,
  number bigint not null,
  hash bytea not null
);

insert into audit_head (day, number, hash) values ('-infinity', 0, decode(repeat('00', 32), 'hex'));

-- Appends entries, each a JSON object, as lines that begin with their day, number and time; the
-- first line of a day also says which it follows, so that days cannot be taken out unnoticed. `age`
-- is how many milliseconds ago an entry happened. `once`, when given, is part of a line of these
-- entries: they may have been appended already by a transaction whose answer was lost.
-- It runs with the rights of its owner: the service's role can append to the chain and no more.
create function append_audit(entries json, once text default null) returns void
language plpgsql security definer set search_path from current as $$
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
end $$;

revoke execute on function append_audit(json, text) from public;

create trigger audit_records_immutable before update or delete on audit_records
  for each row execute function refuse_change();
create trigger audit_records_not_emptied before truncate on audit_records
  for each statement execute function refuse_change();
create trigger audit_head_kept before delete on audit_head
  for each row execute function refuse_change();
create trigger audit_head_not_emptied before truncate on audit_head
  for each statement execute function refuse_change();
