/* What a program's linker is told, so that the runtime is in the program: `iolens config --static-ldflags, --dynamic-ldflags`. */
#ifndef IOLENS_LINK_FLAGS_H
#define IOLENS_LINK_FLAGS_H

#include <stdbool.h>

/*
 * For the static library; `archives` (NULL at the end): those of MPI, HDF5, ... that the program is linked with. `package`: as a
 * file for pkg-config.
 */
int link_flags_static(char **archives, bool package);

int link_flags_dynamic(void);

#endif
