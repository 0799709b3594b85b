#include "live_calls.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "index.h"

/* Which argument says what file a call is on: a descriptor, or a name. */
struct system_call {
	long number;
	const char *name;
	signed char descriptor, path; /* -1 = none */
};

#define BY_DESCRIPTOR(call, at)           \
	{                                 \
		SYS_##call, #call, at, -1 \
	}
#define BY_PATH(call, at)                 \
	{                                 \
		SYS_##call, #call, -1, at \
	}

static const struct system_call table[] = {
	BY_DESCRIPTOR(read, 0),
	BY_DESCRIPTOR(write, 0),
	BY_DESCRIPTOR(pread64, 0),
	BY_DESCRIPTOR(pwrite64, 0),
	BY_DESCRIPTOR(readv, 0),
	BY_DESCRIPTOR(writev, 0),
	BY_DESCRIPTOR(preadv, 0),
	BY_DESCRIPTOR(pwritev, 0),
	BY_DESCRIPTOR(preadv2, 0),
	BY_DESCRIPTOR(pwritev2, 0),
	BY_DESCRIPTOR(fsync, 0),
	BY_DESCRIPTOR(fdatasync, 0),
	BY_DESCRIPTOR(sync_file_range, 0),
	BY_DESCRIPTOR(syncfs, 0),
	BY_DESCRIPTOR(close, 0),
	BY_DESCRIPTOR(ftruncate, 0),
	BY_DESCRIPTOR(fallocate, 0),
	BY_DESCRIPTOR(fstat, 0),
	BY_DESCRIPTOR(getdents64, 0),
	BY_DESCRIPTOR(lseek, 0),
	BY_DESCRIPTOR(flock, 0),
	BY_DESCRIPTOR(fcntl, 0),
	BY_DESCRIPTOR(ioctl, 0),
	BY_DESCRIPTOR(readahead, 0),
	BY_DESCRIPTOR(fadvise64, 0),
	BY_DESCRIPTOR(fgetxattr, 0),
	BY_DESCRIPTOR(fchmod, 0),
	BY_DESCRIPTOR(sendfile, 1),
	BY_DESCRIPTOR(copy_file_range, 0),
	BY_DESCRIPTOR(splice, 0),
	BY_DESCRIPTOR(mmap, 4),
	BY_PATH(openat, 1),
	BY_PATH(newfstatat, 1),
	BY_PATH(statx, 1),
	BY_PATH(unlinkat, 1),
	BY_PATH(mkdirat, 1),
	BY_PATH(linkat, 1),
	BY_PATH(renameat, 1),
	BY_PATH(renameat2, 1),
	BY_PATH(readlinkat, 1),
	BY_PATH(faccessat, 1),
	BY_PATH(fchmodat, 1),
	BY_PATH(fchownat, 1),
	BY_PATH(utimensat, 1),
	BY_PATH(truncate, 0),
	BY_PATH(statfs, 0),
	BY_PATH(chdir, 0),
	BY_PATH(execve, 0),
	BY_PATH(getxattr, 0),
	BY_PATH(lgetxattr, 0),
#ifdef SYS_openat2
	BY_PATH(openat2, 1),
#endif
#ifdef SYS_faccessat2
	BY_PATH(faccessat2, 1),
#endif
#ifdef SYS_open /* machines that have the calls of old */
	BY_PATH(open, 0),
	BY_PATH(creat, 0),
	BY_PATH(stat, 0),
	BY_PATH(lstat, 0),
	BY_PATH(access, 0),
	BY_PATH(unlink, 0),
	BY_PATH(rmdir, 0),
	BY_PATH(mkdir, 0),
	BY_PATH(rename, 0),
	BY_PATH(link, 0),
	BY_PATH(readlink, 0),
	BY_PATH(chmod, 0),
#endif
	{SYS_msync, "msync", -1, -1},
	{SYS_munmap, "munmap", -1, -1},
	{SYS_sync, "sync", -1, -1},
};

static const struct system_call *find_call(long number)
{
	for (size_t n = 0; n < sizeof table / sizeof *table; n++)
		if (table[n].number == number)
			return &table[n];
	return NULL;
}

/* ---- what /proc says of a thread ---- */

/* The text of a small file there; its length, or -1. */
static long read_proc(char *to, size_t room, int64_t pid, int64_t thread, const char *name)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%lld/task/%lld/%s", (long long)pid, (long long)thread, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, to, room - 1);
	if (fd >= 0)
		close(fd);
	to[got > 0 ? got : 0] = '\0';
	return got;
}

