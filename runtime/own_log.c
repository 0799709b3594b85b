#include "own_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "assemble.h"
#include "config.h"
#include "logname.h"
#include "scratch.h"
#include "session.h"
#include "store.h"
#include "sys.h"

static char written[4096];

static void complain(const char *path, const struct log_error *err)
{
	char line[8192];
	int n = snprintf(line, sizeof line, "iolens: %s: log not written: %s%s%s: the store is kept in %s\n", path,
			 err->message, err->system ? ": " : "", err->system ? strerror(err->system) : "",
			 session_store_path());
	if (n > 0)
		sys_write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void write_now(const struct epoch *epoch, int64_t id)
{
	struct assemble_job job = {.epoch = *epoch, .id = id, .ended = epoch_now().realtime};
	struct log_error err = {0};
	size_t size;
	const void *store = store_image(&size);
	if (config.logfile)
		snprintf(written, sizeof written, "%s", config.logfile);
	else
		logname_make(written, sizeof written, config.logpath, program_invocation_short_name, epoch->realtime,
			     id, sys_pid());
	scratch_use();
	if (assemble_memory(&job, store, size, written, &err) < 0)
		complain(written, &err);
	else
		session_drop_store();
}

/* The thread that ends the process may have 16 KiB of stack, or a guard page just below: the log is written on a stack of our own. */
enum { STACK = 1 << 20 };

static struct {
	const struct epoch *epoch;
	int64_t id;
} task;

static void on_own_stack(void)
{
	write_now(task.epoch, task.id);
}

void own_log_write(const struct epoch *epoch, int64_t id)
{
	static ucontext_t here, there;
	void *stack = sys_map(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1);
	task.epoch = epoch;
	task.id = id;
	if (!stack || getcontext(&there) != 0)
		return;
	there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK};
	there.uc_link = &here;
	makecontext(&there, on_own_stack, 0);
	swapcontext(&here, &there);
	sys_unmap(stack, STACK);
}

void own_log_withdraw(void)
{
	sys_unlink_at(AT_FDCWD, written);
}
