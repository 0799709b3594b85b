/*
 * The layout of a file on Lustre, as the extended attribute lustre.lov holds it: plain (v1, v3), composite (PFL, FLR, DoM) or
 * foreign. No byte of it is trusted.
 */
#ifndef IOLENS_LUSTRE_LAYOUT_H
#define IOLENS_LUSTRE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"

enum lustre_error {
	LUSTRE_SHORT = -1,   /* ends before what it announces */
	LUSTRE_UNKNOWN = -2, /* of no kind that is known */
	LUSTRE_WRONG = -3    /* contradicts itself */
};

/* What a record holds of a layout: components with objects, data on the metadata target, or foreign ones. */
struct lustre_layout {
	int64_t components, stripes;
	int64_t left_out; /* components for which a record has no room */
	bool grows;       /* some components have no objects yet, */
	int64_t grows_at; /* the first of them from this byte on */
};

enum { LUSTRE_RECORD_MOST = 81920 }; /* bytes of a record that released readers take */

/* The size of a layout's record is `sizeof(struct lustre_record)` + that of its arrays. A negative code is a lustre_error. */
int lustre_layout_read(const void *attribute, size_t n, struct lustre_layout *out);

static inline size_t lustre_layout_size(const struct lustre_layout *l)
{
	return sizeof(struct lustre_record) + (size_t)l->components * sizeof(struct lustre_component) +
	       (size_t)l->stripes * sizeof(int64_t);
}

/* Fills the record and its arrays, whose size is that of what lustre_layout_read made of the same bytes; id and rank stay. */
void lustre_layout_store(const void *attribute, size_t n, const struct lustre_layout *l, struct lustre_record *to);

#endif
