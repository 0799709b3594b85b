#include "map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "arena.h"
#include "thread.h"
#include "lock.h"
#include "sys.h"
#include "watcher.h"

enum {
	MAPPINGS = 1024,
	PAGE = 4096, /* what pagemap counts in, on the machines that we serve; a larger one only makes windows of it */
	WINDOW = 256,
	ASKED = 128,       /* pages that the kernel is asked about at once; a part of a window */
	LINES = 2048,      /* bytes of smaps that are read at once */
	WHOLE = 1 << 17,   /* pages of one mapping that are looked at one by one */
	SAMPLED = 1 << 14, /* of a larger one, or once ALL have been */
	ALL = 1 << 20,
	RESIDENT = 1 << 18 /* pages of a process whose smaps are read */
};

static const double SMAPS_TIME = 0.2; /* s that a process may spend in them */

struct posix_watcher posix_watcher AT_START; /* set once, as the library is loaded */

/* All under the lock. The bounds are atomic, too: a thread whose range is outside of them does not take it. */
static struct lock lock;
static struct mapping *mappings; /* room for MAPPINGS, from the first on: most programs map none */
static int used;
static uintptr_t lowest = UINTPTR_MAX, highest AT_START;
static int64_t looked_at; /* pages */

/* ---- which pages there are ---- */

static uintptr_t page_size(void)
{
	return (uintptr_t)getauxval(AT_PAGESZ);
}

static int64_t present_in(int pagemap, uintptr_t from, int64_t pages)
{
	uint64_t entry[WINDOW];
	int64_t found = 0;
	while (pages > 0) {
		size_t n = pages < WINDOW ? (size_t)pages : WINDOW;
		long got = sys_call(SYS_pread64, pagemap, (long)entry, (long)(n * sizeof *entry),
				    (long)(from / page_size() * sizeof *entry), 0, 0);
		if (got <= 0)
			break;
		__atomic_fetch_add(&sys_own_read, got, __ATOMIC_RELAXED);
		for (size_t i = 0; i < (size_t)got / sizeof *entry; i++)
			found += entry[i] >> 62 != 0; /* present or swapped */
		from += n * page_size();
		pages -= (int64_t)n;
	}
	return found;
}

/* The same without a descriptor: the kernel is asked on which node of memory each page is. Swapped pages of files are not there. */
static int64_t present_by_call(uintptr_t from, int64_t pages)
{
	uintptr_t page[ASKED];
	int node[ASKED];
	int64_t found = 0;
	while (pages > 0) {
		int n = pages < ASKED ? (int)pages : ASKED;
		for (int i = 0; i < n; i++, from += page_size())
			page[i] = from;
		if (sys_call(SYS_move_pages, 0, n, (long)page, 0, (long)node, 0) != 0)
			break;
		for (int i = 0; i < n; i++)
			found += node[i] >= 0 || node[i] == -EFAULT; /* a page of zeros */
		pages -= n;
	}
	return found;
}

static int64_t present_of(int pagemap, uintptr_t from, int64_t pages)
{
	return pagemap < 0 ? present_by_call(from, pages) : present_in(pagemap, from, pages);
}

/* A large mapping by windows at even distances. */
static int64_t present_on(int pagemap, uintptr_t from, uintptr_t to)
{
	int64_t pages = (int64_t)((to - from + page_size() - 1) / page_size()), found = 0;
	int64_t most = looked_at < ALL ? WHOLE : SAMPLED;
	if (pages <= most) {
		looked_at += pages;
		return present_of(pagemap, from, pages);
	}
	int64_t windows = SAMPLED / WINDOW, step = pages / windows;
	for (int64_t w = 0; w < windows; w++)
		found += present_of(pagemap, from + (uintptr_t)(w * step) * page_size(), WINDOW);
	return (int64_t)((double)found * pages / (windows * WINDOW));
}

/* The table of pages tells more, and is cheaper. */
static int64_t present_pages(uintptr_t from, uintptr_t to)
{
	uint64_t signals;
	bool alone = alone_begin(&signals);
	int pagemap = alone ? sys_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0) : -1;
	int64_t found = present_on(pagemap, from, to);
	if (pagemap >= 0)
		sys_close(pagemap);
	if (alone)
		alone_end(&signals);
	return found;
}

/* ---- which of them were written ---- */

static double spent; /* s, under the lock */

