/*
 * Weak references. By one to MPI_Init a program or library asks whether there is an MPI; the linker answers with our wrapper.
 */
#ifndef IOLENS_WEAK_H
#define IOLENS_WEAK_H

#include <link.h>
#include <stdbool.h>

/* Those of what began with the program, to names that only this library defines, are NULL, as without it. By the start's one thread. */
void weak_unbind(const struct link_map *own);

/* A loaded object refers to the name by a reference that is not weak: without us the linker would have refused. `torn`: resolve_torn. */
bool weak_is_needed(const struct link_map *own, const char *symbol, bool torn);

#endif
