#include "witness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload.h"

enum { SECONDS = 10 };

/* A name that the loader would take apart becomes that of a descriptor. */
static void name_library(const char *library)
{
	char name[32];
	if (!preload_loadable(library)) {
		snprintf(name, sizeof name, "/proc/self/fd/%d", open(library, O_RDONLY));
		library = name;
	}
	setenv("LD_PRELOAD", library, 1);
}

static bool is_setting(const char *variable)
{
	return strncmp(variable, "IOLENS_", 7) == 0 || strncmp(variable, "DARSHAN_", 8) == 0;
}

static void forget_settings(void)
{
	char name[128];
	for (char **e = environ; *e;) {
		snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e);
		if (!is_setting(*e) || unsetenv(name) != 0)
			e++;
	}
}

static void choose_settings(const struct witness *w)
{
	static const char *const others[] = {"IOLENS_SESSION", "IOLENS_SESSION_SHARED", "IOLENS_SESSION_OTHERS",
					     "IOLENS_EPOCH",   "IOLENS_ENABLE_NONMPI",  "DARSHAN_ENABLE_NONMPI"};
	if (w->bare)
		forget_settings();
	for (size_t n = 0; n < sizeof others / sizeof *others; n++)
		unsetenv(others[n]);
	if (w->session)
		setenv("IOLENS_SESSION", w->session, 1);
	else
		setenv("IOLENS_DUMP_CONFIG", "", 1);
	if (w->file)
		setenv("IOLENS_CONFIG_PATH", w->file, 1);
}

static void become(const struct witness *w, int out)
{
	char *argv[] = {(char *)(w->name ? w->name : "true"), NULL};
	name_library(w->library);
	choose_settings(w);
	dup2(out, STDERR_FILENO);
	alarm(SECONDS);
	execvp("true", argv);
	_exit(127);
}

FILE *witness_start(struct witness *w)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return NULL;
	w->pid = fork();
	if (w->pid == 0)
		become(w, ends[1]);
	close(ends[1]);
	FILE *told = w->pid < 0 ? NULL : fdopen(ends[0], "r");
	if (!told)
		close(ends[0]);
	return told;
}

int witness_end(struct witness *w, FILE *told)
{
	int status = 0;
	fclose(told);
	waitpid(w->pid, &status, 0);
	return status;
}
