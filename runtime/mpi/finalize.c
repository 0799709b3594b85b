#include "finalize.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "assemble.h"
#include "clock.h"
#include "config.h"
#include "hash.h"
#include "logname.h"
#include "note.h"
#include "session.h"
#include "sys.h"

enum request { OPEN, GATHER, OUTCOME };
enum { ROOT = 0, STORE_PATH = 176 };

/* What a rank tells the root. */
struct hello {
	uint64_t host;
	char store[STORE_PATH]; /* "" = it has none */
};

enum verdict { WRITTEN = 1, NOTHING, FAILED };

/* What the root tells everybody. */
struct outcome {
	int32_t verdict;
};

struct gathering {
	const struct mpi_backend *mpi;
	const struct life_world *world;
	uint64_t deadline; /* ns, monotonic */
	struct hello *all; /* at the root */
	struct assemble_phase phase[2];
};

/* ---- a mark on this node that somebody has left without the others: who comes later need not wait as long again ---- */

static void mark_path(char *out, size_t room)
{
	snprintf(out, room, "%s/left", session_world_directory());
}

static void leave_mark(void)
{
	char path[512];
	mark_path(path, sizeof path);
	int fd = session_world_directory()[0] ? sys_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd >= 0)
		sys_close(fd);
}

static bool somebody_left(void)
{
	char path[512];
	struct stat s;
	mark_path(path, sizeof path);
	return sys_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, 0, 0, 0) == 0;
}

/* ---- waiting: others may need the processor to come here ---- */

enum { NAP_MIN = 20000, NAP_MAX = 4000000 };

/* The longer it has taken, the longer it may be slept on: an eighth more, in the end. */
static void rest(unsigned turn, uint64_t waited)
{
	uint64_t nap = waited / 8;
	struct timespec t = {.tv_nsec = (long)(nap < NAP_MIN ? NAP_MIN : nap > NAP_MAX ? NAP_MAX : nap)};
	if (turn < 8)
		sched_yield();
	else
		nanosleep(&t, NULL);
}

static bool await(const struct gathering *g, enum request request)
{
	uint64_t begun = clock_monotonic();
	for (unsigned turn = 0;; turn++) {
		bool done = false;
		if (g->mpi->test(request, &done) != 0)
			return false;
		if (done)
			return true;
		if (clock_monotonic() > g->deadline || (turn % 32 == 31 && somebody_left()))
			return false;
		rest(turn, clock_monotonic() - begun);
	}
}

/* ---- the steps ---- */

static struct hello introduce(bool has_store)
{
	struct hello h = {.host = log_id(session_host())};
	const char *path = session_store_path();
	if (has_store && strlen(path) < sizeof h.store)
		memcpy(h.store, path, strlen(path));
	return h;
}

static bool gather(struct gathering *g, bool has_store)
{
	struct hello mine = introduce(has_store);
	uint64_t begun = clock_monotonic(), opened;
	if (g->mpi->open_begin(OPEN) != 0 || !await(g, OPEN) || g->mpi->open_end() != 0)
		return false;
	opened = clock_monotonic();
	if (g->world->rank == ROOT && !(g->all = calloc((size_t)g->world->size, sizeof *g->all)))
		return false;
	if (g->mpi->gather(GATHER, &mine, g->all, sizeof mine, ROOT) != 0 || !await(g, GATHER))
		return false;
	g->phase[0] = (struct assemble_phase){"open", (double)(opened - begun) * 1e-9};
	g->phase[1] = (struct assemble_phase){"gather", (double)(clock_monotonic() - opened) * 1e-9};
	return true;
}

static void remember(void *context, const char *path)
{
	(void)path;
	*(int *)context += 1;
}

static enum verdict assemble(struct gathering *g, const char **stores, size_t n)
{
	char path[4096];
	struct log_error err = {0};
	int logs = 0;
	struct assemble_job job = {
		.epoch = *life_epoch(),
		.id = life_job(),
		.ended = sys_nanoseconds(CLOCK_REALTIME),
		.phases = g->phase,
		.nphases = 2,
		.wrote = remember,
		.context = &logs,
		.deadline = (int64_t)g->deadline,
	};
	if (config.logfile)
		snprintf(path, sizeof path, "%s", config.logfile);
	else
		logname_make(path, sizeof path, config.logpath, program_invocation_short_name, job.epoch.realtime,
			     job.id, sys_pid());
	int code = assemble_stores(&job, stores, n, path, &err);
	if (code >= 0 && (size_t)code == n)
		return WRITTEN;
	note("%s: %s: %s%s%s: the stores are kept in %s: `iolens recover %s` makes the log", path,
	     code < 0 ? "log not written" : "log incomplete", code < 0 ? err.message : "stores could not be read",
	     code < 0 && err.system ? ": " : "", code < 0 && err.system ? strerror(err.system) : "",
	     session_world_directory(), session_world_directory());
	return FAILED;
}

static enum verdict make_log(struct gathering *g)
{
	const char **stores = calloc((size_t)g->world->size, sizeof *stores);
	size_t n = 0;
	for (int64_t r = 0; stores && r < g->world->size; r++) {
		g->all[r].store[STORE_PATH - 1] = '\0';
		if (g->all[r].store[0])
			stores[n++] = g->all[r].store;
	}
	enum verdict v = !stores ? FAILED : n ? assemble(g, stores, n) : NOTHING;
	for (size_t k = 0; v == WRITTEN && k < n; k++)
		sys_unlink_at(AT_FDCWD, stores[k]);
	if (v == WRITTEN)
		sys_remove_directory(session_world_directory());
	free(stores);
	return v;
}

static bool finish(struct gathering *g)
{
	struct outcome o = {0};
	if (g->world->rank == ROOT)
		o.verdict = make_log(g);
	if (g->mpi->broadcast(OUTCOME, &o, sizeof o, ROOT) != 0 || !await(g, OUTCOME))
		return false;
	return g->mpi->close() == 0;
}

void finalize_world(const struct mpi_backend *b, const struct life_world *world, bool has_store)
{
	struct gathering g = {.mpi = b, .world = world};
	g.deadline = clock_monotonic() + (uint64_t)(config.finalize_timeout * 1e9);
	if (!b->may_communicate())
		return;
	bool together = !somebody_left() && gather(&g, has_store);
	if (!together || !finish(&g))
		leave_mark();
	if (!together && world->rank == ROOT)
		note("not all ranks came to MPI_Finalize within %g s: the stores are kept in %s: `iolens recover %s` "
		     "makes "
		     "the log",
		     config.finalize_timeout, session_world_directory(), session_world_directory());
	free(g.all);
}
