#include "logname.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hash.h"

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

void logname_make(char *path, size_t room, const char *root, const char *program, int64_t start, int64_t job,
		  int64_t pid)
{
	char where[3072], number[24];
	time_t seconds = start / 1000000000;
	struct tm day;
	localtime_r(&seconds, &day);
	const char *slash = strrchr(program, '/');
	const char *user = getenv("LOGNAME");
	snprintf(number, sizeof number, "%u", (unsigned)geteuid());
	user = user && *user && !strchr(user, '/') ? user : number;
	directory(where, sizeof where, root, &day);
	snprintf(path, room, "%s%.*s_%.255s_id%" PRId64 "-%" PRId64 "_%d-%d-%d-%" PRIu64 "_1.darshan", where, USER_MAX,
		 user, slash ? slash + 1 : program, job, pid, day.tm_mon + 1, day.tm_mday,
		 day.tm_hour * 3600 + day.tm_min * 60 + day.tm_sec, random_number());
}
