#include "parcel.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "alloc.h"
#include "sys.h"

enum { LEVEL = 1 };

/* In front of each part; a part of no bytes is the last, and tells the size of the file. */
struct part {
	int64_t at, size;
};

static int add_part(struct log_bytes *out, int fd, struct part part)
{
	int code = log_bytes_add(out, &part, sizeof part);
	if (code < 0 || log_bytes_room(out, (size_t)part.size) < 0)
		return -1;
	for (int64_t done = 0; done < part.size;) {
		long got =
			sys_call(SYS_pread64, fd, (long)(out->at + out->used), part.size - done, part.at + done, 0, 0);
		if (got <= 0)
			return -1;
		out->used += (size_t)got;
		done += got;
	}
	return 0;
}

static int add_file(struct log_bytes *out, int fd)
{
	int64_t end = sys_seek(fd, 0, SEEK_END);
	int code = end < 0 ? -1 : 0;
	for (int64_t at = 0; code == 0 && (at = sys_seek(fd, at, SEEK_DATA)) >= 0;) {
		int64_t hole = sys_seek(fd, at, SEEK_HOLE);
		code = hole > at ? add_part(out, fd, (struct part){at, hole - at}) : -1;
		at = hole;
	}
	return code ? code : log_bytes_add(out, &(struct part){end, 0}, sizeof(struct part));
}

static struct parcel squeeze(const struct log_bytes *raw)
{
	uLongf room = compressBound(raw->used);
	struct parcel p = {.at = malloc(room), .raw = raw->used};
	if (p.at && compress2(p.at, &room, raw->at, raw->used, LEVEL) == Z_OK)
		p.size = room;
	return p;
}

struct parcel parcel_pack(const char *store)
{
	struct log_bytes raw = {0};
	struct parcel p = {0};
	int fd = sys_open(store, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0 && add_file(&raw, fd) == 0)
		p = squeeze(&raw);
	if (fd >= 0)
		sys_close(fd);
	log_bytes_free(&raw);
	return p;
}

static bool write_part(int fd, const uint8_t *from, const struct part *part)
{
	for (int64_t done = 0; done < part->size;) {
		long put = sys_call(SYS_pwrite64, fd, (long)(from + done), part->size - done, part->at + done, 0, 0);
		if (put <= 0)
			return false;
		done += put;
	}
	return true;
}

static bool write_parts(int fd, const uint8_t *raw, size_t size)
{
	struct part part;
	for (size_t at = 0; at + sizeof part <= size; at += (size_t)part.size) {
		memcpy(&part, raw + at, sizeof part);
		at += sizeof part;
		if (part.size == 0)
			return sys_truncate(fd, part.at) == 0;
		if (part.at < 0 || part.size < 0 || (uint64_t)part.size > size - at || !write_part(fd, raw + at, &part))
			return false;
	}
	return false;
}

bool parcel_unpack(const struct parcel *p, const char *store)
{
	uLongf size = p->raw;
	uint8_t *raw = malloc(size ? size : 1);
	bool good = raw && uncompress(raw, &size, p->at, p->size) == Z_OK;
	int fd = good ? sys_open(store, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	good = fd >= 0 && write_parts(fd, raw, size);
	if (fd >= 0)
		sys_close(fd);
	free(raw);
	return good;
}
