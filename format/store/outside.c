#include "outside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "log.h"
#include "schema.h"
#include "store_header.h"
#include "trailer.h"

enum { PAGE = 4096, NAMES_AT = CONTAINER_HEADER + CONTAINER_JOB_MAX, COMMAND_MAX = 3015 };

static const char state_schema[] = "version u64\nsize u64\n";

static size_t pages(size_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static void place_state(struct outside_store *s)
{
	struct trailer_entry *entry =
		(struct trailer_entry *)(s->memory + s->size - sizeof *entry - sizeof(struct trailer_footer));
	s->row = section_in_place(entry, s->memory, s->state, "live", state_schema, sizeof *s->row, 1, 0);
	entry->rows = 1;
	footer_in_place((struct trailer_footer *)(entry + 1), (uint64_t)((char *)entry - s->memory), 1);
	s->row->version = STATE_VERSION;
	s->row->size = sizeof *s->row;
	s->row->shards = 1;
}

bool outside_begin(struct outside_store *s, size_t path_bytes, size_t records)
{
	size_t names = path_bytes + records * (sizeof(uint64_t) + 1);
	*s = (struct outside_store){0};
	s->records = pages(NAMES_AT + names);
	s->state = s->records + pages((records + 1) * sizeof(struct posix_record));
	s->size = s->state + pages(section_in_place_size(state_schema, sizeof(struct process_state), 1, 0)) + PAGE;
	s->block = log_alloc(s->size + PAGE);
	if (!s->block)
		return false;
	memset(s->block, 0, s->size + PAGE);
	s->memory = (char *)pages((uintptr_t)s->block);
	place_state(s);
	return true;
}

void outside_free(struct outside_store *s)
{
	log_free(s->block);
	*s = (struct outside_store){0};
}

struct posix_record *outside_add(struct outside_store *s, uint64_t id, const char *path, size_t n)
{
	char *name = s->memory + NAMES_AT + s->names_used;
	struct posix_record *r = outside_records(s) + s->records_used++;
	r->id = id;
	memcpy(name, &id, sizeof id);
	memcpy(name + sizeof id, path, n + 1);
	s->names_used += sizeof id + n + 1;
	return r;
}

void outside_finish(struct outside_store *s, int64_t user, int64_t job, const char *command, bool partial)
{
	struct header *h = (struct header *)s->memory;
	struct job *j = (struct job *)(s->memory + CONTAINER_HEADER);
	memcpy(h->version, "3.41", 4);
	h->magic = CONTAINER_MAGIC;
	h->compression = LOG_PLAIN;
	h->partial = partial ? UINT64_C(1) << LOG_MOD_POSIX : 0;
	h->names = (struct placed){NAMES_AT, s->names_used};
	h->module[LOG_MOD_POSIX] = (struct placed){s->records, s->records_used * sizeof(struct posix_record)};
	h->module_version[LOG_MOD_POSIX] = schema_modules[LOG_MOD_POSIX].version;
	j->uid = user;
	j->start = s->row->process.started / 1000000000;
	j->start_ns = s->row->process.started % 1000000000;
	j->nprocs = 1;
	j->id = job;
	strcpy(j->metadata, "lib_ver=iolens-" IOLENS_VERSION "\n");
	memcpy(j->command, command, strnlen(command, COMMAND_MAX));
}

/* Shards that were never used are left out of the file: it is sparse there. */
static bool write_out(const struct outside_store *s, int fd)
{
	size_t used = (size_t)((char *)&s->row->shard[1] - s->memory), last = s->size - PAGE;
	return ftruncate(fd, (off_t)s->size) == 0 && pwrite(fd, s->memory, used, 0) == (ssize_t)used &&
	       pwrite(fd, s->memory + last, PAGE, (off_t)last) == PAGE;
}

bool outside_write(const struct outside_store *s, const char *beside, const char *path)
{
	int fd = open(beside, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write_out(s, fd) && rename(beside, path) == 0;
	int error = errno;
	if (fd >= 0)
		close(fd);
	if (!good)
		unlink(beside);
	errno = error;
	return good;
}
