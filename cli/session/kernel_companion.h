/* The companion that observes by eBPF what nothing can be preloaded into: iolens run --kernel. */
#ifndef IOLENS_KERNEL_COMPANION_H
#define IOLENS_KERNEL_COMPANION_H

#include "child.h"

/*
 * Starts it for the children of this process, and returns its process number. The session's time begins when it is ready. Where it
 * cannot run, one line says why, the job goes on without it, and this returns 0.
 */
pid_t kernel_companion_begin(struct session_dir *session);

bool kernel_companion_is_installed(void);

/* Lets it write what it has; says it if that is not all. */
void kernel_companion_end(pid_t companion);

/* Where there was none: a store of the command with what /proc has told of it as a whole. False with errno. */
bool kernel_totals_write(char **command, const struct session_dir *session, const struct child_end *end);

#endif
