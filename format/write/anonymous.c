#include "anonymous.h"

#include <stdio.h>
#include <string.h>

#include "writer.h"

/* ---- records ---- */

static void hide_field(const struct pseudonym_key *key, const struct schema_field *f, uint8_t *at)
{
	size_t room = 8u * f->count;
	char text[PSEUDONYM_TEXT];
	if (f->type == FIELD_TEXT) {
		size_t n = strnlen((const char *)at, room);
		if (n)
			pseudonym_text(key, (const char *)at, n, text);
		memset(at, 0, room);
		if (n)
			memcpy(at, text, strlen(text) < room ? strlen(text) : room - 1);
	}
	for (size_t i = 0; f->type == FIELD_UUID && i + 8 <= room; i += 8) {
		uint64_t half;
		memcpy(&half, at + i, sizeof half);
		half = half ? pseudonym_number(key, &half, sizeof half) : 0;
		memcpy(at + i, &half, sizeof half);
	}
}

static void hide_fields(const struct pseudonym_key *key, const struct schema_field *fields, size_t n, uint8_t *at)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i].count)
			hide_field(key, &fields[i], at + fields[i].offset);
}

void anonymous_texts(const struct pseudonym_key *key, const struct log_record *layout, uint8_t *record)
{
	const struct schema_module *m = layout->schema;
	struct log_record copy = *layout;
	copy.data = record;
	hide_fields(key, m->fields, m->nfields, record);
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_element *e = m->fields[i].count ? NULL : m->fields[i].element;
		size_t n = 0;
		const uint8_t *elements = e ? log_record_array(&copy, &m->fields[i], &n) : NULL;
		for (size_t k = 0; elements && k < n; k++)
			hide_fields(key, e->fields, e->nfields, record + (elements - record) + k * e->size);
	}
}

/* ---- mounts ---- */

static bool is_one_of(const char *const *words, size_t n, const char *text, size_t length)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(words[i]) == length && !memcmp(words[i], text, length))
			return true;
	return false;
}

#define IS_ONE_OF(words, text, length) is_one_of(words, sizeof(words) / sizeof *(words), text, length)

size_t anonymous_mount_kept(const char *point)
{
	static const char *const known[] = {
		"apps",     "beeond",       "bin",        "boot",      "burstbuffer", "cache",  "cgroup",
		"config",   "cvmfs",        "data",       "datasets",  "dev",         "efi",    "etc",
		"export",   "fs",           "global",     "gpfs",      "group",       "groups", "home",
		"homes",    "hostname",     "hosts",      "hugepages", "kernel",      "lib",    "lib64",
		"local",    "localscratch", "lost+found", "lustre",    "media",       "mnt",    "modules",
		"mqueue",   "nfs",          "nvme",       "opt",       "pfs",         "proc",   "project",
		"projects", "pts",          "public",     "ram",       "resolv.conf", "root",   "run",
		"sbin",     "scratch",      "security",   "shared",    "shm",         "snap",   "soft",
		"software", "spack",        "srv",        "ssd",       "storage",     "sw",     "sys",
		"tmp",      "tracing",      "user",       "users",     "usr",         "var",    "vol",
		"volumes",  "weka",         "work",       "workspace",
	};
	size_t kept = 0, n;
	while (point[kept] == '/' && (n = strcspn(point + kept + 1, "/")) && IS_ONE_OF(known, point + kept + 1, n))
		kept += 1 + n;
	return kept;
}

size_t anonymous_mount(const struct pseudonym_key *key, const char *point, char *out, size_t room)
{
	return pseudonym_name(key, point, anonymous_mount_kept(point), out, room);
}

bool anonymous_keeps_type(const char *type)
{
	static const char *const known[] = {"ceph",   "cvmfs2", "gcsfuse", "glusterfs", "lxcfs",      "mergerfs",
					    "portal", "rclone", "s3fs",    "sshfs",     "squashfuse", "unionfs"};
	const char *of = strchr(type, '.');
	return !of || IS_ONE_OF(known, of + 1, strlen(of + 1));
}

/* ---- the job and the trailer ---- */

bool anonymous_drops(const char *section)
{
	static const char *const dropped[] = {"environment", "part", "selection"};
	for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
		if (!strcmp(dropped[i], section))
			return true;
	return false;
}

