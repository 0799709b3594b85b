/* What an iterator over records consists of, for the files that decode them. */
#ifndef IOLENS_DECODE_H
#define IOLENS_DECODE_H

#include <string.h>

#include "reader.h"

enum { DECODE_EXTRA = 8 /* foreign integers of an old layout */ };

struct log_records {
	const struct log *log;
	const struct schema_module *schema;
	const struct schema_history *history; /* NULL = current layout */
	struct region region;
	size_t stored_size; /* of the fixed part in this log */
	bool verbatim;      /* stored as they are handed out */
	int64_t nprocs;     /* 0 = unknown */
	uint64_t uncompressed;
	uint8_t *buffer;
	size_t room, at, end;
	uint8_t *record; /* a converted record */
	size_t record_room;
	int64_t extra[DECODE_EXTRA]; /* foreign integers of the record at hand */

	uint8_t *header; /* decoded; NULL = not read, or the module has none */

	int64_t heat_bins;
	double heat_width;

	size_t segment_size; /* as stored */
	int64_t segments[2]; /* writes and reads that are left of the record at hand */

	struct access_reader *accesses; /* the segments are in the trailer; NULL = in the region */

	const struct schema_map *map; /* records made from those of a 1.x or 2.x log; NULL = records as they are */
	const struct log_missing *missing;
	uint8_t *cp; /* such a record, decoded */
};

/* ---- decode.c: bytes ---- */

/* Makes n bytes available at r->at. 1 = they are, 0 = the region ends here. */
int decode_need(struct log_records *r, size_t n, struct log_error *err);
/* The same within a record, where the region must not end. */
int decode_rest(struct log_records *r, size_t n, struct log_error *err);
void decode_take(struct log_records *r, size_t n);
/* Makes room for a converted record. */
int decode_room(struct log_records *r, size_t n, struct log_error *err);

/* ---- convert.c: layouts ---- */

size_t convert_stored_size(const struct schema_module *m, const struct schema_history *h);
size_t convert_element_size(const struct schema_element *e, const struct schema_history *h);
bool convert_is_verbatim(const struct log_records *r);
/* Fields of the current layout in log order become native ones. */
void convert_to_native(const struct log_container *c, const struct schema_field *fields, uint32_t n, uint8_t *record);
/* The fixed part of a record. False: it is to be skipped. */
bool convert_record(struct log_records *r, const uint8_t *stored, uint8_t *now);
void convert_element(const struct log_records *r, const struct schema_element *e, const uint8_t *stored, uint8_t *now);

/* ---- arrays.c: records of variable size ---- */

int arrays_next_heatmap(struct log_records *r, struct log_record *out, struct log_error *err);
int arrays_next(struct log_records *r, struct log_record *out, struct log_error *err);
int arrays_next_traced(struct log_records *r, struct log_record *out, struct log_error *err);

/* ---- traced.c: accesses out of the trailer ---- */

int traced_open(struct log_records *r, int module, struct log_error *err);
int traced_next(struct log_records *r, struct log_record *out, struct log_error *err);
int64_t traced_segments(struct log_records *r, struct log_segment *out, size_t n, struct log_error *err);

static inline int64_t decode_i64(const void *record, const struct schema_field *f)
{
	int64_t v;
	memcpy(&v, (const uint8_t *)record + f->offset, sizeof v);
	return v;
}

#endif
