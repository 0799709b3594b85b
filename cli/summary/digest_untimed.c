/* What moved in all, of it what is unexplained, and how long that whose time is not known can have taken. */
#include "digest.h"

enum { MUCH_UNEXPLAINED = 1000000 }; /* bytes; loading programs takes as much */

int64_t digest_moved(const struct digest *d)
{
	int64_t sum = digest_unexplained(d);
	for (int i = 0; i < WRITTEN_COUNT; i++) /* upper layers move what they move through these */
		if (written_modules[i].descriptors)
			sum += d->interface[i].bytes_read + d->interface[i].bytes_written;
	for (size_t c = 0; c < d->nclasses; c++)
		sum += d->class[c].bytes_read + d->class[c].bytes_written;
	for (int w = 0; w < DIGEST_WAY_SOCKET; w++)
		for (int k = 0; k < 2; k++)
			sum += d->way[w].bytes[k] - d->way[w].recorded[k];
	return sum;
}

int64_t digest_unexplained(const struct digest *d)
{
	return d->unexplained_read + d->unexplained_written;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The slowest copy from the page cache, page faults of 4 KiB in it that take 1 us each, and the slowest storage that
 * programs are started from. Bytes/s. */
static const double CACHED = 1e9, MAPPED = 4e9, STORED = 50e6;

/* What mapped files brought from storage is in the estimate of page faults, where that holds nothing else. */
static bool faults_are_estimated(const struct digest *d)
{
	int64_t others = d->used.unknown;
	for (int w = DIGEST_WAY_LIBAIO; w < DIGEST_WAY_SOCKET; w++)
		others += w == DIGEST_WAY_MAPPED || w == DIGEST_WAY_LOADED ? 0 : d->way[w].bytes[IO_READ];
	return d->used.processes && !others && d->storage_read >= 0;
}

double digest_possible(const struct digest *d, int64_t copied, int64_t mapped)
{
	int64_t storage = d->storage_read >= 0 ? d->storage_read : copied + mapped;
	int64_t stored = smaller(storage, copied);
	int64_t paged = faults_are_estimated(d) ? 0 : smaller(storage - stored, mapped);
	return (double)(copied - stored) / CACHED + (double)(mapped - paged) / MAPPED +
	       (double)(stored + paged) / STORED;
}

bool digest_much_unexplained(const struct digest *d)
{
	int64_t unexplained = digest_unexplained(d);
	return unexplained >= MUCH_UNEXPLAINED && 20 * unexplained > digest_moved(d) &&
	       20 * digest_possible(d, unexplained, 0) > d->run_time;
}
