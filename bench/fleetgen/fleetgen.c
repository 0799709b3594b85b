/*
 * A machine's jobs: the logs of a population of users, in Darshan's folders, with their accounting and what is known of them.
 *
 *	fleetgen OUT [--logs 261890] [--seed 1] [--days 72] [--users 1200] [--start 2013-01-01] [--files 40]
 *	         [--most 5000] [--screened 1] [--damaged 0] [--workers N]
 *
 * OUT/logs/YEAR/MONTH/DAY/...darshan, OUT/accounting.txt (sacct --parsable2), OUT/logs.csv and OUT/truth.json. The same
 * numbers make the same bytes, with any number of workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dice.h"
#include "job_log.h"
#include "truth.h"

struct settings {
	struct wanted wanted;
	double files;
	int64_t most, damaged, workers;
	const char *out;
};

static int64_t number(const char *text, const char *option, int64_t least)
{
	char *end;
	errno = 0;
	int64_t value = strtoll(text, &end, 10);
	if (*end || errno || value < least) {
		fprintf(stderr, "fleetgen: --%s: %s is no number of %" PRId64 " or more\n", option, text, least);
		exit(2);
	}
	return value;
}

static int64_t midnight(const char *text)
{
	struct tm day = {0};
	const char *end = strptime(text, "%Y-%m-%d", &day);
	if (!end || *end) {
		fprintf(stderr, "fleetgen: --start: %s is no date as 2013-01-01\n", text);
		exit(2);
	}
	return timegm(&day);
}

static struct settings read_settings(int argc, char **argv)
{
	static const struct option options[] = {
		{"logs", 1, NULL, 'l'},    {"seed", 1, NULL, 's'},     {"days", 1, NULL, 'd'},
		{"users", 1, NULL, 'u'},   {"start", 1, NULL, 't'},    {"files", 1, NULL, 'f'},
		{"most", 1, NULL, 'm'},    {"screened", 1, NULL, 'x'}, {"damaged", 1, NULL, 'b'},
		{"workers", 1, NULL, 'w'}, {NULL, 0, NULL, 0}};
	struct settings s = {
		{261890, 1200, 72, 1, midnight("2013-01-01"), 1}, 40, 5000, 0, sysconf(_SC_NPROCESSORS_ONLN), ""};
	struct {
		int letter;
		int64_t *to, least;
	} numbers[] = {{'l', &s.wanted.logs, 1},     {'d', &s.wanted.days, 1}, {'u', &s.wanted.users, 1},
		       {'x', &s.wanted.screened, 0}, {'m', &s.most, 1},        {'b', &s.damaged, 0},
		       {'w', &s.workers, 1}};
	int letter, index = 0;
	while ((letter = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (letter == '?')
			exit(2);
		if (letter == 't')
			s.wanted.start = midnight(optarg);
		else if (letter == 's')
			s.wanted.seed = (uint64_t)number(optarg, "seed", 0);
		else if (letter == 'f')
			s.files = (double)number(optarg, "files", 1);
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			if (numbers[i].letter == letter)
				*numbers[i].to = number(optarg, options[index].name, numbers[i].least);
	}
	if (optind + 1 != argc) {
		fputs("usage: fleetgen OUT [--logs N] [--seed N] [--days N] [--users N] [--start DATE] [--files MEAN]\n"
		      "                [--most N] [--screened FACTOR] [--damaged N] [--workers N]\n",
		      stderr);
		exit(2);
	}
	s.out = argv[optind];
	return s;
}

static void make_folders(const char *path)
{
	char part[PATH_MAX];
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0755) != 0 && errno != EEXIST) {
			fprintf(stderr, "fleetgen: cannot make %s: %s\n", part, strerror(errno));
			exit(1);
		}
	}
}

/* Of so many logs these are cut off within their header. */
static bool is_damaged(const struct settings *s, int log)
{
	return log * s->damaged / s->wanted.logs != (log + 1) * s->damaged / s->wanted.logs;
}

static void damage(const char *path, struct outcome *o)
{
	o->damaged = 1;
	o->size = 700;
	if (chmod(path, 0600) != 0 || truncate(path, o->size) != 0 || chmod(path, 0400) != 0)
		fprintf(stderr, "fleetgen: cannot cut %s\n", path);
}

/* Every n-th job; the outcomes are shared with the other workers. */
static int work(const struct settings *s, const struct population *p, struct outcome *outcomes, int worker)
{
	char path[PATH_MAX], name[PATH_ROOM];
	char folder[PATH_MAX] = "";
	for (size_t i = (size_t)worker; i < p->njobs; i += (size_t)s->workers)
		for (int n = 0; n < p->jobs[i].logs; n++) {
			const struct job *j = &p->jobs[i];
			struct outcome *o = &outcomes[j->first_log + n];
			int64_t start, end;
			job_log_path(name, p, j, n);
			snprintf(path, sizeof path, "%s/logs/%s", s->out, name);
			size_t length = (size_t)(strrchr(path, '/') - path);
			if (strncmp(folder, path, length) != 0 || folder[length]) {
				make_folders(path);
				snprintf(folder, sizeof folder, "%.*s", (int)length, path);
			}
			if (job_log_write(path, p, j, n, s->files, (int)s->most, o) != 0)
				return 1;
			o->job = i;
			if (is_damaged(s, j->first_log + n))
				damage(path, o);
			job_log_times(j, n, &start, &end);
			utimensat(AT_FDCWD, path, (struct timespec[2]){{end, 0}, {end, 0}}, 0);
		}
	return 0;
}

static int write_logs(const struct settings *s, const struct population *p, struct outcome *outcomes)
{
	int failed = 0, status;
	for (int worker = 0; worker < s->workers; worker++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(work(s, p, outcomes, worker));
		failed |= pid < 0;
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct settings s = read_settings(argc, argv);
	struct population p;
	char path[PATH_MAX];
	population_draw(&p, &s.wanted);
	size_t room = (size_t)s.wanted.logs * sizeof(struct outcome);
	struct outcome *outcomes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcomes == MAP_FAILED) {
		fputs("fleetgen: out of memory\n", stderr);
		return 1;
	}
	snprintf(path, sizeof path, "%s/logs/", s.out);
	make_folders(path);
	if (write_logs(&s, &p, outcomes) != 0)
		return 1;
	snprintf(path, sizeof path, "%s/accounting.txt", s.out);
	int failed = truth_accounting(path, &p);
	snprintf(path, sizeof path, "%s/logs.csv", s.out);
	failed |= truth_logs(path, &p, outcomes);
	snprintf(path, sizeof path, "%s/truth.json", s.out);
	failed |= truth_json(path, &p, outcomes);
	munmap(outcomes, room);
	population_free(&p);
	return failed ? 1 : 0;
}
