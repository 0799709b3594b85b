#include "launcher.h"

#include <string.h>

bool launcher_program(const char *path)
{
	static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "prun",
					    "srun",   "aprun",   "jsrun",   "flux",    "ibrun"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
		size_t length = strlen(names[n]);
		if (strncmp(name, names[n], length) == 0 && (!name[length] || name[length] == '.'))
			return true;
	}
	return false;
}
