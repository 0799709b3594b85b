#include "ahead.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inflate.h"
#include "reader.h"

enum { PIECE = 512 << 10, SLOTS = 3, USUAL_RATIO = 32, WORTH_A_THREAD = 256 << 10 };

struct slot {
	uint8_t *memory;
	struct inflate_piece piece;
	int code; /* of inflate_next */
};

/* Slots are filled and taken in turn. */
struct ahead {
	struct inflate *inflate;
	size_t size; /* of a record */
	int64_t nprocs;
	struct slot slots[SLOTS];
	const uint8_t *next; /* of the piece at hand; NULL = there is none */
	size_t left;
	uint32_t sum;
	bool given_up;

	bool big, running, stopped;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t filled, taken;
	bool ended; /* the last filled slot has the region's end */
};

static bool is_simple(const struct handle *h, int module)
{
	const struct log_container *c = log_container(h->log);
	const struct log_region *where = &c->module[module];
	if (log_old_version(h->log) || module >= LOG_MOD_COUNT || !where->length)
		return false;
	const struct schema_module *m = &schema_modules[module];
	bool plain = m->version == c->module_version[module] && m->layout == LAYOUT_PLAIN && !m->header;
	return plain && m->size <= INFLATE_WINDOW && c->compression == LOG_ZLIB && !c->swapped &&
	       container_check_region(c, where, NULL) >= 0;
}

static bool get_slots(struct ahead *a, uint64_t stored)
{
	size_t room = stored < PIECE / USUAL_RATIO ? USUAL_RATIO * (size_t)stored : PIECE;
	for (int i = 0; i < (a->big ? SLOTS : 1); i++) {
		struct slot *s = &a->slots[i];
		s->memory = malloc(INFLATE_WINDOW + room + INFLATE_SLACK);
		if (!s->memory)
			return false;
		s->piece.bytes = s->memory + INFLATE_WINDOW;
		s->piece.room = room;
	}
	return true;
}

struct ahead *ahead_open(struct handle *h, int module, bool thread)
{
	if (!is_simple(h, module))
		return NULL;
	struct ahead *a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	const struct log_region *where = &log_container(h->log)->module[module];
	const struct log_job *job;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	pthread_mutex_lock(&h->lock);
	a->nprocs = log_job(h->log, &job, NULL) < 0 ? 0 : job->nprocs;
	pthread_mutex_unlock(&h->lock);
	a->size = schema_modules[module].size;
	a->sum = 1;
	a->big = thread && where->length >= WORTH_A_THREAD;
	a->inflate = inflate_open(&h->log->source, where->offset, where->length);
	if (a->inflate && get_slots(a, where->length))
		return a;
	ahead_close(a);
	return NULL;
}

void ahead_close(struct ahead *a)
{
	if (!a)
		return;
	ahead_stop(a);
	for (int i = 0; i < SLOTS; i++)
		free(a->slots[i].memory);
	inflate_close(a->inflate);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* ---- filling ---- */

static struct slot *slot_of(struct ahead *a, size_t number)
{
	return &a->slots[a->big ? number % SLOTS : 0];
}

/* The end of the piece before goes in front, for references to it and for the record that lies across. */
static void fill(struct ahead *a, size_t number)
{
	struct slot *s = slot_of(a, number);
	if (number) {
		const struct inflate_piece *before = &slot_of(a, number - 1)->piece;
		memmove(s->memory, before->bytes + before->used - INFLATE_WINDOW, INFLATE_WINDOW);
	}
	s->code = inflate_next(a->inflate, &s->piece);
}

static void *fill_ahead(void *ahead)
{
	struct ahead *a = ahead;
	pthread_mutex_lock(&a->lock);
	while (!a->stopped && !a->ended) {
		if (a->filled - a->taken == SLOTS) {
			pthread_cond_wait(&a->changed, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		fill(a, a->filled);
		pthread_mutex_lock(&a->lock);
		a->ended = slot_of(a, a->filled++)->code <= 0;
		pthread_cond_signal(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Signals are the main thread's business. */
void ahead_start(struct ahead *a)
{
	if (!a->big || a->ended || a->running || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	sigset_t all, before;
	sigfillset(&all);
	a->stopped = false;
	pthread_sigmask(SIG_SETMASK, &all, &before);
	a->running = !pthread_create(&a->thread, NULL, fill_ahead, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ahead_stop(struct ahead *a)
{
	if (!a->running)
		return;
	pthread_mutex_lock(&a->lock);
	a->stopped = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	a->running = false;
}

/* ---- taking ---- */

/* The next slot that is filled, NULL at the end. */
static struct slot *wait_for_slot(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	while (a->running && a->filled == a->taken && !a->ended)
		pthread_cond_wait(&a->changed, &a->lock);
	bool there = a->filled > a->taken, ended = a->ended;
	pthread_mutex_unlock(&a->lock);
	if (!there && ended)
		return NULL;
	if (!there) {
		fill(a, a->filled);
		a->ended = slot_of(a, a->filled++)->code <= 0;
	}
	return slot_of(a, a->taken);
}

static void give_back(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->taken++;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	a->next = NULL;
}

static bool sums_are_right(struct ahead *a, const struct inflate_piece *p)
{
	size_t at = 0;
	for (size_t i = 0; i < p->nends; i++) {
		if (inflate_sum(a->sum, p->bytes + at, p->ends[i].at - at) != p->ends[i].sum)
			return false;
		a->sum = 1;
		at = p->ends[i].at;
	}
	a->sum = inflate_sum(a->sum, p->bytes + at, p->used - at);
	return true;
}

/* 1 = a->next has a record, 0 = the end, -1 = given up. */
static int more(struct ahead *a)
{
	while (!a->next || a->left < a->size) {
		if (a->next)
			give_back(a);
		const struct slot *s = wait_for_slot(a);
		if (!s)
			return a->left ? -1 : 0;
		if (s->code < 0 || !sums_are_right(a, &s->piece))
			return -1;
		a->next = s->piece.bytes - a->left;
		a->left += s->piece.used;
	}
	return 1;
}

/* Up to where log_records_next would complain. */
static int64_t sound_records(const struct ahead *a, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t rank;
		memcpy(&rank, a->next + (size_t)i * a->size + 8, sizeof rank);
		if (rank < -1 || (a->nprocs > 0 && rank >= a->nprocs))
			return i;
	}
	return n;
}

int64_t ahead_next(struct ahead *a, int64_t n, const uint8_t **records)
{
	int code = a->given_up ? -1 : more(a);
	if (code > 0) {
		n = (uint64_t)n < a->left / a->size ? n : (int64_t)(a->left / a->size);
		n = sound_records(a, n);
		code = n ? 1 : -1;
	}
	a->given_up = code < 0;
	if (code <= 0)
		return code;
	*records = a->next;
	a->next += (size_t)n * a->size;
	a->left -= (size_t)n * a->size;
	return n;
}