static bool is_small(void)
{
	char text[128];
	int fd = sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	ssize_t got = fd >= 0 ? sys_read(fd, text, sizeof text - 1) : 0;
	if (fd >= 0)
		sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	const char *resident = strchr(text, ' ');
	return resident && strtoll(resident, NULL, 10) <= RESIDENT;
}

struct dirt {
	uintptr_t from, to;
	bool inside; /* the area that the lines are of */
	int64_t kilobytes;
};

/* A line of smaps: the head of an area, or one of its values. False behind the range. */
static bool on_line(struct dirt *d, const char *line)
{
	char *end;
	if ((*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f')) {
		uintptr_t from = strtoul(line, &end, 16), to = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;
		d->inside = from < d->to && d->from < to;
		return from < d->to;
	}
	if (d->inside && (strncmp(line, "Shared_Dirty:", 13) == 0 || strncmp(line, "Private_Dirty:", 14) == 0))
		d->kilobytes += strtoll(line + 14, NULL, 10);
	return true;
}

/* Nothing else of the program runs. */
static int64_t dirty_in_smaps(uintptr_t from, uintptr_t to)
{
	struct dirt d = {.from = from, .to = to};
	char text[LINES + 1];
	size_t kept = 0;
	bool more = true;
	double began = clock_now();
	int fd = spent < SMAPS_TIME && is_small() ? sys_open("/proc/self/smaps", O_RDONLY | O_CLOEXEC, 0) : -1;
	if (fd < 0)
		return -1;
	while (more) {
		ssize_t got = sys_read(fd, text + kept, LINES - kept);
		char *line = text, *end;
		if (got <= 0)
			break;
		text[kept += (size_t)got] = '\0';
		for (; more && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			more = on_line(&d, line);
		}
		kept -= (size_t)(line - text);
		memmove(text, line, kept);
		if (kept == LINES)
			kept = 0;
	}
	sys_close(fd);
	spent += clock_now() - began;
	return d.kilobytes * 1024 / (int64_t)page_size();
}

/* Pages that wait to be written to the file, -1 = not known. */
static int64_t dirty_pages(uintptr_t from, uintptr_t to)
{
	uint64_t signals;
	if (!alone_begin(&signals))
		return -1;
	int64_t pages = dirty_in_smaps(from, to);
	alone_end(&signals);
	return pages;
}

/* ---- counting ---- */

static void count(enum state_operation_id operation, int64_t pages)
{
	if (pages > 0)
		self_count(operation, 1, 0, pages * (int64_t)page_size());
}

/* What is new in a part of a mapping since it was last counted; a written page is no read one. Inside the lock. */
static void measure(struct mapping *m, uintptr_t from, uintptr_t to, int64_t out[2])
{
	int64_t present = present_pages(from, to), dirty = m->writable && present ? dirty_pages(from, to) : 0;
	if (dirty < 0 || dirty > present || m->unmeasured) /* what may be written counts as written, but once */
		dirty = present - m->synced;
	int64_t written = dirty > m->dirty ? dirty - m->dirty : 0;
	m->dirty += written;
	int64_t read = present - m->dirty - m->synced - m->read;
	m->read += read > 0 ? read : 0;
	out[IO_READ] += read > 0 ? read : 0;
	out[IO_WRITE] += written;
}

/* The same before the dirty pages are written and become clean. */
static void measure_dirty(struct mapping *m, uintptr_t from, uintptr_t to, int64_t out[2])
{
	int64_t dirty = m->writable ? dirty_pages(from, to) : 0;
	int64_t most = (int64_t)((to - from + page_size() - 1) / page_size());
	m->unmeasured = m->unmeasured || dirty < 0;
	dirty = dirty < most ? dirty : most;
	int64_t written = dirty > m->dirty ? dirty - m->dirty : 0;
	m->synced += m->dirty + written;
	m->dirty = 0;
	out[IO_WRITE] += written;
}

static bool concerns(uintptr_t from, uintptr_t to)
{
	return from < __atomic_load_n(&highest, __ATOMIC_RELAXED) && to > __atomic_load_n(&lowest, __ATOMIC_RELAXED);
}

static void measure_range(uintptr_t from, uintptr_t to, bool sync)
{
	int64_t pages[2] = {0};
	if (!concerns(from, to) || !self_enter_locked(&lock))
		return;
	for (int i = 0; i < used; i++) {
		struct mapping *m = &mappings[i];
		if (m->from < to && from < m->to)
			(sync ? measure_dirty : measure)(m, m->from > from ? m->from : from, m->to < to ? m->to : to,
							 pages);
	}
	self_leave_locked(&lock);
	count(STATE_OP_MAPPED_READ, pages[IO_READ]);
	count(STATE_OP_MAPPED_WRITE, pages[IO_WRITE]);
}

/* Of a mapping that has been counted: this part of it. Inside the lock. */
static struct mapping part_of(struct mapping m, uintptr_t from, uintptr_t to)
{
	int64_t present = present_pages(from, to), dirty = m.writable && present ? dirty_pages(from, to) : 0;
	m.from = from;
	m.to = to;
	m.dirty = dirty < 0 || dirty > present || m.unmeasured ? present : dirty;
	m.read = present - m.dirty;
	m.synced = 0;
	return m;
}

/*
 * The parts of a mapping that are to stay become entries of their own: unmapping a part of a huge page takes the rest out of
 * the page table, so all of it has been counted before. Inside the lock.
 */
static void split(uintptr_t from, uintptr_t to)
{
	for (int i = 0, n = used; i < n; i++) {
		struct mapping *m = &mappings[i], was = *m;
		bool before = was.from < from && from < was.to, after = was.from < to && to < was.to;
		if (before + after + used > MAPPINGS || !(before || after))
			continue;
		*m = part_of(was, before ? from : was.from, after ? to : was.to);
		if (before)
			mappings[used++] = part_of(was, was.from, from);
		if (after)
			mappings[used++] = part_of(was, to, was.to);
	}
}

/* Inside the lock. */
static void take(struct map_taken *taken)
{
	for (int i = 0; i < used; i++) {
		struct mapping *m = &mappings[i];
		bool whole = taken->from <= m->from && m->to <= taken->to;
		if (m->from >= taken->to || taken->from >= m->to)
			continue;
		if (whole && taken->n < (int)(sizeof taken->mapping / sizeof *taken->mapping)) {
			taken->mapping[taken->n++] = *m;
			mappings[i--] = mappings[--used];
		} else {
			taken->more = true;
		}
	}
}

static void unmapping(struct map_taken *taken, uintptr_t from, size_t n)
{
	uintptr_t to = from + n, first = from, last = to;
	taken->from = from;
	taken->to = to;
	taken->n = 0;
	taken->more = false;
	if (!n)
		return;
	if (concerns(from, to) && self_enter_locked(&lock)) {
		for (int i = 0; i < used; i++) {
			if (mappings[i].from >= to || from >= mappings[i].to)
				continue;
			first = mappings[i].from < first ? mappings[i].from : first;
			last = mappings[i].to > last ? mappings[i].to : last;
		}
		self_leave_locked(&lock);
		measure_range(first, last, false);
		if (self_enter_locked(&lock)) {
			split(from, to);
			take(taken);
			self_leave_locked(&lock);
		}
	}
	if (posix_watcher.unmapping)
		posix_watcher.unmapping(from, to);
}

void map_unmapping(struct map_taken *taken, const void *at, size_t n)
{
	bool refused = (uintptr_t)at % page_size(); /* then all stays: nothing is taken out for a moment */
	unmapping(taken, (uintptr_t)at, refused ? 0 : n);
}

void map_resizing(struct map_taken *taken, const void *old, size_t n, size_t room)
{
	unmapping(taken, (uintptr_t)old + room, room < n ? n - room : 0);
}

void map_measure(const void *at, size_t n)
{
	measure_range((uintptr_t)at, (uintptr_t)at + n, false);
}

void map_measure_written(const void *at, size_t n)
{
	measure_range((uintptr_t)at, (uintptr_t)at + n, true);
}

void map_measure_all(void)
{
	measure_range(0, UINTPTR_MAX, false);
}

/* ---- what is mapped ---- */

static bool is_file(uintptr_t at)
{
	return at >= STATE_CLASS_COUNT ||
	       (at >= STATE_CLASS_LIBRARY && at != STATE_CLASS_DEVICE && at != STATE_CLASS_KERNEL);
}

/* Neighbours become one entry where room is short: of what threads use apart, each would count the other's. Inside the lock. */
static void add(uintptr_t from, uintptr_t to, bool shared, bool writable)
{
	for (int i = 0; used >= MAPPINGS / 2 && i < used; i++) {
		struct mapping *m = &mappings[i];
		if (m->shared != shared || m->writable != writable || m->read || m->dirty || m->synced ||
		    (m->to != from && m->from != to))
			continue;
		from = m->from < from ? m->from : from;
		to = m->to > to ? m->to : to;
		mappings[i] = mappings[--used];
		break;
	}
	if (!mappings)
		mappings = arena_take(MAPPINGS * sizeof *mappings);
	if (!mappings || used == MAPPINGS)
		return;
	mappings[used++] = (struct mapping){.from = from, .to = to, .shared = shared, .writable = writable};
	if (from < lowest)
		__atomic_store_n(&lowest, from, __ATOMIC_RELAXED);
	if (to > highest)
		__atomic_store_n(&highest, to, __ATOMIC_RELAXED);
}

/* Takes [from, to) out of what is mapped: nothing, an end, or the middle may stay. Inside the lock. */
static void cut(uintptr_t from, uintptr_t to)
{
	for (int i = 0; i < used; i++) {
		struct mapping *m = &mappings[i], was = *m;
		if (m->from >= to || from >= m->to)
			continue;
		m->read = m->dirty = m->synced = 0;
		if (was.from < from) {
			m->to = from;
			if (to < was.to)
				add(to, was.to, was.shared, was.writable);
		} else if (to < was.to) {
			m->from = to;
		} else {
			mappings[i--] = mappings[--used];
		}
	}
}

void map_began(struct span s, void *at, size_t n, int protection, int flags, int64_t from)
{
	bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	if (s.at == STATE_CLASS_SPECIAL && shared && posix_watcher.mapped)
		posix_watcher.mapped(s.fd, at, n, from);
	if (!is_file(s.at) || !self_enter_locked(&lock))
		return;
	cut((uintptr_t)at, (uintptr_t)at + n);
	add((uintptr_t)at, (uintptr_t)at + n, shared, shared && protection & PROT_WRITE);
	self_leave_locked(&lock);
}

void map_unmapped(const struct map_taken *taken, bool good)
{
	if ((good ? !taken->more : !taken->n) || !self_enter_locked(&lock))
		return;
	if (good)
		cut(taken->from, taken->to);
	for (int i = 0; !good && i < taken->n && used < MAPPINGS; i++)
		mappings[used++] = taken->mapping[i];
	self_leave_locked(&lock);
}

void map_renewed(const void *at, size_t n)
{
	uintptr_t from = (uintptr_t)at, to = from + n;
	if (!concerns(from, to) || !self_enter_locked(&lock))
		return;
	for (int i = 0; i < used; i++) {
		struct mapping m = mappings[i];
		if (m.from >= to || from >= m.to)
			continue;
		from = m.from > from ? m.from : from;
		to = m.to < to ? m.to : to;
		cut(from, to);
		add(from, to, m.shared, m.writable);
		break;
	}
	self_leave_locked(&lock);
}

void map_moved(const void *old, size_t n, void *at, size_t room)
{
	uintptr_t from = (uintptr_t)old, to = (uintptr_t)at;
	if (!concerns(from, from + n) || !self_enter_locked(&lock))
		return;
	for (int i = 0; i < used; i++) {
		struct mapping m = mappings[i];
		if (m.from > from || m.to < from + n)
			continue;
		cut(from, from + n);
		cut(to, to + room);
		add(to, to + room, m.shared, m.writable);
		if (m.from == from && used) { /* the pages move along */
			mappings[used - 1].read = m.read;
			mappings[used - 1].dirty = m.dirty;
			mappings[used - 1].synced = m.synced;
		}
		break;
	}
	self_leave_locked(&lock);
}

bool map_touched(void)
{
	int64_t pages = 0;
	for (int i = 0; i < used && !pages; i++)
		if (mappings[i].shared)
			pages = present_pages(mappings[i].from, mappings[i].to);
	return pages;
}

void map_inherit(void)
{
	looked_at = 0;
	spent = 0;
	for (int i = 0; i < used; i++) {
		struct mapping *m = &mappings[i];
		m->dirty = m->synced = 0;
		m->read = m->shared ? 0 : present_pages(m->from, m->to); /* private pages are copied by fork */
	}
}
