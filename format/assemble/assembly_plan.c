/* Which process belongs to which log. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "assembly.h"

/* ---- lists that grow ---- */

static int add_member(struct assembly_part *p, size_t source, int64_t rank)
{
	struct assembly_member m = {source, rank};
	struct log_bytes list = {(uint8_t *)p->members, p->nmembers * sizeof m, p->room};
	int code = log_bytes_add(&list, &m, sizeof m);
	p->members = (struct assembly_member *)list.at;
	p->room = list.room;
	p->nmembers += code >= 0;
	return code;
}

static struct assembly_part *add_part(struct assembly *a, const struct assembly_part *new)
{
	struct log_bytes list = {(uint8_t *)a->parts, a->nparts * sizeof *new, a->parts_room};
	int code = log_bytes_add(&list, new, sizeof *new);
	a->parts = (struct assembly_part *)list.at;
	a->parts_room = list.room;
	return code < 0 ? NULL : &a->parts[a->nparts++];
}

/* ---- worlds ---- */

struct rank {
	uint64_t world;
	int64_t rank;
	double start;
	size_t source;
};

static int by_rank(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;
	if (a->world != b->world)
		return a->world < b->world ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

/* A rank that is there twice belongs to another world that was given the same name. */
static struct assembly_part *part_for(struct assembly *a, const struct rank *r, int again)
{
	const struct assembly_source *s = &a->sources[r->source];
	for (size_t n = 0; n < a->nparts; n++)
		if (a->parts[n].world == r->world && a->parts[n].again == again)
			return &a->parts[n];
	return add_part(
		a, &(struct assembly_part){
			   .mpi = true, .world = r->world, .again = again, .nprocs = s->mpi_size, .start = r->start});
}

static int add_worlds(struct assembly *a, const struct rank *ranks, size_t n)
{
	int again = 0;
	for (size_t k = 0; k < n; k++) {
		bool same = k && ranks[k].world == ranks[k - 1].world && ranks[k].rank == ranks[k - 1].rank;
		again = same ? again + 1 : 0;
		struct assembly_part *p = part_for(a, &ranks[k], again);
		if (!p || add_member(p, ranks[k].source, ranks[k].rank) < 0)
			return LOG_E_MEMORY;
		if (ranks[k].rank >= p->nprocs)
			p->nprocs = ranks[k].rank + 1;
		p->start = ranks[k].start < p->start ? ranks[k].start : p->start;
	}
	return 0;
}

static int by_part_start(const void *x, const void *y)
{
	const struct assembly_part *a = x, *b = y;
	return (a->start > b->start) - (a->start < b->start);
}

static int find_worlds(struct assembly *a)
{
	struct rank *ranks = log_alloc((a->nsources + 1) * sizeof *ranks);
	size_t n = 0;
	if (!ranks)
		return LOG_E_MEMORY;
	for (size_t k = 0; k < a->nsources; k++) {
		const struct assembly_source *s = &a->sources[k];
		if (s->mpi_size > 0 && s->mpi_rank >= 0)
			ranks[n++] = (struct rank){s->world, s->mpi_rank, s->start, k};
	}
	log_sort(ranks, n, sizeof *ranks, by_rank);
	int code = add_worlds(a, ranks, n);
	log_free(ranks);
	if (a->nparts)
		log_sort(a->parts, a->nparts, sizeof *a->parts, by_part_start);
	return code;
}

/* ---- what stands around the ranks ---- */

struct pid {
	uint64_t host;
	int64_t pid;
	size_t source;
};

static int by_pid(const void *x, const void *y)
{
	const struct pid *a = x, *b = y;
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->source < b->source ? -1 : a->source > b->source;
}

/* The first image of a process; the others follow it. */
static const struct pid *find_pid(const struct pid *pids, size_t n, uint64_t host, int64_t pid)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (pids[middle].host < host || (pids[middle].host == host && pids[middle].pid < pid))
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && pids[low].host == host && pids[low].pid == pid ? &pids[low] : NULL;
}

static bool same_process(const struct pid *image, const struct pid *end, const struct pid *first)
{
	return image < end && image->host == first->host && image->pid == first->pid;
}

static void mark(struct assembly_source *s, int part)
{
	s->around = s->around == ASSEMBLY_NOWHERE || s->around == part ? part : ASSEMBLY_SEVERAL;
}

static bool is_rank(const struct assembly_source *s)
{
	return s->mpi_size > 0 && s->mpi_rank >= 0;
}

/* The rank's ancestors, and what its process was before it became this program. */
static void mark_ancestors(struct assembly *a, const struct pid *pids, size_t n, size_t rank, int part)
{
	uint64_t host = a->sources[rank].host;
	int64_t pid = a->sources[rank].pid;
	for (int up = 0; up < 64; up++) {
		const struct pid *p = find_pid(pids, n, host, pid);
		if (!p)
			return;
		for (const struct pid *image = p; same_process(image, pids + n, p); image++)
			if (!is_rank(&a->sources[image->source]))
				mark(&a->sources[image->source], part);
		pid = a->sources[p->source].parent;
	}
}

/* ---- launchers: the ranks need not be below them ---- */

