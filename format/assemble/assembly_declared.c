/*
 * What nodes and programs declare. One process of each node declares what the job ran on; what holds for all nodes is one row,
 * without a host. The program declares phases: what each did, by rank, and when.
 */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "assembly.h"
#include "file_system.h"
#include "hash.h"
#include "section_copy.h"
#include "site_table.h"
#include "source.h"
#include "targets.h"

enum { WORDS = 5 };

struct line {
	char word[WORDS][512];
	int words;
};

/* Returns what follows the line. Words that it lacks are empty. */
static const char *read_words(const char *at, struct line *l)
{
	for (int w = 0; w < WORDS; w++)
		l->word[w][0] = '\0';
	for (l->words = 0; *at && *at != '\n';) {
		size_t n = strcspn(at, "\t\n"), kept = n < sizeof l->word[0] ? n : sizeof l->word[0] - 1;
		if (l->words < WORDS) {
			memcpy(l->word[l->words], at, kept);
			l->word[l->words++][kept] = '\0';
		}
		at += n + (at[n] == '\t');
	}
	return at + (*at == '\n');
}

static double number_of(const char **at)
{
	double n = 0;
	for (; **at >= '0' && **at <= '9'; ++*at)
		n = n * 10 + (**at - '0');
	return n;
}

/* A whole number, or two with / between them: strtod would read as the program's language writes. */
static double value_of(const char *text)
{
	double n = number_of(&text);
	double by = *text++ == '/' ? number_of(&text) : 1;
	return by > 0 ? n / by : n;
}

static int add_fact(struct assembly *a, const char *host, const struct line *l)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PLATFORM];
	const char *name = l->word[0], *unit = l->word[1], *value = l->word[2];
	section_row(s);
	section_set_text(s, "host", 0, host);
	section_set_text(s, "name", 0, name);
	section_set_text(s, "value", 0, *unit ? "" : value);
	section_set_f64(s, "number", 0, *unit ? value_of(value) : 0);
	return section_set_text(s, "unit", 0, unit);
}

static int add_mount(struct assembly *a, const char *host, const struct line *l)
{
	static const char *const fields[] = {"point", "type", "source", "options"};
	struct trailer_section *s = &a->section[ASSEMBLY_MOUNTED];
	section_row(s);
	for (int f = 0; f < WORDS - 1; f++)
		section_set_text(s, fields[f], 0, l->word[f + 1]);
	section_set_text(s, "class", 0, file_system_class(l->word[2], l->word[3]));
	return section_set_text(s, "host", 0, host);
}

/* Of a node that no process has described yet: the first description counts. */
static int add_text(struct assembly *a, const char *text)
{
	struct line l;
	char host[sizeof l.word[0]] = "";
	int code = 0;
	for (const char *at = text; *at && code >= 0;) {
		at = read_words(at, &l);
		if (!host[0]) {
			memcpy(host, l.word[2], sizeof host);
			if (strcmp(l.word[0], "host") != 0 || !host[0] || id_set_has(&a->told, log_id(host)))
				return 0;
			code = id_set_add(&a->told, log_id(host));
		} else if (strcmp(l.word[0], "mount") == 0) {
			code = l.words == WORDS ? add_mount(a, host, &l) : 0;
		} else if (l.words == 3) {
			code = add_fact(a, host, &l);
		}
	}
	return code;
}

int assembly_add_platform(struct assembly *a, struct store_reader *i)
{
	char text[PLATFORM_TEXT];
	if (!(i->state->has & STATE_HAS_PLATFORM))
		return 0;
	memcpy(text, i->state->optional.platform, sizeof text);
	text[sizeof text - 1] = '\0';
	return add_text(a, text);
}

/* ---- all nodes ---- */

struct row {
	uint64_t hash; /* of all but the host */
	uint64_t at;
};

