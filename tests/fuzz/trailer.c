/*
 * libFuzzer target: sections and the directory of a trailer, behind the CRCs that keep the reader's target from them.
 * Input: rows (u16), bytes before (u16, times 16), then the section.
 */
#include <stdlib.h>
#include <string.h>

#include "compact.h"

enum { HEAD = 4, UNIT = 16 };

static void read_section(const uint8_t *at, size_t size)
{
	uint16_t head[2];
	struct compact_table t = {0};
	memcpy(head, at, sizeof head);
	int code = compact_read(&t, at + HEAD, size - HEAD, head[0], (uint64_t)head[1] * UNIT);
	uint64_t sum = 0;
	for (size_t i = 0; code >= 0 && i < t.bytes.used; i++)
		sum += t.bytes.at[i];
	if (code >= 0 && t.bytes.used < head[0] * t.row_size + (sum == 1))
		abort();
	log_bytes_free(&t.bytes);
	log_free(t.fields);
}

static void read_directory(const uint8_t *at, size_t size)
{
	struct trailer_entry *entries = NULL;
	size_t n = 0;
	int code = compact_read_directory(at, size, size * UNIT, &entries, &n);
	for (size_t i = 0; code >= 0 && i < n; i++)
		if (entries[i].offset > size * UNIT || strlen(entries[i].name) >= TRAILER_NAME)
			abort();
	log_free(entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size)
{
	if (size < HEAD)
		return 0;
	read_section(at, size);
	read_directory(at, size);
	return 0;
}
