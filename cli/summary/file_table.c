#include "file_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

enum { CELL = 40, LEAST_NAME = 30, SITE = 26 };

static void write_size(char cell[CELL], const struct digest_file *f)
{
	units_bytes(cell, (double)f->size);
}

static void write_moved(char cell[CELL], const struct digest_file *f)
{
	units_bytes(cell, (double)(f->bytes_read + f->bytes_written));
}

static void write_time(char cell[CELL], const struct digest_file *f)
{
	units_seconds(cell, digest_file_time(f));
}

static void write_operations(char cell[CELL], const struct digest_file *f)
{
	units_count(cell, f->reads + f->writes);
}

static void write_seeks(char cell[CELL], const struct digest_file *f)
{
	units_count(cell, f->seeks);
}

static void write_factor(char cell[CELL], const struct digest_file *f)
{
	snprintf(cell, CELL, f->read_size > 0 ? "%.2f" : "-", digest_file_factor(f));
}

static void write_asked(char cell[CELL], const struct digest_file *f)
{
	strcpy(cell, "-");
	if (f->mpiio.records)
		units_bytes(cell, (double)(f->mpiio.bytes_read + f->mpiio.bytes_written));
}

static void write_asked_time(char cell[CELL], const struct digest_file *f)
{
	strcpy(cell, "-");
	if (f->mpiio.records)
		units_seconds(cell, digest_interface_time(&f->mpiio));
}

static void write_class(char cell[CELL], const struct digest_file *f)
{
	snprintf(cell, CELL, "%s", *f->class ? f->class : "-");
}

/* In their order; a narrow terminal drops the ones of the highest number first, and never those of 0. */
static const struct column {
	const char *title;
	int width, drop;
	bool of_mpiio; /* only where it was used */
	void (*write)(char cell[CELL], const struct digest_file *f);
} columns[] = {
	{"size", 10, 4, false, write_size},      {"moved", 11, 0, false, write_moved},
	{"time", 12, 0, false, write_time},      {"operations", 15, 3, false, write_operations},
	{"seeks", 12, 7, false, write_seeks},    {"re-read", 10, 5, false, write_factor},
	{"by MPI-IO", 12, 2, true, write_asked}, {"time", 12, 2, true, write_asked_time},
	{"class", 9, 6, false, write_class},
};

enum { COLUMNS = sizeof columns / sizeof *columns, MOST_DROPPED = 7 };

struct layout {
	bool shown[COLUMNS];
	const struct sites *sites; /* a column of them, NULL = none */
	size_t name;               /* characters for names; 0 = any number */
};

/* ---- names ---- */

/* Of what a terminal shows for a character: an escape is as long as it is, any other character one cell. */
static size_t cells(const char shown[OUTPUT_SHOWN])
{
	return (unsigned char)*shown & 0x80 ? 1 : strlen(shown);
}

static size_t length_of(const char *name)
{
	char shown[OUTPUT_SHOWN];
	size_t n = 0;
	while (*name) {
		name += output_next(name, shown);
		n += cells(shown);
	}
	return n;
}

/* Both ends of a path tell more than its middle, the last one most. */
static void print_name(struct output *out, const char *name, size_t room)
{
	char shown[OUTPUT_SHOWN];
	size_t length = length_of(name), from = 0, to = 0, at = 0;
	if (room && length > room) {
		from = (room - 3) / 3;
		to = length - (room - 3 - from);
	}
	while (*name) {
		name += output_next(name, shown);
		if (to && at <= from && at + cells(shown) > from)
			output_text(out, "...");
		at += cells(shown);
		if (!to || at <= from || at > to)
			output_text(out, shown);
	}
}

/* ---- rows ---- */

/* Source without its directory and line of the innermost Python code; 0: there is none. */
static int python_line(const struct site *site, const char **at)
{
	size_t n = site_line(site);
	if (n < 2)
		return 0;
	const char *end = site->stack + n - 1, *slash = memrchr(site->stack, '/', n);
	const char *open = memmem(site->stack, n, " (", 2);
	*at = slash ? slash + 1 : open ? open + 2 : site->stack;
	return (int)(end - *at);
}