static int compare(const void *left, const void *right)
{
	const struct row *x = left, *y = right;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static uint8_t *field_of(const struct trailer_section *s, uint64_t row, const struct trailer_field *f)
{
	return s->rows.at + row * s->row_size + f->offset;
}

static uint64_t hash_field(const struct trailer_section *s, uint64_t row, const struct trailer_field *f, uint64_t seed)
{
	const uint8_t *at = field_of(s, row, f);
	uint32_t text[2];
	if (f->type != TRAILER_STR)
		return log_hash(at, 8, seed);
	memcpy(text, at, sizeof text);
	return log_hash(s->heap.at + text[0], text[1], seed);
}

static void drop_rows(struct trailer_section *s, const bool *dropped)
{
	uint64_t kept = 0;
	for (uint64_t row = 0; row < s->nrows; row++)
		if (!dropped[row])
			memmove(s->rows.at + kept++ * s->row_size, s->rows.at + row * s->row_size, s->row_size);
	s->nrows = kept;
	s->rows.used = kept * s->row_size;
}

/* Rows that each of `hosts` nodes has become one. */
static int unite(struct trailer_section *s, size_t hosts)
{
	const struct trailer_field *host = section_field(s, "host");
	struct row *rows = log_alloc(s->nrows * sizeof *rows + 1);
	bool *dropped = log_alloc(s->nrows + 1);
	for (uint64_t n = 0; rows && n < s->nrows; n++) {
		rows[n] = (struct row){.at = n};
		for (size_t f = 0; f < s->nfields; f++)
			if (&s->fields[f] != host)
				rows[n].hash = hash_field(s, n, &s->fields[f], rows[n].hash);
	}
	if (rows && dropped) {
		log_sort(rows, s->nrows, sizeof *rows, compare);
		for (uint64_t n = 0, end; n < s->nrows; n = end) {
			for (end = n + 1; end < s->nrows && rows[end].hash == rows[n].hash; end++)
				dropped[rows[end].at] = end - n >= hosts;
			if (end - n < hosts)
				continue;
			memset(field_of(s, rows[n].at, host), 0, 8);
			for (uint64_t k = n + 1; k < end; k++)
				dropped[rows[k].at] = true;
		}
		drop_rows(s, dropped);
	}
	log_free(dropped);
	int code = rows ? 0 : LOG_E_MEMORY;
	log_free(rows);
	return code;
}

static size_t count_hosts(const struct trailer_section *s)
{
	struct id_set hosts = {0};
	const struct trailer_field *host = section_field(s, "host");
	for (uint64_t row = 0; row < s->nrows; row++)
		id_set_add(&hosts, hash_field(s, row, host, 1));
	size_t n = hosts.used;
	id_set_free(&hosts);
	return n;
}

/* `iolens run` has left it beside the stores, and all are of its user. */
static int add_file(struct assembly *a)
{
	char path[4096 + sizeof PLATFORM_FILE], text[PLATFORM_TEXT];
	struct source file;
	struct log_error none;
	if (!a->nsources || a->job->own) /* a process that makes its log itself has no such session */
		return 0;
	snprintf(path, 4096, "%s%s%s", a->directory ? a->directory : "", a->directory ? "/" : "", a->sources[0].name);
	char *slash = strrchr(path, '/');
	if (!slash)
		return 0;
	strcpy(slash + 1, PLATFORM_FILE);
	if (source_open_file(&file, path, &none) < 0)
		return 0;
	size_t n = file.size < sizeof text ? file.size : sizeof text - 1;
	text[source_read(&file, 0, text, n, &none) < 0 ? 0 : n] = '\0';
	source_close(&file);
	return add_text(a, text);
}

/* ---- mounts: of a node's own file systems those that files of the job are on ---- */

enum { PATHS = 32768 }; /* bytes: in a log of more files, mounts take no part of it that counts */

int assembly_note_path(struct assembly *a, const char *path)
{
	size_t n = strlen(path) + 1;
	a->any_path |= *path == '/' && a->paths.used + n > PATHS;
	return *path == '/' && !a->any_path ? log_bytes_add(&a->paths, path, n) : 0;
}

static struct site_text text_at(const struct trailer_section *s, uint64_t row, const char *field)
{
	struct site_text text;
	memcpy(&text, field_of(s, row, section_field(s, field)), sizeof text);
	return text;
}

static bool is_text(const struct trailer_section *s, struct site_text text, const char *is)
{
	return text.length == strlen(is) && !memcmp(s->heap.at + text.at, is, text.length);
}

/* Memory, disks and images: what another node has there is another file system. */
static bool of_node(const struct trailer_section *s, uint64_t row)
{
	const struct site_text class = text_at(s, row, "class");
	return is_text(s, class, "memory") || is_text(s, class, "local") || is_text(s, class, "image");
}

/* How much of the path is the row's mount point; 0 = it is not below that. */
static size_t below(const struct trailer_section *s, uint64_t row, const char *path, size_t length)
{
	const struct site_text point = text_at(s, row, "point");
	if (point.length > length || memcmp(s->heap.at + point.at, path, point.length) != 0)
		return 0;
	return point.length == 1 || !path[point.length] || path[point.length] == '/' ? point.length : 0;
}

static void keep_mount(const struct trailer_section *s, bool *dropped, const char *path, size_t length)
{
	size_t longest = 0;
	for (uint64_t row = 0; row < s->nrows; row++) {
		size_t n = below(s, row, path, length);
		longest = n > longest ? n : longest;
	}
	for (uint64_t row = 0; longest && row < s->nrows; row++)
		if (dropped[row] && below(s, row, path, length) == longest)
			dropped[row] = false;
}

int assembly_drop_mounts(struct assembly *a)
{
	struct trailer_section *s = &a->section[ASSEMBLY_MOUNTED];
	const char *path = (const char *)a->paths.at, *end = path + a->paths.used;
	bool *dropped;
	if (a->any_path || path == end || !s->nrows)
		return 0;
	if (!(dropped = log_alloc(s->nrows)))
		return LOG_E_MEMORY;
	for (uint64_t row = 0; row < s->nrows; row++)
		dropped[row] = of_node(s, row);
	for (size_t n; path < end; path += n + 1)
		keep_mount(s, dropped, path, n = strlen(path));
	drop_rows(s, dropped);
	log_free(dropped);
	a->paths.used = 0;
	return 0;
}

int assembly_end_platform(struct assembly *a)
{
	int code = add_file(a);
	size_t hosts = count_hosts(&a->section[ASSEMBLY_PLATFORM]);
	if (code >= 0 && hosts)
		code = unite(&a->section[ASSEMBLY_PLATFORM], hosts);
	if (code >= 0 && hosts)
		code = unite(&a->section[ASSEMBLY_MOUNTED], hosts);
	return code;
}

/* ---- Lustre: each place describes what its nodes see; what several places describe is in the log once ---- */

/* Only where a file was on Lustre: to read of thousands of targets takes milliseconds. */
int assembly_add_targets(struct assembly *a)
{
	struct targets to = {&a->section[ASSEMBLY_VOLUME], &a->section[ASSEMBLY_TARGET]};
	enum precompressed_part part = precompressed_part_of(LOG_MOD_LUSTRE);
	bool any = false;
	for (size_t n = 0; n < a->nsources; n++)
		any |= a->sources[n].totals[part].records > 0;
	return any ? targets_add(&to, &a->section[ASSEMBLY_MOUNTED]) : 0;
}

/* What a row is about, and the numbers of which the largest of all nodes holds: one may have lost sight of some. */
static const struct table {
	const char *key[3], *largest[2];
} volumes = {{"name"}, {"osts", "mdts"}}, targets = {{"volume", "kind", "number"}, {NULL}};

static uint64_t key_of(const struct table *t, const struct trailer_section *s, uint64_t row)
{
	uint64_t key = 0;
	for (size_t k = 0; k < sizeof t->key / sizeof *t->key && t->key[k]; k++)
		key = hash_field(s, row, section_field(s, t->key[k]), key);
	return key;
}

static void raise_numbers(const struct table *t, struct trailer_section *s, uint64_t from)
{
	uint64_t first = 0;
	while (key_of(t, s, first) != key_of(t, s, from))
		first++;
	for (size_t k = 0; k < sizeof t->largest / sizeof *t->largest && t->largest[k]; k++) {
		const struct trailer_field *f = section_field(s, t->largest[k]);
		uint8_t *to = s->rows.at + first * s->row_size + f->offset;
		int64_t known, told;
		memcpy(&known, to, sizeof known);
		memcpy(&told, s->rows.at + from * s->row_size + f->offset, sizeof told);
		if (told > known)
			memcpy(to, &told, sizeof told);
	}
}

int assembly_unite_targets(struct trailer_section *s, int table)
{
	const struct table *t = table == ASSEMBLY_VOLUME ? &volumes : table == ASSEMBLY_TARGET ? &targets : NULL;
	struct id_set seen = {0};
	if (!t || !s->nrows)
		return 0;
	bool *dropped = log_alloc(s->nrows);
	int code = dropped ? 0 : LOG_E_MEMORY;
	for (uint64_t row = 0; code >= 0 && row < s->nrows; row++) {
		code = id_set_add(&seen, key_of(t, s, row));
		dropped[row] = code == 0;
		if (code == 0 && t->largest[0])
			raise_numbers(t, s, row);
	}
	if (code >= 0)
		drop_rows(s, dropped);
	log_free(dropped);
	id_set_free(&seen);
	return code < 0 ? code : 0;
}

/* ---- phases ---- */

enum { PATH = 1088, STEPS_OF_JOB = 2048, STEPS_LEAST = 8 };

/* Of a damaged store any bits may be a time. */
static double sane(double t)
{
	return t > -1e9 && t < 1e9 ? t : 0;
}

/* The rows that lead to one, which come before it: a/b/c. */
static void path_of(const struct state_phases *p, int64_t row, char path[PATH])
{
	char name[STATE_PHASE_NAME], rest[PATH] = "";
	path[0] = '\0';
	for (int64_t at = row; at >= 0;) {
		const struct state_phase *phase = &p->phase[at];
		memcpy(name, phase->name, sizeof name);
		name[sizeof name - 1] = '\0';
		snprintf(path, PATH, "%s%s%.*s", name, *rest ? "/" : "", PATH - STATE_PHASE_NAME - 2, rest);
		memcpy(rest, path, sizeof rest);
		at = phase->parent - 1 < at ? phase->parent - 1 : -1;
	}
}

/* What threads had done in their phases when the process ended within them. */
static void add_unsettled(const struct store_reader *i, const struct state_phases *p, int64_t row,
			  struct state_phase_io *io)
{
	for (const struct state_shard *s = i->state->shard; s < i->state->shard + i->shards; s++) {
		struct state_phase_io now;
		if ((s->phase.phase ? s->phase.phase : p->leader) != row + 1)
			continue;
		state_phase_now(s, &now);
		phase_state_add(io, &s->phase.settled, &now);
	}
}

static int add_interfaces(struct assembly *a, int64_t rank, const char *path, const struct state_phase_io *io)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PHASE_INTERFACES];
	for (int slot = 0; slot < WRITTEN_COUNT; slot++) {
		const struct state_calls *c = &io->calls[slot];
		if (!c->count[IO_READ] && !c->count[IO_WRITE])
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, rank);
		section_set_text(s, "phase", 0, path);
		section_set_text(s, "interface", 0, written_modules[slot].key);
		section_set_i64(s, "reads", 0, c->count[IO_READ]);
		section_set_i64(s, "writes", 0, c->count[IO_WRITE]);
		section_set_i64(s, "bytes_read", 0, c->bytes[IO_READ]);
		section_set_i64(s, "bytes_written", 0, c->bytes[IO_WRITE]);
	}
	return s->failed;
}

