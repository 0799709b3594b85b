cat >s.sql <<'X'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<20000) insert into t select i, printf('%09d',i*7919%10007), i*.5 from n;
create index x on t(b); pragma integrity_check; select count(*), sum(a), total(c), max(b) from t;
begin; delete from t where a%3=0; savepoint p; update t set b='q'; rollback to p; commit; vacuum; pragma integrity_check;
select count(*) from t; pragma journal_mode=wal; insert into t(b) select b from t limit 500; pragma wal_checkpoint(truncate);
pragma journal_mode=truncate; attach 'o.db' as o; create table o.u as select * from t; select count(*) from o.u; select md5 from nowhere;
X
sqlite3 d.db <s.sql 2>&1; sqlite3 d.db .dump | md5sum; sqlite3 -csv d.db 'select b from t limit 3'; sqlite3 d.db '.backup b.db'; sqlite3 b.db 'pragma integrity_check'
for i in 1 2 3 4; do sqlite3 -cmd '.timeout 20000' d.db "insert into t(b) select 'p$i' from t limit 300" & done; wait; sqlite3 d.db "select b,count(*) from t where b like 'p%' group by 1"
sqlite3 -cmd 'pragma mmap_size=10000000' d.db 'select count(*) from t'; ls | sort; md5sum <o.db | wc -c
