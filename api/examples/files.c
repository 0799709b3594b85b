/* The files of a log with the bytes that were read and written, over all interfaces that count bytes of files. */
#include <inttypes.h>
#include <stdio.h>

#include <iolens/log.h>

static void print_module(iolens_log *log, const char *module)
{
	iolens_records *r = iolens_records_open(log, iolens_module_id(module));
	int64_t read, written;
	while (iolens_next(r) > 0) {
		const char *name = iolens_name(log, iolens_id(r));
		iolens_get_i64(r, "bytes_read", 0, &read);
		iolens_get_i64(r, "bytes_written", 0, &written);
		printf("%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\n", module, iolens_rank(r), read, written,
		       name ? name : "-");
	}
	iolens_records_close(r);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return fprintf(stderr, "usage: files LOG\n"), 2;
	iolens_log *log = iolens_open(argv[1]);
	if (!iolens_error(log)) {
		print_module(log, "posix");
		print_module(log, "mpiio");
		print_module(log, "stdio");
	}
	int failed = iolens_error(log);
	if (failed)
		fprintf(stderr, "files: %s: %s\n", argv[1], iolens_error_message(log));
	iolens_close(log);
	return failed ? 3 : 0;
}
