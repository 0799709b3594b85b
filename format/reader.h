/* What an open log consists of, for the files that read its regions. */
#ifndef IOLENS_READER_H
#define IOLENS_READER_H

#include "alloc.h"
#include "container.h"
#include "region.h"

struct name_entry {
	uint64_t id;
	const char *text;
};

struct log {
	struct source source;
	struct log_container container;

	struct log_job job;
	bool job_read;
	struct log_pair *job_pairs;
	char job_text[CONTAINER_JOB_MAX + 2];

	struct log_bytes names_text;
	struct name_entry *names; /* sorted by id */
	size_t nnames;
	bool names_read;
	struct log_error names_error;
};

#endif
