/* When a job moved its bytes: its heat maps as lines of numbers, and its traced accesses if there are any. */
#include <inttypes.h>
#include <stdio.h>

#include <iolens/log.h>

static void print_job(iolens_log *log)
{
	struct iolens_job job;
	const char *point, *type;
	if (iolens_job(log, &job, sizeof job) <= 0)
		return;
	printf("job %" PRId64 ": %" PRId64 " processes, %.3f s: %s\n", job.id, job.nprocs, job.run_time, job.exe);
	for (size_t i = 0; iolens_mount(log, i, &point, &type) > 0; i++)
		printf("mount %s %s\n", point, type);
}

static void print_heat(iolens_log *log)
{
	iolens_records *r = iolens_records_open(log, iolens_module_id("heatmap"));
	const int64_t *written, *read;
	double width;
	size_t bins;
	while (iolens_next(r) > 0 && iolens_heatmap(r, &width, &bins, &written, &read)) {
		printf("%s rank %" PRId64 ", bins of %g s:", iolens_name(log, iolens_id(r)), iolens_rank(r), width);
		for (size_t i = 0; i < bins; i++)
			printf(" %" PRId64, written[i] + read[i]);
		printf("\n");
	}
	iolens_records_close(r);
}

static void print_trace(iolens_log *log)
{
	iolens_records *r = iolens_records_open(log, iolens_module_id("dxt_posix"));
	struct iolens_segment s[64];
	int64_t n;
	while (iolens_next(r) > 0)
		while ((n = iolens_segments(r, s, sizeof *s, 64)) > 0)
			for (int64_t i = 0; i < n; i++)
				printf("%s %" PRId64 " %s %" PRId64 " bytes at %" PRId64 ", %.6f to %.6f s\n",
				       iolens_name(log, iolens_id(r)), iolens_rank(r), s[i].is_write ? "write" : "read",
				       s[i].length, s[i].offset, s[i].start, s[i].end);
	iolens_records_close(r);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return fprintf(stderr, "usage: timeline LOG\n"), 2;
	iolens_log *log = iolens_open(argv[1]);
	print_job(log);
	print_heat(log);
	print_trace(log);
	int failed = iolens_error(log);
	if (failed)
		fprintf(stderr, "timeline: %s: %s\n", argv[1], iolens_error_message(log));
	iolens_close(log);
	return failed ? 3 : 0;
}
