#include "delivery.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "hash.h"
#include "storename.h"
#include "sys.h"

bool delivery_expected(char *directory, size_t room, const char *temporary)
{
	if (!config.session_shared || config.session_shared[0] != '/' || !sys_private(config.session_shared))
		return false;
	snprintf(directory, room, "%.180s/iolens-%u-%016llx", temporary, (unsigned)geteuid(),
		 (unsigned long long)log_id(config.session_shared));
	sys_make_directory(directory, 0700);
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
	void *image = size > 0 ? sys_map(NULL, (size_t)size, PROT_READ, MAP_SHARED, from) : NULL;
	bool good = image;
	while (good && (at = sys_seek(from, at, SEEK_DATA)) >= 0) {
		int64_t hole = sys_seek(from, at, SEEK_HOLE);
		good = hole > at && copy_part(to, image, at, hole);
		at = hole;
	}
	if (image)
		sys_unmap(image, (size_t)size);
	return good && sys_truncate(to, size) == 0;
}

/* `iolens run` takes what ends in .store: a store gets that name when it is whole. */
static void deliver(int directory, const char *name)
{
	char made[300];
	int shared = sys_open_private(config.session_shared);
	snprintf(made, sizeof made, "%.280s.part", name);
	int from = sys_open_at(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	int to = from < 0 ? -1 : sys_open_at(shared, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = to >= 0 && copy(from, to);
	if (to >= 0)
		good = sys_close(to) == 0 && good;
	if (from >= 0)
		sys_close(from);
	if (good && sys_call(SYS_renameat2, shared, (long)made, shared, (long)name, 0, 0) == 0)
		sys_unlink_at(directory, name);
	else if (to >= 0)
		sys_unlink_at(shared, made);
	if (shared >= 0)
		sys_close(shared);
}

/* The store of a process that is gone, or that was another program before it became this one. */
static bool has_ended(const char *name)
{
	int64_t pid = storename_pid(name);
	return pid && (pid == sys_pid() || sys_call(SYS_kill, pid, 0, 0, 0, 0, 0) == -ESRCH);
}

/* What getdents64 fills in. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

static void deliver_ended(int directory)
{
	char entries[2048] __attribute__((aligned(8)));
	long n;
	while ((n = sys_call(SYS_getdents64, directory, (long)entries, sizeof entries, 0, 0, 0)) > 0) {
		for (long at = 0; at < n; at += ((struct entry *)(entries + at))->length) {
			const char *name = ((struct entry *)(entries + at))->name;
			if (has_ended(name))
				deliver(directory, name);
		}
	}
}

void delivery_of(const char *path)
{
	int directory = sys_open_private(path);
	if (directory < 0)
		return;
	deliver_ended(directory);
	sys_close(directory);
	sys_remove_directory(path); /* if nobody else is there */
}
