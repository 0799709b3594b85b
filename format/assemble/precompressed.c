#include "precompressed.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "hash.h"
#include "reader.h"
#include "reduce.h"
#include "deflater.h"
#include "shared.h"

static const char magic[8] = "pack 01";

enum precompressed_part precompressed_part_of(int module)
{
	int slot = written_slot(module);
	return slot < 0 ? PRECOMPRESSED_PARTS : (enum precompressed_part)(PRECOMPRESSED_RECORDS + slot);
}

int precompressed_module(enum precompressed_part part)
{
	return part == PRECOMPRESSED_NAMES ? -1 : written_modules[part - PRECOMPRESSED_RECORDS].module;
}

/* ---- what a record says ---- */

bool precompressed_standard_stream(uint64_t id)
{
	static const char *const names[] = {"<STDIN>", "<STDOUT>", "<STDERR>"};
	for (int k = 0; k < 3; k++)
		if (id == log_id(names[k]))
			return true;
	return false;
}

int precompressed_next(int module, struct store_records *records, struct log_record *r, struct log_error *err)
{
	int code = store_records_next(records, r, err);
	if (code != LOG_E_DAMAGED || !shared_has_arrays(&schema_modules[module]))
		return code;
	*err = (struct log_error){0};
	return 0;
}

static bool any_counter(const void *record, const uint16_t *offsets)
{
	for (; offsets && *offsets; offsets++)
		if (*(const int64_t *)((const char *)record + *offsets))
			return true;
	return false;
}

bool precompressed_unused(int module, const struct log_record *r)
{
	int slot = written_slot(module);
	const struct written_module *w = slot < 0 ? NULL : &written_modules[slot];
	if (!w || !w->used || any_counter(r->data, w->used))
		return false;
	return !any_counter(r->data, w->used_but_by_streams) || precompressed_standard_stream(r->id);
}

void precompressed_total_add(struct precompressed_totals *t, const struct log_record *r)
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
	return part == PRECOMPRESSED_NAMES ? &store->container.names
					   : &store->container.module[precompressed_module(part)];
}

typedef int see_record(void *context, int part, const struct log_record *r);

static int each_record(struct log *store, int part, see_record *see, void *context, struct log_error *err)
{
	struct store_records records;
	struct log_record r;
	int code = store_records_open(&records, store, precompressed_module(part), err);
	while (code >= 0 && (code = precompressed_next(precompressed_module(part), &records, &r, err)) > 0)
		code = see(context, part, &r);
	store_records_close(&records);
	return code;
}

static int add_name_id(void *ids, uint64_t id, const char *name)
{
	(void)name;
	return id_set_add(ids, id);
}

static int add_record_id(void *ids, int part, const struct log_record *r)
{
	(void)part;
	return id_set_add(ids, r->id);
}

int precompressed_ids(struct id_set *ids, struct log *store, struct log_error *err)
{
	int code = names_walk(store, add_name_id, ids, err);
	for (int part = PRECOMPRESSED_RECORDS; code >= 0 && part < PRECOMPRESSED_PARTS; part++)
		code = each_record(store, part, add_record_id, ids, err);
	return code;
}

static bool same_id(struct log *a, struct log *b, int part, uint64_t at)
{
	struct log_error err;
	uint64_t x, y;
	return source_read(&a->source, region_of(a, part)->offset + at, &x, sizeof x, &err) >= 0 &&
	       source_read(&b->source, region_of(b, part)->offset + at, &y, sizeof y, &err) >= 0 && x == y;
}

