#include "beside_peak.h"

#include <string.h>
#include <unistd.h>

#include "file_system.h"
#include "shown.h"
#include "trailer.h"
#include "units.h"

/* Whether the log's first process ran on this host. */
static bool ran_here(const struct digest *d)
{
	char here[256] = "";
	struct trailer *t;
	struct trailer_table *table = NULL;
	struct log_error err;
	size_t n;
	bool same = false;
	gethostname(here, sizeof here - 1);
	if (trailer_open(&t, d->log, &err) < 0 || !t)
		return false;
	if (trailer_find(t, "process", &table, &err) >= 0 && table && trailer_rows(table)) {
		const char *host = trailer_text(table, 0, trailer_field(table, "host"), 0, &n);
		same = n == strlen(here) && !memcmp(host, here, n);
	}
	trailer_free(table);
	trailer_close(t);
	return same;
}

static void add_files(struct beside_row *row, const struct digest *d, const struct log_pair *mount)
{
	for (size_t i = 0; i < d->nfiles; i++) {
		const struct digest_file *f = &d->files[i];
		if (log_mount_of(d->job, f->name) != mount)
			continue;
		row->bytes[IO_READ] += f->bytes_read;
		row->bytes[IO_WRITE] += f->bytes_written;
		row->seconds[IO_READ] += f->read_time;
		row->seconds[IO_WRITE] += f->write_time;
	}
}

void beside_find(struct beside *b, const struct digest *d)
{
	int here = -1;
	b->n = 0;
	for (size_t i = 0; i < d->job->nmounts && b->n < BESIDE_MOST; i++) {
		const struct log_pair *mount = &d->job->mounts[i];
		struct beside_row *row = &b->row[b->n];
		*row = (struct beside_row){0};
		if (!saved_peak_read(&row->peak, mount->key) || strcmp(row->peak.type, mount->value) != 0)
			continue;
		if (!file_system_is_served(mount->value) && here < 0)
			here = ran_here(d);
		if (!file_system_is_served(mount->value) && !here)
			continue;
		add_files(row, d, mount);
		b->n += row->bytes[IO_READ] || row->bytes[IO_WRITE];
	}
}

static double rate(const struct beside_row *row, int op)
{
	return row->seconds[op] > 0 ? (double)row->bytes[op] / row->seconds[op] : 0;
}

static double peak_of(const struct beside_row *row, int op)
{
	return op == IO_READ ? row->peak.read_rate : row->peak.write_rate;
}

static void print_direction(FILE *out, const struct beside_row *row, int op)
{
	double own = rate(row, op), peak = peak_of(row, op);
	if (own <= 0 || peak <= 0)
		return;
	fprintf(out, "%-20s %12s/s %12s/s   %s%s\n", op == IO_READ ? "  read" : "  write",
		units_bytes((char[UNITS_TEXT]){0}, own), units_bytes((char[UNITS_TEXT]){0}, peak),
		units_percent((char[UNITS_TEXT]){0}, own / peak),
		own > peak ? ": more than the storage gives, from or into the page cache" : "");
}

void beside_print(FILE *out, const struct beside *b)
{
	if (b->n)
		fprintf(out, "\n%-20s %14s %14s\n", "part of a peak", "in its calls", "measured");
	for (size_t i = 0; i < b->n; i++) {
		const struct saved_peak *p = &b->row[i].peak;
		shown_line(out, "%s, iolens peak of %.10s", p->point, p->time);
		print_direction(out, &b->row[i], IO_READ);
		print_direction(out, &b->row[i], IO_WRITE);
	}
}

void beside_json(struct json *j, const struct beside *b)
{
	if (!b->n)
		return;
	json_open(j, "peaks", '[');
	for (size_t i = 0; i < b->n; i++) {
		const struct beside_row *row = &b->row[i];
		json_open(j, NULL, '{');
		json_text(j, "mount", row->peak.point);
		json_text(j, "time", row->peak.time);
		json_f64(j, "read_rate", rate(row, IO_READ));
		json_f64(j, "write_rate", rate(row, IO_WRITE));
		json_f64(j, "peak_read_rate", row->peak.read_rate);
		json_f64(j, "peak_write_rate", row->peak.write_rate);
		json_close(j);
	}
	json_close(j);
}