static int64_t calls_of(const struct state_phase_io *io, int op)
{
	int64_t n = 0;
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		n += written_modules[slot].descriptors ? io->calls[slot].count[op] : 0;
	return n;
}

static int add_phase(struct assembly *a, const struct store_reader *i, const struct state_phases *p, int64_t row)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PHASES_OF_PROGRAM];
	const struct state_phase *phase = &p->phase[row];
	struct state_phase_io io = phase->io;
	char path[PATH];
	path_of(p, row, path);
	add_unsettled(i, p, row, &io);
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_text(s, "phase", 0, path);
	section_set_i64(s, "count", 0, phase->count);
	section_set_i64(s, "open", 0, phase->open);
	assembly_set_duration(s, "time", sane(phase->time));
	assembly_set_duration(s, "shortest", sane(phase->shortest));
	assembly_set_duration(s, "longest", sane(phase->longest));
	section_set_f64(s, "first", 0, precise_moment(sane(phase->first)));
	section_set_f64(s, "last", 0, precise_moment(sane(phase->last)));
	assembly_set_duration(s, "read_time", sane(io.busy[IO_READ]));
	assembly_set_duration(s, "write_time", sane(io.busy[IO_WRITE]));
	assembly_set_duration(s, "meta_time", sane(io.busy[IO_META]));
	section_set_i64(s, "reads", 0, calls_of(&io, IO_READ));
	section_set_i64(s, "writes", 0, calls_of(&io, IO_WRITE));
	section_set_i64(s, "meta_ops", 0, io.meta_ops);
	section_set_i64(s, "bytes_read", 0, phase_state_bytes(&io, IO_READ));
	section_set_i64(s, "bytes_written", 0, phase_state_bytes(&io, IO_WRITE));
	if (phase_state_of_loader(phase->name))
		assembly_set_duration(s, "processor_time", sane(phase->processor));
	else
		section_set_f64(s, "processor_time", 0, -1);
	return s->failed ? s->failed : add_interfaces(a, i->rank, path, &io);
}