/* The program or library, without its directory, and the place in it: of MPI-IO's call, not of those below it. */
static void print_site(struct output *out, const struct sites *sites, const struct digest_file *f)
{
	char text[CELL] = "-", shown[OUTPUT_SHOWN];
	struct site site = {.stack = ""};
	int slot = f->written >> WRITTEN_MPIIO & 1 ? WRITTEN_MPIIO : f->written ? __builtin_ctz(f->written) : -1;
	size_t n = 0;
	while (slot >= 0 && !site.length && !site_line(&site) &&
	       sites_of(sites, written_modules[slot].key, f->id, n, &site))
		n++;
	const char *line;
	int length = python_line(&site, &line);
	if (length) {
		snprintf(text, sizeof text, "%.*s", length, line);
	} else if (site.length) {
		const char *slash = memrchr(site.module, '/', site.length);
		const char *name = slash ? slash + 1 : site.module;
		length = (int)(site.module + site.length - name);
		snprintf(text, sizeof text, "%.*s+%#llx", length < SITE - 12 ? length : SITE - 12, name,
			 (unsigned long long)site.offset);
	}
	output_text(out, "  ");
	n = 0;
	for (const char *at = text; *at; n += cells(shown)) {
		at += output_next(at, shown);
		output_text(out, shown);
	}
	output_format(out, "%*s", n < SITE ? (int)(SITE - n) : 0, "");
}

static void print_row(struct output *out, const struct layout *l, const struct digest_file *f)
{
	char cell[CELL];
	for (int c = 0; c < COLUMNS; c++) {
		if (!l->shown[c])
			continue;
		columns[c].write(cell, f);
		output_format(out, "%*s", columns[c].width, cell);
	}
	if (l->sites)
		print_site(out, l->sites, f);
	output_text(out, "  ");
	print_name(out, digest_file_shown(f), l->name ? l->name - f->directory : 0);
	output_text(out, f->directory ? "/\n" : "\n");
}

static void print_head(struct output *out, const struct layout *l)
{
	for (int c = 0; c < COLUMNS; c++)
		if (l->shown[c])
			output_format(out, "%*s", columns[c].width, columns[c].title);
	if (l->sites)
		output_format(out, "  %-*s", SITE, "opened by");
	output_text(out, "  file\n");
}

static size_t width_of(const struct layout *l)
{
	size_t width = 2 + (l->sites ? SITE + 2 : 0);
	for (int c = 0; c < COLUMNS; c++)
		width += l->shown[c] ? (size_t)columns[c].width : 0;
	return width;
}

static struct layout lay_out(const struct digest *d, size_t rows, size_t width, const struct sites *sites)
{
	struct layout l = {.sites = sites};
	size_t longest = strlen("all files");
	bool upper = false;
	for (size_t n = 0; n < d->nfiles; n++) {
		size_t length =
			width && n < rows ? length_of(digest_file_shown(&d->files[n])) + d->files[n].directory : 0;
		longest = length > longest ? length : longest;
		upper = upper || d->files[n].mpiio.records;
	}
	for (int c = 0; c < COLUMNS; c++)
		l.shown[c] = upper || !columns[c].of_mpiio;
	if (!width)
		return l;
	size_t wanted = longest < LEAST_NAME ? longest : LEAST_NAME;
	for (int drop = MOST_DROPPED; drop > 0 && width_of(&l) + wanted > width; drop--)
		for (int c = 0; c < COLUMNS; c++)
			l.shown[c] = l.shown[c] && columns[c].drop != drop;
	l.name = width > width_of(&l) + 12 ? width - width_of(&l) : 12;
	return l;
}

void file_table_print(struct output *out, const struct digest *d, size_t rows, size_t width, const struct sites *sites)
{
	struct digest_file total = {.name = "all files", .class = ""};
	struct layout l = lay_out(d, rows, width, sites);
	char name[80];
	print_head(out, &l);
	for (size_t n = 0; n < d->nfiles; n++) {
		const struct digest_file *f = &d->files[n];
		struct digest_file sum = {.size = total.size + f->size,
					  .read_size = total.read_size + digest_read_once(f)};
		digest_add_file(&total, f);
		digest_add_file(&total, &sum);
		if (n < rows)
			print_row(out, &l, f);
	}
	total.written = 0;    /* no place is that of all */
	total.renamed_to = 0; /* each is in the sum */
	print_row(out, &l, &total);
	if (width && d->nfiles > rows) {
		snprintf(name, sizeof name, "%s in all; --top all shows them\n", COUNTED(d->nfiles, "file"));
		output_text(out, name);
	}
}
