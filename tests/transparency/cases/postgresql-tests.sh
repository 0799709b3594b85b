# PostgreSQL's regression tests, one after the other, as its user by the installed server that pg_regress starts: the
# verdicts, the sum of each test's output, and how the server ended. Times and numbers of tests are struck out.
server=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
from=$source/src/test/regress
mkdir r
chown postgres r
cd r || exit 9
export HOME=$PWD
setpriv --reuid=postgres --regid=postgres --clear-groups "$from/pg_regress" --bindir="$server" --temp-instance="$PWD/db" \
	--inputdir="$from" --outputdir="$PWD" --dlpath="$from" --no-locale --max-connections=1 \
	test_setup boolean char varchar text int2 int4 int8 float8 point strings date copy copyselect copydml insert \
	insert_conflict create_function_c create_misc create_table create_index create_view index_including constraints select \
	select_into select_distinct subselect union transactions portals btree_index hash_index update delete prepared_xacts \
	brin gin gist spgist lock cluster truncate sequence largeobject temp copy2 with >../verdicts 2>../err
code=$?
sed -E 's/ +[0-9]+ ms$//; s/PID [0-9]+//; s/port [0-9]+/port/' ../verdicts
(cd results && md5sum -- *.out)
"$server/pg_controldata" db 2>/dev/null | grep state
exit $code
