#include "job_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "life.h"
#include "lock.h"
#include "logname.h"
#include "warn.h"
#include "precompressed.h"
#include "trace_reader.h"
#include "session.h"
#include "store.h"
#include "sys.h"

void job_log_name(char *path, size_t room)
{
	const char *given = config.logfile ? config.logfile : config.logpath ? config.logpath : "";
	const char *begun_in = *given == '/' || !life_is_rank() ? "" : store_state()->process.directory;
	char place[4096];
	snprintf(place, sizeof place, "%s%s%s", begun_in, *begun_in && *given ? "/" : "", given);
	if (config.logfile)
		snprintf(path, room, "%s", place);
	else
		logname_make(path, room, *place ? place : NULL, program_invocation_short_name, life_epoch()->realtime,
			     life_job(), sys_pid());
}

void job_log_failed(const char *path, const struct log_error *err)
{
	const char *directory = session_world_directory();
	if (*directory &&
	    !sys_exists(directory)) /* this rank was stopped for long, and `iolens recover` has been here */
		return;
	warn("%s: log not written: %s%s%s: the stores are kept in %s: `iolens recover %s` makes the log", path,
	     err->message, err->system ? ": " : "", err->system ? warn_error(err->system) : "", directory, directory);
}

void job_log_incomplete(const char *path)
{
	warn("%s: log incomplete: some stores could not be read: they are kept in %s", path, session_world_directory());
}

/* Should we end before the stores are removed, `iolens recover` must not make the log again: ours says so, and goes last. */
void job_log_not_all(void)
{
	const char *directory = session_world_directory();
	bool collected = *directory && !sys_exists(directory); /* by `iolens recover`, while this rank was stopped */
	if (!collected)
		warn("not all ranks came to MPI_Finalize within %g s: the stores are kept in %s: `iolens recover %s` "
		     "makes "
		     "the log",
		     config.finalize_timeout, directory, directory);
}

void job_log_late(uint64_t log, double speed, double left)
{
	const char *directory = session_world_directory();
	warn("writing the log takes %.0f s more (%.3g MB in all, %.3g MB/s), longer than IOLENS_FINALIZE_TIMEOUT (%g "
	     "s) "
	     "allows: the stores will be kept in %s: `iolens recover %s` makes the log",
	     left, (double)log * 1e-6, speed * 1e-6, config.finalize_timeout, directory, directory);
}

static void say_logged(const char *mine)
{
	if (*mine)
		store_state()->process.end_reason = STATE_END_LOGGED;
}

struct assembly_call {
	const struct assemble_job *job;
	const char *const *stores;
	size_t n;
	const char *path;
	struct log_error *err;
	int code;
};

static void assemble(void *call)
{
	struct assembly_call *c = call;
	c->code = assemble_stores(c->job, c->stores, c->n, c->path, c->err);
}

bool job_log_write(const char *const *stores, size_t n, const struct assemble_phase *phases, size_t nphases,
		   uint64_t deadline)
{
	char path[4096];
	if (!n)
		return true;
	job_log_name(path, sizeof path);
	struct log_error err = {0};
	struct assemble_job job = {
		.epoch = *life_epoch(),
		.id = life_job(),
		.ended = sys_nanoseconds(CLOCK_REALTIME),
		.phases = phases,
		.nphases = nphases,
		.first = n > 1 ? stores[0] : NULL,
		.second = n > 1 ? stores[1] : NULL,
		.deadline = (int64_t)deadline,
	};
	const char *mine = life_is_rank() ? session_store_path() : "";
	if (*mine) {
		job.own = mine;
		job.memory = store_memory(&job.size);
	}
	struct assembly_call call = {&job, stores, n, path, &err, 0};
	alone_do_long(assemble, &call);
	int code = call.code;
	if (code >= 0 && (size_t)code == n) {
		say_logged(mine);
		return true;
	}
	if (code < 0)
		job_log_failed(path, &err);
	else
		job_log_incomplete(path);
	return false;
}

static void remove_precompressed(const char *const *stores, size_t n)
{
	static const char *const suffixes[] = {PRECOMPRESSED_SUFFIX, TRACES_AHEAD_SUFFIX};
	char path[1024];
	bool traced = store_state() && store_state()->trace.used;
	for (size_t k = 0; (n > 1 || traced) && k < n; k++)
		for (int s = 0; s < 2; s++) {
			snprintf(path, sizeof path, "%s%s", stores[k], suffixes[s]);
			sys_unlink_at(AT_FDCWD, path);
		}
}

static void remove_store(const char *store)
{
	char directory[1024];
	snprintf(directory, sizeof directory, "%s", store);
	char *slash = strrchr(directory, '/');
	sys_unlink_at(AT_FDCWD, store);
	if (slash)
		*slash = '\0';
	sys_remove_directory(directory);
}

static void remove_stores(const char *const *stores, size_t n)
{
	const char *mine = life_is_rank() ? session_store_path() : "";
	say_logged(mine);
	remove_precompressed(stores, n);
	for (size_t k = 0; k < n; k++)
		if (strcmp(stores[k], mine) != 0)
			remove_store(stores[k]);
	for (size_t k = 0; k < n; k++)
		if (strcmp(stores[k], mine) == 0)
			remove_store(mine);
}

void job_log_settle(const char *const *stores, size_t n, bool done)
{
	if (done)
		remove_stores(stores, n);
	else
		remove_precompressed(stores, n);
}

bool job_log(const char *const *stores, size_t n, const struct assemble_phase *phases, size_t nphases,
	     uint64_t deadline)
{
	bool done = job_log_write(stores, n, phases, nphases, deadline);
	job_log_settle(stores, n, done);
	return done;
}
