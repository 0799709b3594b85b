/*
 * What places do with the tables of others: join STORE0 STORE1 RANKS. Two ranks of one job, each a node of its own. A place
 * adds the second one's share so many times, as if it came from as many nodes, and tells it on; the first place adds that PLACES
 * times. Prints of each rank: seconds to add its rows, to encode them, of the first place for rows that are encoded; bytes of its share,
 * of its rows, and of these when they are encoded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "join.h"

enum { PLACES = 20 };

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

static struct join *open_place(int64_t number, const int64_t *rank, const char *const *store, size_t part)
{
	struct join *j;
	const struct join_node place = {number, 2, rank, 1, store, 1, part};
	need(join_open(&j, &job, &place));
	return j;
}

int main(int argc, char **argv)
{
	static const int64_t ranks[] = {0, 1};
	struct log_bytes survey = {0}, decision = {0}, one = {0}, two = {0}, all = {0};
	struct join_file file;
	uint64_t at[JOIN_REGIONS];
	if (argc != 4)
		return 2;
	struct join *first = open_place(0, &ranks[0], (const char *const *)&argv[1], 0);
	struct join *leaf = open_place(1, &ranks[1], (const char *const *)&argv[2], SIZE_MAX);
	struct join *other = open_place(1, &ranks[1], (const char *const *)&argv[2], 1);
	int times = atoi(argv[3]);
	need(join_survey(other, &survey));
	need(join_survey_add(first, survey.at, survey.used));
	unlink("join.darshan");
	need(join_begin(first, "join.darshan", &file));
	need(join_decide(first, &decision));
	need(join_make(first, decision.at, decision.used));
	need(join_make(leaf, decision.at, decision.used));
	need(join_make(other, decision.at, decision.used));
	need(join_share(leaf, &one));
	double begun = now();
	for (int n = 0; n < times; n++)
		need(join_share_add(other, one.at, one.used));
	double added = now();
	need(join_share(other, &all));
	double encoded = now();
	for (int n = 0; n < PLACES; n++)
		need(join_share_add(first, all.at, all.used));
	double gathered = now();
	need(join_lay_out(first, at));
	double laid_out = now();
	need(join_finish(first));
	double finished = now();
	need(join_share_add(leaf, one.at, one.used));
	need(join_share(leaf, &two));
	printf("%.9g %.9g %.9g %zu %zu %.9g\n", (added - begun) / times, (encoded - added) / times,
	       (gathered - encoded + finished - laid_out) / times / PLACES, one.used, two.used - one.used,
	       (double)all.used / times);
	unlink("join.darshan");
	return 0;
}
