#include "pack.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "hash.h"
#include "reader.h"
#include "reduce.h"
#include "squeeze.h"

static const char magic[8] = "pack 01";
static const int modules[PACK_PARTS] = {-1, LOG_MOD_POSIX, LOG_MOD_MPIIO, LOG_MOD_STDIO};

enum pack_part pack_part_of(int module)
{
	for (int p = PACK_POSIX; p < PACK_PARTS; p++)
		if (modules[p] == module)
			return (enum pack_part)p;
	return PACK_PARTS;
}

int pack_module(enum pack_part part)
{
	return modules[part];
}

/* ---- what a record says ---- */

bool pack_standard_stream(uint64_t id)
{
	static const char *const names[] = {"<STDIN>", "<STDOUT>", "<STDERR>"};
	for (int k = 0; k < 3; k++)
		if (id == log_id(names[k]))
			return true;
	return false;
}

static bool unused_stream(const struct log_record *r)
{
	const struct stdio_record *s = r->data;
	int64_t used = s->reads | s->writes;
	return !(used || ((s->opens | s->seeks | s->flushes) && !pack_standard_stream(r->id)));
}

static bool unused_file(const struct posix_record *p)
{
	int64_t used = p->opens | p->reads | p->writes | p->seeks | p->stats | p->mmaps | p->fsyncs | p->fdsyncs;
	return !(used | p->rename_sources | p->rename_targets);
}

bool pack_unused(int module, const struct log_record *r)
{
	return (module == LOG_MOD_STDIO && unused_stream(r)) || (module == LOG_MOD_POSIX && unused_file(r->data));
}

void pack_total_add(struct pack_totals *t, const struct log_record *r)
{
	struct reduce_sums s;
	reduce_sums(r->schema, r->data, &s);
	t->records++;
	t->opens += s.opens;
	t->reads += s.reads;
	t->writes += s.writes;
	t->bytes_read += s.bytes_read;
	t->bytes_written += s.bytes_written;
	t->read_time += s.read_time;
	t->write_time += s.write_time;
	t->meta_time += s.meta_time;
}

/* ---- going through a store ---- */

static const struct log_region *region_of(const struct log *store, int part)
{
	return part == PACK_NAMES ? &store->container.names : &store->container.module[modules[part]];
}

typedef int see_record(void *context, int part, const struct log_record *r);

static int each_record(struct log *store, int part, see_record *see, void *context, struct log_error *err)
{
	struct log_records *records;
	struct log_record r;
	int code = log_records_open(&records, store, modules[part], err);
	while (code >= 0 && (code = log_records_next(records, &r, err)) > 0)
		code = see(context, part, &r);
	log_records_close(records);
	return code;
}

static int note_name(void *ids, uint64_t id, const char *name)
{
	(void)name;
	return id_set_add(ids, id);
}

static int note_record(void *ids, int part, const struct log_record *r)
{
	(void)part;
	return id_set_add(ids, r->id);
}

int pack_ids(struct id_set *ids, struct log *store, struct log_error *err)
{
	int code = names_walk(store, note_name, ids, err);
	for (int part = PACK_POSIX; code >= 0 && part < PACK_PARTS; part++)
		code = each_record(store, part, note_record, ids, err);
	return code;
}

static bool same_id(struct log *a, struct log *b, int part, uint64_t at)
{
	struct log_error err;
	uint64_t x, y;
	return source_read(&a->source, region_of(a, part)->offset + at, &x, sizeof x, &err) >= 0 &&
	       source_read(&b->source, region_of(b, part)->offset + at, &y, sizeof y, &err) >= 0 && x == y;
}

bool pack_alike(struct log *a, struct log *b)
{
	enum { SAMPLES = 8 };
	for (int part = PACK_POSIX; part < PACK_PARTS; part++) {
		uint64_t size = schema_modules[modules[part]].size, n = region_of(a, part)->length / size;
		if (region_of(b, part)->length / size != n)
			return false;
		for (uint64_t k = 0; n && k < SAMPLES; k++)
			if (!same_id(a, b, part, k * (n - 1) / (SAMPLES - 1) * size))
				return false;
	}
	return true;
}

/* ---- making one ---- */

struct packing {
	struct pack head;
	const struct id_set *shared;
	int64_t rank;
	struct squeeze *squeeze;
	struct log_bytes entry;
};

