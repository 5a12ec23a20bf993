#!/bin/bash
# A Citus cluster on one machine, to try it: a coordinator and two workers that listen on
# 127.0.0.1 and trust whoever connects. On several machines, do the same with the port 5432, with
# passwords, and with their names in place of 127.0.0.1.
#
#   deploy/citus/cluster.sh BIN DIRECTORY PORT
#
# BIN: the programs of a PostgreSQL that has Citus. DIRECTORY: made, and not root's. PORT: of the
# coordinator; the workers have the next two. Run it as the user who is to own the servers.
set -euo pipefail
bin=$1 directory=$2 port=$3
settings=$(dirname "$(readlink -f "$0")")/citus.conf

for number in 0 1 2; do
  data=$directory/$number
  "$bin/initdb" -D "$data" --auth=trust -U owner --encoding=UTF8 --locale=C.UTF-8 > /dev/null
  {
    cat "$settings"
    echo "listen_addresses = '127.0.0.1'"
    echo "port = $((port + number))"
    echo "unix_socket_directories = ''"
  } >> "$data/postgresql.conf"
  "$bin/pg_ctl" -D "$data" -l "$data.log" -w start > /dev/null
done

on() { # NUMBER DATABASE SQL
  "$bin/psql" -qXAt -v ON_ERROR_STOP=1 -h 127.0.0.1 -p $((port + $1)) -U owner "$2" -c "$3"
}

# Each server has the database and the extension; only the coordinator is told of the others. All
# that comes is made there.
for number in 0 1 2; do
  on $number postgres 'create database tallybook'
  on $number tallybook 'create extension citus'
done
on 0 tallybook "select citus_set_coordinator_host('127.0.0.1', $port)"
for number in 1 2; do
  on 0 tallybook "select citus_add_node('127.0.0.1', $((port + number)))"
done
