/* Logs for the tests. */
#ifndef IOLENS_MAKE_H
#define IOLENS_MAKE_H

#include "writer.h"

/* Random but plausible records: every counter that a reader could mistake for another one differs. */
void make_posix(struct posix_record *r, uint64_t *seed, uint64_t id, int64_t rank);
void make_stdio(struct stdio_record *r, uint64_t *seed, uint64_t id, int64_t rank);
/* A head and 2 * bins numbers; at most 200 bins. */
struct made_heatmap {
	struct heatmap_record head;
	int64_t bins[400];
};
size_t make_heatmap(struct made_heatmap *h, uint64_t *seed, uint64_t id, int64_t rank, int bins);

/* A job of `nprocs` processes with texts that stay valid. */
struct log_job_text make_job(int64_t nprocs);

/* A section with every type and `rows` rows. */
void make_section(struct trailer_section *s, const char *name, int rows);

/* The finished log of a small job with all modules and a trailer; free it. */
uint8_t *make_log(size_t *size);

/* What a log of another container, byte order or compression is made of. */
struct other_log {
	int minor;
	bool swapped;
	enum log_compression compression;
	uint64_t partial; /* of the container's own module ids */
	struct other_region {
		int module; /* the container's own id */
		uint32_t version;
		const void *data;
		size_t size;
	} region[8];
	int regions;
};

/* Job 42 of user 7, 4 processes, 100.25 s from 1000.5; names: id 5 is "/five". Free it. */
uint8_t *make_other_log(const struct other_log *o, size_t *size);

#endif
