/* iolens recover: the log of a job whose stores are still there: killed, deferred, or too slow to finish together. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assemble.h"
#include "cli.h"
#include "image.h"
#include "logname.h"

static const char help[] =
	"usage: iolens recover [-o LOG] [--remove] STORE|DIRECTORY...\n"
	"\n"
	"Makes the log of a job from the stores that its processes left: given one by one, or all of a directory.\n"
	"\n"
	"  -o, --output LOG  write the log to LOG, which must not exist\n"
	"      --remove      remove the stores when the log is written\n"
	"  -h, --help        this text\n"
	"\n"
	"Where the stores are of several MPI jobs, each gets a log: LOG-mpi1, LOG-mpi2, and LOG-serial for the rest.\n"
	"Without -o the log goes to the directory $IOLENS_LOGPATH, else to the current one, under Darshan's naming "
	"scheme.\n";

struct recovery {
	const char *log;
	bool remove;
	char **stores;
	size_t used, room;
};

static int add_store(struct recovery *r, const char *directory, const char *name)
{
	if (r->used == r->room) {
		r->room = r->room ? 2 * r->room : 64;
		r->stores = realloc(r->stores, r->room * sizeof *r->stores);
	}
	size_t n = strlen(directory) + strlen(name) + 2;
	char *path = r->stores ? malloc(n) : NULL;
	if (!path)
		return cli_fail(CLI_INPUT, "recover: not enough memory");
	snprintf(path, n, "%s%s%s", directory, *directory ? "/" : "", name);
	r->stores[r->used++] = path;
	return 0;
}

static int add_directory(struct recovery *r, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int code = dir ? 0 : cli_fail(CLI_INPUT, "recover: %s: %s", path, strerror(errno));
	while (!code && (entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);
		if (n > 6 && strcmp(entry->d_name + n - 6, ".store") == 0)
			code = add_store(r, path, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return code;
}

static int add_argument(struct recovery *r, const char *path)
{
	struct stat s;
	if (stat(path, &s) != 0)
		return cli_fail(CLI_INPUT, "recover: %s: %s", path, strerror(errno));
	return S_ISDIR(s.st_mode) ? add_directory(r, path) : add_store(r, "", path);
}

static int parse(struct recovery *r, char **at)
{
	int code = 0;
	for (; *at && !code; at++) {
		if (strcmp(*at, "-h") == 0 || strcmp(*at, "--help") == 0) {
			fputs(help, stdout);
			return -1;
		} else if ((strcmp(*at, "-o") == 0 || strcmp(*at, "--output") == 0) && at[1]) {
			r->log = *++at;
		} else if (strncmp(*at, "--output=", 9) == 0) {
			r->log = *at + 9;
		} else if (strcmp(*at, "--remove") == 0) {
			r->remove = true;
		} else if (**at == '-') {
			code = cli_fail(CLI_USAGE, "recover: unknown option %s (see iolens recover --help)", *at);
		} else {
			code = add_argument(r, *at);
		}
	}
	if (!code && !r->used)
		code = cli_fail(CLI_USAGE, "recover: no store given, or none there (see iolens recover --help)");
	return code;
}

/* After the first store that can be read. */
static void name_log(const struct recovery *r, char *path, size_t room)
{
	const char *ours = getenv("IOLENS_LOGPATH"), *alias = getenv("DARSHAN_LOGPATH");
	const char *root = ours && *ours ? ours : alias && *alias ? alias : NULL;
	for (size_t n = 0; n < r->used; n++) {
		struct image i;
		struct log_error err;
		const struct log_job *job;
		bool good = image_open_file(&i, r->stores[n], &err) >= 0 && image_load_live(&i, &err) >= 0 &&
			    log_job(i.log, &job, &err) >= 0;
		if (good)
			logname_make(path, room, root, i.live->process.exe, i.live->process.started, job->id,
				     i.live->process.pid);
		image_close(&i);
		if (good)
			return;
	}
	snprintf(path, room, "recovered.darshan");
}

static void announce(void *nothing, const char *path)
{
	(void)nothing;
	puts(path);
}

static bool is_only(const char *directory, const char *name)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	bool only = dir;
	while (only && (entry = readdir(dir)))
		only = entry->d_name[0] == '.' || strcmp(entry->d_name, name) == 0;
	if (dir)
		closedir(dir);
	return only;
}

/* The store, and the directory of an MPI job when it was the last. */
static void remove_store(char *path)
{
	char mark[4096];
	unlink(path);
	char *slash = strrchr(path, '/');
	if (!slash || !strstr(path, "/iolens-"))
		return;
	*slash = '\0';
	snprintf(mark, sizeof mark, "%s/left", path);
	if (rmdir(path) != 0 && access(mark, F_OK) == 0 && is_only(path, "left")) {
		unlink(mark);
		rmdir(path);
	}
}

static int tell(const struct assemble_found *found, const struct recovery *r)
{
	if (found->torn)
		cli_fail(0, "recover: %zu of %zu stores are damaged: the log has what is left of them", found->torn,
			 r->used);
	if (found->lost)
		cli_fail(0, "recover: %zu of %zu stores could not be read: the log is without them", found->lost,
			 r->used);
	if (found->running)
		cli_fail(0, "recover: %zu process%s still run%s: the log has what was done until now%s", found->running,
			 found->running == 1 ? "" : "es", found->running == 1 ? "s" : "",
			 r->remove ? ", and the stores are kept" : "");
	return found->torn || found->lost || found->running ? CLI_PARTIAL : CLI_OK;
}

static int recover(struct recovery *r)
{
	char name[4096];
	struct log_error err;
	struct assemble_found found = {0};
	struct assemble_job job = {.found = &found, .wrote = announce};
	if (r->log)
		snprintf(name, sizeof name, "%s", r->log);
	else
		name_log(r, name, sizeof name);
	int images = assemble_stores(&job, (const char *const *)r->stores, r->used, name, &err);
	if (images < 0)
		return cli_fail(CLI_INPUT, "recover: %s: %s%s%s", name, err.message, err.system ? ": " : "",
				err.system ? strerror(err.system) : "");
	for (size_t n = 0; r->remove && !found.running && n < r->used; n++)
		remove_store(r->stores[n]);
	return tell(&found, r);
}

int recover_main(int argc, char **argv)
{
	struct recovery r = {0};
	(void)argc;
	int code = parse(&r, argv + 1);
	if (!code)
		code = recover(&r);
	for (size_t n = 0; n < r.used; n++)
		free(r.stores[n]);
	free(r.stores);
	return code < 0 ? 0 : code;
}
