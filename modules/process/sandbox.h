/*
 * Filters of system calls that the program sets for itself and for what it starts. One that kills where iolens makes a call ends
 * the next program over the library: such programs are started without it.
 */
#ifndef IOLENS_PROCESS_SANDBOX_H
#define IOLENS_PROCESS_SANDBOX_H

#include <linux/filter.h>
#include <stdbool.h>

/* The kernel has accepted it. */
void sandbox_filter_set(const struct sock_fprog *filter);

/* True once one of them kills. Children have the filters, too. */
bool sandbox_kills(void);

#endif