/* "running", "-1 STACK PLACE", or "NUMBER ARGUMENT... STACK PLACE". */
static bool read_call(struct live_call *c, const char *text)
{
	char *at;
	if (strncmp(text, "running", 7) == 0)
		return false;
	c->number = strtol(text, &at, 10);
	for (int n = 0; n < 6 && c->number >= 0; n++) {
		uint64_t argument = strtoull(at, &at, 16);
		if (n < 4)
			c->arguments[n] = argument;
		else if (n == 4 && c->number == SYS_mmap)
			c->arguments[0] = argument; /* its descriptor is the fifth */
	}
	c->stack = strtoull(at, &at, 16);
	return true;
}

static double number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	at = at ? strchr(at, ':') : NULL;
	return at ? strtod(at + 1, NULL) : -1;
}

/* The scheduler's clock, ms: what it said when this process last ran, which is now. */
static double scheduler_now(void)
{
	char text[4096];
	return read_proc(text, sizeof text, getpid(), getpid(), "sched") > 0 ? number_after(text, "se.exec_start") : -1;
}

static void read_sleep(struct live_call *c, int64_t pid)
{
	char text[4096];
	c->slept = -1;
	if (read_proc(text, sizeof text, pid, c->thread, "sched") > 0) {
		double ran = number_after(text, "se.exec_start"), now = scheduler_now();
		c->slept = ran >= 0 && now > ran ? (now - ran) * 1e-3 : ran >= 0 && now >= 0 ? 0 : -1;
	}
	if (read_proc(text, sizeof text, pid, c->thread, "status") > 0) {
		double given_up = number_after(text, "\nvoluntary_ctxt_switches");
		c->switches = given_up > 0 ? (uint64_t)given_up : 0;
	}
}

static void read_wait(struct live_call *c, int64_t pid)
{
	char text[64];
	if (read_proc(text, sizeof text, pid, c->thread, "wchan") > 0 && strcmp(text, "0") != 0)
		memcpy(c->waits_in, text, sizeof text);
}

/* A link there is what the kernel remembers of the file: the file system is not asked. */
static void read_descriptor(struct live_call *c, int64_t pid)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%lld/task/%lld/fd/%d", (long long)pid, (long long)c->thread, c->descriptor);
	ssize_t got = readlink(path, c->file, sizeof c->file - 1);
	c->file[got > 0 ? got : 0] = '\0';
}

/* ---- names in the job's memory ---- */

enum { DEADLINE_MS = 1000 };

