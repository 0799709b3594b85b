/* MPI ranks that outlive the command: who kills them, after MPI_Abort for instance, does not always wait for them. */
#ifndef IOLENS_STRAGGLERS_H
#define IOLENS_STRAGGLERS_H

/*
 * Waits for the ranks of a session that still run, for half a second at most: what a dying rank does until then is in the log.
 * Nothing else is waited for: who leaves a daemon behind does so on purpose.
 */
void stragglers_await(const char *directory);

#endif
