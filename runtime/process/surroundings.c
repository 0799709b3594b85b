#include "surroundings.h"

#include <string.h>

#include "arena.h"
#include "config.h"
#include "logname.h"
#include "platform.h"
#include "session.h"
#include "store.h"
#include "sys.h"
#include "thread.h"

char **surroundings_keep(char **environment)
{
	size_t n = 0;
	while (environment && environment[n])
		n++;
	char **kept = arena_take((n + 1) * sizeof *kept);
	return kept && n ? memcpy(kept, environment, n * sizeof *kept) : kept;
}

/* Written at the start, by one thread; its room serves for another text first. */
static char command[3016] AT_START_LARGE;

/* Arguments joined by blanks. A newline would be taken for a mount entry. */
const char *surroundings_command(int argc, char **argv)
{
	static const char mark[] = "<TRUNCATED>";
	char *to = command;
	size_t n = 0, room = sizeof command - 1;
	for (int i = 0; i < argc && n < room; i++) {
		const char *c = i && filter_hits(&config.mask_args, 0, argv[i]) ? "***" : argv[i];
		if (i)
			to[n++] = ' ';
		for (; *c && n < room; c++)
			to[n++] = *c == '\n' ? ' ' : *c;
	}
	to[n] = '\0'; /* the room has served for something else */
	if (n == room)
		memcpy(to + room - (sizeof mark - 1), mark, sizeof mark);
	return to;
}

static const char *variable(void *environment, const char *name)
{
	return config_variable(environment, name);
}

void surroundings_describe(void *environment)
{
	struct process_state *state = store_state();
	const struct platform_source here = {sys_read_file, variable, environment, session_host()};
	char *to = state->optional.platform;
	if (!(state->has & STATE_HAS_PLATFORM) && store_touch_optional(STATE_HAS_PLATFORM, to, PLATFORM_TEXT))
		platform_describe(&here, to);
}

int64_t surroundings_job(char **environment, const char *name)
{
	const struct platform_source here = {NULL, variable, environment, ""};
	return platform_job(&here, name);
}

/* A home whose path is too long for `room`. */
static __attribute__((noinline)) bool opted_out_far(const char *config_home, const char *home)
{
	char path[4096];
	return logname_opt_out(config_home, home, path, sizeof path) && sys_exists(path);
}

bool surroundings_opted_out(char **environment)
{
	const char *config_home = config_variable(environment, "XDG_CONFIG_HOME");
	const char *home = config_variable(environment, "HOME");
	if (logname_opt_out(config_home, home, command, sizeof command))
		return sys_exists(command);
	return opted_out_far(config_home, home);
}
