#include "truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dice.h"

enum { CORES = 24 }; /* of a node; jobs have whole nodes */

static FILE *create(const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f)
		fprintf(stderr, "fleetgen: cannot write %s\n", path);
	return f;
}

static int finish(FILE *f, const char *path)
{
	if (fclose(f) == 0)
		return 0;
	fprintf(stderr, "fleetgen: cannot write %s\n", path);
	return -1;
}

static const char *when(char out[24], int64_t seconds)
{
	struct tm t;
	gmtime_r(&(time_t){seconds}, &t);
	strftime(out, 24, "%Y-%m-%dT%H:%M:%S", &t);
	return out;
}

static int64_t nodes_of(const struct job *j)
{
	return (j->nprocs + CORES - 1) / CORES;
}

static void account_for(FILE *f, const struct population *p, const struct job *j, int task)
{
	char id[48], submit[24], start[24], end[24];
	struct dice d = dice_of(p->wanted.seed ^ 0xacc, j->number);
	const struct user *u = &p->users[j->user];
	int64_t nodes = nodes_of(j), waited = (int64_t)(3600 * roll_exponential(&d));
	if (j->array)
		snprintf(id, sizeof id, "%" PRId64 "_%d", j->array, task);
	else
		snprintf(id, sizeof id, "%" PRId64, j->id);
	when(submit, j->start - waited);
	when(start, j->start);
	when(end, j->start + j->run);
	fprintf(f, "%s|%" PRId64 "|hopper|%s|m%04d|%s|%s|", id, j->id, u->name, u->account,
		nodes > 600 ? "large" : "regular", applications[j->application].program);
	fprintf(f, "%s", state_names[j->state]);
	if (j->state == CANCELLED)
		fprintf(f, " by %" PRId64, u->uid);
	fprintf(f, "|%s|%s|%s|%" PRId64 "|%" PRId64 "|%" PRId64 "|%" PRId64 "|%s\n", submit, start, end, j->run,
		nodes * CORES, nodes, nodes * CORES * j->run, j->linked ? "iolens" : "");
	if (!roll_chance(&d, 0.1))
		return;
	for (int step = -1; step < (j->logs ? j->logs : 1); step++) {
		char name[16] = "batch";
		if (step >= 0)
			snprintf(name, sizeof name, "%d", step);
		fprintf(f,
			"%s.%s|%" PRId64 ".%s|hopper||m%04d||%s|%s|%s|%s|%s|%" PRId64 "|%" PRId64 "|%" PRId64
			"|%" PRId64 "|\n",
			id, name, j->id, name, u->account, step < 0 ? "batch" : applications[j->application].program,
			state_names[j->state], start, start, end, j->run, nodes * CORES, nodes, nodes * CORES * j->run);
	}
}

int truth_accounting(const char *path, const struct population *p)
{
	FILE *f = create(path);
	if (!f)
		return -1;
	int64_t array = 0;
	int task = 0;
	fputs("JobID|JobIDRaw|Cluster|User|Account|Partition|JobName|State|Submit|Start|End|ElapsedRaw|AllocCPUS|"
	      "NNodes|CPUTimeRAW|Comment\n",
	      f);
	for (size_t i = 0; i < p->njobs; i++) {
		const struct job *j = &p->jobs[i];
		if (j->outside)
			continue;
		task = j->array == array ? task + 1 : 0;
		array = j->array ? j->array : array;
		account_for(f, p, j, task);
	}
	return finish(f, path);
}

int truth_logs(const char *path, const struct population *p, const struct outcome *outcomes)
{
	char name[PATH_ROOM];
	FILE *f = create(path);
	if (!f)
		return -1;
	fputs("path,job,user,program,nprocs,bytes_read,bytes_written,redundant,small_writes,metadata_ratio,screened,"
	      "damaged\n",
	      f);
	for (size_t i = 0; i < p->njobs; i++)
		for (int n = 0; n < p->jobs[i].logs; n++) {
			const struct job *j = &p->jobs[i];
			const struct outcome *o = &outcomes[j->first_log + n];
			job_log_path(name, p, j, n);
			fprintf(f,
				"%s,%" PRId64 ",%s,%s,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%.6f,%d,%d\n",
				name, j->id, p->users[j->user].name, applications[j->application].program, j->nprocs,
				o->bytes_read, o->bytes_written, o->redundant, o->small_writes,
				o->io_time > 0 ? o->meta_time / o->io_time : 0, o->pathology, o->damaged);
		}
	return finish(f, path);
}

/* ---- what is known of all of it ---- */

struct knowing {
	const struct population *p;
	const struct outcome *outcomes;
	int logs;
	unsigned char *seen; /* of each user */
};

/* Logs with all of the pathologies: how many, of how many users, and the largest value. */
static void say_screened(FILE *f, const struct knowing *k, const char *name, int pathology, int which)
{
	int jobs = 0, users = 0;
	double largest = 0;
	memset(k->seen, 0, (size_t)k->p->wanted.users);
	for (int i = 0; i < k->logs; i++) {
		const struct outcome *o = &k->outcomes[i];
		if (o->damaged || (o->pathology & pathology) != pathology)
			continue;
		double value = which == 0   ? (double)o->redundant
			       : which == 1 ? o->meta_time / o->io_time
					    : (double)o->small_writes;
		jobs++;
		users += !k->seen[o->user]++;
		k->seen[o->user] = 1;
		largest = value > largest ? value : largest;
	}
	fprintf(f, "    \"%s\": {\"jobs\": %d, \"users\": %d, \"largest\": %.17g},\n", name, jobs, users, largest);
}