static int pack_name(void *context, uint64_t id, const char *name)
{
	struct packing *p = context;
	bool shared = id_set_has(p->shared, id);
	p->head.part[PACK_NAMES].packed += !shared;
	p->head.part[PACK_NAMES].left += shared;
	if (shared)
		return 0;
	p->entry.used = 0;
	if (log_bytes_add(&p->entry, &id, sizeof id) < 0 || log_bytes_add(&p->entry, name, strlen(name) + 1) < 0)
		return LOG_E_MEMORY;
	return squeeze_add(p->squeeze, p->entry.at, p->entry.used);
}

static int pack_record(void *context, int part, const struct log_record *r)
{
	struct packing *p = context;
	if (pack_unused(modules[part], r))
		return 0;
	bool shared = id_set_has(p->shared, r->id);
	p->head.part[part].packed += !shared;
	p->head.part[part].left += shared;
	pack_total_add(&p->head.totals[part], r);
	if (shared)
		return 0;
	p->entry.used = 0;
	if (log_bytes_add(&p->entry, r->data, r->size) < 0)
		return LOG_E_MEMORY;
	memcpy(p->entry.at + 8, &p->rank, sizeof p->rank);
	return squeeze_add(p->squeeze, p->entry.at, r->size);
}

static int write_all(int fd, const void *data, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = pwrite(fd, (const uint8_t *)data + done, n - done, (off_t)(at + done));
		if (put <= 0)
			return LOG_E_IO;
		done += (size_t)put;
	}
	return 0;
}

static int pack_part(struct packing *p, struct log *store, int part, int fd, uint64_t *at, struct log_error *err)
{
	p->squeeze->out.used = 0;
	p->head.part[part].raw = region_of(store, part)->length;
	p->head.part[part].offset = *at;
	int code = part == PACK_NAMES ? names_walk(store, pack_name, p, err)
				      : each_record(store, part, pack_record, p, err);
	if (code >= 0)
		code = squeeze_end(p->squeeze);
	if (code >= 0)
		code = write_all(fd, p->squeeze->out.at, p->squeeze->out.used, *at);
	p->head.part[part].stored = p->squeeze->out.used;
	*at += p->squeeze->out.used;
	return code;
}

static int make(struct packing *p, struct log *store, int fd, struct log_error *err)
{
	uint64_t at = sizeof p->head;
	int code = 0;
	for (int part = 0; code >= 0 && part < PACK_PARTS; part++)
		code = pack_part(p, store, part, fd, &at, err);
	memcpy(p->head.magic, magic, sizeof magic);
	return code < 0 ? code : write_all(fd, &p->head, sizeof p->head, 0);
}

int pack_make(struct log *store, const struct id_set *shared, int64_t rank, const char *path, struct log_error *err)
{
	struct packing p = {.shared = shared, .rank = rank, .squeeze = squeeze_make()};
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int code = !p.squeeze ? LOG_E_MEMORY : fd < 0 ? LOG_E_IO : make(&p, store, fd, err);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && code < 0)
		unlink(path);
	squeeze_free(p.squeeze);
	log_bytes_free(&p.entry);
	return code;
}

/* ---- reading one ---- */

static bool read_all(const char *path, void *to, size_t n, uint64_t at)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool good = fd >= 0;
	for (size_t done = 0; good && done < n;) {
		ssize_t got = pread(fd, (uint8_t *)to + done, n - done, (off_t)(at + done));
		good = got > 0;
		done += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	return good;
}

bool pack_load(struct pack *p, struct log *store, const char *path)
{
	if (!read_all(path, p, sizeof *p, 0) || memcmp(p->magic, magic, sizeof magic) != 0)
		return false;
	for (int part = 0; part < PACK_PARTS; part++)
		if (p->part[part].raw != region_of(store, part)->length)
			return false;
	return true;
}

int pack_read(const struct pack *p, const char *path, enum pack_part part, struct log_bytes *out)
{
	out->used = 0;
	if (log_bytes_room(out, p->part[part].stored) < 0)
		return LOG_E_MEMORY;
	out->used = p->part[part].stored;
	return read_all(path, out->at, out->used, p->part[part].offset) ? 0 : LOG_E_IO;
}
