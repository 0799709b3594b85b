#include "writers.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "sys.h"

enum { DEFAULT = 4, PIECE = 4 << 20, SMALL = 16384 };

/* Comes first from a node; what is small comes with it, else it follows in pieces, each of one region. */
struct load {
	uint64_t at[JOIN_REGIONS], size[JOIN_REGIONS];
	uint8_t small[SMALL];
};

#define LOAD_HEAD offsetof(struct load, small)

/* ---- which ranks ---- */

static int64_t wanted(const char *hints)
{
	static const char key[] = "cb_nodes=";
	for (const char *h = hints; h && *h; h = strchr(h, ';') ? strchr(h, ';') + 1 : "")
		if (strncmp(h, key, sizeof key - 1) == 0)
			return atoll(h + sizeof key - 1);
	return DEFAULT;
}

static int64_t node_of(const struct writers *w, int64_t writer)
{
	return writer * w->nodes / w->number;
}

/* Of the node's regions. */
static int64_t writer_of(const struct writers *w, int64_t node)
{
	int64_t writer = w->number - 1;
	while (node_of(w, writer) > node)
		writer--;
	return w->able >> writer & 1 ? writer : 0;
}

void writers_choose(struct writers *w, const char *hints, int64_t nodes, int64_t node)
{
	int64_t most = nodes < WRITERS_MAX ? nodes : WRITERS_MAX, n = wanted(hints);
	*w = (struct writers){.number = n < 1 ? 1 : n > most ? most : n, .nodes = nodes, .mine = -1, .fd = -1};
	for (int64_t k = 0; k < w->number; k++)
		if (node_of(w, k) == node)
			w->mine = k;
}

void writers_open(struct writers *w, const struct join_file *file)
{
	struct stat s;
	if (w->mine < 0)
		return;
	w->fd = sys_open(file->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (w->fd < 0)
		return;
	bool same = sys_fstat(w->fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
		    s.st_ino == file->inode &&
		    s.st_ctim.tv_sec * INT64_C(1000000000) + s.st_ctim.tv_nsec == file->changed;
	if (same)
		w->able = UINT64_C(1) << w->mine;
	else
		writers_close(w, &same);
}

void writers_close(struct writers *w, bool *written)
{
	if (w->fd >= 0 && sys_close(w->fd) != 0)
		*written = false;
	w->fd = -1;
}

/* ---- to a writer ---- */

static struct load *load_of(const struct join *j, const uint64_t at[JOIN_REGIONS], uint64_t *total)
{
	struct load *l = calloc(1, sizeof *l);
	*total = 0;
	for (int r = 0; l && r < JOIN_REGIONS; r++) {
		size_t size;
		const void *region = join_region(j, (enum join_region)r, &size);
		l->at[r] = at[r];
		l->size[r] = size;
		if (*total + size <= SMALL && size)
			memcpy(l->small + *total, region, size);
		*total += size;
	}
	return l;
}

static bool send_region(struct tree *t, int64_t rank, const uint8_t *from, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PIECE)
		if (!tree_send(t, rank, from + at, size - at < PIECE ? size - at : PIECE))
			return false;
	return true;
}

static bool send_load(struct tree *t, int64_t rank, const struct join *j, const uint64_t at[JOIN_REGIONS])
{
	uint64_t total;
	struct load *l = load_of(j, at, &total);
	bool good = l && tree_send(t, rank, l, LOAD_HEAD + (total <= SMALL ? total : 0));
	for (int r = 0; good && total > SMALL && r < JOIN_REGIONS; r++) {
		size_t size;
		const void *region = join_region(j, (enum join_region)r, &size);
		good = send_region(t, rank, region, size);
	}
	if (good)
		free(l);
	return good;
}

/* ---- the writer ---- */

static bool write_at(int fd, const uint8_t *from, uint64_t n, uint64_t at)
{
	while (n) {
		long put = sys_call(SYS_pwrite64, fd, (long)from, (long)n, (long)at, 0, 0);
		if (put <= 0)
			return false;
		from += put;
		at += (uint64_t)put;
		n -= (uint64_t)put;
	}
	return true;
}

/*
 * The others write as much, each for as many nodes: how long the rest will take shows when a tenth of the time is over. Not before:
 * the first pieces of a log go into memory of the file server.
 */
static void look_ahead(struct writers *w, const struct deadline *d, uint64_t n)
{
	uint64_t now = clock_monotonic();
	double share = (double)w->log / (double)w->number;
	w->done += n;
	if (!w->log || !w->late || now >= d->until || now - w->begun < (d->until - w->begun) / 10)
		return;
	double speed = (double)w->done / (double)(now - w->begun) * 1e9, left = (share - (double)w->done) / speed;
	if (left < (double)(d->until - now) * 1e-9)
		return;
	w->late(w->log, speed * (double)w->number, left);
	w->late = NULL;
}

static bool write_region(struct writers *w, struct tree *t, int64_t rank, uint8_t *piece, uint64_t at, uint64_t size,
			 bool *written)
{
	for (uint64_t done = 0; done < size; done += PIECE) {
		uint64_t n = size - done < PIECE ? size - done : PIECE;
		if (!tree_receive(t, rank, piece, n))
			return false;
		*written = *written && write_at(w->fd, piece, n, at + done);
		look_ahead(w, t->deadline, n);
	}
	return true;
}

/* After an error all is received nevertheless: the sender must not wait. */
static bool write_load(struct writers *w, struct tree *t, int64_t rank, struct load *l, uint8_t *piece, bool *written)
{
	uint64_t total = 0;
	memset(l, 0, LOAD_HEAD);
	if (!tree_receive(t, rank, l, sizeof *l))
		return false;
	for (int r = 0; r < JOIN_REGIONS; r++)
		total += l->size[r];
	uint64_t at = 0;
	for (int r = 0; r < JOIN_REGIONS; r++) {
		if (total > SMALL && !write_region(w, t, rank, piece, l->at[r], l->size[r], written))
			return false;
		if (total <= SMALL)
			*written = *written && write_at(w->fd, l->small + at, l->size[r], l->at[r]);
		at += l->size[r];
	}
	look_ahead(w, t->deadline, total <= SMALL ? total : 0);
	return true;
}

static bool write_own(struct writers *w, const struct join *j, const uint64_t at[JOIN_REGIONS])
{
	bool good = w->fd >= 0;
	for (int r = 0; good && r < JOIN_REGIONS; r++) {
		size_t size;
		const void *region = join_region(j, (enum join_region)r, &size);
		good = write_at(w->fd, region, size, at[r]);
		w->done += size;
	}
	return good;
}

static bool serve(struct writers *w, struct tree *t, bool *written)
{
	struct load *l = calloc(1, sizeof *l);
	uint8_t *piece = malloc(PIECE);
	bool good = l && piece;
	for (int64_t node = 0; good && node < w->nodes; node++)
		if (node != t->mine && writer_of(w, node) == w->mine)
			good = write_load(w, t, t->leader[node], l, piece, written);
	if (good) { /* else a message may still come into them */
		free(l);
		free(piece);
	}
	return good;
}

bool writers_write(struct writers *w, struct tree *t, const struct join *j, const uint64_t at[JOIN_REGIONS],
		   bool *written)
{
	int64_t writer = writer_of(w, t->mine);
	if (writer != w->mine || !(w->able >> writer & 1))
		return send_load(t, t->leader[node_of(w, writer)], j, at);
	w->begun = clock_monotonic();
	*written = *written && write_own(w, j, at);
	return serve(w, t, written);
}
