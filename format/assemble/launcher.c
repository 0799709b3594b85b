#include "launcher.h"

#include <stddef.h>
#include <string.h>

static bool is_one_of(const char *path, const char *const *names)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (; *names; names++) {
		size_t length = strlen(*names);
		if (strncmp(name, *names, length) == 0 && (!name[length] || name[length] == '.'))
			return true;
	}
	return false;
}

bool launcher_program(const char *path)
{
	static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "prun", "srun",
					    "aprun",  "jsrun",   "flux",    "ibrun",   NULL};
	return is_one_of(path, names);
}

bool launcher_remote_shell(const char *path)
{
	static const char *const names[] = {"ssh", "rsh", NULL};
	return is_one_of(path, names);
}
