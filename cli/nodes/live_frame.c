#include "live_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_MOST = 1 << 28 };

static const char magic[16] = "iolens look 1\n\n";

struct frame_head {
	char magic[16];
	char version[24];
	uint32_t store, record; /* their sizes */
	uint64_t length;        /* of all that follows */
	uint64_t stores, names, unreadable;
};

struct frame_name {
	uint64_t id;
	char file_system[24];
	uint64_t length;
};

/* ---- writing ---- */

static size_t length_of_store(const struct live_store *s)
{
	size_t records = 0;
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		records += s->nrecords[slot];
	return sizeof *s + sizeof(uint64_t) + strlen(s->path) + records * sizeof(struct live_record);
}

static void put_store(struct output *out, const struct live_store *s)
{
	struct live_store plain = *s;
	uint64_t length = strlen(s->path);
	plain.path = NULL;
	memset(plain.records, 0, sizeof plain.records);
	output_bytes(out, (const char *)&plain, sizeof plain);
	output_bytes(out, (const char *)&length, sizeof length);
	output_bytes(out, s->path, length);
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		if (s->nrecords[slot])
			output_bytes(out, (const char *)s->records[slot], s->nrecords[slot] * sizeof **s->records);
}

static const char *name_at(const struct live_names *names, size_t number, struct frame_name *head)
{
	const char *file_system, *name = live_names_at(names, number, &head->id, &file_system);
	name = name ? name : "";
	memset(head->file_system, 0, sizeof head->file_system);
	snprintf(head->file_system, sizeof head->file_system, "%s", file_system);
	head->length = strlen(name);
	return name;
}

void live_frame_put(struct output *out, const struct live_look *l, const struct live_names *names, size_t *told)
{
	struct frame_head head = {.store = sizeof(struct live_store), .record = sizeof(struct live_record)};
	struct frame_name name;
	size_t all = live_names_count(names);
	memcpy(head.magic, magic, sizeof magic);
	snprintf(head.version, sizeof head.version, "%s", IOLENS_VERSION);
	head.stores = l->n;
	head.names = all - *told;
	head.unreadable = l->unreadable;
	for (size_t n = 0; n < l->n; n++)
		head.length += length_of_store(&l->stores[n]);
	for (size_t n = *told; n < all; n++)
		head.length += sizeof name + (name_at(names, n, &name), name.length);
	output_bytes(out, (const char *)&head, sizeof head);
	for (size_t n = 0; n < l->n; n++)
		put_store(out, &l->stores[n]);
	for (size_t n = *told; n < all; n++) {
		const char *text = name_at(names, n, &name);
		output_bytes(out, (const char *)&name, sizeof name);
		output_bytes(out, text, name.length);
	}
	*told = all;
	output_text(out, "\n"); /* srun sends whole lines */
	output_flush(out);
}

/* ---- reading: nothing is believed ---- */

struct cursor {
	const char *at;
	size_t left;
};

static bool take(struct cursor *c, void *to, size_t n)
{
	if (n > c->left)
		return false;
	if (n)
		memcpy(to, c->at, n);
	c->at += n;
	c->left -= n;
	return true;
}

/* A string of its own; NULL: it is not all there, or no memory. */
static char *take_text(struct cursor *c, const char *before, uint64_t length)
{
	size_t room = strlen(before);
	char *made = length <= c->left ? malloc(room + length + 1) : NULL;
	if (!made)
		return NULL;
	memcpy(made, before, room);
	take(c, made + room, length);
	made[room + length] = '\0';
	return made;
}

static bool take_records(struct cursor *c, struct live_store *s)
{
	size_t n[WRITTEN_COUNT];
	memcpy(n, s->nrecords, sizeof n);
	memset(s->nrecords, 0, sizeof s->nrecords);
	for (int slot = 0; slot < WRITTEN_COUNT; slot++) {
		if (n[slot] > c->left / sizeof **s->records)
			return false;
		s->records[slot] = n[slot] ? log_alloc(n[slot] * sizeof **s->records) : NULL;
		if (n[slot] && !s->records[slot])
			return false;
		take(c, s->records[slot], n[slot] * sizeof **s->records);
		s->nrecords[slot] = n[slot];
	}
	return true;
}

static bool take_store(struct cursor *c, struct live_store *s, const char *node)
{
	uint64_t length;
	if (!take(c, s, sizeof *s)) {
		*s = (struct live_store){0};
		return false;
	}
	memset(s->records, 0, sizeof s->records);
	s->path = NULL;
	s->here = false;
	s->command[sizeof s->command - 1] = s->process.host[sizeof s->process.host - 1] = '\0';
	s->process.exe[sizeof s->process.exe - 1] = s->process.directory[sizeof s->process.directory - 1] = '\0';
	s->pid = s->pid > 0 ? s->pid : 0;
	if (!take(c, &length, sizeof length))
		length = UINT64_MAX;
	s->path = take_text(c, node, length);
	return s->path && take_records(c, s);
}

static bool take_name(struct cursor *c, struct live_names *names)
{
	struct frame_name head;
	char *text = take(c, &head, sizeof head) ? take_text(c, "", head.length) : NULL;
	if (!text)
		return false;
	head.file_system[sizeof head.file_system - 1] = '\0';
	if (*text)
		live_names_learn(names, head.id, text, head.file_system);
	free(text);
	return true;
}

int64_t live_frame_whole(const void *bytes, size_t n, size_t *begins, struct log_error *err)
{
	struct frame_head head;
	const char *found = n >= sizeof head ? memmem(bytes, n, magic, sizeof magic) : NULL;
	*begins = found ? (size_t)(found - (const char *)bytes) : 0;
	if (!found && n > 1 << 16)
		return log_fail(err, LOG_E_NOT_LOG, LOG_NOWHERE, "answers, but is no iolens");
	if (!found || n - *begins < sizeof head)
		return 0;
	memcpy(&head, found, sizeof head);
	head.version[sizeof head.version - 1] = '\0';
	if (strcmp(head.version, IOLENS_VERSION) != 0 || head.store != sizeof(struct live_store) ||
	    head.record != sizeof(struct live_record))
		return log_fail(err, LOG_E_VERSION, LOG_NOWHERE, "has iolens ", head.version, ", and here is ",
				IOLENS_VERSION, strcmp(head.version, IOLENS_VERSION) ? "" : " of another build");
	if (head.length > FRAME_MOST)
		return log_fail(err, LOG_E_DAMAGED, LOG_NOWHERE, "says more than 256 MiB");
	return n - *begins - sizeof head >= head.length ? (int64_t)(sizeof head + head.length) : 0;
}

int live_frame_read(struct live_look *l, struct live_names *names, const char *node, const void *bytes, size_t n,
		    struct log_error *err)
{
	struct frame_head head;
	struct cursor c = {bytes, n};
	char before[80];
	bool good = take(&c, &head, sizeof head);
	snprintf(before, sizeof before, "%s:", node);
	for (uint64_t k = 0; good && k < head.stores; k++) {
		struct live_store *s = live_look_add(l);
		good = s && take_store(&c, s, before);
		if (s && !good) {
			live_store_free(s);
			l->n--;
		}
	}
	for (uint64_t k = 0; good && k < head.names; k++)
		good = take_name(&c, names);
	if (!good)
		return log_fail(err, LOG_E_DAMAGED, LOG_NOWHERE, "its answer is damaged");
	l->unreadable += head.unreadable;
	return 0;
}
