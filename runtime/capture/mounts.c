#include "mounts.h"

#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "config.h"
#include "lock.h"
#include "platform.h"
#include "store.h"
#include "sys.h"

enum { MOUNTS = 64, TABLE_MAX = 64 * 1024, ENTRY_MAX = 256, LINE = 1024 };
#define LUSTRE_MAGIC 0x0BD00BD0
#define LUSTRE_BLOCK (1 << 20)

struct mount {
	const char *point;
	const char *type;
	size_t length;
	int64_t block; /* 0 = not asked yet */
	bool lustre;   /* known with its block size */
};

/*
 * Filled once, by load(), which holds the lock of the names. A thread that knows the layout of a name reads them without it: the
 * name was made behind load(). The block sizes are read later, under that lock too.
 */
static struct mount mounts[MOUNTS];
static int count;
static bool loaded;
static bool any_lustre;

static bool known(const char *type, const char *point)
{
	for (int i = 0; i < count; i++)
		if (strcmp(mounts[i].type, type) == 0 && strcmp(mounts[i].point, point) == 0)
			return true;
	return false;
}

/* By the mount's type: what the setting names stands for Lustre, too, and has another magic number. */
static bool stands_for_lustre(const char *type)
{
	return config.lustre_type && strcmp(type, config.lustre_type) == 0;
}

static char *word(char **at)
{
	char *start = *at;
	*at += strcspn(start, " \n");
	if (**at)
		*(*at)++ = '\0';
	return start;
}

static void add(char *line, bool network)
{
	word(&line);
	char *point = word(&line);
	char *type = word(&line);
	if ((strcmp(type, "nfs") == 0) != network || platform_pseudo(type) || count == MOUNTS)
		return;
	if (strlen(point) + strlen(type) + 3 > ENTRY_MAX || known(type, point))
		return;
	struct mount *m = &mounts[count];
	*m = (struct mount){.point = arena_copy(point, strlen(point)), .type = arena_copy(type, strlen(type))};
	m->length = strlen(point);
	any_lustre |= strcmp(type, "lustre") == 0 || stands_for_lustre(type);
	if (m->point && m->type)
		count++;
}

static void add_all(const char *table, size_t n, bool network, char line[LINE])
{
	for (const char *at = table; at < table + n;) {
		const char *end = memchr(at, '\n', (size_t)(table + n - at));
		size_t length = end ? (size_t)(end - at) : (size_t)(table + n - at);
		if (length < LINE) {
			memcpy(line, at, length);
			line[length] = '\0';
			add(line, network);
		}
		at += length + 1;
	}
}

struct table {
	char *text;
	long length; /* -1: it cannot be opened */
};

static void read_table(void *table)
{
	struct table *t = table;
	t->length = sys_read_file("/proc/self/mounts", t->text, TABLE_MAX);
}

/* Local and parallel file systems first: what does not fit into the log's mount string is the rest. */
static void load(void)
{
	struct table t = {sys_map(NULL, TABLE_MAX + LINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1), -1};
	if (t.text) { /* with room for a line: the stack may be small */
		alone_do(read_table, &t);
		add_all(t.text, t.length > 0 ? (size_t)t.length : 0, false, t.text + TABLE_MAX);
		add_all(t.text, t.length > 0 ? (size_t)t.length : 0, true, t.text + TABLE_MAX);
		sys_unmap(t.text, TABLE_MAX + LINE);
	}
	for (int i = 0; i < count; i++)
		store_mount(mounts[i].type, mounts[i].point);
	loaded = true; /* only now: a child forked meanwhile has a part of them, and loads them anew */
}

static bool below(const char *path, const struct mount *m)
{
	if (strncmp(path, m->point, m->length) != 0)
		return false;
	return m->length == 1 || path[m->length] == '/' || path[m->length] == '\0';
}

/*
 * Where the table names nothing that the path is below (in a chroot it may lack the root): the root's, whatever that is. Under the
 * lock of the names.
 */
static struct mount root = {.point = "/", .length = 1};

static int64_t block_of(struct mount *m)
{
	struct statfs s;
	if (m->block)
		return m->block;
	if (sys_statfs(m->point, &s) != 0)
		return m->block = 4096;
	m->lustre = s.f_type == LUSTRE_MAGIC || (m->type && stands_for_lustre(m->type));
	return m->block = m->lustre ? LUSTRE_BLOCK : (int64_t)s.f_bsize;
}

static struct mount *mount_of(const char *path)
{
	struct mount *best = NULL;
	if (!loaded)
		load();
	for (int i = 0; i < count; i++)
		if (below(path, &mounts[i]) && (!best || mounts[i].length >= best->length))
			best = &mounts[i];
	return best;
}

struct mounts_place mounts_place(const char *path)
{
	struct mount *m = mount_of(path);
	m = m ? m : &root;
	struct mounts_place p = {.alignment = block_of(m)};
	p.layouts = m->lustre ? MOUNTS_LUSTRE : any_lustre && path[0] == '/' ? MOUNTS_BEHIND : MOUNTS_NONE;
	return p;
}

/* ---- devices ---- */

enum { DEVICES = 32 };

/* Under its lock. */
static struct {
	struct lock lock;
	int count;
	struct device {
		uint64_t number;
		bool lustre;
	} device[DEVICES];
} devices;

/* Without a message to the file system's servers: the device alone is wanted, and what is cached will do. */
static bool device_of(int fd, uint64_t *out)
{
	struct statx s;
	if (sys_call(SYS_statx, fd, (long)"", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, (long)&s, 0) != 0)
		return false;
	*out = (uint64_t)s.stx_dev_major << 32 | s.stx_dev_minor;
	return true;
}

/* The mount itself, for one that only stands for Lustre: its device is among those of the mounts that do. */
static bool is_stand_in(uint64_t device)
{
	struct statx s;
	for (int i = 0; config.lustre_type && i < count; i++) {
		long mount = (long)mounts[i].point;
		if (stands_for_lustre(mounts[i].type) &&
		    sys_call(SYS_statx, AT_FDCWD, mount, AT_STATX_DONT_SYNC, 0, (long)&s, 0) == 0 &&
		    ((uint64_t)s.stx_dev_major << 32 | s.stx_dev_minor) == device)
			return true;
	}
	return false;
}

static bool asked_of(int fd, uint64_t device)
{
	struct statfs s;
	bool known = sys_call(SYS_fstatfs, fd, (long)&s, 0, 0, 0, 0) == 0;
	return (known && s.f_type == LUSTRE_MAGIC) || is_stand_in(device);
}

bool mounts_on_lustre(int fd)
{
	uint64_t number;
	if (!device_of(fd, &number) || !lock_take_deep(&devices.lock))
		return false;
	struct device *d = devices.device, *end = d + devices.count;
	while (d < end && d->number != number)
		d++;
	bool lustre = d < end ? d->lustre : asked_of(fd, number);
	if (d == end && devices.count < DEVICES)
		devices.device[devices.count++] = (struct device){number, lustre};
	lock_drop_deep(&devices.lock);
	return lustre;
}

const char *mounts_point(const char *path)
{
	const struct mount *m = mount_of(path);
	return m ? m->point : NULL;
}

/* In a forked child: the same mounts, but its own store does not name them yet. */
void mounts_reset(void)
{
	for (int i = 0; loaded && i < count; i++)
		store_mount(mounts[i].type, mounts[i].point);
}