bool precompressed_alike(struct log *a, struct log *b)
{
	enum { SAMPLES = 8 };
	for (int part = PRECOMPRESSED_RECORDS; part < PRECOMPRESSED_PARTS; part++) {
		uint64_t size = schema_modules[precompressed_module(part)].size, n = region_of(a, part)->length / size;
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
	struct precompressed head;
	const struct id_set *shared;
	int64_t rank;
	struct deflater *deflater;
	struct log_bytes entry;
};

static int precompressed_name(void *context, uint64_t id, const char *name)
{
	struct packing *p = context;
	bool shared = id_set_has(p->shared, id);
	p->head.part[PRECOMPRESSED_NAMES].packed += !shared;
	p->head.part[PRECOMPRESSED_NAMES].left += shared;
	if (shared)
		return 0;
	p->entry.used = 0;
	if (log_bytes_add(&p->entry, &id, sizeof id) < 0 || log_bytes_add(&p->entry, name, strlen(name) + 1) < 0)
		return LOG_E_MEMORY;
	return deflater_add(p->deflater, p->entry.at, p->entry.used);
}

static int precompressed_record(void *context, int part, const struct log_record *r)
{
	struct packing *p = context;
	if (precompressed_unused(precompressed_module(part), r))
		return 0;
	bool shared = id_set_has(p->shared, r->id);
	p->head.part[part].packed += !shared;
	p->head.part[part].left += shared;
	precompressed_total_add(&p->head.totals[part], r);
	if (shared)
		return 0;
	p->entry.used = 0;
	if (log_bytes_add(&p->entry, r->data, r->size) < 0)
		return LOG_E_MEMORY;
	memcpy(p->entry.at + 8, &p->rank, sizeof p->rank);
	reduce_to_grid(r->schema, p->entry.at);
	return deflater_add(p->deflater, p->entry.at, r->size);
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

static int precompressed_part(struct packing *p, struct log *store, int part, int fd, uint64_t *at,
			      struct log_error *err)
{
	p->deflater->out.used = 0;
	p->head.part[part].raw = region_of(store, part)->length;
	p->head.part[part].offset = *at;
	int code = part == PRECOMPRESSED_NAMES ? names_walk(store, precompressed_name, p, err)
					       : each_record(store, part, precompressed_record, p, err);
	if (code >= 0)
		code = deflater_end(p->deflater);
	if (code >= 0)
		code = write_all(fd, p->deflater->out.at, p->deflater->out.used, *at);
	p->head.part[part].stored = p->deflater->out.used;
	*at += p->deflater->out.used;
	return code;
}

static int make(struct packing *p, struct log *store, int fd, struct log_error *err)
{
	uint64_t at = sizeof p->head;
	int code = 0;
	for (int part = 0; code >= 0 && part < PRECOMPRESSED_PARTS; part++)
		code = precompressed_part(p, store, part, fd, &at, err);
	memcpy(p->head.magic, magic, sizeof magic);
	return code < 0 ? code : write_all(fd, &p->head, sizeof p->head, 0);
}

int precompressed_make(struct log *store, const struct id_set *shared, int64_t rank, const char *path,
		       struct log_error *err)
{
	struct packing p = {.shared = shared, .rank = rank, .deflater = deflater_make()};
	int fd = descriptor_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	int code = !p.deflater ? LOG_E_MEMORY : fd < 0 ? LOG_E_IO : make(&p, store, fd, err);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && code < 0)
		unlink(path);
	deflater_free(p.deflater);
	log_bytes_free(&p.entry);
	return code;
}

/* ---- reading one ---- */

bool precompressed_load(struct precompressed *p, struct log *store, const char *path)
{
	if (!descriptor_read_file(path, p, sizeof *p, 0) || memcmp(p->magic, magic, sizeof magic) != 0)
		return false;
	for (int part = 0; part < PRECOMPRESSED_PARTS; part++)
		if (p->part[part].raw != region_of(store, part)->length)
			return false;
	return true;
}

int precompressed_read(const struct precompressed *p, const char *path, enum precompressed_part part,
		       struct log_bytes *out)
{
	out->used = 0;
	if (log_bytes_room(out, p->part[part].stored) < 0)
		return LOG_E_MEMORY;
	out->used = p->part[part].stored;
	return descriptor_read_file(path, out->at, out->used, p->part[part].offset) ? 0 : LOG_E_IO;
}
