/* libFuzzer target: a record of traced accesses, behind the checksum that keeps the reader's target from it. */
#include <stdlib.h>
#include <string.h>

#include "accesses.h"
#include "crc32c.h"
#include "string_table.h"

static int64_t read_accesses(struct access_reader *r, uint64_t count)
{
	struct logged_access got[64];
	enum access_kind kind;
	int64_t n, all = 0;
	while ((n = access_next(r, &kind, got, 64, NULL)) > 0)
		all += n;
	if (n == 0 && (uint64_t)all != count)
		abort();
	return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size)
{
	struct log_bytes area = {0};
	struct access_reader *r;
	struct access_head head;
	struct source source;
	uint32_t crc = log_crc32c(0, at, size);
	if (add_number(&area, size) < 0 || log_bytes_add(&area, &crc, sizeof crc) < 0 ||
	    log_bytes_add(&area, at, size) < 0)
		return 0;
	source_open_memory(&source, area.at, area.used);
	if (access_reader_open(&r, &source, 0, area.used, NULL) >= 0) {
		while (access_next_record(r, &head, NULL) > 0)
			read_accesses(r, head.count[ACCESS_WRITES] + head.count[ACCESS_READS]);
		access_reader_close(r);
	}
	log_bytes_free(&area);
	return 0;
}