static bool is_below(const struct assembly *a, const struct pid *pids, size_t n, const struct assembly_source *s,
		     const struct assembly_source *launcher)
{
	int64_t pid = s->pid;
	for (int up = 0; up < 64 && s->host == launcher->host && pid != launcher->pid; up++) {
		const struct pid *p = find_pid(pids, n, s->host, pid);
		if (!p)
			return false;
		pid = a->sources[p->source].parent;
	}
	return pid == launcher->pid;
}

static bool forked_by_launcher(const struct assembly *a, const struct assembly_source *child)
{
	for (size_t k = 0; k < a->nsources; k++) {
		const struct assembly_source *s = &a->sources[k];
		if (s->launcher && s->host == child->host && s->pid == child->parent)
			return true;
	}
	return false;
}

/* Daemons have started the ranks: most likely for the last launcher that began before they did. */
static const struct assembly_source *launcher_before(const struct assembly *a, const struct assembly_part *part)
{
	const struct assembly_source *found = NULL;
	for (size_t k = 0; k < a->nsources; k++) {
		const struct assembly_source *s = &a->sources[k];
		if (s->launcher && s->around == ASSEMBLY_NOWHERE && s->start <= part->start && s->end >= part->start &&
		    !forked_by_launcher(a, s))
			found = s;
	}
	return found;
}

static const struct assembly_source *launcher_above(const struct assembly *a, int part)
{
	for (size_t k = 0; k < a->nsources; k++)
		if (a->sources[k].launcher && a->sources[k].around == part)
			return &a->sources[k];
	return NULL;
}

/* With what it has started others by: with ranks below it, anything else there may be the user's. */
static void mark_launcher(struct assembly *a, const struct pid *pids, size_t n, int part)
{
	const struct assembly_source *above = launcher_above(a, part);
	const struct assembly_source *launcher = above ? above : launcher_before(a, &a->parts[part]);
	for (size_t k = 0; launcher && k < a->nsources; k++) {
		struct assembly_source *s = &a->sources[k];
		if (s->around == ASSEMBLY_NOWHERE && !is_rank(s) && (!above || s->remote_shell) &&
		    is_below(a, pids, n, s, launcher))
			mark(s, part);
	}
}

static int mark_around(struct assembly *a)
{
	size_t n = a->nsources;
	struct pid *pids = log_alloc((n + 1) * sizeof *pids);
	if (!pids)
		return LOG_E_MEMORY;
	for (size_t k = 0; k < n; k++)
		pids[k] = (struct pid){a->sources[k].host, a->sources[k].pid, k};
	log_sort(pids, n, sizeof *pids, by_pid);
	for (size_t k = 0; k < n; k++) {
		a->sources[k].around = ASSEMBLY_NOWHERE;
		a->sources[pids[k].source].last = !same_process(&pids[k + 1], pids + n, &pids[k]);
	}
	for (size_t part = 0; part < a->nparts; part++)
		for (size_t m = 0; m < a->parts[part].nmembers; m++)
			mark_ancestors(a, pids, n, a->parts[part].members[m].source, (int)part);
	for (size_t part = 0; part < a->nparts; part++)
		mark_launcher(a, pids, n, (int)part);
	log_free(pids);
	return 0;
}

/* ---- the rest ---- */

/* Where a process that is no rank stands in the process table: ASSEMBLY_NOWHERE = only in the serial log. */
static int beside(const struct assembly *a, const struct assembly_source *s)
{
	return a->worlds == 1 ? 0 : s->around >= 0 ? s->around : ASSEMBLY_NOWHERE;
}

/* A serial log beside a world is worth its name only when another process did I/O. */
static bool needs_serial(const struct assembly *a)
{
	if (!a->worlds)
		return true;
	for (size_t k = 0; k < a->nsources; k++) {
		const struct assembly_source *s = &a->sources[k];
		if (!is_rank(s) && (a->worlds > 1 ? beside(a, s) < 0 : s->around == ASSEMBLY_NOWHERE && s->has_records))
			return true;
	}
	return false;
}

static int place_rest(struct assembly *a)
{
	struct assembly_part *serial = needs_serial(a) ? add_part(a, &(struct assembly_part){0}) : NULL;
	int code = 0;
	for (size_t k = 0; code >= 0 && k < a->nsources; k++) {
		const struct assembly_source *s = &a->sources[k];
		if (is_rank(s))
			continue;
		if (a->worlds && beside(a, s) >= 0)
			code = add_member(&a->parts[beside(a, s)], k, -1);
		if (code >= 0 && serial && (!a->worlds || beside(a, s) < 0 || s->around == ASSEMBLY_NOWHERE))
			code = add_member(serial, k, serial->nprocs++);
	}
	return code;
}

int assembly_plan(struct assembly *a)
{
	int code = find_worlds(a);
	a->worlds = a->nparts;
	if (code >= 0)
		code = mark_around(a);
	if (code >= 0)
		code = place_rest(a);
	return code < 0 ? log_fail(&a->err, code, LOG_NOWHERE, "not enough memory") : code;
}

int assembly_plan_nothing(struct assembly *a, int64_t nprocs)
{
	return add_part(a, &(struct assembly_part){.mpi = true, .nprocs = nprocs}) ? 0 : LOG_E_MEMORY;
}

void assembly_forget_plan(struct assembly *a)
{
	for (size_t n = 0; n < a->nparts; n++)
		log_free(a->parts[n].members);
	log_free(a->parts);
}
