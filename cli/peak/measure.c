#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILES = 20000, PATHS = 4096 };

struct work {
	char folder[PATHS];
	int fd, direct; /* the file, which has no name any more; direct < 0: not past the page cache */
	char *block;
	double seconds;
	int64_t size, files;
	struct measurement *m;
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool goes_on(const struct work *w, double start)
{
	return !stopped && now() - start < w->seconds;
}

/* ---- bytes ---- */

static int fail_io(ssize_t n)
{
	return n < 0 ? errno : EIO;
}

static int write_all(struct work *w)
{
	struct measured *r = &w->m->of[MEASURE_WRITE];
	double start = now();
	while (r->bytes < w->size && goes_on(w, start)) {
		ssize_t n = write(w->fd, w->block, MEASURE_BLOCK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_io(n);
		r->bytes += n;
		r->count++;
	}
	if (fsync(w->fd))
		return errno;
	r->seconds = now() - start;
	w->size = r->bytes - r->bytes % MEASURE_BLOCK;
	return stopped ? EINTR : 0;
}

/* O_DIRECT is known to work only when it has. */
static void try_direct(struct work *w)
{
	if (w->direct >= 0 && pread(w->direct, w->block, MEASURE_SMALL, 0) != MEASURE_SMALL) {
		close(w->direct);
		w->direct = -1;
	}
	w->m->direct = w->direct >= 0;
	if (w->direct < 0)
		posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* `size` bytes from `at`; not 0: why not. */
static int read_piece(const struct work *w, struct measured *r, size_t size, off_t at)
{
	ssize_t n = pread(w->direct >= 0 ? w->direct : w->fd, w->block, size, at);
	if (n <= 0)
		return fail_io(n);
	r->bytes += n;
	r->count++;
	return 0;
}

static int read_all(struct work *w)
{
	struct measured *r = &w->m->of[MEASURE_READ];
	int error = 0;
	double start = now();
	while (!error && r->bytes < w->size && goes_on(w, start))
		error = read_piece(w, r, MEASURE_BLOCK, r->bytes);
	if (error)
		return error;
	r->seconds = now() - start;
	return stopped ? EINTR : 0;
}

static int read_randomly(struct work *w)
{
	struct measured *r = &w->m->of[MEASURE_RANDOM];
	uint64_t state = 88172645463325252u, places = (uint64_t)(w->size / MEASURE_SMALL);
	int error = 0;
	if (w->direct < 0)
		posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
	double start = now();
	while (!error && places && goes_on(w, start)) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		error = read_piece(w, r, MEASURE_SMALL, (off_t)(state % places) * MEASURE_SMALL);
	}
	if (error)
		return error;
	r->seconds = now() - start;
	return stopped ? EINTR : 0;
}

/* ---- names ---- */

static void name_file(const struct work *w, int64_t i, char path[PATHS + 32])
{
	snprintf(path, PATHS + 32, "%s/%lld", w->folder, (long long)i);
}

static int create_one(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : close(fd);
}

static int stat_one(const char *path)
{
	struct stat s;
	return stat(path, &s);
}

static int each_file(struct work *w, enum measure_id id, int (*one)(const char *path), bool bounded)
{
	struct measured *r = &w->m->of[id];
	char path[PATHS + 32];
	double start = now();
	int error = 0;
	for (int64_t i = 0; i < w->files && !error && (!bounded || goes_on(w, start)); i++) {
		name_file(w, i, path);
		error = one(path) ? errno : 0;
		r->count += !error;
	}
	r->seconds = now() - start;
	return error ? error : stopped && bounded ? EINTR : 0;
}

static int create_files(struct work *w)
{
	w->files = MOST_FILES;
	int error = each_file(w, MEASURE_CREATE, create_one, true);
	w->files = w->m->of[MEASURE_CREATE].count;
	return error;
}

static int stat_files(struct work *w)
{
	return each_file(w, MEASURE_STAT, stat_one, true);
}

/* All that there are, however long it takes. */
static int remove_files(struct work *w)
{
	int error = each_file(w, MEASURE_UNLINK, unlink, false);
	w->files = 0;
	return error;
}

/* ---- all of it ---- */

static int prepare(struct work *w, const char *directory)
{
	char path[PATHS + 32];
	snprintf(w->folder, sizeof w->folder, "%s/.iolens-peak-XXXXXX", directory);
	if (posix_memalign((void **)&w->block, MEASURE_BLOCK, MEASURE_BLOCK))
		return ENOMEM;
	for (size_t i = 0; i < MEASURE_BLOCK; i++) /* not zeros: some file systems store none */
		w->block[i] = (char)(i * 2654435761u >> 13);
	if (!mkdtemp(w->folder)) {
		w->folder[0] = '\0';
		return errno;
	}
	snprintf(path, sizeof path, "%s/data", w->folder);
	w->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int error = w->fd < 0 ? errno : 0;
	w->direct = error ? -1 : open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	unlink(path);
	return error;
}

static void clean(struct work *w)
{
	if (w->files)
		remove_files(w);
	if (w->fd >= 0)
		close(w->fd);
	if (w->direct >= 0)
		close(w->direct);
	if (w->folder[0])
		rmdir(w->folder);
	free(w->block);
}

static int work(struct work *w, const char **failed)
{
	static const struct {
		const char *what;
		int (*part)(struct work *w);
	} parts[] = {{"write", write_all},          {"read", read_all},
		     {"read", read_randomly},       {"make files", create_files},
		     {"look up files", stat_files}, {"remove files", remove_files}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		*failed = parts[i].what;
		int error = parts[i].part(w);
		if (error)
			return error;
		if (i == 0)
			try_direct(w);
	}
	return 0;
}

int measure(const char *directory, double seconds, int64_t size, struct measurement *m, const char **failed)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction own = {.sa_handler = stop}, old[4];
	struct work w = {.fd = -1, .direct = -1, .seconds = seconds, .size = size, .m = m};
	*m = (struct measurement){0};
	*failed = "make a folder";
	for (int i = 0; i < 4; i++)
		sigaction(signals[i], &own, &old[i]);
	int error = prepare(&w, directory);
	if (!error)
		error = work(&w, failed);
	clean(&w);
	for (int i = 0; i < 4; i++)
		sigaction(signals[i], &old[i], NULL);
	if (stopped)
		raise(stopped);
	return error;
}
