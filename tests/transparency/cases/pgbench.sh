PG=$(ls -d /usr/lib/postgresql/*/bin | tail -1); D=$PWD/db
$PG/initdb -D $D -A trust >/dev/null || exit 1
$PG/pg_ctl -D $D -o "-c listen_addresses='' -c unix_socket_directories=$D -c fsync=on" -w -l log start >/dev/null || exit 2
export PGHOST=$D PGUSER=$(id -un) PGDATABASE=postgres
$PG/pgbench -q -i -s 2 2>/dev/null
$PG/pgbench -n -c 4 -j 2 -t 250 | grep -E 'processed|failed'
$PG/psql -Atc 'select count(*), sum(delta) = (select sum(abalance) from pgbench_accounts),
  sum(delta) = (select sum(bbalance) from pgbench_branches) from pgbench_history'
$PG/pg_dump -t pgbench_accounts | md5sum | wc -c
$PG/pg_ctl -D $D -w -m fast stop >/dev/null; echo stopped $?
$PG/pg_controldata $D | grep state