static bool has_log(const struct knowing *k, const struct job *j)
{
	for (int n = 0; n < j->logs; n++)
		if (!k->outcomes[j->first_log + n].damaged)
			return true;
	return false;
}

/* A day's users: 1 = completed a job, 2 = has a log. Jobs are in order of time. */
static void say_days(FILE *f, const struct knowing *k)
{
	const struct population *p = k->p;
	size_t i = 0;
	for (int64_t day = 0; day < p->wanted.days; day++) {
		char date[24];
		int64_t jobs = 0, logged = 0, seconds = 0, seconds_logged = 0, users = 0, users_logged = 0;
		memset(k->seen, 0, (size_t)p->wanted.users);
		for (; i < p->njobs && p->jobs[i].start < p->wanted.start + (day + 1) * DAY; i++) {
			const struct job *j = &p->jobs[i];
			int64_t used = nodes_of(j) * CORES * j->run;
			bool has = has_log(k, j);
			if (j->outside)
				continue;
			jobs++;
			seconds += used;
			logged += has;
			seconds_logged += has ? used : 0;
			k->seen[j->user] |= (unsigned char)((j->state == COMPLETED) | has << 1);
		}
		for (int64_t u = 0; u < p->wanted.users; u++) {
			users += k->seen[u] & 1;
			users_logged += k->seen[u] == 3;
		}
		when(date, p->wanted.start + day * DAY);
		date[10] = '\0';
		fprintf(f,
			"    {\"day\": \"%s\", \"users\": %" PRId64 ", \"users_logged\": %" PRId64
			", \"jobs\": %" PRId64,
			date, users, users_logged, jobs);
		fprintf(f,
			", \"jobs_logged\": %" PRId64 ", \"core_seconds\": %" PRId64
			", \"core_seconds_logged\": %" PRId64 "}%s\n",
			logged, seconds, seconds_logged, day + 1 < p->wanted.days ? "," : "");
	}
}

static void say_ends(FILE *f, const struct knowing *k)
{
	for (int state = 0; state < STATES; state++) {
		int64_t linked = 0, without = 0, seconds = 0;
		for (size_t i = 0; i < k->p->njobs; i++) {
			const struct job *j = &k->p->jobs[i];
			if (!j->linked || j->outside || j->state != state)
				continue;
			linked++;
			if (!has_log(k, j)) {
				without++;
				seconds += nodes_of(j) * CORES * j->run;
			}
		}
		fprintf(f,
			"    \"%s\": {\"started\": %" PRId64 ", \"no_log\": %" PRId64
			", \"core_seconds_no_log\": %" PRId64 "}%s\n",
			state_names[state], linked, without, seconds, state + 1 < STATES ? "," : "");
	}
}

static void say_totals(FILE *f, const struct knowing *k)
{
	const struct wanted *w = &k->p->wanted;
	int64_t bytes = 0, records = 0, damaged = 0, outside = 0, jobs = 0;
	for (int i = 0; i < k->logs; i++) {
		bytes += k->outcomes[i].size;
		records += k->outcomes[i].damaged ? 0 : k->outcomes[i].records;
		damaged += k->outcomes[i].damaged;
	}
	for (size_t i = 0; i < k->p->njobs; i++) {
		outside += k->p->jobs[i].outside ? k->p->jobs[i].logs : 0;
		jobs += !k->p->jobs[i].outside;
	}
	fprintf(f,
		"  \"seed\": %" PRIu64 ", \"days\": %" PRId64 ", \"users\": %" PRId64 ", \"screened_factor\": %" PRId64
		",\n",
		w->seed, w->days, w->users, w->screened);
	fprintf(f, "  \"logs\": %d, \"damaged\": %" PRId64 ", \"bytes\": %" PRId64 ", \"records\": %" PRId64 ",\n",
		k->logs, damaged, bytes, records);
	fprintf(f, "  \"accounted_jobs\": %" PRId64 ", \"logs_outside_the_scheduler\": %" PRId64 ",\n", jobs, outside);
}

int truth_json(const char *path, const struct population *p, const struct outcome *outcomes)
{
	FILE *f = create(path);
	const struct job *last = &p->jobs[p->njobs - 1];
	struct knowing k = {p, outcomes, last->first_log + last->logs, calloc((size_t)p->wanted.users, 1)};
	if (!f || !k.seen)
		return -1;
	fputs("{\n", f);
	say_totals(f, &k);
	fputs("  \"screened\": {\n", f);
	say_screened(f, &k, "redundant_reads", REDUNDANT_READS, 0);
	say_screened(f, &k, "metadata_ratio", METADATA, 1);
	say_screened(f, &k, "redundant_reads_and_metadata_ratio", REDUNDANT_READS | METADATA, 0);
	say_screened(f, &k, "small_shared_writes", SMALL_WRITES, 2);
	say_screened(f, &k, "small_shared_writes_notice", NOTICED_WRITES, 2);
	fprintf(f, "    \"analysed\": %d\n  },\n  \"started\": {\n", k.logs);
	say_ends(f, &k);
	fputs("  },\n  \"coverage\": [\n", f);
	say_days(f, &k);
	fputs("  ]\n}\n", f);
	free(k.seen);
	return finish(f, path);
}
