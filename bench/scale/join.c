/*
 * What the first node does for every other one: join STORE0 STORE1 TIMES. Two ranks of one job, each a node of its own; the
 * second one's share is added so many times, as if it came from as many nodes. Prints seconds per share, seconds per share at the
 * end, bytes of a share, bytes of the log beyond one share's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "join.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void need(int code)
{
	if (code < 0)
		exit(1);
}

static const struct assemble_job job = {.id = 1};

static struct join *open_place(int64_t number, const int64_t *rank, const char *const *store)
{
	struct join *j;
	const struct join_node place = {number, 2, rank, 1, store, 1};
	need(join_open(&j, &job, &place));
	return j;
}

int main(int argc, char **argv)
{
	static const int64_t ranks[] = {0, 1};
	struct log_bytes survey = {0}, decision = {0}, share = {0};
	struct join_file file;
	uint64_t at[JOIN_REGIONS];
	struct stat s;
	if (argc != 4)
		return 2;
	struct join *first = open_place(0, &ranks[0], (const char *const *)&argv[1]);
	struct join *other = open_place(1, &ranks[1], (const char *const *)&argv[2]);
	int times = atoi(argv[3]);
	need(join_survey(other, &survey));
	need(join_survey_add(first, survey.at, survey.used));
	unlink("join.darshan");
	need(join_begin(first, "join.darshan", &file));
	need(join_decide(first, &decision));
	need(join_make(first, decision.at, decision.used));
	need(join_make(other, decision.at, decision.used));
	need(join_share(other, &share));
	double begun = now();
	for (int n = 0; n < times; n++)
		need(join_share_add(first, share.at, share.used));
	double added = now();
	need(join_lay_out(first, at));
	uint64_t regions = at[JOIN_HEATMAP] + join_sizes(first)[JOIN_HEATMAP];
	double laid_out = now();
	need(join_finish(first));
	double finished = now();
	need(stat("join.darshan", &s));
	printf("%.9g %.9g %zu %.9g\n", (added - begun) / times, (finished - laid_out) / times, share.used,
	       (double)((uint64_t)s.st_size - regions) / times);
	unlink("join.darshan");
	join_close(first);
	join_close(other);
	return 0;
}
