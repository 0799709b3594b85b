#include "surroundings.h"

#include <string.h>

#include "arena.h"
#include "config.h"
#include "own_stack.h"
#include "platform.h"
#include "session.h"
#include "store.h"
#include "sys.h"

char **surroundings_keep(char **environment)
{
	size_t n = 0;
	while (environment && environment[n])
		n++;
	char **kept = arena_take((n + 1) * sizeof *kept);
	return kept && n ? memcpy(kept, environment, n * sizeof *kept) : kept;
}

static const char *variable(void *environment, const char *name)
{
	return config_variable(environment, name);
}

static void describe(void *environment)
{
	struct process_state *state = store_state();
	const struct platform_source here = {sys_read_file, variable, environment, session_host()};
	char *to = state->optional.platform;
	if (!(state->has & STATE_HAS_PLATFORM) && store_touch_optional(STATE_HAS_PLATFORM, to, PLATFORM_TEXT))
		platform_describe(&here, to);
}

/* The thread that ends a process, or calls MPI_Init, may have the smallest stack there is. */
void surroundings_describe(char **environment)
{
	own_stack_call(describe, environment);
}

int64_t surroundings_job(char **environment, const char *name)
{
	const struct platform_source here = {NULL, variable, environment, ""};
	return platform_job(&here, name);
}
