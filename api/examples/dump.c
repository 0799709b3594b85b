/* Everything that a log has, by going through the schema: no counter is named here. */
#include <inttypes.h>
#include <stdio.h>

#include <iolens/log.h>

static void print_value(const iolens_records *r, int number, const struct iolens_field *f, size_t element)
{
	int64_t i;
	double d;
	size_t length = 0;
	const char *text = iolens_field_text(r, number, element, &length);
	if (f->type == IOLENS_F64 && iolens_field_f64(r, number, element, &d) > 0)
		printf(" %.9g", d);
	else if (f->type == IOLENS_TEXT)
		printf(" %.*s", (int)length, text);
	else if ((f->type == IOLENS_I64 || f->type == IOLENS_U64) && iolens_field_i64(r, number, element, &i) > 0)
		printf(f->type == IOLENS_U64 ? " %" PRIu64 : " %" PRId64, i);
	else
		printf(" -");
}

static void print_record(iolens_log *log, iolens_records *r, int module)
{
	struct iolens_field f;
	const char *name = iolens_name(log, iolens_id(r));
	printf("record %" PRIu64 " rank %" PRId64 " %s\n", iolens_id(r), iolens_rank(r), name ? name : "");
	for (int number = 0; iolens_field(module, (size_t)number, &f, sizeof f); number++) {
		printf("  %s =", f.name);
		for (size_t k = 0; k < iolens_elements(r, number); k++)
			print_value(r, number, &f, k);
		printf("%s%s\n", *f.unit ? " " : "", f.unit);
	}
}

static void print_table(const iolens_table *t, const char *name)
{
	struct iolens_field f;
	printf("table %s: %" PRIu64 " rows\n", name, iolens_rows(t));
	for (size_t i = 0; iolens_column(t, i, &f, sizeof f); i++)
		printf("  column %s %s\n", f.name, f.unit);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return fprintf(stderr, "usage: dump LOG\n"), 2;
	iolens_log *log = iolens_open(argv[1]);
	struct iolens_module m;
	for (int module = 0; module < IOLENS_MODULES && iolens_module(log, module, &m, sizeof m); module++) {
		if (!m.present)
			continue;
		printf("module %s version %" PRIu32 "%s\n", m.name, m.version, m.partial ? " (incomplete)" : "");
		iolens_records *r = iolens_records_open(log, module);
		while (iolens_next(r) > 0)
			print_record(log, r, module);
		iolens_records_close(r);
	}
	const char *name;
	for (size_t i = 0; (name = iolens_table_name(log, i)); i++) {
		iolens_table *t = iolens_table_open(log, name);
		print_table(t, name);
		iolens_table_close(t);
	}
	int failed = iolens_error(log);
	if (failed)
		fprintf(stderr, "dump: %s: %s\n", argv[1], iolens_error_message(log));
	iolens_close(log);
	return failed ? 3 : 0;
}
