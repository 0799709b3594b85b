#include "bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "codec.h"
#include "descriptor.h"
#include "store_reader.h"

enum { PIECE = 65536 };

static const char magic[8] = "iolstor1";

/* In front of each entry. Written last, so that an entry without it is the end. */
struct head {
	char magic[8];
	uint64_t packed; /* bytes behind this: a zlib stream of parts */
	uint64_t parts;
	uint64_t size; /* of the store */
	char name[BUNDLE_NAME];
};

/* So many bytes follow; of others the store has none. */
struct part {
	uint64_t offset, length;
};

/* ---- writing ---- */

static bool write_all(int fd, const void *from, size_t n, int64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = pwrite(fd, (const char *)from + done, n - done, at + (int64_t)done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		done += (size_t)put;
	}
	return true;
}

struct packing {
	int bundle, store;
	int64_t at;
	struct deflater *deflater;
	struct head head;
	uint8_t piece[PIECE];
};

static bool flush(struct packing *p)
{
	struct log_bytes *out = &p->deflater->out;
	bool good = write_all(p->bundle, out->at, out->used, p->at);
	p->at += (int64_t)out->used;
	p->head.packed += out->used;
	out->used = 0;
	return good;
}

static bool pack_part(struct packing *p, off_t from, off_t end)
{
	while (from < end) {
		size_t want = end - from < PIECE ? (size_t)(end - from) : PIECE;
		ssize_t got = pread(p->store, p->piece, want, from);
		if (got < 0)
			return false;
		if (!got)
			break;
		struct part part = {(uint64_t)from, (uint64_t)got};
		if (deflater_add(p->deflater, &part, sizeof part) < 0 ||
		    deflater_add(p->deflater, p->piece, (size_t)got) < 0 || !flush(p))
			return false;
		p->head.parts++;
		from += got;
	}
	return true;
}

static bool pack(struct packing *p)
{
	off_t at = 0;
	p->deflater->out.used = 0;
	while ((at = lseek(p->store, at, SEEK_DATA)) >= 0) {
		off_t end = lseek(p->store, at, SEEK_HOLE);
		if (end < 0 || !pack_part(p, at, end))
			return false;
		at = end;
	}
	return errno == ENXIO && deflater_end(p->deflater) >= 0 && flush(p);
}

int64_t bundle_append(int bundle, int64_t at, int store, const char *name, struct deflater *deflater)
{
	struct stat s;
	struct packing *p = log_alloc(sizeof *p);
	bool good = p && fstat(store, &s) == 0 && strlen(name) < sizeof p->head.name;
	if (good) {
		*p = (struct packing){
			bundle, store, at + (int64_t)sizeof p->head, deflater, {.size = (uint64_t)s.st_size}, {0}};
		memcpy(p->head.magic, magic, sizeof magic);
		strcpy(p->head.name, name);
		good = pack(p) && write_all(bundle, &p->head, sizeof p->head, at);
		if (!good)
			deflater_end(deflater);
	}
	int64_t end = good ? p->at : errno ? -errno : -EIO;
	log_free(p);
	return end;
}

/* ---- names ---- */

static bool read_head(int fd, int64_t at, struct head *h)
{
	return pread(fd, h, sizeof *h, at) == sizeof *h && memcmp(h->magic, magic, sizeof magic) == 0 &&
	       h->packed < INT64_MAX / 2 && h->size < INT64_MAX / 2 && !h->name[sizeof h->name - 1] && h->name[0] &&
	       !strchr(h->name, '/');
}

static int open_bundle(const char *path, struct stat *s)
{
	int fd = descriptor_open(path, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0 || (fstat(fd, s) == 0 && S_ISREG(s->st_mode)))
		return fd;
	close(fd);
	return -1;
}

int bundle_each(const char *path, int (*see)(void *context, const char *entry), void *context)
{
	struct head h;
	struct stat s;
	char name[4096];
	int code = 0, fd = open_bundle(path, &s);
	for (int64_t at = 0; fd >= 0 && !code && read_head(fd, at, &h); at += (int64_t)(sizeof h + h.packed)) {
		if (at + (int64_t)(sizeof h + h.packed) > s.st_size ||
		    (size_t)snprintf(name, sizeof name, "%s/%lld/%s", path, (long long)at, h.name) >= sizeof name)
			break;
		code = see(context, name);
	}
	if (fd >= 0)
		close(fd);
	return code;
}

