/* Cells of a table that are there, and those that are not. argv: a log of iolens. */
#include <assert.h>
#include <string.h>

#include <iolens/log.h>

int main(int argc, char **argv)
{
	iolens_log *log = argc == 2 ? iolens_open(argv[1]) : NULL;
	iolens_table *t = iolens_table_open(log, "process");
	int rank = iolens_column_number(t, "rank"), exe = iolens_column_number(t, "exe");
	int64_t i = 77;
	double d;
	size_t n;
	assert(iolens_rows(t) == 1 && rank >= 0 && exe >= 0);
	assert(iolens_cell_i64(t, 0, rank, 0, &i) == 1 && i == 0);
	assert(iolens_cell_f64(t, 0, rank, 0, &d) == 1 && d == 0);
	assert(iolens_cell_i64(t, 0, rank, 1, &i) == IOLENS_E_USAGE && iolens_cell_i64(t, 1, rank, 0, &i) < 0);
	assert(iolens_cell_i64(t, 0, exe, 0, &i) < 0 && !iolens_cell_text(t, 0, rank, 0, &n));
	assert(iolens_cell_text(t, 0, exe, 0, &n) && n && !iolens_cell_text(t, 0, exe, 1, &n));
	iolens_table_close(t);
	iolens_close(log);
	return 0;
}
