#include "name_owners.h"

#include <string.h>

#include "error.h"

/* Added ones are settled when there are so many: memory for the names of a place, however many. */
enum { UNSETTLED_MAX = 4 * NAME_OWNERS_MAX };

static struct name_owner *entries_of(const struct name_owners *o)
{
	return (struct name_owner *)(void *)o->entries.at;
}

const struct name_owner *name_owners(const struct name_owners *o)
{
	return entries_of(o);
}

static int by_id(const void *a, const void *b)
{
	const struct name_owner *x = a, *y = b;
	return x->id != y->id ? (x->id < y->id ? -1 : 1) : x->place != y->place ? (x->place < y->place ? -1 : 1) : 0;
}

void name_owners_settle(struct name_owners *o)
{
	struct name_owner *e = entries_of(o);
	size_t n = o->entries.used / sizeof *e, kept = 0;
	if (n == o->settled)
		return;
	log_sort(e, n, sizeof *e, by_id);
	for (size_t k = 0; k < n; k++) {
		if (kept && e[kept - 1].id == e[k].id)
			e[kept - 1].several |= e[k].several | (e[kept - 1].place != e[k].place);
		else if (kept < NAME_OWNERS_MAX)
			e[kept++] = e[k];
		else
			break;
	}
	o->settled = kept;
	o->entries.used = kept * sizeof *e;
}

/* Among the smallest, as far as is known. */
static bool is_wanted(const struct name_owners *o, uint64_t id)
{
	return o->settled < NAME_OWNERS_MAX || id <= entries_of(o)[o->settled - 1].id;
}

int name_owners_add(struct name_owners *o, uint64_t id, int64_t place)
{
	const struct name_owner one = {.id = id, .place = (uint32_t)place};
	if (!is_wanted(o, id))
		return 0;
	if (o->entries.used >= UNSETTLED_MAX * sizeof one)
		name_owners_settle(o);
	return log_bytes_add(&o->entries, &one, sizeof one);
}

bool name_owners_read(struct name_owners *o, uint64_t n, const void *from, size_t bytes)
{
	if (bytes % sizeof(struct name_owner) || bytes / sizeof(struct name_owner) != n ||
	    log_bytes_add(&o->entries, from, bytes) < 0)
		return false;
	o->settled = n;
	return true;
}

/* What two ranks say of one id. */
static struct name_owner both(struct name_owner a, const struct name_owner *b)
{
	a.several |= b->several | (a.place != b->place);
	a.place = a.place < b->place ? a.place : b->place;
	return a;
}

int name_owners_merge(struct name_owners *o, const struct name_owners *other)
{
	struct name_owners merged = {0};
	const struct name_owner *from = entries_of(other);
	size_t n = other->settled;
	const struct name_owner *e = entries_of(o), *end = e + o->settled;
	if (log_bytes_room(&merged.entries, NAME_OWNERS_MAX * sizeof *e) < 0)
		return LOG_E_MEMORY;
	struct name_owner *to = entries_of(&merged);
	while ((e < end || n) && merged.settled < NAME_OWNERS_MAX) {
		bool ours = e < end && (!n || e->id <= from->id), same = ours && n && e->id == from->id;
		to[merged.settled++] = same ? both(*e, from) : ours ? *e : *from;
		e += ours;
		from += same || !ours;
		n -= same || !ours;
	}
	merged.entries.used = merged.settled * sizeof *to;
	name_owners_free(o);
	*o = merged;
	return 0;
}

void name_owners_keep_several(struct name_owners *o)
{
	struct name_owner *e = entries_of(o);
	size_t kept = 0;
	for (size_t k = 0; k < o->settled; k++)
		if (e[k].several)
			e[kept++] = e[k];
	o->settled = kept;
	o->entries.used = kept * sizeof *e;
}

void name_owners_free(struct name_owners *o)
{
	log_bytes_free(&o->entries);
	o->settled = 0;
}
