/* A store as the assembly sees it: opened, checked, and not trusted any further than that. */
#ifndef IOLENS_IMAGE_H
#define IOLENS_IMAGE_H

#include "live.h"
#include "log.h"
#include "occupancy.h"
#include "trailer.h"

struct image {
	struct log *log;
	struct trailer *trailer;
	const struct live *live; /* NULL until loaded; has only the first shards */
	void *row;               /* the memory that it lies in; NULL = the store's own */
	size_t shards;
	bool own; /* of this process: what lies beside the records is read where it is, and may still change */
	int64_t rank;
};

int image_open_file(struct image *i, const char *path, struct log_error *err);
int image_open_memory(struct image *i, const void *data, size_t size, struct log_error *err);
int image_open_own(struct image *i, const void *store, size_t size, struct log_error *err);

/* Loads what lies beside the records: i->live, up to a megabyte. */
int image_load_live(struct image *i, struct log_error *err);
void image_drop_live(struct image *i);
void image_close(struct image *i);

/* Sums over the threads' shards. */
struct live_class image_class(const struct image *i, int class);
struct live_operation image_operation(const struct image *i, int operation);
struct live_sizes image_sizes(const struct image *i, int way, int kind);
struct live_completion image_completion(const struct image *i, int way, int kind);

/* The threads' heat maps as one that covers `until` seconds; false if nothing was moved. */
bool image_heat(const struct image *i, int heat, double until, struct live_heat *out);

/* Threads that did anything. */
int image_threads(const struct image *i);

/* Time in I/O, the union over threads; negative code when memory is short. */
int image_occupancy(const struct image *i, struct occupancy *out);

/* The latest moment that the image knows of, s since the epoch. */
double image_last(const struct image *i);

#endif
