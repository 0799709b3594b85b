#include "logname.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"
#include "hash.h"
#include "zone.h"

enum { USER_MAX = 8 };

/* <root>/<year>/<month>/<day> where a site has made such directories, else <root>. */
static void directory(char *out, size_t room, const char *root, const struct tm *day)
{
	struct stat s;
	snprintf(out, room, "%s/%d/%d/%d/", root ? root : ".", day->tm_year + 1900, day->tm_mon + 1, day->tm_mday);
	if (!root)
		out[0] = '\0';
	else if (stat(out, &s) != 0 || !S_ISDIR(s.st_mode))
		snprintf(out, room, "%s/", root);
}

static uint64_t random_number(void)
{
	char host[65] = "";
	struct timespec now;
	gethostname(host, sizeof host - 1);
	clock_gettime(CLOCK_REALTIME, &now);
	return log_hash(host, strlen(host), (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

static struct {
	enum { BY_LIBC, BY_NODE, BY_OFFSET } by;
	int64_t offset; /* s to the east */
} zone;

static int64_t offset_here(int64_t at)
{
	uint8_t file[6144]; /* the largest has 3,600 bytes */
	int fd = descriptor_open("/etc/localtime", O_RDONLY, 0);
	ssize_t n = fd >= 0 ? read(fd, file, sizeof file) : 0;
	if (fd >= 0)
		close(fd);
	return zone_offset(file, n > 0 ? (size_t)n : 0, at);
}

enum { DAY = 86400 };

/* The civil date of a day since 1970, in years that begin in March. */
static void set_date(struct tm *out, int64_t days)
{
	int64_t since = days + 719468; /* 0000-03-01 */
	int64_t era = since / 146097, of_era = since % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;
	out->tm_mday = (int)(of_year - (153 * month + 2) / 5 + 1);
	out->tm_mon = (int)(month < 10 ? month + 2 : month - 10);
	out->tm_year = (int)(year + era * 400 + (month >= 10)) - 1900;
}

static struct tm day_of(int64_t start)
{
	time_t seconds = start / 1000000000;
	struct tm day = {0};
	int64_t there = seconds + (zone.by == BY_NODE ? offset_here(seconds) : zone.offset);
	if (zone.by == BY_LIBC || there < 0) {
		localtime_r(&seconds, &day);
		return day;
	}
	set_date(&day, there / DAY);
	day.tm_hour = (int)(there % DAY / 3600);
	day.tm_min = (int)(there % 3600 / 60);
	day.tm_sec = (int)(there % 60);
	return day;
}

void logname_remember_zone(int64_t start, const char *given)
{
	zone.by = given ? BY_LIBC : BY_NODE;
	if (!given)
		return;
	zone.offset = day_of(start).tm_gmtoff;
	zone.by = BY_OFFSET;
}

void logname_make(char *path, size_t room, const char *root, const char *program, int64_t start, int64_t job,
		  int64_t pid)
{
	char where[3072], number[24];
	struct tm day = day_of(start);
	const char *slash = strrchr(program, '/');
	const char *user = getenv("LOGNAME");
	snprintf(number, sizeof number, "%u", (unsigned)geteuid());
	user = user && *user && !strchr(user, '/') ? user : number;
	directory(where, sizeof where, root, &day);
	snprintf(path, room, "%s%.*s_%.255s_id%" PRId64 "-%" PRId64 "_%d-%d-%d-%" PRIu64 "_1.darshan", where, USER_MAX,
		 user, slash ? slash + 1 : program, job, pid, day.tm_mon + 1, day.tm_mday,
		 day.tm_hour * 3600 + day.tm_min * 60 + day.tm_sec, random_number());
}

static bool is_absolute(const char *path)
{
	return path && path[0] == '/';
}

/* By hand: every process asks, and most that do nothing else need none of the formatter's pages. */
static bool join(char *path, size_t room, const char *root, const char *below)
{
	size_t n = strlen(root), more = strlen(below) + 1;
	if (n + more > room)
		return false;
	memcpy(path, root, n);
	memcpy(path + n, below, more);
	return true;
}

bool logname_opt_out(const char *config, const char *home, char *path, size_t room)
{
	if (is_absolute(config))
		return join(path, room, config, "/iolens/disabled");
	return is_absolute(home) && join(path, room, home, "/.config/iolens/disabled");
}
