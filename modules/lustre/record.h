/*
 * Where files lie on Lustre. The modules that open files say when one was opened and when it is about to be closed; on other file
 * systems that is a look at the file's name, and no system call.
 */
#ifndef IOLENS_LUSTRE_RECORD_H
#define IOLENS_LUSTRE_RECORD_H

#include <stdint.h>

#include "names.h"

/* Inside self_enter; fd is open on the file. */
void lustre_ask(struct name *n, int fd);

/* The same of a file whose layout was growing, if the process has written up to a byte that had no place then. */
void lustre_ask_again(struct name *n, int fd, int64_t last_written);

static inline void lustre_on_open(struct name *n, int fd)
{
	if (__atomic_load_n(&n->layout, __ATOMIC_RELAXED))
		lustre_ask(n, fd);
}

static inline void lustre_on_closing(struct name *n, int fd, int64_t last_written)
{
	if (__atomic_load_n(&n->layout, __ATOMIC_RELAXED) == NAMES_LAYOUT_GROWS)
		lustre_ask_again(n, fd, last_written);
}

#endif
