#include "dataset.h"

#include <string.h>

#include "../h5f/record.h"
#include "hash.h"
#include "schema.h"

/* As in the library's headers, of all releases. */
enum { LAYOUT_CHUNKED = 2, SELECT_POINTS = 1, SELECT_HYPERSLABS = 2, MOST_DIMENSIONS = 32 };

/* ---- datasets ---- */

void dataset_extent(struct h5_library *l, int64_t id, struct dataset *out)
{
	int64_t space = h5_id(l, l->H5Dget_space(id));
	if (space < 0)
		return;
	int64_t n = l->H5Sget_simple_extent_npoints(space);
	int dimensions = l->H5Sget_simple_extent_ndims(space);
	out->elements = n > 0 ? n : 0;
	out->dimensions = dimensions > 0 ? dimensions : 0;
	l->H5Sclose(space);
}

static void ask_type(struct h5_library *l, int64_t id, struct dataset *out)
{
	int64_t type = h5_id(l, l->H5Dget_type(id));
	if (type < 0)
		return;
	out->element_size = (int64_t)l->H5Tget_size(type);
	l->H5Tclose(type);
}

static void ask_chunks(struct h5_library *l, int64_t id, struct dataset *out)
{
	uint64_t sizes[MOST_DIMENSIONS];
	int64_t list = h5_id(l, l->H5Dget_create_plist(id));
	if (list < 0)
		return;
	int n = l->H5Pget_layout(list) == LAYOUT_CHUNKED ? l->H5Pget_chunk(list, MOST_DIMENSIONS, sizes) : 0;
	for (int i = 0; i < n && i < PATTERN_DIMENSIONS; i++)
		out->chunk[i] = (int64_t)sizes[n - 1 - i];
	l->H5Pclose(list);
}

/* The name by which it was opened, from the root of its file. */
static bool ask_name(struct h5_library *l, int64_t id, struct path *name)
{
	size_t room = sizeof name->text - name->length - 1;
	ssize_t n = l->H5Iget_name(id, name->text + name->length + 1, room);
	if (n <= 0)
		return false;
	name->text[name->length] = ':';
	name->length += 1 + (uint32_t)((size_t)n < room ? (size_t)n : room - 1);
	return true;
}

enum dataset_naming dataset_name(struct h5_library *l, int64_t id, struct path *name, uint64_t *file_id)
{
	if (!h5f_path_of(l, id, name) || names_class(LOG_MOD_H5D, name))
		return DATASET_EXCLUDED;
	*file_id = log_hash(name->text, name->length, 0);
	return ask_name(l, id, name) ? DATASET_NAMED : DATASET_UNNAMED;
}

struct dataset dataset_ask(struct h5_library *l, int64_t id, bool layout)
{
	struct dataset d = {.layout = layout};
	dataset_extent(l, id, &d);
	ask_type(l, id, &d);
	if (layout)
		ask_chunks(l, id, &d);
	return d;
}

/* ---- selections ---- */

/*
 * Where the released versions put it: the slowest dimension in the last place. Of more than five dimensions the five
 * slowest are kept.
 */
static void place(struct selection *s, int dimensions, const uint64_t *stride, const uint64_t *count,
		  const uint64_t *block)
{
	uint64_t elements = 1;
	for (int i = 0; i < dimensions; i++) {
		elements *= count[i] * block[i];
		if (i >= PATTERN_DIMENSIONS)
			continue;
		s->pattern.length[PATTERN_DIMENSIONS - 1 - i] = (int64_t)(count[i] * block[i]);
		s->pattern.stride[PATTERN_DIMENSIONS - 1 - i] = (int64_t)stride[i];
	}
	s->elements = (int64_t)elements;
}

/* Each question takes as long as the record: of a regular hyperslab it is two, and its elements are counted here. */
static bool regular_hyperslab(struct h5_library *l, int64_t space, int dimensions, struct selection *s)
{
	uint64_t start[MOST_DIMENSIONS], stride[MOST_DIMENSIONS], count[MOST_DIMENSIONS], block[MOST_DIMENSIONS];
	if (dimensions > MOST_DIMENSIONS || l->H5Sis_regular_hyperslab(space) <= 0 ||
	    l->H5Sget_regular_hyperslab(space, start, stride, count, block) < 0)
		return false;
	s->kind = SELECTION_REGULAR;
	place(s, dimensions, stride, count, block);
	return true;
}

struct selection selection_ask(struct h5_library *l, int64_t space, int dimensions)
{
	struct selection s = {.kind = SELECTION_OTHER};
	int type = l->H5Sget_select_type(space);
	if (type == SELECT_POINTS)
		s.kind = SELECTION_POINTS;
	else if (type == SELECT_HYPERSLABS && (!l->H5Sis_regular_hyperslab || !l->H5Sget_regular_hyperslab))
		s.kind = SELECTION_UNKNOWN;
	else if (type == SELECT_HYPERSLABS && regular_hyperslab(l, space, dimensions, &s))
		return s;
	else if (type == SELECT_HYPERSLABS)
		s.kind = SELECTION_IRREGULAR;
	int64_t elements = l->H5Sget_select_npoints(space);
	s.elements = elements > 0 ? elements : 0;
	return s;
}