/* In a child, which may hang: for pages that are themselves on the file system, or a lock of the job's memory. */
static void read_path(struct live_call *c, int64_t pid, uint64_t at)
{
	int ends[2];
	char path[sizeof c->file];
	size_t used = 0;
	if (pipe(ends) != 0)
		return;
	pid_t child = fork();
	if (child == 0) {
		for (; used < sizeof path; used += 256) {
			struct iovec to = {path + used, 256}, from = {(void *)(uintptr_t)(at + used), 256};
			ssize_t got = process_vm_readv((pid_t)pid, &to, 1, &from, 1, 0);
			if (got <= 0 || write(ends[1], path + used, (size_t)got) != got ||
			    memchr(path + used, 0, (size_t)got))
				break;
		}
		_exit(0);
	}
	close(ends[1]);
	struct pollfd end = {.fd = ends[0], .events = POLLIN};
	ssize_t got = 1;
	while (child > 0 && got > 0 && used < sizeof path - 1 && poll(&end, 1, DEADLINE_MS) > 0) {
		got = read(ends[0], path + used, sizeof path - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	close(ends[0]);
	path[used] = '\0';
	if (child > 0) {
		kill(child, SIGKILL);
		/* One that cannot be killed is not waited for. */
		for (int n = 0; n < 50 && waitpid(child, NULL, WNOHANG) == 0; n++)
			nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	memcpy(c->file, path, sizeof path);
}

/* ---- mounts ---- */

/* \040 is a blank. */
static void unescape(char *text)
{
	char *to = text;
	for (char *at = text; *at; to++) {
		if (*at == '\\' && isdigit((unsigned char)at[1]) && isdigit((unsigned char)at[2]) && at[3]) {
			*to = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

/* Of the process's own table: it may have other mounts than we have. */
static void find_mount(struct live_call *c, int64_t pid)
{
	char path[64], line[4096];
	size_t best = 0;
	snprintf(path, sizeof path, "/proc/%lld/mounts", (long long)pid);
	FILE *mounts = c->file[0] == '/' ? fopen(path, "re") : NULL;
	while (mounts && fgets(line, sizeof line, mounts)) {
		char *rest = line, *source = strsep(&rest, " "), *point = strsep(&rest, " "),
		     *type = strsep(&rest, " ");
		if (!type)
			continue;
		unescape(point);
		unescape(source);
		size_t n = strlen(point);
		n -= n == 1; /* the root */
		if (n < best || strncmp(c->file, point, n) != 0 || (c->file[n] != '/' && c->file[n]))
			continue;
		best = n;
		snprintf(c->mount, sizeof c->mount, "%s", point);
		snprintf(c->source, sizeof c->source, "%s", source);
		snprintf(c->file_system, sizeof c->file_system, "%s", type);
	}
	if (mounts)
		fclose(mounts);
}

/* ---- all threads ---- */

/* A call on a terminal, pipe or socket waits for a peer, not for storage. */
static bool is_file(const struct live_call *c)
{
	static const char *const others[] = {"/dev/", "/proc/", "/sys/"};
	if (!c->file[0])
		return c->has_path;
	for (size_t n = 0; n < sizeof others / sizeof *others; n++)
		if (strncmp(c->file, others[n], strlen(others[n])) == 0)
			return strncmp(c->file, "/dev/shm/", 9) == 0;
	return c->file[0] == '/' || c->has_path;
}

/* Functions of the kernel in which file systems wait; asked where the call itself is not told. */
static bool waits_for_storage(const char *function)
{
	static const char *const parts[] = {"request_wait_answer",
					    "fuse",
					    "rpc_",
					    "nfs",
					    "cl_sync",
					    "ll_",
					    "ldlm",
					    "ptlrpc",
					    "ceph",
					    "cifs",
					    "smb2",
					    "gpfs",
					    "folio_wait",
					    "io_schedule",
					    "jbd2",
					    "xfs_",
					    "ext4_",
					    "btrfs",
					    "blk_"};
	for (size_t n = 0; n < sizeof parts / sizeof *parts; n++)
		if (strstr(function, parts[n]))
			return true;
	return false;
}

/* False: it runs, or waits for something else than a file. */
static bool look_at(struct live_calls *all, struct live_call *c, int64_t pid)
{
	char text[512];
	if (read_proc(text, sizeof text, pid, c->thread, "stat") <= 0)
		return false;
	const char *state = strrchr(text, ')');
	c->state = state && state[1] ? state[2] : 0;
	all->threads++;
	bool told = read_proc(text, sizeof text, pid, c->thread, "syscall") > 0;
	all->denied += !told && c->state != 'R';
	if (c->state == 'R' || (told && !read_call(c, text)))
		return false;
	const struct system_call *call = told ? find_call(c->number) : NULL;
	c->name = call ? call->name : told && c->number < 0 ? "page fault" : "";
	if (call && call->descriptor >= 0) {
		c->descriptor = (int)c->arguments[c->number == SYS_mmap ? 0 : call->descriptor];
		read_descriptor(c, pid);
	}
	c->has_path = call && call->path >= 0;
	if (c->has_path)
		read_path(c, pid, c->arguments[call->path]);
	read_wait(c, pid);
	if (c->state != 'D' && c->state != 'T' && !(call && is_file(c)) && (told || !waits_for_storage(c->waits_in)))
		return false;
	read_sleep(c, pid);
	find_mount(c, pid);
	return true;
}

static bool add_process(struct live_calls *all, const struct live_process *p)
{
	char path[64];
	int64_t pid = p->store->pid;
	snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
	DIR *dir = opendir(path);
	bool good = true;
	for (struct dirent *e; dir && good && (e = readdir(dir));) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		good = index_grow(&all->calls, all->n, sizeof *all->calls);
		if (!good)
			break;
		struct live_call *c = &all->calls[all->n];
		*c = (struct live_call){.process = p,
					.thread = strtoll(e->d_name, NULL, 10),
					.number = -2,
					.descriptor = -1,
					.name = ""};
		all->n += look_at(all, c, pid);
	}
	if (dir)
		closedir(dir);
	return good;
}

bool live_calls_find(struct live_calls *c, const struct live_job *j)
{
	*c = (struct live_calls){0};
	for (size_t n = 0; n < j->nprocesses; n++)
		if (j->processes[n].store->pid && !add_process(c, &j->processes[n]))
			return false;
	return true;
}

void live_calls_free(struct live_calls *c)
{
	log_free(c->calls);
	*c = (struct live_calls){0};
}
