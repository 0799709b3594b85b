#include "dataset.h"

#include "../h5f/record.h"
#include "hash.h"
#include "schema.h"

/* As in the library's headers, of all releases. */
enum { LAYOUT_CHUNKED = 2 };

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
	uint64_t sizes[H5_MOST_DIMENSIONS];
	int64_t list = h5_id(l, l->H5Dget_create_plist(id));
	if (list < 0)
		return;
	int n = l->H5Pget_layout(list) == LAYOUT_CHUNKED ? l->H5Pget_chunk(list, H5_MOST_DIMENSIONS, sizes) : 0;
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
