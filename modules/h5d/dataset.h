/* What HDF5 says about datasets. Nothing here is recorded; it is asked outside self_enter. */
#ifndef IOLENS_H5D_DATASET_H
#define IOLENS_H5D_DATASET_H

#include "../h5f/library.h"
#include "frequent.h"
#include "names.h"

struct dataset {
	int64_t dimensions, elements, element_size;
	bool layout;                       /* has it been read? Reading it takes longer than all the rest. */
	int64_t chunk[PATTERN_DIMENSIONS]; /* the last, fastest dimension first; 0 = not chunked */
};

enum dataset_naming { DATASET_EXCLUDED, DATASET_UNNAMED, DATASET_NAMED };

/* FILE:/group/dataset, and the id of the file's record; excluded: its file is, by a setting. */
enum dataset_naming dataset_name(struct h5_library *l, int64_t id, struct path *name, uint64_t *file_id);

/* The dimensions and elements that it has now. */
void dataset_extent(struct h5_library *l, int64_t id, struct dataset *out);

/* All of it; the layout if it is wanted. */
struct dataset dataset_ask(struct h5_library *l, int64_t id, bool layout);

#endif
