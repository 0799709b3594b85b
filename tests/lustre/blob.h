/* Layouts as the attribute lustre.lov holds them, made byte by byte. */
#ifndef IOLENS_LUSTRE_BLOB_H
#define IOLENS_LUSTRE_BLOB_H

#include <stddef.h>
#include <stdint.h>

struct blob {
	size_t n;
	uint8_t at[65536];
};

/* A component that is plain: v1, or v3 where it has a pool. */
struct blob_stripes {
	uint32_t pattern; /* 0 = raid0 */
	uint32_t size;
	uint16_t count;
	const char *pool;
	const uint32_t *targets; /* NULL = no objects */
};

struct blob_entry {
	uint32_t id, flags;
	uint64_t start, end;
};

enum { BLOB_INIT = 0x10, BLOB_MDT = 0x100, BLOB_OVERSTRIPED = 0x200 };
#define BLOB_EOF      UINT64_MAX
#define BLOB_RELEASED 0x80000001u

void blob_put(struct blob *b, uint64_t value, int bytes);
void blob_stripes(struct blob *b, const struct blob_stripes *s);
void blob_foreign(struct blob *b, uint32_t length);

/* Head and entries of a composite; the components follow, each begun and ended. */
void blob_composite(struct blob *b, const struct blob_entry *e, uint16_t n);
void blob_begin(struct blob *b, uint16_t entry);
void blob_end(struct blob *b, uint16_t entry);

#endif
