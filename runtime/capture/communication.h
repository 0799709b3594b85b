/*
 * Whether the communication of MPI is counted. Its calls are wrapped by a library of its own, libiolens-communication.so, which
 * is preloaded instead of the other one: a program that does not ask for it finds none of those names, and pays nothing.
 */
#ifndef IOLENS_COMMUNICATION_H
#define IOLENS_COMMUNICATION_H

#include <stdbool.h>

#include "config.h"

/* Defined in that library alone. */
extern const bool communication_wrapped __attribute__((weak, visibility("hidden")));

static inline bool communication_counted(void)
{
	return &communication_wrapped && config_module_on(LOG_MOD_APMPI);
}

#endif
