/*
 * The observed command as our child. It gets the signals, the descriptors and the environment it would have without us;
 * when it has ended we end the same way.
 */
#ifndef IOLENS_CHILD_H
#define IOLENS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "process_state.h"
#include "session_dir.h"

struct child_end {
	pid_t pid;
	int status;                 /* as of waitpid */
	int64_t io[STATE_IO_COUNT]; /* the kernel's counts of it and of whom it waited for; all 0 = not known */
	double used;                /* s of a processor, likewise */
	int start_error;            /* errno of an exec that failed, 0 = it did not */
};

/* Before the first file is written: `ulimit -f` must not end us. The command gets the caller's disposition. */
void child_ignore_file_size(void);

/*
 * Starts the command, passes on what is sent to us alone, and waits for its end. Returns 0, or an exit code when no
 * process could be made (the reason printed). From then on signals are blocked and SIGPIPE and SIGXFSZ ignored: what we
 * write cannot end us.
 */
int child_run(char **command, struct session_dir *session, struct child_end *end);

/* Ends this process with the command's exit code or by its signal. */
_Noreturn void child_same_end(int status);

#endif