bool anonymous_keeps_text(const char *section, const char *field)
{
	static const char *const kept[][2] = {
		{"process", "ended"},
		{"total", "interface"},
		{"excluded", "class"},
		{"excluded", "description"},
		{"operation", "interface"},
		{"operation", "name"},
		{"mpiio_sizes", "kind"},
		{"mpiio_sizes", "size"},
		{"mpiio_sizes", "direction"},
		{"unobserved", "reason"},
		{"unrecorded", "interface"},
		{"unrecorded", "reason"},
		{"mpiio_completions", "kind"},
		{"async", "interface"},
		{"async", "direction"},
		{"async_batches", "interface"},
		{"uncounted", "module"},
		{"mpiio_completions", "direction"},
		{"uncounted", "counter"},
		{"platform", "name"},
		{"platform", "unit"},
		{"mounted", "type"},
		{"mounted", "class"},
		{"accesses", "module"},
		{"communication", "kind"},
		{"communication", "call"},
		{"phase_interfaces", "interface"},
		{"sites", "interface"},
		{"lines", "interface"},
		{"lines", "kind"},
	};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (!strcmp(kept[i][0], section) && !strcmp(kept[i][1], field))
			return true;
	return false;
}

/* A distribution's build id names its package and version to everybody. */
const char *anonymous_build_id(const struct pseudonym_key *key, const char *id, char *room)
{
	sprintf(room, "%016llx", (unsigned long long)pseudonym_number(key, id, strlen(id)));
	return room;
}

bool anonymous_is_pythons(const char *text, size_t n)
{
	static const char *const own[] = {"<module>",  "<lambda>",  "<listcomp>", "<dictcomp>",
					  "<setcomp>", "<genexpr>", "<string>",   "<stdin>"};
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strlen(own[i]) == n && !memcmp(own[i], text, n))
			return true;
	return false;
}

bool stack_line_next(struct stack_line *l, const char *end)
{
	const char *begin = l->end ? l->end + 1 : l->begin;
	if (begin >= end)
		return false;
	const char *stop = memchr(begin, '\n', (size_t)(end - begin));
	l->begin = begin;
	l->end = stop ? stop : end;
	size_t n = (size_t)(l->end - begin);
	const char *open = memmem(begin, n, " (", 2), *number = memrchr(begin, ':', n);
	bool good = open && number && number >= open + 2;
	l->function = good ? (size_t)(open - begin) : n;
	l->path = good ? open + 2 : l->end;
	l->number = good ? number : l->end;
	return true;
}

/* In place of `n` bytes; how many, 0: they have no room. */
static size_t pythons_name(const struct pseudonym_key *key, const char *text, size_t n, char *out, size_t room)
{
	char name[4096];
	if (n >= sizeof name)
		return 0;
	memcpy(name, text, n);
	name[n] = '\0';
	return pseudonym_name(key, name, anonymous_is_pythons(text, n) ? n : 0, out, room);
}

const char *anonymous_stack(const struct pseudonym_key *key, const char *stack, char *out, size_t room)
{
	struct stack_line l = {.begin = stack};
	size_t n = 0, rest;
	for (bool first = true; stack_line_next(&l, stack + strlen(stack)); first = false, n += rest) {
		char function[PSEUDONYM_TEXT], path[4096];
		bool own = anonymous_is_pythons(l.begin, l.function);
		size_t length = (size_t)(l.number - l.path);
		pseudonym_text(key, l.begin, l.function, function);
		if (!pythons_name(key, l.path, length, path, sizeof path))
			return NULL;
		int written = snprintf(out + n, room - n, "%s%.*s (%s%.*s", first ? "" : "\n",
				       own ? (int)l.function : PSEUDONYM_TEXT - 1, own ? l.begin : function, path,
				       (int)(l.end - l.number), l.number);
		rest = (size_t)written;
		if (rest >= room - n)
			return NULL;
	}
	return out;
}

static bool is_word(const char *at, size_t n)
{
	static const char *const words[] = {"true", "false", "enable", "disable", "automatic", "yes", "no"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == n && !memcmp(words[i], at, n))
			return true;
	return strspn(at, "0123456789") >= n;
}

/* `hint=value;hint=value`: a value may name hosts (cb_config_list) or files. */
static bool plain_hints(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ";"), name = strcspn(text, "=;");
		if (name < n && !is_word(text + name + 1, n - name - 1))
			return false;
		text += n + (text[n] == ';');
	}
	return true;
}

bool anonymous_keeps_pair(const struct log_pair *p)
{
	return !strcmp(p->key, LOG_PREVIOUS_VERSION) || (!strcmp(p->key, "h") && plain_hints(p->value));
}
