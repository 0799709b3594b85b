#include "job_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "life.h"
#include "logname.h"
#include "note.h"
#include "session.h"
#include "sys.h"

static void name_log(char *path, size_t room)
{
	if (config.logfile)
		snprintf(path, room, "%s", config.logfile);
	else
		logname_make(path, room, config.logpath, program_invocation_short_name, life_epoch()->realtime,
			     life_job(), sys_pid());
}

static void explain(const char *path, int code, const struct log_error *err)
{
	const char *directory = session_world_directory();
	if (code < 0)
		note("%s: log not written: %s%s%s: the stores are kept in %s: `iolens recover %s` makes the log", path,
		     err->message, err->system ? ": " : "", err->system ? strerror(err->system) : "", directory,
		     directory);
	else
		note("%s: log incomplete: some stores could not be read: they are kept in %s", path, directory);
}

bool job_log(const char *const *stores, size_t n, const struct assemble_phase *phases, size_t nphases,
	     uint64_t deadline)
{
	char path[4096];
	struct log_error err = {0};
	struct assemble_job job = {
		.epoch = *life_epoch(),
		.id = life_job(),
		.ended = sys_nanoseconds(CLOCK_REALTIME),
		.phases = phases,
		.nphases = nphases,
		.deadline = (int64_t)deadline,
	};
	if (!n)
		return true;
	name_log(path, sizeof path);
	int code = assemble_stores(&job, stores, n, path, &err);
	if (code < 0 || (size_t)code < n) {
		explain(path, code, &err);
		return false;
	}
	for (size_t k = 0; k < n; k++)
		sys_unlink_at(AT_FDCWD, stores[k]);
	return true;
}