/* Bytes of the bundle's own path, and where the entry begins; 0 = this is no such name. */
static size_t parse(const char *path, int64_t *at)
{
	static const char mark[] = BUNDLE_SUFFIX "/";
	const char *found = NULL, *next = path;
	char *end;
	while ((next = strstr(next, mark)))
		found = next++;
	if (!found || found[sizeof mark - 1] < '0' || found[sizeof mark - 1] > '9')
		return 0;
	*at = strtoll(found + sizeof mark - 1, &end, 10);
	return *end == '/' && !strchr(end + 1, '/') ? (size_t)(found - path) + sizeof mark - 2 : 0;
}

bool bundle_names(const char *path)
{
	int64_t at;
	return parse(path, &at) > 0;
}

/* ---- reading ---- */

struct unpacking {
	int bundle;
	int64_t at;
	uint64_t left; /* of the stream */
	void *codec;
	bool ended;
	struct codec_io io;
	uint8_t packed[PIECE], piece[PIECE];
};

static bool refill(struct unpacking *u)
{
	size_t want = u->left < sizeof u->packed ? (size_t)u->left : sizeof u->packed;
	ssize_t got = want ? pread(u->bundle, u->packed, want, u->at) : 0;
	if (got <= 0)
		return false;
	u->io.in = u->packed;
	u->io.in_left = (size_t)got;
	u->at += got;
	u->left -= (uint64_t)got;
	return true;
}

static bool step(struct unpacking *u)
{
	if (u->ended || (!u->io.in_left && !refill(u)))
		return false;
	enum codec_result got = codec_zlib.step(u->codec, &u->io);
	u->ended = got == CODEC_END;
	return u->ended || got == CODEC_MORE;
}

static bool inflate_to(struct unpacking *u, void *to, size_t n)
{
	u->io.out = to;
	u->io.out_left = n;
	while (u->io.out_left)
		if (!step(u))
			return !u->io.out_left;
	return true;
}

static bool unpack_part(struct unpacking *u, int to)
{
	struct part part;
	return inflate_to(u, &part, sizeof part) && part.length <= sizeof u->piece &&
	       inflate_to(u, u->piece, part.length) && write_all(to, u->piece, part.length, (int64_t)part.offset);
}

/* The stream ends with a check sum, which is compared when nothing more comes out. */
static bool unpack(struct unpacking *u, const struct head *h, int to)
{
	bool good = to >= 0 && u->codec && ftruncate(to, (off_t)h->size) == 0;
	for (uint64_t n = 0; good && n < h->parts; n++)
		good = unpack_part(u, to);
	u->io.out = u->piece;
	u->io.out_left = 1;
	while (good && !u->ended)
		good = step(u) && u->io.out_left;
	return good;
}

static int memory_file(void)
{
	enum { CLOSE_ON_EXEC = 1 };
	int fd = (int)syscall(SYS_memfd_create, "iolens-store", CLOSE_ON_EXEC);
	int above = fd >= 0 && fd <= STDERR_FILENO ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;
	if (above != fd)
		close(fd);
	return above;
}

static int unpack_at(int bundle, int64_t at)
{
	struct head h;
	struct unpacking *u = read_head(bundle, at, &h) ? log_alloc(sizeof *u) : NULL;
	if (!u)
		return -1;
	u->bundle = bundle;
	u->at = at + (int64_t)sizeof h;
	u->left = h.packed;
	codec_zlib.open(&u->codec);
	int to = memory_file();
	bool good = unpack(u, &h, to);
	int error = errno;
	if (u->codec)
		codec_zlib.close(u->codec);
	log_free(u);
	if (to >= 0 && !good)
		close(to);
	errno = error ? error : EIO;
	return good ? to : -1;
}

static int open_entry(const char *path)
{
	struct stat s;
	char name[4096];
	int64_t at;
	size_t n = parse(path, &at);
	if (!n || n >= sizeof name)
		return STORE_NOT_BUNDLED;
	memcpy(name, path, n);
	name[n] = '\0';
	errno = 0;
	int bundle = open_bundle(name, &s);
	if (bundle < 0)
		return errno == ENOTDIR || errno == EISDIR || !errno ? STORE_NOT_BUNDLED : -1;
	int fd = unpack_at(bundle, at);
	close(bundle);
	return fd;
}

void bundle_enable(void)
{
	store_open_bundled = open_entry;
}
