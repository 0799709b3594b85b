/* What the handles of the public header consist of. */
#ifndef IOLENS_API_HANDLE_H
#define IOLENS_API_HANDLE_H

#include <string.h>

#include "api/iolens/log.h"
#include "log.h"
#include "trailer.h"

#define EXPORT __attribute__((visibility("default")))

struct iolens_log {
	struct log *log; /* NULL = could not be opened */
	struct trailer *trailer;
	bool trailer_read;
	struct log_error error;
};

struct iolens_records {
	iolens_log *owner;
	int module;
	struct log_records *reader;
	struct log_record record;
	bool at_one; /* the record is valid */
};

struct iolens_table {
	struct trailer_table *table;
};

/* Keeps the error of a call with the log; returns code. */
int handle_failed(iolens_log *log, int code, const struct log_error *err);

/* Copies as much as the caller has room for; the rest of a larger struct is zero. */
static inline void handle_fill(void *out, size_t room, const void *made, size_t size)
{
	memset(out, 0, room);
	memcpy(out, made, room < size ? room : size);
}

#endif
