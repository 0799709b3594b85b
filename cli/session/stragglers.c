#include "stragglers.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "store_reader.h"
#include "recovery.h"
#include "snapshot.h"
#include "storename.h"

enum { PATIENCE_MS = 500, NAP_MS = 2 };

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* By the name alone: there may be thousands. */
static bool may_run(const char *store)
{
	pid_t pid = (pid_t)storename_pid(store);
	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

static bool is_running_rank(const char *path, struct state_process *out)
{
	struct store_reader i;
	struct log_error err;
	bool good = store_reader_open_file(&i, path, &err) >= 0 && store_reader_load_state(&i, &err) >= 0;
	if (good)
		*out = i.state->process;
	store_reader_close(&i);
	return good && out->mpi_size > 0 && !out->end_reason && snapshot_process_runs(out, path);
}

void stragglers_await(const char *directory)
{
	struct recovery stores = {0};
	struct state_process rank;
	if (recovery_add_directory(&stores, directory))
		return;
	int64_t until = now_ms() + PATIENCE_MS;
	for (size_t n = 0; n < stores.used && now_ms() < until; n++) {
		bool waits = may_run(stores.stores[n]) && is_running_rank(stores.stores[n], &rank);
		while (waits && now_ms() < until && snapshot_process_runs(&rank, stores.stores[n]))
			nanosleep(&(struct timespec){0, NAP_MS * 1000000}, NULL);
	}
	recovery_free(&stores);
}
