#include "record.h"

#include <errno.h>

#include "communication.h"
#include "handles.h"
#include "mpi/mpi.h"
#include "store.h"

const bool communication_wrapped = true;

struct state_communication *apmpi_thread(void)
{
	int saved = errno;
	bool counted = communication_counted();
	if (counted) {
		self_enter();
		self.communication = store_communication(self.shard);
		self_leave();
	}
	errno = saved;
	return counted ? self.communication : NULL;
}

/* ---- counting ---- */

/* Edges belong to the class below. */
static int class_of(int64_t bytes)
{
	if (__builtin_expect(bytes <= 256, 1))
		return 0;
	return 1 + (bytes > 1024) + (bytes > 8192) + (bytes > 262144) + (bytes > 1048576);
}

static inline void add(struct apmpi_span s, double end, enum state_call_id call, int64_t bytes)
{
	struct state_call *c = &s.to->call[call];
	double time = end - s.start;
	c->count++;
	c->bytes += bytes;
	c->size[class_of(bytes)]++;
	c->time += time;
	if (__builtin_expect(time > c->longest, 0))
		c->longest = time;
	if (__builtin_expect(time < c->shortest || !(c->shortest > 0), 0) && time > 0)
		c->shortest = time;
	s.to->ended = end;
}

/* The last memory is shared by all threads beyond those that have one for themselves. */
__attribute__((cold, noinline)) static void add_shared(struct apmpi_span s, double end, enum state_call_id call,
						       int64_t bytes)
{
	self_enter();
	if (self_take_shared()) {
		add(s, end, call, bytes);
		self_drop_shared();
	}
	self_leave();
}

void apmpi_add(struct apmpi_span s, double end, enum state_call_id call, int64_t bytes)
{
	if (__builtin_expect(self.shared, 0)) {
		add_shared(s, end, call, bytes);
		return;
	}
	self_enter();
	add(s, end, call, bytes);
	self_leave();
}

void apmpi_add_untimed(struct apmpi_span s, enum state_call_id call)
{
	self_enter();
	if (!self.shared || self_take_shared()) {
		s.to->call[call].count++;
		self_shard_done();
	}
	self_leave();
}

/* ---- synchronization ---- */

void apmpi_synchronize(uintptr_t comm, enum state_call_id call)
{
	const struct mpi_backend *mpi = mpi_backend();
	struct apmpi_span s = apmpi_span();
	if (!mpi || !mpi->synchronize(comm) || !s.to)
		return;
	double end = clock_now();
	self_enter();
	if (!self.shared || self_take_shared()) {
		s.to->call[call].synchronized += end - s.start;
		self_shard_done();
	}
	self_leave();
}

/* ---- bytes ---- */

int64_t apmpi_received(const void *status, int64_t count, uintptr_t type)
{
	const struct mpi_backend *mpi = mpi_backend();
	int64_t came = mpi && !mpi->statuses_ignored(status) ? mpi->status_moved(0, status, 0) : MPI_MOVED_UNKNOWN;
	return came >= 0 ? came : mpi_bytes(count, type);
}

bool apmpi_in_place(const void *buffer)
{
	return mpi_backend() && mpi_backend()->in_place(buffer);
}

int64_t apmpi_own(const void *buffer, int64_t count, uintptr_t type, int64_t in_place_count, uintptr_t in_place_type)
{
	return apmpi_in_place(buffer) ? mpi_bytes(in_place_count, in_place_type) : mpi_bytes(count, type);
}

static int peers(uintptr_t comm)
{
	return mpi_backend() ? mpi_backend()->peers(comm) : 0;
}

static int targets(uintptr_t comm)
{
	return mpi_backend() ? mpi_backend()->targets(comm) : 0;
}

int apmpi_rank(uintptr_t comm)
{
	int size = 0, rank = 0;
	return mpi_backend() && mpi_backend()->comm(comm, &size, &rank) == 0 ? rank : 0;
}

int64_t apmpi_each(uintptr_t comm, int64_t bytes)
{
	return bytes ? bytes * peers(comm) : 0;
}

int64_t apmpi_each_target(uintptr_t comm, int64_t bytes)
{
	return bytes ? bytes * targets(comm) : 0;
}

static int64_t sum(const int *counts, int n, uintptr_t type)
{
	int64_t all = 0;
	for (int i = 0; counts && i < n; i++)
		all += counts[i] > 0 ? counts[i] : 0;
	return mpi_bytes(all, type);
}

/* The types are an array of handles, whose size the backend knows. */
static int64_t sum_of(const int *counts, int n, const void *types)
{
	const struct mpi_backend *mpi = mpi_backend();
	size_t stride = mpi ? mpi->handle_size(MPI_HANDLE_TYPE) : 0;
	int64_t all = 0;
	for (int i = 0; stride && counts && types && i < n; i++)
		if (counts[i] > 0)
			all += mpi_bytes(counts[i],
					 mpi->load(MPI_HANDLE_TYPE, (const char *)types + (size_t)i * stride));
	return all;
}

int64_t apmpi_all(uintptr_t comm, const int *counts, uintptr_t type)
{
	return sum(counts, peers(comm), type);
}

int64_t apmpi_all_of(uintptr_t comm, const int *counts, const void *types)
{
	return sum_of(counts, peers(comm), types);
}

int64_t apmpi_all_targets(uintptr_t comm, const int *counts, uintptr_t type)
{
	return sum(counts, targets(comm), type);
}

int64_t apmpi_all_targets_of(uintptr_t comm, const int *counts, const void *types)
{
	return sum_of(counts, targets(comm), types);
}

/* ---- persistent requests ---- */

struct persistent {
	struct handle handle;
	int64_t bytes;
};

/* Has its own rules (handles.h): changed under its lock, atomic for those that look. */
static struct handles requests = {.size = sizeof(struct persistent)};

void apmpi_remember(const void *request, int64_t bytes)
{
	const struct mpi_backend *mpi = mpi_backend();
	uintptr_t key = mpi ? mpi->load(MPI_HANDLE_REQUEST, request) : 0;
	if (!key || !self_ready())
		return;
	self_enter();
	handles_add(&requests, key, &(struct persistent){.bytes = bytes});
	self_leave();
}

int64_t apmpi_started(const void *given, int64_t count)
{
	const struct mpi_backend *mpi = mpi_backend();
	size_t stride = mpi ? mpi->handle_size(MPI_HANDLE_REQUEST) : 0;
	int64_t all = 0;
	for (int64_t i = 0; stride && i < count; i++) {
		uintptr_t key = mpi->load(MPI_HANDLE_REQUEST, (const char *)given + (size_t)i * stride);
		const struct persistent *p = key ? handles_find(&requests, key) : NULL;
		all += p ? p->bytes : 0;
	}
	return all;
}
