-- OAuth applications, their approvals and consents; rate limits; the audit trail of the operator.
--
-- Safe beside nodes of the version before, which read none of it. They would not see that an
-- application is disabled: approve applications once all nodes run this version.

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

-- An approval (what the operator lets an application do at a merchant) and a consent (what somebody
-- with a token of the merchant lets it do under that approval) are credentials of their own, so
-- that the namespace of their keys outlives their hourly tokens. A consent is worth what its
-- approval and the token that gave it are worth at the moment it is used.
alter table credentials
  add column approval_id text collate "C",
  add column given_by bytea references credential_tokens (token_hash),
  -- Null: the default. 0: no limit.
  add column requests_per_minute integer check (requests_per_minute >= 0),
  add column request_burst integer check (request_burst >= 1),
  add foreign key (application_id) references applications (id),
  add foreign key (merchant_id, approval_id) references credentials (merchant_id, id),
  add check ((kind = 'oauth_access_token') = (application_id is not null)),
  add check (approval_id is null or application_id is not null),
  add check ((approval_id is null) = (given_by is null));

-- One approval per merchant, also after a revocation: approved again, it keeps its namespace.
create unique index credentials_one_approval on credentials (merchant_id, application_id)
  where application_id is not null and approval_id is null;
create index credentials_by_application on credentials (application_id, id)
  where application_id is not null;
create index credentials_by_approval on credentials (merchant_id, approval_id)
  where approval_id is not null;
create index credentials_by_consent on credentials (id) where approval_id is not null;
create index credentials_by_giver on credentials (given_by) where given_by is not null;

alter table merchants
  add column requests_per_minute integer check (requests_per_minute >= 0),
  add column request_burst integer check (request_burst >= 1);

-- What an OAuth access token was asked to be limited to; null: all that its credential may.
alter table credential_tokens add column scopes text[];

-- Authorization codes, refresh tokens, authorization requests under way and the IDs of client
-- assertions that were used. Whatever opens a door is here as its SHA-256, and not in the payload.
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

-- What stands behind a token of an application: the application, what the token was asked to be
-- limited to, and for a consent what its approval and its giver may do now. Null when one of them
-- has ended. A function, because as joins it cost each personal access token 25 µs as well, and as
-- a sub-select the planner, overrating it, planned authentication anew each time: 0.8 ms. Its cost
-- is stated low for that reason.
create function oauth_standing(merchant text, application text, approval text, giver bytea,
  token_scopes text[]) returns json language sql stable cost 1 as $$
  select json_build_object(
    'application', json_build_object('id', app.id, 'name', app.name),
    'token_scopes', token_scopes,
    'behind', case when approval is null then '[]' else json_build_array(
      json_build_object('scopes', a.scopes, 'all_locations', a.all_locations,
        'location_ids', a.location_ids),
      json_build_object('scopes', g.scopes, 'all_locations', g.all_locations,
        'location_ids', g.location_ids)) end)
  from public.applications app
  left join public.credentials a on a.merchant_id = merchant and a.id = approval
    and a.application_id = application
  left join public.credential_tokens t on t.token_hash = giver and t.merchant_id = merchant
  left join public.credentials g on g.merchant_id = t.merchant_id and g.id = t.credential_id
  where app.id = application and app.disabled_at is null
    and (approval is null
      or (a.id is not null and a.revoked_at is null and g.id is not null
        and g.revoked_at is null and t.expires_at > now()))
$$;

-- How far each limited caller has come: the moment at which its bucket will be full again.
-- Unlogged: after a crash all buckets are full, which harms nobody, and a lease flushes no log.
create unlogged table rate_buckets (
  merchant_id text collate "C" not null,
  -- The ID of a credential; empty for the merchant as a whole.
  credential_id text collate "C" not null,
  full_at timestamptz not null,
  primary key (merchant_id, credential_id)
) with (fillfactor = 50);

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
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  head public.audit_head;
  entry json;
  moment timestamptz;
  today date;
  follows text;
  line text;
begin
  select h.is_only, h.day, h.number, h.hash into head from public.audit_head h for update;
  -- It was a moment ago: all nodes together do not append as many lines in between.
  if once is not null and exists (
    select from (
      select r.line from public.audit_records r order by r.day desc, r.number desc limit 10000
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
    insert into public.audit_records (day, number, line, hash)
      values (head.day, head.number, line, head.hash);
  end loop;
  update public.audit_head set day = head.day, number = head.number, hash = head.hash;
end $$;

revoke execute on function append_audit(json, text) from public;

create trigger audit_records_immutable before update or delete on audit_records
  for each row execute function refuse_change();
create trigger audit_records_kept before truncate on audit_records
  for each statement execute function refuse_change();
create trigger audit_head_kept before delete on audit_head
  for each row execute function refuse_change();
create trigger audit_head_not_emptied before truncate on audit_head
  for each statement execute function refuse_change();
