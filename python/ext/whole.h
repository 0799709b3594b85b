/*
 * The fast way to a module's records: all of its region unpacked at once by libdeflate, which takes less than half of
 * zlib's time, but gives no pieces. Only for up to 256 MB (64 MB in a scan) that are sound, and stored as it is used; everything else (damage,
 * old versions, the other byte order, bzip2, bombs) goes the way of log_records_next.
 */
#ifndef IOLENS_WHOLE_H
#define IOLENS_WHOLE_H

#include "handle.h"

struct whole {
	uint8_t *bytes; /* NULL = not to be had this way */
	size_t used, room;
};

/* threads: a second one may help. */
struct whole whole_records(struct handle *h, int module, bool threads);
void whole_free(struct whole *w);

#endif
