/*
 * What programs select of dataspaces. A question to HDF5 takes as long as a record, and a hyperslab takes three: so what
 * the program said when it made or changed a dataspace is remembered, of the latest ones, and what HDF5 has answered.
 * A number of a dataspace is not used again before H5close; in 1.8 after some millions, and then it was closed.
 */
#ifndef IOLENS_H5D_SELECTION_H
#define IOLENS_H5D_SELECTION_H

#include "../h5f/library.h"
#include "frequent.h"

enum selection_kind { SELECTION_OTHER, SELECTION_POINTS, SELECTION_REGULAR, SELECTION_IRREGULAR, SELECTION_UNKNOWN };

struct selection {
	enum selection_kind kind;
	int64_t elements;
	struct pattern pattern; /* without its bytes */
};

/* What is selected of a dataspace of so many dimensions. Keeps errno. Outside self_enter. */
void selection_of(struct h5_library *l, int64_t space, int dimensions, struct selection *out);

/* ---- what the program does to dataspaces, after it was done; the library may be NULL: do not record ---- */

/* A new one of so many elements, of which all are selected. */
void selection_on_create(struct h5_library *l, int64_t space, int dimensions, const uint64_t *sizes);

/* A new one of a dataset, or a copy: of it the dimensions alone are known, or what is known of the other. */
void selection_on_space(struct h5_library *l, int64_t space, int dimensions);
void selection_on_copy(struct h5_library *l, int64_t space, int64_t from);

/* The arguments of H5Sselect_hyperslab. */
struct hyperslab {
	int operation;
	const uint64_t *stride, *count, *block;
};

void selection_on_hyperslab(struct h5_library *l, int64_t space, const struct hyperslab *h, int result);

/* Something else was selected; it is another dataspace altogether, or closed; the library ends. */
void selection_on_change(struct h5_library *l, int64_t space);
void selection_on_close(struct h5_library *l, int64_t space);
void selection_on_end(struct h5_library *l);

#endif
