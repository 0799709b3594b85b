#include "delivery.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "hash.h"
#include "storename.h"
#include "sys.h"

bool delivery_expected(char *directory, size_t room, const char *temporary, bool *first)
{
	if (!config.session_shared || config.session_shared[0] != '/' || !sys_private(config.session_shared))
		return false;
	snprintf(directory, room, "%.180s/iolens-%u-%016llx", temporary, (unsigned)geteuid(),
		 (unsigned long long)log_id(config.session_shared));
	*first = sys_make_directory(directory, 0700) == 0;
	return sys_private(directory);
}

static bool copy_part(int to, const uint8_t *from, int64_t at, int64_t end)
{
	while (at < end) {
		long put = sys_call(SYS_pwrite64, to, (long)(from + at), end - at, at, 0, 0);
		if (put <= 0)
			return false;
		at += put;
	}
	return true;
}

/* Only the parts that the file has: reading the others would take memory for them. */
static bool copy(int from, int to)
{
	int64_t size = sys_seek(from, 0, SEEK_END), at = 0;
	void *mapped = size > 0 ? sys_map(NULL, (size_t)size, PROT_READ, MAP_SHARED, from) : NULL;
	bool good = mapped;
	while (good && (at = sys_seek(from, at, SEEK_DATA)) >= 0) {
		int64_t hole = sys_seek(from, at, SEEK_HOLE);
		good = hole > at && copy_part(to, mapped, at, hole);
		at = hole;
	}
	if (mapped)
		sys_unmap(mapped, (size_t)size);
	return good && sys_truncate(to, size) == 0;
}

/* `iolens run` takes what ends in .store: a store gets that name when it is whole. */
static void deliver(int directory, int from, const char *name)
{
	char made[300];
	int shared = sys_open_private(config.session_shared);
	snprintf(made, sizeof made, "%.280s.part", name);
	int to =
		shared < 0 ? -1 : sys_open_at(shared, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = to >= 0 && copy(from, to);
	if (to >= 0)
		good = sys_close(to) == 0 && good;
	if (good && sys_call(SYS_renameat2, shared, (long)made, shared, (long)name, 0, 0) == 0)
		sys_unlink_at(directory, name);
	else if (to >= 0)
		sys_unlink_at(shared, made);
	if (shared >= 0)
		sys_close(shared);
}

struct delivery {
	int directory;
	const char *own; /* name of this process's store */
};

/* Of this node, by its name, a process that is gone, or that was another program before it became this one. */
static bool may_have_ended(const struct delivery *d, const char *name)
{
	int64_t pid = storename_pid(name);
	return pid && storename_same_host(name, d->own) &&
	       (pid == sys_pid() || sys_call(SYS_kill, pid, 0, 0, 0, 0, 0) == -ESRCH);
}

/* A container on this node may have the node's name and another's numbers. */
static bool deliver_ended(void *context, const char *name)
{
	struct delivery *d = context;
	int store =
		may_have_ended(d, name) ? sys_open_at(d->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0) : -1;
	if (store >= 0 && (strcmp(name, d->own) == 0 || sys_writer_of(store) != SYS_WRITTEN))
		deliver(d->directory, store, name);
	if (store >= 0)
		sys_close(store);
	return true;
}

void delivery_of(const char *path, const char *own)
{
	const char *slash = strrchr(own, '/');

	int directory = sys_open_private(path);
	if (directory < 0)
		return;
	struct sys_signals signals = sys_block_signals();
	sys_each_name(directory, deliver_ended, &(struct delivery){directory, slash ? slash + 1 : own});
	sys_restore_signals(signals);
	sys_close(directory);
	sys_remove_directory(path); /* if it is empty */
}