static int64_t sound_steps(const struct state_phases *p, int64_t used, struct state_step *steps)
{
	int64_t n = 0;
	for (int64_t k = 0; k < p->steps && k < STATE_STEPS; k++)
		if (p->step[k].phase >= 0 && p->step[k].phase < used && p->step[k].count > 0)
			steps[n++] = p->step[k];
	return n;
}

static int add_steps(struct assembly *a, const struct store_reader *i, const struct state_phases *p, int64_t used)
{
	struct trailer_section *s = &a->section[ASSEMBLY_STEPS];
	struct state_step *steps = log_alloc(sizeof p->step);
	int64_t most = STEPS_OF_JOB / a->part->nprocs, n = steps ? sound_steps(p, used, steps) : 0;
	char path[PATH];
	n = phase_state_join(steps, n, most < STEPS_LEAST ? STEPS_LEAST : most);
	for (int64_t k = 0; k < n; k++) {
		path_of(p, steps[k].phase, path);
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "phase", 0, path);
		section_set_i64(s, "count", 0, steps[k].count);
		section_set_f64(s, "start", 0, precise_moment(sane(steps[k].start)));
		section_set_f64(s, "end", 0, precise_moment(sane(steps[k].end)));
		assembly_set_duration(s, "io_time", sane(steps[k].io));
		section_set_i64(s, "bytes_read", 0, steps[k].bytes[IO_READ]);
		section_set_i64(s, "bytes_written", 0, steps[k].bytes[IO_WRITE]);
	}
	log_free(steps);
	return steps ? s->failed : LOG_E_MEMORY;
}

int assembly_add_phases(struct assembly *a, struct store_reader *i)
{
	const struct state_phases *p = &i->state->optional.phases;
	if (!(i->state->has & STATE_HAS_PHASES))
		return 0;
	int64_t used = p->used < 0 ? 0 : p->used < STATE_PHASES ? p->used : STATE_PHASES;
	int code = 0;
	for (int64_t row = 0; code >= 0 && row < used; row++)
		code = add_phase(a, i, p, row);
	return code < 0 || !used ? code : add_steps(a, i, p, used);
}
