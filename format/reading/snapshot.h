/*
 * A store that may still change, or that is damaged, as a whole and sound one in memory: a compact copy that every step of an
 * assembly sees alike. What is cut off or torn is missing from it, and nothing else.
 */
#ifndef IOLENS_SNAPSHOT_H
#define IOLENS_SNAPSHOT_H

#include <stdbool.h>

#include "alloc.h"
#include "error.h"
#include "process_state.h"

struct snapshot {
	struct log_bytes bytes; /* a store, for log_open_memory */
	bool torn;              /* the file is cut, or holds no account of its process */
	bool other_version;     /* of iolens: torn, too */
	bool changing;          /* two readings were not alike */
};

/* Reads until two readings are alike, at most a few times. */
int snapshot_take(struct snapshot *s, const char *path, struct log_error *err);
void snapshot_free(struct snapshot *s);

/*
 * The process that made the store is one of this machine's: by the name of its host, or because its store lies in memory here, by
 * whatever name a container calls the machine.
 */
bool snapshot_process_is_here(const struct state_process *p, const char *store);

/* True while it runs here. */
bool snapshot_process_runs(const struct state_process *p, const char *store);

/* Its number here, 0 when it does not run here. `here`: it is one of this machine's, whatever its host's name is. */
int64_t snapshot_process_number(const struct state_process *p, bool here);

/* R, S, D, T, ... as the kernel has it; 0 = there is no such process. */
char snapshot_process_state(int64_t pid);

#endif
