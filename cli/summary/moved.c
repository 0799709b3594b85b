#include "moved.h"

#include <string.h>

#include "container.h"
#include "shown.h"
#include "units.h"

enum { MOVED_ROWS = 16 };

struct moved_row {
	const char *key, *text;
	int64_t bytes[2];
	int64_t estimated; /* of both */
};

/* The same words as the summary's and the metric "moved". */
static const struct {
	const char *class, *key, *text;
} classes[] = {
	{"socket_public", "socket_public", "sockets: public network"},
	{"socket_private", "socket_private", "sockets: private network"},
	{"socket_loopback", "socket_loopback", "sockets: loopback"},
	{"socket_unix", "socket_unix", "sockets: unix"},
	{"socket", "socket", "sockets: others"},
	{"pipe", "not_files", "not files"},
	{"terminal", "not_files", "not files"},
	{"special", "not_files", "not files"},
	{"device", "not_files", "not files"},
	{"", "system_files", "system files"}, /* every other one */
};

static void add(struct moved_row *rows, size_t *n, const char *key, const char *text, const int64_t bytes[2])
{
	size_t i = 0;
	while (i < *n && strcmp(rows[i].key, key) != 0)
		i++;
	if (bytes[IO_READ] + bytes[IO_WRITE] <= 0 || i == MOVED_ROWS)
		return;
	if (i == *n)
		rows[(*n)++] = (struct moved_row){key, text, {0}, 0};
	for (int k = 0; k < 2; k++)
		rows[i].bytes[k] += bytes[k];
}

static void add_classes(const struct digest *d, struct moved_row *rows, size_t *n)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		for (size_t c = 0; c < d->nclasses; c++) {
			size_t of = 0;
			while (*classes[of].class && strcmp(classes[of].class, d->class[c].name) != 0)
				of++;
			if (of == i)
				add(rows, n, classes[i].key, classes[i].text,
				    (int64_t[]){d->class[c].bytes_read, d->class[c].bytes_written});
		}
}

static size_t find_rows(const struct digest *d, struct moved_row rows[MOVED_ROWS])
{
	size_t n = 0;
	for (int i = 0; i < WRITTEN_COUNT && d->processes; i++) {
		const struct digest_interface *f = &d->interface[i];
		bool upper = f->name && strcmp(f->name, "mpiio") == 0;
		int64_t bytes[2] = {f->bytes_read, f->bytes_written};
		for (int w = 0; w < DIGEST_WAY_COUNT && i == WRITTEN_POSIX; w++)
			for (int k = 0; k < 2; k++)
				bytes[k] -= d->way[w].recorded[k];
		if (f->name)
			add(rows, &n, f->name, upper ? "mpiio, through posix" : f->name, bytes);
	}
	if (!d->processes)
		return 0;
	for (int w = 0; w < DIGEST_WAY_UNOBSERVED; w++) {
		size_t before = n;
		add(rows, &n, digest_way_key(w), digest_way_name(w), d->way[w].bytes);
		if (n > before)
			rows[before].estimated = d->way[w].estimated;
	}
	add_classes(d, rows, &n);
	add(rows, &n, digest_way_key(DIGEST_WAY_UNOBSERVED), digest_way_name(DIGEST_WAY_UNOBSERVED),
	    d->way[DIGEST_WAY_UNOBSERVED].bytes);
	add(rows, &n, "unexplained", "unexplained", (int64_t[]){d->unexplained_read, d->unexplained_written});
	return n;
}

void moved_print(FILE *out, const struct digest *d)
{
	struct moved_row rows[MOVED_ROWS];
	char read[UNITS_TEXT], written[UNITS_TEXT];
	size_t n = find_rows(d, rows);
	if (n)
		fprintf(out, "\n%-26s %11s %11s\n", "moved", "read", "written");
	for (size_t i = 0; i < n; i++)
		shown_line(out, "%-26s %11s %11s", rows[i].text, units_bytes(read, (double)rows[i].bytes[IO_READ]),
			   units_bytes(written, (double)rows[i].bytes[IO_WRITE]));
	for (size_t i = 0; i < n; i++)
		if (rows[i].estimated)
			shown_line(out, "%s of %s are estimated from the last requests of its rings",
				   units_bytes(read, (double)rows[i].estimated), rows[i].text);
	if (digest_much_unexplained(d))
		fprintf(out, "%s of all bytes are unexplained: the numbers here are incomplete\n",
			units_percent(read, (double)digest_unexplained(d) / (double)digest_moved(d)));
}

void moved_print_folded(FILE *out, const struct digest *d)
{
	fprintf(out, "%s (open, stat) of about %s without a record of %s own", COUNTED(d->folded_opens, "use"),
		COUNTED(d->folded_files, "file"), units_agree(d->folded_files, "its", "their"));
	if (d->sufficient_budget)
		fprintf(out, ": IOLENS_BUDGET=%lld would do", (long long)((d->sufficient_budget + 1048575) / 1048576));
	fputc('\n', out);
}

/* What Darshan's library had no room for is in no record. */
void moved_print_missing(FILE *out, const struct digest *d)
{
	uint64_t partial = log_container(d->log)->partial;
	const char *before = "records are missing for lack of memory, and numbers are lower bounds: ";
	if (d->folded_opens) {
		fputs("<other files>: ", out);
		moved_print_folded(out, d);
		return;
	}
	for (int i = 0; i < WRITTEN_COUNT; i++)
		if (d->interface[i].name && partial >> written_modules[i].module & 1) {
			fprintf(out, "%s%s", before, d->interface[i].name);
			before = ", ";
		}
	if (*before == ',')
		fputc('\n', out);
}

void moved_json(struct json *j, const struct digest *d)
{
	struct moved_row rows[MOVED_ROWS];
	size_t n = find_rows(d, rows);
	if (!n)
		return;
	json_open(j, "moved", '{');
	for (size_t i = 0; i < n; i++) {
		json_open(j, rows[i].key, '{');
		json_i64(j, "bytes_read", rows[i].bytes[IO_READ]);
		json_i64(j, "bytes_written", rows[i].bytes[IO_WRITE]);
		if (rows[i].estimated)
			json_i64(j, "bytes_estimated", rows[i].estimated);
		json_close(j);
	}
	json_close(j);
}
