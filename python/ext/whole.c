#include "whole.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "both.h"
#include "reader.h"

enum { MAPPED = 2 << 20, USUAL_RATIO = 32, SURE_RATIO = 5 };
/* More than this is read in pieces. */
#define UNPACKED_MAX            ((size_t)256 << 20)
#define UNPACKED_MAX_OF_THREADS ((size_t)64 << 20)

void whole_free(struct whole *w)
{
	if (w->bytes && w->room >= MAPPED)
		munmap(w->bytes, w->room);
	else
		free(w->bytes);
	*w = (struct whole){0};
}

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>

static bool get_room(struct whole *w, size_t room)
{
	*w = (struct whole){.room = room};
	if (room < MAPPED) {
		w->bytes = malloc(room);
		return w->bytes;
	}
	w->room = (room + MAPPED - 1) / MAPPED * MAPPED;
	void *at = mmap(NULL, w->room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return false;
	madvise(at, w->room, MADV_HUGEPAGE);
	w->bytes = at;
	return true;
}

/* The streams of a region, one behind the other. */
static enum libdeflate_result unpack(struct libdeflate_decompressor *d, const uint8_t *in, size_t left, struct whole *w)
{
	enum libdeflate_result result = LIBDEFLATE_SUCCESS;
	while (left && result == LIBDEFLATE_SUCCESS) {
		size_t taken, made;
		result = libdeflate_zlib_decompress_ex(d, in, left, w->bytes + w->used, w->room - w->used, &taken,
						       &made);
		if (result == LIBDEFLATE_SUCCESS) {
			in += taken;
			left -= taken;
			w->used += made;
		}
	}
	return result;
}

struct unpacking {
	struct libdeflate_decompressor *decompressor;
	const uint8_t *in;
	size_t n;
	struct whole *to;
	enum libdeflate_result result;
};

/* One half unpacks, the other has the kernel clear the pages ahead of it, as many as nearly any region needs. */
static void unpack_half(void *arg, int half)
{
	struct unpacking *u = arg;
	if (!half)
		u->result = unpack(u->decompressor, u->in, u->n, u->to);
#ifdef MADV_POPULATE_WRITE
	for (size_t at = 0; half && at + MAPPED <= u->to->room && at < SURE_RATIO * u->n; at += MAPPED)
		if (madvise(u->to->bytes + at, MAPPED, MADV_POPULATE_WRITE))
			break;
#endif
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool unpack_growing(const uint8_t *in, size_t n, struct whole *w, bool threads)
{
	size_t most = threads ? UNPACKED_MAX : UNPACKED_MAX_OF_THREADS, room = smaller(USUAL_RATIO * n, most);
	struct unpacking u = {libdeflate_alloc_decompressor(), in, n, w, LIBDEFLATE_INSUFFICIENT_SPACE};
	for (; u.result == LIBDEFLATE_INSUFFICIENT_SPACE && room; room = room < most ? smaller(4 * room, most) : 0) {
		whole_free(w);
		if (!u.decompressor || !get_room(w, room))
			break;
		if (threads && SURE_RATIO * n > 4 * MAPPED)
			both_halves(unpack_half, &u);
		else
			unpack_half(&u, 0);
	}
	libdeflate_free_decompressor(u.decompressor);
	return u.result == LIBDEFLATE_SUCCESS;
}

static bool is_simple(const struct handle *h, int module)
{
	const struct log_container *c = log_container(h->log);
	const struct log_region *where = &c->module[module];
	bool known = module < LOG_MOD_COUNT && schema_modules[module].version == c->module_version[module];
	known = known && schema_modules[module].layout == LAYOUT_PLAIN && !schema_modules[module].header;
	return known && c->compression == LOG_ZLIB && !c->swapped && where->length && where->length < UNPACKED_MAX &&
	       container_check_region(c, where, NULL) >= 0;
}

/* What log_records_next would complain about. */
static bool is_sound(struct handle *h, int module, const struct whole *w)
{
	const struct log_job *job;
	size_t size = schema_modules[module].size;
	pthread_mutex_lock(&h->lock);
	int64_t nprocs = log_job(h->log, &job, NULL) < 0 ? 0 : job->nprocs;
	pthread_mutex_unlock(&h->lock);
	if (!size || w->used % size)
		return false;
	for (size_t at = 0; at < w->used; at += size) {
		int64_t rank;
		memcpy(&rank, w->bytes + at + 8, sizeof rank);
		if (rank < -1 || (nprocs > 0 && rank >= nprocs))
			return false;
	}
	return true;
}

struct whole whole_records(struct handle *h, int module, bool threads)
{
	struct whole w = {0};
	if (!is_simple(h, module))
		return w;
	const struct log_region *where = &log_container(h->log)->module[module];
	uint8_t *stored = malloc(where->length);
	bool good = stored && source_read(&h->log->source, where->offset, stored, where->length, NULL) >= 0;
	good = good && unpack_growing(stored, where->length, &w, threads) && is_sound(h, module, &w);
	free(stored);
	if (!good)
		whole_free(&w);
	return w;
}

#else

struct whole whole_records(struct handle *h, int module, bool threads)
{
	return (struct whole){0};
}

#endif
