#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "doctor.h"
#include "job_stores.h"
#include "logname.h"
#include "units.h"

enum { DAYS = 62, DAY = 86400, SHOWN = 3 };

struct traces {
	int64_t job;
	size_t logs, notes, shares;
	char log[SHOWN][DOCTOR_PATH + 512];
};

/* ---- what is in the directory of logs ---- */

static void show_note(struct doctor *d, const char *path)
{
	char line[512];
	FILE *in = fopen(path, "re");
	while (in && fgets(line, sizeof line, in)) {
		line[strcspn(line, "\n")] = '\0';
		checks_add(&d->checks, CHECK_NOTE, "not observed", "%s", line);
	}
	if (in)
		fclose(in);
	else
		checks_add(&d->checks, CHECK_NOTE, "not observed", "%s: cannot be read: %s", path, strerror(errno));
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), of = strlen(suffix);
	return n > of && strcmp(name + n - of, suffix) == 0;
}

static void look_at(struct doctor *d, struct traces *t, const char *directory, const char *name)
{
	char path[DOCTOR_PATH + 512], mark[48];
	snprintf(path, sizeof path, "%s/%.255s", directory, name);
	snprintf(mark, sizeof mark, "_id%lld-", (long long)t->job);
	if (strstr(name, mark) && ends_in(name, ".darshan")) {
		if (t->logs < SHOWN)
			snprintf(t->log[t->logs], sizeof *t->log, "%s", path);
		t->logs++;
	} else if (strstr(name, mark) && ends_in(name, LOGNAME_UNOBSERVED)) {
		t->notes++;
		show_note(d, path);
	}
}

/* Where the epilogs of its nodes meet. */
static void look_for_shares(struct doctor *d, struct traces *t, const char *root)
{
	char directory[DOCTOR_PATH + 16], share[64];
	snprintf(directory, sizeof directory, "%s/.stores", root);
	size_t n = (size_t)snprintf(share, sizeof share, "job-%lld-", (long long)t->job);
	DIR *dir = opendir(directory);
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strncmp(e->d_name, share, n) == 0) {
			t->shares++;
			checks_add(&d->checks, CHECK_PROBLEM, "stores",
				   "its nodes have moved stores here, and there is no log of them: iolens "
				   "recover --remove %s/%s/*",
				   directory, e->d_name);
		}
	if (dir)
		closedir(dir);
}

static void look_through(struct doctor *d, struct traces *t, const char *directory)
{
	DIR *dir = opendir(directory);
	for (struct dirent *e; dir && (e = readdir(dir));)
		look_at(d, t, directory, e->d_name);
	if (dir)
		closedir(dir);
}

/* Of directories of days, those of the last two months. */
static void look_for_logs(struct doctor *d, struct traces *t, const char *root)
{
	time_t now = time(NULL);
	look_through(d, t, root);
	for (int n = -1; n < DAYS; n++) {
		char directory[DOCTOR_PATH + 64];
		time_t then = now - (time_t)n * DAY;
		struct tm day;
		localtime_r(&then, &day);
		snprintf(directory, sizeof directory, "%s/%d/%d/%d", root, day.tm_year + 1900, day.tm_mon + 1,
			 day.tm_mday);
		look_through(d, t, directory);
	}
}

/* ---- what the scheduler says ---- */

static void copy_word(const char *line, const char *key, char *to, size_t room)
{
	const char *at = strstr(line, key);
	snprintf(to, room, "%.*s", at ? (int)strcspn(at + strlen(key), " \n") : 0, at ? at + strlen(key) : "");
}

static void ask_scheduler(struct doctor *d, int64_t job)
{
	char command[128], line[8192] = "", state[64], reason[64], exit_code[32];
	snprintf(command, sizeof command,
		 "command -v scontrol >/dev/null || exit 9; timeout 10 scontrol -o show job %lld 2>/dev/null",
		 (long long)job);
	FILE *in = popen(command, "re");
	if (!in || !fgets(line, sizeof line, in))
		line[0] = '\0';
	int status = in ? pclose(in) : 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 9) {
		checks_add(&d->checks, CHECK_NOTE, "scheduler", "no scontrol here: %s",
			   "qstat, bjobs or flux jobs shows its state");
		return;
	}
	copy_word(line, " JobState=", state, sizeof state);
	copy_word(line, " Reason=", reason, sizeof reason);
	copy_word(line, " ExitCode=", exit_code, sizeof exit_code);
	if (!*state)
		checks_add(&d->checks, CHECK_NOTE, "scheduler", "knows no job %lld, or no longer", (long long)job);
	else if (!strcmp(state, "PENDING") || !strcmp(state, "RUNNING"))
		checks_add(&d->checks, CHECK_NOTE, "scheduler", "%s: its logs come when its programs end", state);
	else
		checks_add(&d->checks, CHECK_OK, "scheduler", "%s, exit code %s%s%s", state, exit_code,
			   strcmp(reason, "None") != 0 ? ", " : "", strcmp(reason, "None") != 0 ? reason : "");
}

/* ---- what is left of it here ---- */

static size_t look_for_stores(struct doctor *d, int64_t job)
{
	struct job_stores left = {0};
	if (job_stores_find(&left, job) != 0)
		return 0;
	size_t n = left.of.used, all = n + left.running;
	if (left.running)
		checks_add(&d->checks, CHECK_NOTE, "stores", "%s of the job %s on this node",
			   COUNTED(left.running, "process"), units_agree((int64_t)left.running, "runs", "run"));
	if (n)
		checks_add(&d->checks, CHECK_PROBLEM, "stores",
			   "%s of the job %s ended by a signal on this node%s: iolens recover --remove --job %lld",
			   COUNTED(n, "process"), units_agree((int64_t)n, "was", "were"),
			   left.without_file == n ? ", before any opened a file" : "", (long long)job);
	recovery_free(&left.of);
	return all;
}

static void look_in_places(struct doctor *d, struct traces *t, char *names, size_t room)
{
	size_t used = (size_t)snprintf(names, room, "%s", d->n_places ? "" : "this directory");
	if (!d->n_places)
		look_through(d, t, ".");
	for (size_t n = 0; n < d->n_places; n++) {
		const char *path = d->places[n].path;
		look_for_logs(d, t, path);
		look_for_shares(d, t, path);
		if (used < room)
			used += (size_t)snprintf(names + used, room - used, "%s%s", n ? ", " : "", path);
	}
}

void doctor_job(struct doctor *d, int64_t job)
{
	struct traces t = {.job = job};
	char names[512];
	d->checks.about = "job";
	ask_scheduler(d, job);
	look_in_places(d, &t, names, sizeof names);
	size_t stores = look_for_stores(d, job);
	for (size_t n = 0; n < t.logs && n < SHOWN; n++)
		checks_add(&d->checks, CHECK_OK, "log", "%s", t.log[n]);
	if (t.logs > SHOWN)
		checks_add(&d->checks, CHECK_OK, "log", "and %zu more", t.logs - SHOWN);
	if (!t.logs && t.notes)
		checks_add(&d->checks, CHECK_PROBLEM, "log", "none, for the reason above");
	else if (!t.logs && (stores || t.shares))
		checks_add(&d->checks, CHECK_PROBLEM, "log", "none yet: its stores are still there");
	else if (!t.logs)
		checks_add(&d->checks, CHECK_PROBLEM, "log",
			   "none in %s, and no store on this node: its programs were started without the library, "
			   "a setting excludes them, or the job ran elsewhere: iolens doctor -- PROGRAM examines one",
			   names);
}
