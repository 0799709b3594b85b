#include "selection.h"

#include <errno.h>

#include "self.h"

/* As in the library's headers, of all releases. */
enum { SELECT_POINTS = 1, SELECT_HYPERSLABS = 2, OPERATION_SET = 0 };

/*
 * Where the released versions put it: the slowest dimension in the last place. Of more than five dimensions the five
 * slowest are kept.
 */
static struct selection regular(int dimensions, const uint64_t *stride, const uint64_t *count, const uint64_t *block)
{
	struct selection s = {.kind = SELECTION_REGULAR};
	uint64_t elements = 1;
	for (int i = 0; i < dimensions; i++) {
		uint64_t length = count[i] * (block ? block[i] : 1);
		elements *= length;
		if (i >= PATTERN_DIMENSIONS)
			continue;
		s.pattern.length[PATTERN_DIMENSIONS - 1 - i] = (int64_t)length;
		s.pattern.stride[PATTERN_DIMENSIONS - 1 - i] = stride ? (int64_t)stride[i] : 1;
	}
	s.elements = (int64_t)elements;
	return s;
}

/* ---- asked ---- */

static bool ask_regular(struct h5_library *l, int64_t space, int dimensions, struct selection *s)
{
	uint64_t start[H5_MOST_DIMENSIONS], stride[H5_MOST_DIMENSIONS];
	uint64_t count[H5_MOST_DIMENSIONS], block[H5_MOST_DIMENSIONS];
	if (dimensions > H5_MOST_DIMENSIONS || l->H5Sis_regular_hyperslab(space) <= 0 ||
	    l->H5Sget_regular_hyperslab(space, start, stride, count, block) < 0)
		return false;
	*s = regular(dimensions, stride, count, block);
	return true;
}

static bool tells_regular(const struct h5_library *l)
{
	return l->H5Sis_regular_hyperslab && l->H5Sget_regular_hyperslab;
}

/* Keeps errno. */
static struct selection ask(struct h5_library *l, int64_t space, int dimensions)
{
	int saved = errno;
	struct selection s = {.kind = SELECTION_OTHER};
	int type = l->H5Sget_select_type(space);
	if (type == SELECT_POINTS)
		s.kind = SELECTION_POINTS;
	else if (type == SELECT_HYPERSLABS && !tells_regular(l))
		s.kind = SELECTION_UNKNOWN;
	else if (type == SELECT_HYPERSLABS && !ask_regular(l, space, dimensions, &s))
		s.kind = SELECTION_IRREGULAR;
	/* Of a hyperslab, too: of one that was put together 1.10.8 may tell another shape than it has. */
	int64_t elements = l->H5Sget_select_npoints(space);
	s.elements = elements > 0 ? elements : 0;
	errno = saved;
	return s;
}

/* ---- remembered ---- */

enum { REMEMBERED = 64 };

struct known {
	const struct h5_library *library; /* NULL: nothing */
	int64_t space;
	int dimensions;
	bool chosen; /* what is selected is known, too */
	struct selection selection;
};

/* Under the lock. */
static struct known all_known[REMEMBERED];
static struct lock lock;

/* Its place, which may be another's; numbers are given in order. */
static struct known *place_of(int64_t space)
{
	return &all_known[(uint64_t)space % REMEMBERED];
}

/* Holds the lock. */
static struct known *find(const struct h5_library *l, int64_t space)
{
	struct known *k = place_of(space);
	return k->library == l && k->space == space ? k : NULL;
}

/* Holds the lock. A thread that jumps away here leaves nothing that is half true. */
static void put(const struct known *one)
{
	struct known *k = place_of(one->space);
	k->library = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	k->space = one->space;
	k->dimensions = one->dimensions;
	k->chosen = one->chosen;
	k->selection = one->selection;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	k->library = one->library;
}

static void remember(const struct known *one)
{
	if (one->space < 0 || one->dimensions < 0 || !self_enter_locked(&lock))
		return;
	put(one);
	self_leave_locked(&lock);
}

static struct known recall(const struct h5_library *l, int64_t space)
{
	struct known one = {0};
	if (!l || !self_enter_locked(&lock))
		return one;
	const struct known *k = find(l, space);
	if (k)
		one = *k;
	self_leave_locked(&lock);
	return one;
}

static bool recall_selection(const struct h5_library *l, int64_t space, int dimensions, struct selection *out)
{
	if (!self_enter_locked(&lock))
		return false;
	const struct known *k = find(l, space);
	bool known = k && k->chosen && k->dimensions == dimensions;
	if (known)
		*out = k->selection;
	self_leave_locked(&lock);
	return known;
}

void selection_of(struct h5_library *l, int64_t space, int dimensions, struct selection *out)
{
	if (recall_selection(l, space, dimensions, out))
		return;
	struct known one = {l, space, dimensions, true, ask(l, space, dimensions)};
	remember(&one);
	*out = one.selection;
}

/* ---- what the program does ---- */

void selection_on_create(struct h5_library *l, int64_t space, int dimensions, const uint64_t *sizes)
{
	if (!l || h5_id(l, space) < 0 || (dimensions && !sizes))
		return;
	struct known one = {l, h5_id(l, space), dimensions, true, {.kind = SELECTION_OTHER, .elements = 1}};
	for (int i = 0; i < dimensions; i++)
		one.selection.elements *= (int64_t)sizes[i];
	remember(&one);
}

void selection_on_space(struct h5_library *l, int64_t space, int dimensions)
{
	struct known one = {.library = l, .space = l ? h5_id(l, space) : -1, .dimensions = dimensions};
	remember(&one);
}

void selection_on_copy(struct h5_library *l, int64_t space, int64_t from)
{
	struct known one = recall(l, l ? h5_id(l, from) : 0);
	if (!one.library)
		return;
	one.space = h5_id(l, space);
	remember(&one);
}

/* Nothing, or without end: what HDF5 makes of that it is asked. */
static bool is_plain(int dimensions, const uint64_t *sizes)
{
	for (int i = 0; sizes && i < dimensions; i++)
		if (sizes[i] == 0 || sizes[i] == UINT64_MAX)
			return false;
	return true;
}

void selection_on_hyperslab(struct h5_library *l, int64_t space, const struct hyperslab *h, int result)
{
	if (!l || !self_enter_locked(&lock))
		return;
	struct known *k = find(l, h5_id(l, space));
	if (k)
		k->chosen = false;
	if (k && result >= 0 && h->operation == OPERATION_SET && h->count && tells_regular(l) &&
	    k->dimensions <= H5_MOST_DIMENSIONS && is_plain(k->dimensions, h->count) &&
	    is_plain(k->dimensions, h->block)) {
		k->selection = regular(k->dimensions, h->stride, h->count, h->block);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		k->chosen = true;
	}
	self_leave_locked(&lock);
}

void selection_on_change(struct h5_library *l, int64_t space)
{
	static const struct hyperslab unknown = {.operation = -1};
	selection_on_hyperslab(l, space, &unknown, -1);
}

void selection_on_close(struct h5_library *l, int64_t space)
{
	if (!l || !self_enter_locked(&lock))
		return;
	struct known *k = find(l, h5_id(l, space));
	if (k)
		k->library = NULL;
	self_leave_locked(&lock);
}

void selection_on_end(struct h5_library *l)
{
	if (!l || !self_enter_locked(&lock))
		return;
	for (struct known *k = all_known; k < all_known + REMEMBERED; k++)
		if (k->library == l)
			k->library = NULL;
	self_leave_locked(&lock);
}
