/* Record ids, each once. Open addressing; id 0 is never in. */
#ifndef IOLENS_ID_SET_H
#define IOLENS_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_set {
	uint64_t *ids;
	size_t size, used;
};

/* 1 = it is new, 0 = it was there, or a negative code. */
int id_set_add(struct id_set *s, uint64_t id);
bool id_set_has(const struct id_set *s, uint64_t id);
void id_set_free(struct id_set *s);

#endif
