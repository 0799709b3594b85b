/*
 * Where the program opens its files: the call's return address, as a library and an offset in it
 * (format/store/process_state.h), and the lines of Python code that the thread is in (python_lines.h). One native frame: the wrapper's
 * caller. A wrapper puts SITE around the call that records an open:
 *
 *	SITE(posix_on_open(s, fd, AT_FDCWD, path, flags, mode));
 *
 * and what counts the open in a record calls site_opened.
 */
#ifndef IOLENS_SITE_H
#define IOLENS_SITE_H

#include "file.h"
#include "self.h"

#define SITE_FROM(address, call)                    \
	do {                                        \
		self.caller = (uintptr_t)(address); \
		call;                               \
		self.caller = 0;                    \
	} while (0)

#define SITE(call) SITE_FROM(__builtin_return_address(0), call)

void site_keep(struct file *f, enum written slot);

/* The first open whose caller is known counts. Holds the file's lock. */
static inline void site_opened(struct file *f, enum written slot)
{
	if (!f->site || !SITE_CODE(f->site->at))
		site_keep(f, slot);
}

/* The lines of Python code that the calling thread is in, as the number of a site's code; 0: there are none, or no room. */
uint64_t site_stack(void);

/* Of this process, nothing is known yet: it has another store. */
void site_reset(void);

#endif
