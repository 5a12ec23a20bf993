#!/bin/sh
# Whether a PostgreSQL server may be written to: HAProxy runs this, with the server's address and port as
# third and fourth argument. A standby may not, and neither may a server of a timeline before the latest
# that was seen here: it was primary once, another one has taken over, and nobody has stopped it.
# The role needs no rights: create role tallybook_check login password '…', and a line in ~/.pgpass.
latest=/var/lib/haproxy/tallybook-timeline

timeline=$(psql -XAtqc "select case when pg_is_in_recovery() then 0
  else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end" \
  "host=$3 port=$4 user=tallybook_check dbname=postgres connect_timeout=1") || exit 1
seen=$(cat "$latest" 2>/dev/null || echo 0)
[ "$timeline" -gt 0 ] && [ "$timeline" -ge "$seen" ] || exit 1
[ "$timeline" -eq "$seen" ] || { echo "$timeline" >"$latest.new" && mv "$latest.new" "$latest"; }
