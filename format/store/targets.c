#include "targets.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "section_copy.h"

enum { TARGETS_MOST = 4096 }; /* to read of one takes ten microseconds */

/* Where the Lustre client says what it is connected to; older ones say it in proc. */
static const char *const roots[] = {"/sys/fs/lustre", "/proc/fs/lustre"};

static const struct kind {
	const char *name, *devices, *mark, *volume;
	const char *connection[2]; /* files that name the server */
} kinds[] = {
	{"ost", "osc", "-OST", "lov", {"ost_conn_uuid", "conn_uuid"}},
	{"mdt", "mdc", "-MDT", "lmv", {"mds_conn_uuid", "conn_uuid"}},
};

/* ---- small files ---- */

static bool read_line(const char *path, char *to, size_t room)
{
	int fd = descriptor_open(path, O_RDONLY | O_NONBLOCK, 0);
	ssize_t n = fd < 0 ? -1 : read(fd, to, room - 1);
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = '\0';
	to[strcspn(to, "\n")] = '\0';
	return n > 0 && *to;
}

/* Of 10.0.0.1@tcp:/scratch, or of two such with a colon between them, the last word: scratch. */
static bool volume_of(const char *source, char *to, size_t room)
{
	const char *at = strstr(source, ":/");
	size_t n = at ? strcspn(at + 2, "/") : 0;
	if (!n || n >= room)
		return false;
	memcpy(to, at + 2, n);
	to[n] = '\0';
	return true;
}

/* ---- Lustre ---- */

struct lustre {
	struct targets *to;
	const char *root;
	char volume[64];
	int64_t found;
};

static void add_target(struct lustre *l, const struct kind *k, const char *device, int64_t number)
{
	struct trailer_section *s = l->to->target;
	char path[512], server[128] = "";
	for (int n = 0; n < 2 && !*server; n++) {
		snprintf(path, sizeof path, "%s/%s/%s/%s", l->root, k->devices, device, k->connection[n]);
		read_line(path, server, sizeof server);
	}
	section_row(s);
	section_set_text(s, "volume", 0, l->volume);
	section_set_text(s, "kind", 0, k->name);
	section_set_i64(s, "number", 0, number);
	section_set_text(s, "server", 0, server);
}

/* scratch-OST001f-osc-ffff8800: the number is hexadecimal. -1 = it is another file system's. */
static int64_t number_of(const struct lustre *l, const struct kind *k, const char *device)
{
	size_t n = strlen(l->volume), mark = strlen(k->mark);
	char *end;
	if (strncmp(device, l->volume, n) != 0 || strncmp(device + n, k->mark, mark) != 0)
		return -1;
	long number = strtol(device + n + mark, &end, 16);
	return end == device + n + mark || *end != '-' ? -1 : number;
}

static void add_targets(struct lustre *l, const struct kind *k)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", l->root, k->devices);
	DIR *d = opendir(path);
	l->found = 0;
	for (struct dirent *e; d && l->found < TARGETS_MOST && (e = readdir(d));) {
		int64_t number = number_of(l, k, e->d_name);
		if (number < 0)
			continue;
		add_target(l, k, e->d_name, number);
		l->found++;
	}
	if (d)
		closedir(d);
}

/* How many there are, by the volume; otherwise as many as were found. -1 = unknown. */
static int64_t count_targets(const struct lustre *l, const struct kind *k)
{
	char path[512], text[32], name[96];
	int64_t count = l->found ? l->found : -1;
	snprintf(path, sizeof path, "%s/%s", l->root, k->volume);
	int n = snprintf(name, sizeof name, "%s-cli%s-", l->volume, k->volume);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, name, (size_t)n) != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s/%.200s/numobd", l->root, k->volume, e->d_name);
		if (read_line(path, text, sizeof text))
			count = strtoll(text, NULL, 10);
	}
	if (d)
		closedir(d);
	return count;
}

static bool is_described(const struct targets *to, const char *volume)
{
	const struct trailer_section *s = to->volume;
	const struct trailer_field *name = section_field(s, "name");
	for (uint64_t row = 0; row < s->nrows; row++) {
		uint32_t text[2];
		memcpy(text, s->rows.at + row * s->row_size + name->offset, sizeof text);
		if (text[1] == strlen(volume) && !memcmp(s->heap.at + text[0], volume, text[1]))
			return true;
	}
	return false;
}

static void describe(struct targets *to, const char *source)
{
	struct trailer_section *s = to->volume;
	struct lustre l = {.to = to};
	int64_t counts[2] = {-1, -1};
	if (!volume_of(source, l.volume, sizeof l.volume) || is_described(to, l.volume))
		return;
	for (size_t r = 0; counts[0] < 0 && r < sizeof roots / sizeof *roots; r++) {
		l.root = roots[r];
		for (int k = 0; k < 2; k++) {
			add_targets(&l, &kinds[k]);
			counts[k] = count_targets(&l, &kinds[k]);
		}
	}
	if (counts[0] < 0)
		return;
	section_row(s);
	section_set_text(s, "name", 0, l.volume);
	section_set_text(s, "source", 0, source);
	section_set_i64(s, "osts", 0, counts[0]);
	section_set_i64(s, "mdts", 0, counts[1]);
}

/* Of a mount that is no Lustre nothing is found by its source. */
int targets_add(struct targets *to, const struct trailer_section *mounted)
{
	const struct trailer_field *f = section_field(mounted, "source");
	char source[512];
	for (uint64_t row = 0; row < mounted->nrows; row++) {
		uint32_t text[2];
		memcpy(text, mounted->rows.at + row * mounted->row_size + f->offset, sizeof text);
		snprintf(source, sizeof source, "%.*s", (int)text[1], (const char *)mounted->heap.at + text[0]);
		describe(to, source);
	}
	return to->target->failed;
}
