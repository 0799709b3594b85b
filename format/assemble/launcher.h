/* Programs that start the processes of a parallel job, on this node or others. */
#ifndef IOLENS_LAUNCHER_H
#define IOLENS_LAUNCHER_H

#include <stdbool.h>

/* By the last part of its path, whatever follows a dot: mpirun.openmpi is one. */
bool launcher_program(const char *path);

/* What a launcher starts others with, where no daemon does. */
bool launcher_remote_shell(const char *path);

#endif
