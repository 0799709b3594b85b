/* Whether a command may have processes on other nodes than its own. */
#ifndef IOLENS_OTHER_NODES_H
#define IOLENS_OTHER_NODES_H

#include <stdbool.h>

/* It starts MPI programs or parallel steps, or there is an allocation of several nodes around us. */
bool other_nodes_likely(const char *command);

#endif
