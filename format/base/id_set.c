#include "id_set.h"

#include "alloc.h"
#include "error.h"

static uint64_t *slot_for(uint64_t *ids, size_t size, uint64_t id)
{
	size_t at = id & (size - 1);
	while (ids[at] && ids[at] != id)
		at = (at + 1) & (size - 1);
	return &ids[at];
}

static int grow(struct id_set *s)
{
	size_t size = s->size ? 2 * s->size : 128;
	uint64_t *ids = log_alloc(size * sizeof *ids);
	if (!ids)
		return LOG_E_MEMORY;
	for (size_t n = 0; n < s->size; n++)
		if (s->ids[n])
			*slot_for(ids, size, s->ids[n]) = s->ids[n];
	log_free(s->ids);
	s->ids = ids;
	s->size = size;
	return 0;
}

int id_set_add(struct id_set *s, uint64_t id)
{
	if (2 * s->used >= s->size && grow(s) < 0)
		return LOG_E_MEMORY;
	uint64_t *slot = slot_for(s->ids, s->size, id);
	if (*slot == id)
		return !id; /* 0 marks a free slot: such an id is always new */
	*slot = id;
	s->used++;
	return 1;
}

bool id_set_has(const struct id_set *s, uint64_t id)
{
	return s->size && id && *slot_for(s->ids, s->size, id) == id;
}

void id_set_free(struct id_set *s)
{
	log_free(s->ids);
	*s = (struct id_set){0};
}
