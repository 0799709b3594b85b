#include "tree.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"

enum { TAG = 1, FIRST = 4096, PIECE = 1 << 28 };
enum { HELD_UP = 20000000, MOMENT = 1000000000, NAP = 100000 }; /* ns */

/* A message begins with its length; data that does not fit behind the length follows. */
struct first {
	uint64_t size;
	uint8_t bytes[FIRST - sizeof(uint64_t)];
};

/* Also beyond the deadline, until `moment` ns after `begun`, or after this rank was held up. */
static bool await(struct tree *t, enum tree_request request, uint64_t begun, uint64_t moment)
{
	const struct timespec nap = {.tv_nsec = NAP};
	deadline_again(t->deadline);
	for (uint64_t last = begun;;) {
		bool done = false;
		if (t->mpi->test(request, &done) != 0)
			return false;
		if (done)
			return true;
		uint64_t now = clock_monotonic();
		if (now - last > HELD_UP)
			begun = now;
		last = now;
		if (deadline_rest(t->deadline))
			continue;
		if (now - begun >= moment)
			return false;
		nanosleep(&nap, NULL);
	}
}

bool tree_await(struct tree *t, enum tree_request request)
{
	return await(t, request, 0, 0);
}

bool tree_await_begun(struct tree *t, enum tree_request request, uint64_t begun)
{
	return await(t, request, begun, MOMENT) && clock_monotonic() < t->deadline->until;
}

static bool send_one(struct tree *t, int64_t rank, const void *from, int64_t n)
{
	return t->mpi->send(TREE_SEND, from, n, (int)rank, TAG) == 0 && tree_await(t, TREE_SEND);
}

static bool receive_one(struct tree *t, int64_t rank, void *to, int64_t n)
{
	if (t->mpi->receive(TREE_RECEIVE, to, n, (int)rank, TAG) != 0)
		return false;
	if (tree_await(t, TREE_RECEIVE))
		return true;
	t->mpi->cancel(TREE_RECEIVE);
	return false;
}

bool tree_send(struct tree *t, int64_t rank, const void *from, uint64_t n)
{
	for (uint64_t at = 0; at < n; at += PIECE)
		if (!send_one(t, rank, (const uint8_t *)from + at, n - at < PIECE ? (int64_t)(n - at) : PIECE))
			return false;
	return true;
}

bool tree_receive(struct tree *t, int64_t rank, void *to, uint64_t n)
{
	for (uint64_t at = 0; at < n; at += PIECE)
		if (!receive_one(t, rank, (uint8_t *)to + at, n - at < PIECE ? (int64_t)(n - at) : PIECE))
			return false;
	return true;
}

static bool send_message(struct tree *t, int64_t node, const struct log_bytes *b)
{
	struct first *f = calloc(1, sizeof *f);
	size_t n = b->used < sizeof f->bytes ? b->used : sizeof f->bytes;
	if (!f)
		return false;
	f->size = b->used;
	memcpy(f->bytes, b->at, n);
	if (!send_one(t, t->leader[node], f, (int64_t)(sizeof f->size + n)))
		return false;
	free(f);
	return tree_send(t, t->leader[node], b->at + n, b->used - n);
}

static bool receive_message(struct tree *t, int64_t node, struct log_bytes *b)
{
	struct first *f = calloc(1, sizeof *f);
	if (!f || !receive_one(t, t->leader[node], f, sizeof *f))
		return false;
	size_t n = f->size < sizeof f->bytes ? (size_t)f->size : sizeof f->bytes;
	b->used = 0;
	bool good = log_bytes_add(b, f->bytes, n) >= 0 && log_bytes_room(b, f->size - n) >= 0 &&
		    tree_receive(t, t->leader[node], b->at + n, f->size - n);
	b->used = f->size;
	free(f);
	return good;
}

bool tree_up(struct tree *t, tree_add *add, tree_fill *fill, void *context)
{
	struct log_bytes b = {0};
	bool good = true;
	for (int64_t step = 1; good && step < t->nodes; step *= 2) {
		if (t->mine & step) {
			good = fill(context, -1, &b) && send_message(t, t->mine - step, &b);
			break;
		}
		if (t->mine + step < t->nodes)
			good = receive_message(t, t->mine + step, &b) && add(context, t->mine + step, b.at, b.used);
	}
	if (good)
		log_bytes_free(&b);
	return good;
}

bool tree_down(struct tree *t, tree_take *take, tree_fill *fill, void *context)
{
	struct log_bytes b = {0};
	bool good = true;
	int64_t step = 1;
	while (step < t->nodes && !(t->mine & step))
		step *= 2;
	if (t->mine)
		good = receive_message(t, t->mine - step, &b) && take(context, b.at, b.used);
	for (step /= 2; good && step; step /= 2)
		if (t->mine + step < t->nodes)
			good = fill(context, t->mine + step, &b) && send_message(t, t->mine + step, &b);
	if (good)
		log_bytes_free(&b);
	return good;
}

/* ---- whether all are of one mind ---- */

static bool add_one(void *context, int64_t node, const void *from, size_t n)
{
	bool *good = context;
	(void)node;
	*good = *good && n == 1 && *(const uint8_t *)from;
	return true;
}

static bool fill_one(void *context, int64_t node, struct log_bytes *out)
{
	const uint8_t good = *(bool *)context;
	(void)node;
	out->used = 0;
	return log_bytes_add(out, &good, 1) >= 0;
}

static bool take_one(void *context, const void *from, size_t n)
{
	*(bool *)context = n == 1 && *(const uint8_t *)from;
	return true;
}

bool tree_all(struct tree *t, bool *good)
{
	return tree_up(t, add_one, fill_one, good);
}

bool tree_all_hear(struct tree *t, bool *good)
{
	return tree_down(t, take_one, fill_one, good);
}
