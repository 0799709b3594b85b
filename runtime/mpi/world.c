#include "world.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hash.h"
#include "readable.h"
#include "session.h"
#include "sys.h"

/* The first row whose variables are all set names the world. */
static const char *const launchers[][2] = {
	{"PMIX_NAMESPACE", "PMIX_NAMESPACE"}, /* Open MPI, PRRTE, PMIx under Slurm or Flux */
	{"OMPI_MCA_ess_base_jobid", "OMPI_MCA_ess_base_jobid"},
	{"SLURM_JOB_ID", "SLURM_STEP_ID"},
	{"FLUX_JOB_ID", "FLUX_JOB_ID"},
	{"PALS_APID", "PALS_APID"},
	{"ALPS_APP_ID", "ALPS_APP_ID"},
	{"PMI_JOBID", "PMI_JOBID"},
};

/* As much of a value as all ranks hash. */
enum { VALUE = 512 };

static bool by_environment(char **environment, uint64_t *id)
{
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		char job[VALUE], step[VALUE];
		if (!readable_variable(environment, launchers[i][0], job, sizeof job) ||
		    !readable_variable(environment, launchers[i][1], step, sizeof step))
			continue;
		*id = log_hash(job, strlen(job), i + 1);
		*id = log_hash(step, strlen(step), *id);
		return true;
	}
	return false;
}

/* ---- Hydra sets no variable, but starts one proxy per node and world, all with the same --control-port ---- */

static ssize_t read_process(int pid, const char *file, char *text, size_t room)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t got = fd >= 0 ? sys_read(fd, text, room - 1) : -1;
	if (fd >= 0)
		sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

/* From /proc/<pid>/stat: the parent, and when the process began. */
static int parent_of(int pid, unsigned long long *began)
{
	char text[1024];
	int parent = 0;
	read_process(pid, "stat", text, sizeof text);
	const char *rest = strrchr(text, ')');
	*began = 0;
	if (rest)
		sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		       &parent, began);
	return parent;
}

static bool option(const char *words, size_t n, const char *name, const char **value)
{
	for (const char *w = words; w < words + n; w += strlen(w) + 1)
		if (strcmp(w, name) == 0 && w + strlen(w) + 1 < words + n) {
			*value = w + strlen(w) + 1;
			return true;
		}
	return false;
}

/* The proxy, 0 = there is none; *id is set when there is. */
static int by_proxy(uint64_t *id)
{
	char words[4096];
	unsigned long long began;
	int pid = sys_parent();
	for (int up = 0; up < 8 && pid > 1; up++, pid = parent_of(pid, &began)) {
		const char *port, *group;
		ssize_t n = read_process(pid, "cmdline", words, sizeof words);
		if (n <= 0 || !option(words, (size_t)n, "--control-port", &port))
			continue;
		*id = log_hash(port, strlen(port), 0);
		if (option(words, (size_t)n, "--pgid", &group))
			*id = log_hash(group, strlen(group), *id);
		return pid;
	}
	return 0;
}

/*
 * Hydra of MPICH 5 serves all worlds of a job by one proxy. Ranks that were spawned tell theirs by the memory that they share on
 * this node: its name is the world's. 0 = there is none (yet).
 */
static uint64_t by_shared_memory(void)
{
	static const char prefix[] = "mpich_shm_";
	char text[4096];
	size_t kept = 0;
	ssize_t got;
	uint64_t id = 0;
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	while (fd >= 0 && !id && (got = sys_read(fd, text + kept, sizeof text - kept)) > 0) {
		size_t n = kept + (size_t)got;
		char *at = memmem(text, n, prefix, sizeof prefix - 1);
		size_t length = sizeof prefix - 1; /* behind the name there may be " (deleted)" */
		while (at && at + length < text + n && isalnum((unsigned char)at[length]))
			length++;
		if (at && at + length < text + n)
			id = log_hash(at, length, 4);
		kept = n < sizeof text / 2 ? n : sizeof text / 2;
		memmove(text, text + n - kept, kept);
	}
	if (fd >= 0)
		sys_close(fd);
	return id;
}

bool mpi_is_spawned(char **environment)
{
	char value[16];
	return readable_variable(environment, "PMI_SPAWNED", value, sizeof value);
}

static uint64_t spawned_world(char **environment, int size, uint64_t proxy)
{
	uint64_t key[] = {proxy, mpi_local_size(environment, size) == size ? by_shared_memory() : 0};
	return log_hash(key, sizeof key, 5);
}

static uint64_t by_parent(void)
{
	unsigned long long began, mine;
	struct {
		long long host;
		unsigned long long parent, began;
	} key = {0};
	key.parent = (unsigned long long)sys_parent();
	parent_of(parent_of(sys_pid(), &mine), &began);
	key.began = began;
	key.host = (long long)log_id(session_host());
	return log_hash(&key, sizeof key, 2);
}

static uint64_t alone(void)
{
	uint64_t key[] = {log_id(session_host()), (uint64_t)sys_pid(), clock_monotonic()};
	return log_hash(key, sizeof key, 3);
}

uint64_t mpi_world_id(char **environment, int size)
{
	uint64_t id;
	if (size == 1)
		return alone();
	if (by_environment(environment, &id))
		return id;
	if (by_proxy(&id))
		return mpi_is_spawned(environment) ? spawned_world(environment, size, id) : id;
	return by_parent();
}

/* What only this start has: names and ports of launchers come again, and a job that was killed may have left its directory. */
uint64_t mpi_meeting_id(char **environment, uint64_t world)
{
	static const char *const servers[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
					      "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"};
	uint64_t ignored;
	unsigned long long began = 0;
	for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
		char uri[VALUE];
		if (readable_variable(environment, servers[i], uri, sizeof uri))
			return log_hash(uri, strlen(uri), world);
	}
	int proxy = by_proxy(&ignored);
	if (proxy)
		parent_of(proxy, &began);
	if (mpi_is_spawned(environment))
		began += by_shared_memory();
	return log_hash(&began, sizeof began, world);
}

static int first_number(char **environment, const char *const *names, int otherwise)
{
	for (; *names; names++) {
		char value[16];
		if (readable_variable(environment, *names, value, sizeof value))
			return atoi(value);
	}
	return otherwise;
}

int mpi_local_rank(char **environment)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
					    "PALS_LOCAL_RANKID",          "PMI_LOCAL_RANK",  NULL};
	return first_number(environment, names, 0);
}

int mpi_local_size(char **environment, int size)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE",
					    "PMI_LOCAL_SIZE", NULL};
	static const char *const nodes[] = {"SLURM_STEP_NUM_NODES", NULL};
	int n = first_number(environment, names, size == 1 ? 1 : 0);
	return n || first_number(environment, nodes, 0) != 1 ? n : size;
}
