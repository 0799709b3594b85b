#include "saved_peak.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file_system.h"

static bool is_below(const char *path, const char *point)
{
	size_t n = strlen(point);
	n -= n && point[n - 1] == '/';
	return !strncmp(path, point, n) && (path[n] == '/' || !path[n]);
}

/* Of mounts upon each other the last one counts. */
static void find_mount(struct saved_peak *p)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	for (struct mntent *m; mounts && (m = getmntent(mounts));) {
		if (!is_below(p->directory, m->mnt_dir) || strlen(m->mnt_dir) < strlen(p->point))
			continue;
		snprintf(p->point, sizeof p->point, "%s", m->mnt_dir);
		snprintf(p->type, sizeof p->type, "%s", m->mnt_type);
		snprintf(p->class, sizeof p->class, "%s", file_system_class(m->mnt_type, m->mnt_fsname));
	}
	if (mounts)
		endmntent(mounts);
}

void saved_peak_describe(struct saved_peak *p, const char *directory)
{
	time_t t = time(NULL);
	struct tm utc;
	*p = (struct saved_peak){0};
	if (!realpath(directory, p->directory))
		snprintf(p->directory, sizeof p->directory, "%s", directory);
	gethostname(p->host, sizeof p->host - 1);
	strftime(p->time, sizeof p->time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
	find_mount(p);
}

/* ---- where it is kept ---- */

/* Every folder on the way to a file. */
static void make_folders(char *path)
{
	for (char *c = path + 1; (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(path, 0700);
		*c = '/';
	}
}

static bool cached_path(const char *point, char path[PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool own = cache && *cache == '/';
	if (!own && (!home || *home != '/'))
		return false;
	int n = snprintf(path, PATH_MAX, "%s%s/iolens/peak/", own ? cache : home, own ? "" : "/.cache");
	for (; *point && n < PATH_MAX - 8; point++)
		path[n++] = *point == '/' ? '%' : *point;
	snprintf(path + n, (size_t)(PATH_MAX - n), ".json");
	return true;
}

bool saved_peak_path(const char *given, const char *point, char path[PATH_MAX])
{
	if (given)
		return snprintf(path, PATH_MAX, "%s", given) < PATH_MAX;
	if (!cached_path(point, path))
		return false;
	make_folders(path);
	return true;
}

/* ---- as JSON ---- */

static void write_part(struct json *j, const char *name, const struct measured *r)
{
	json_open(j, name, '{');
	json_i64(j, "count", r->count);
	json_i64(j, "bytes", r->bytes);
	json_f64(j, "seconds", r->seconds);
	json_close(j);
}

void saved_peak_write(struct json *j, const struct saved_peak *p, const struct measurement *m)
{
	static const char *const names[] = {
		[MEASURE_WRITE] = "write",   [MEASURE_READ] = "read", [MEASURE_RANDOM] = "random_read",
		[MEASURE_CREATE] = "create", [MEASURE_STAT] = "stat", [MEASURE_UNLINK] = "unlink"};
	const struct measured *write = &m->of[MEASURE_WRITE], *read = &m->of[MEASURE_READ];
	json_document(j, "peak", 1);
	json_text(j, "directory", p->directory);
	json_text(j, "mount", p->point);
	json_text(j, "type", p->type);
	json_text(j, "class", p->class);
	json_text(j, "host", p->host);
	json_text(j, "time", p->time);
	json_bool(j, "past_page_cache", m->direct);
	json_f64(j, "write_rate", write->seconds > 0 ? (double)write->bytes / write->seconds : 0);
	json_f64(j, "read_rate", read->seconds > 0 ? (double)read->bytes / read->seconds : 0);
	for (int i = 0; i < MEASURE_COUNT; i++)
		write_part(j, names[i], &m->of[i]);
	json_close(j);
}

/* One member a line, as it was written; a text without escapes, as those of mounts and hosts are. */
static void read_member(const char *line, const char *name, char *text, size_t room, double *number)
{
	char key[40];
	int n = snprintf(key, sizeof key, "\"%s\": ", name);
	line += strspn(line, " ");
	if (strncmp(line, key, (size_t)n) != 0)
		return;
	line += n;
	if (number)
		*number = strtod(line, NULL);
	else if (*line == '"')
		snprintf(text, room, "%.*s", (int)strcspn(line + 1, "\"\n"), line + 1);
}

bool saved_peak_read(struct saved_peak *p, const char *point)
{
	char path[PATH_MAX], line[PATH_MAX + 64];
	FILE *in = cached_path(point, path) ? fopen(path, "r") : NULL;
	*p = (struct saved_peak){0};
	while (in && fgets(line, sizeof line, in)) {
		read_member(line, "mount", p->point, sizeof p->point, NULL);
		read_member(line, "type", p->type, sizeof p->type, NULL);
		read_member(line, "host", p->host, sizeof p->host, NULL);
		read_member(line, "time", p->time, sizeof p->time, NULL);
		read_member(line, "write_rate", NULL, 0, &p->write_rate);
		read_member(line, "read_rate", NULL, 0, &p->read_rate);
	}
	if (in)
		fclose(in);
	return in && !strcmp(p->point, point);
}
