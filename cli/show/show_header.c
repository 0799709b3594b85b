#include <stdio.h>
#include <time.h>

#include "cli.h"
#include "show.h"
#include "writer.h"

static const char rule[] = "# -------------------------------------------------------\n";
static const char *const compressions[] = {"ZLIB", "BZIP2", "NONE"};

/* As ctime does, for any value. */
static void show_time(struct show *s, const char *name, int64_t when)
{
	char text[64] = "?";
	time_t t = (time_t)when;
	struct tm tm;
	if (localtime_r(&t, &tm))
		strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &tm);
	output_format(&s->out, "# %s: %lld\n# %s_asci: %s\n", name, (long long)when, name, text);
}

static void show_job(struct show *s)
{
	const struct log_job *j = s->job;
	output_text(&s->out, "# exe: ");
	put_escaped(&s->out, j->exe);
	output_format(&s->out, "\n# uid: %lld\n# jobid: %lld\n", (long long)j->uid, (long long)j->id);
	show_time(s, "start_time", j->start);
	show_time(s, "end_time", j->end);
	output_format(&s->out, "# nprocs: %lld\n# run time: ", (long long)j->nprocs);
	output_format(&s->out, log_old_version(s->log) ? "%.0f\n" : "%.4f\n", log_run_time(s->log));
	for (size_t i = 0; i < j->nmetadata; i++) {
		output_text(&s->out, "# metadata: ");
		put_escaped(&s->out, j->metadata[i].key);
		output_text(&s->out, " = ");
		put_escaped(&s->out, j->metadata[i].value);
		output_text(&s->out, "\n");
	}
}

static void show_regions(struct show *s)
{
	const struct log_container *c = log_container(s->log);
	output_text(&s->out, "\n# log file regions\n");
	output_text(&s->out, rule);
	output_format(&s->out, "# header: %u bytes (uncompressed)\n", c->header_size);
	output_format(&s->out, "# job data: %llu bytes (compressed)\n", (unsigned long long)c->job.length);
	output_format(&s->out, "# record table: %llu bytes (compressed)\n", (unsigned long long)c->names.length);
	for (int i = 0; i < LOG_MAX_MODULES; i++) {
		if (!c->module[i].length && !(c->partial >> i & 1))
			continue;
		unsigned long long n = c->module[i].length;
		if (i < LOG_MOD_COUNT)
			output_format(&s->out, "# %s module:", log_module_name(i));
		else
			output_format(&s->out, "# <UNKNOWN> module (id %d):", i);
		output_format(&s->out, " %llu bytes (compressed), ver=%u\n", n, c->module_version[i]);
	}
}

static void show_mounts(struct show *s)
{
	output_text(&s->out, "\n# mounted file systems (mount point and fs type)\n");
	output_text(&s->out, rule);
	for (size_t i = 0; s->job && i < s->job->nmounts; i++) {
		output_text(&s->out, "# mount entry:\t");
		put_escaped(&s->out, s->job->mounts[i].key);
		output_text(&s->out, "\t");
		put_escaped(&s->out, s->job->mounts[i].value);
		output_text(&s->out, "\n");
	}
}

/* A converted log names the version it once had. */
static const char *first_version(const struct show *s)
{
	for (size_t i = 0; s->job && i < s->job->nmetadata; i++)
		if (!strcmp(s->job->metadata[i].key, LOG_PREVIOUS_VERSION))
			return s->job->metadata[i].value;
	return log_container(s->log)->version;
}

/* What must not be read into the numbers of logs of these versions; 203 = 2.03. */
static const struct {
	int from, before;
	const char *line;
} limits[] = {
	{0, 203, "time stamps before 2.03 are not counted from MPI_Init: those of different ranks do not compare"},
	{0, 204, "times of the fastest and slowest rank before 2.04 are those of POSIX calls alone"},
	{0, 205, "the open time stamp before 2.05 is the end of the first open"},
	{123, 124, "mount points of 1.23 may be wrong on other ranks than 0"},
	{320, 321, "version 3.20 logs may hold corrupt common-access counters"},
};

static bool is_limited(const char *version, int from, int before)
{
	int major, minor;
	return sscanf(version, "%2d.%2d", &major, &minor) == 2 && 100 * major + minor >= from &&
	       100 * major + minor < before;
}

/* The log itself may be of such a version, or those that it was converted or merged from. */
static void show_limits(struct show *s)
{
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		bool limited = is_limited(log_container(s->log)->version, limits[i].from, limits[i].before);
		for (size_t k = 0; s->job && k < s->job->nmetadata; k++)
			limited |= !strcmp(s->job->metadata[k].key, LOG_PREVIOUS_VERSION) &&
				   is_limited(s->job->metadata[k].value, limits[i].from, limits[i].before);
		if (limited)
			output_format(&s->out, "# *WARNING*: %s.\n", limits[i].line);
	}
}

void show_header(struct show *s)
{
	const struct log_container *c = log_container(s->log);
	output_text(&s->out, "# darshan log version: ");
	put_escaped(&s->out, c->version);
	output_text(&s->out, "\n");
	output_format(&s->out, "# compression method: %s\n", compressions[c->compression]);
	show_limits(s);
	if (s->job)
		show_job(s);
	show_regions(s);
	show_mounts(s);
}

void show_job_of_old(struct show *s)
{
	bool first = log_old_version(s->log) < 200;
	output_text(&s->out, "# darshan log version: ");
	put_escaped(&s->out, first_version(s));
	output_format(&s->out, "\n# size of file statistics: %zu bytes\n", sizeof(struct cp_record));
	output_format(&s->out, "# size of job statistics: %d bytes\n", first ? 28 : 1080);
	show_limits(s);
	show_job(s);
}
