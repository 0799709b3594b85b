#include "own_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "assemble.h"
#include "config.h"
#include "kernel.h"
#include "logname.h"
#include "scratch.h"
#include "session.h"
#include "store.h"
#include "sys.h"
#include "warn.h"

/* Used by one thread: the one that ends the process (life.c lets no second one do so). */
static char written[4096];

static bool has_counted(const struct state_shard *s)
{
	for (const uint64_t *at = (const uint64_t *)(const void *)s->class; at < (const uint64_t *)s->completion; at++)
		if (*at)
			return true;
	return false;
}

bool own_log_wanted(void)
{
	const struct process_state *s = store_state();
	bool much = kernel_moved_much(s->process.kernel_at_start, s->process.kernel_at_end);
	bool wanted = config.logfile || store_bytes() || much;
	for (uint64_t k = 0; !wanted && k < s->shards && k < STATE_SHARDS; k++)
		wanted = has_counted(&s->shard[k]);
	return wanted;
}

/*
 * What is no mistake of the user's, but comes with programs that give up rights or descriptors or change their root: a line for
 * each of their processes would be news in their output.
 */
static bool is_expected(const struct log_error *err)
{
	static const int errors[] = {EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EMFILE, ENFILE};
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (err->system == errors[i])
			return true;
	return false;
}

static void complain(const char *path, const struct log_error *err)
{
	if (is_expected(err) && !config.verbose)
		return;
	warn("%s: log not written: %s%s%s: the store is kept in %s", path, err->message, err->system ? ": " : "",
	     err->system ? warn_error(err->system) : "", session_store_path());
}

void own_log_write(const struct epoch *epoch, int64_t id)
{
	struct assemble_job job = {.epoch = *epoch, .id = id, .ended = epoch_now().realtime};
	struct log_error err = {0};
	size_t size;
	const void *store = store_memory(&size);
	if (config.logfile)
		snprintf(written, sizeof written, "%s", config.logfile);
	else
		logname_make(written, sizeof written, config.logpath, program_invocation_short_name, epoch->realtime,
			     id, sys_pid());
	scratch_use();
	int code = store ? assemble_memory(&job, store, size, written, &err)
			 : log_fail(&err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	if (code < 0) {
		complain(written, &err);
		return;
	}
	store_state()->process.end_reason = STATE_END_LOGGED; /* should we be killed before it is removed */
	session_drop_store();
}

void own_log_withdraw(void)
{
	sys_unlink_at(AT_FDCWD, written);
}
