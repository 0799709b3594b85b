#include "summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "digest.h"
#include "digest_json.h"
#include "moved.h"
#include "output.h"
#include "shown.h"
#include "units.h"
#include "unrecorded.h"
#include "verdict.h"

enum { TOP_FILES = 4, TOP_OPERATIONS = 4, WIDTH = 100, LABEL = 14, NAME_WIDTH = 50, MARK = 28 };

/* What is worth a line: less than this is how every program is. */
enum { MANY_ACCESSES = 1000, MUCH_REREAD = 1 << 20, MUCH_STARTUP = 1 << 20, MANY_STARTUP = 50 };
enum { STARTUP_TEXT = 256 };

static const double LITTLE = 0.02, WORTH = 0.05; /* of the run time */

#define B(n)           units_bytes((char[UNITS_TEXT]){0}, (double)(n))
#define N(n)           units_count((char[UNITS_TEXT]){0}, n)
#define S(t)           units_seconds((char[UNITS_TEXT]){0}, t)
#define P(part, whole) units_percent((char[UNITS_TEXT]){0}, share(part, whole))

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static void label(FILE *out, const char *text)
{
	fprintf(out, "  %-*s", LABEL, text);
}

/* Names and command lines come from anywhere: a terminal must not obey them. Bytes of what it may show. */
static size_t shown_length(const char *text)
{
	char shown[OUTPUT_SHOWN];
	size_t n = 0;
	while (*text) {
		text += output_next(text, shown);
		n += strlen(shown);
	}
	return n;
}

/* Whole characters and escapes, at most `width` bytes. */
static void print_shown(FILE *out, const char *text, size_t width)
{
	char shown[OUTPUT_SHOWN];
	for (size_t used = 0; *text; used += strlen(shown)) {
		text += output_next(text, shown);
		if (used + strlen(shown) > width)
			return;
		fputs(shown, out);
	}
}

/* A script behind -c may have pages: its beginning, and how much more there is. */
static void print_command(FILE *out, const char *text, size_t width)
{
	char shown[OUTPUT_SHOWN];
	size_t used = 0, left = 0;
	bool cut = shown_length(text) > width;
	while (*text) {
		text += output_next(text, shown);
		used += strlen(shown);
		left += cut && used > width - MARK;
		fputs(left ? "" : shown, out);
	}
	if (left)
		fprintf(out, " [%s more]", COUNTED(left, "character"));
}

/* The end of a long path tells more than its beginning. */
static void print_tail(FILE *out, const char *text, size_t width)
{
	char shown[OUTPUT_SHOWN];
	size_t n = shown_length(text);
	if (n > width) {
		fputs("...", out);
		for (; n > width - 3; n -= strlen(shown))
			text += output_next(text, shown);
	}
	print_shown(out, text, width);
}

enum { PIECE = 256, WORDS = 2048 };

/* Pieces of a line, "; " between them: as many as fit, or on several lines. */
struct pieces {
	FILE *out;
	const char *label;
	bool wrap;
	bool full;
	size_t used;
};

static void add_piece(struct pieces *p, const char *text)
{
	char shown[PIECE];
	shown_copy(shown, sizeof shown, text);
	size_t n = strlen(shown);
	bool fits = p->used + n + (p->wrap ? 2 : 7) <= WIDTH;
	if (!n)
		return;
	p->full = p->full || (p->used && !fits && !p->wrap);
	if (p->full)
		return;
	if (!p->used)
		label(p->out, p->label);
	else if (fits)
		fputs("; ", p->out);
	else {
		fputs(";\n", p->out);
		label(p->out, "");
	}
	p->used = p->used && fits ? p->used + n + 2 : LABEL + 2 + n;
	fputs(shown, p->out);
}

static void end_pieces(struct pieces *p)
{
	if (p->used)
		fputs(p->full ? "; ...\n" : "\n", p->out);
}

/* ---- lines ---- */

/* Lines after the first stand below it. A number and its % stay together. */
static void print_words(FILE *out, const char *words)
{
	char shown[WORDS], *text = shown;
	size_t used = LABEL + 2;
	shown_copy(shown, sizeof shown, words);
	for (size_t n; *text; text += n + (text[n] == ' ')) {
		n = strcspn(text, " ");
		n += strncmp(text + n, " %", 2) ? 0 : 1 + strcspn(text + n + 1, " ");
		if (used + n + 1 > WIDTH) {
			fputc('\n', out);
			label(out, "");
			used = LABEL + 2;
		}
		used += (size_t)fprintf(out, "%s%.*s", used > LABEL + 2 ? " " : "", (int)n, text);
	}
	fputc('\n', out);
}

static void print_time(FILE *out, const struct digest *d)
{
	const double *by = d->io.by_op;
	char text[PIECE];
	label(out, "run time");
	fprintf(out, "%s, %s\n", S(d->run_time), COUNTED(d->job->nprocs, "process"));
	if (!d->has_trailer)
		return;
	label(out, "time in I/O");
	if (d->io.total <= 0) {
		fputs("none\n", out);
		return;
	}
	snprintf(text, sizeof text, "%s = %s of the run time: reading %s, writing %s, metadata %s", S(d->io.total),
		 P(d->io.total, d->run_time), P(by[IO_READ], d->run_time), P(by[IO_WRITE], d->run_time),
		 P(by[IO_META], d->run_time));
	print_words(out, text);
}

static void describe_direction(char *text, size_t room, const char *verb, int64_t bytes, int64_t calls, double time)
{
	int n = snprintf(text, room, "%s %s in %s", verb, B(bytes), COUNTED(calls, "call"));
	if (time > 0 && bytes > 0)
		snprintf(text + n, room - (size_t)n, " at %s/s", B((double)bytes / time));
}

static void print_interfaces(FILE *out, const struct digest *d)
{
	for (int i = 0; i < WRITTEN_COUNT; i++) {
		const struct digest_interface *f = &d->interface[i];
		char read[128] = "", wrote[128] = "";
		if (f->reads)
			describe_direction(read, sizeof read, "read", f->bytes_read, f->reads, f->read_time);
		if (f->writes)
			describe_direction(wrote, sizeof wrote, "wrote", f->bytes_written, f->writes, f->write_time);
		struct pieces p = {.out = out, .label = f->name, .wrap = true};
		add_piece(&p, read);
		add_piece(&p, wrote);
		end_pieces(&p);
	}
}

static void describe_requests(char *text, size_t n, const struct digest_way *way, int k)
{
	int used = snprintf(text, n, "%s %s", k == IO_READ ? "read" : "wrote", B(way->bytes[k]));
	if (way->span[k] > 0)
		snprintf(text + used, n - (size_t)used, ", %s a request", S(way->span[k] / (double)way->calls[k]));
}

/* What processes waited for until it was in memory: their programs, libraries and mapped files. */
static void print_loaded(FILE *out, const struct digest *d)
{
	int64_t bytes = d->way[DIGEST_WAY_LOADED].bytes[IO_READ];
	if (bytes < MUCH_STARTUP && d->used.fault_time < LITTLE * d->run_time)
		return;
	label(out, digest_way_name(DIGEST_WAY_LOADED));
	fprintf(out, "%s of programs, libraries and mapped files from storage, about %s (estimated)\n",
		B(bytes ? bytes : d->used.fault_bytes), S(d->used.fault_time));
}

static const char *what_is_known(const struct digest_way *way)
{
	if (way->estimated)
		return "estimated from the last requests of rings, time not known";
	if (way->untimed[IO_READ] + way->untimed[IO_WRITE])
		return "time not known";
	int64_t apart = 0;
	for (int k = 0; k < 2; k++)
		apart += way->bytes[k] - way->recorded[k];
	if (!(way->span[IO_READ] + way->span[IO_WRITE] > 0))
		return "time not known";
	return apart ? "(partly in posix, too)" : "(in posix, too)";
}

/* What the kernel counted and nothing accounts for: early where it is much, else at the end. */
static void print_unexplained(FILE *out, const struct digest *d)
{
	struct pieces p = {.out = out, .label = "unexplained", .wrap = true};
	char bytes[128], part[128], unknown[128];
	snprintf(bytes, sizeof bytes, "read %s, wrote %s (read-ahead, loader, raw system calls)",
		 B(d->unexplained_read), B(d->unexplained_written));
	snprintf(part, sizeof part, "%s of all bytes: the numbers here are incomplete",
		 P((double)digest_unexplained(d), (double)digest_moved(d)));
	snprintf(unknown, sizeof unknown, "unknown of %s: killed, confined, or still running",
		 COUNTED(d->unseen_unknown, "process"));
	add_piece(&p, digest_unexplained(d) ? bytes : "");
	add_piece(&p, digest_much_unexplained(d) ? part : "");
	add_piece(&p, d->unseen_unknown ? unknown : "");
	add_piece(&p, d->has_trailer && !p.used ? "nothing" : "");
	end_pieces(&p);
}

/* What moved in other ways than calls. */
static void print_ways(FILE *out, const struct digest *d)
{
	for (int w = 0; w < DIGEST_WAY_SOCKET; w++) {
		const struct digest_way *way = &d->way[w];
		struct pieces p = {.out = out, .label = digest_way_name(w), .wrap = true};
		char text[64];
		for (int k = 0; k < 2 && w != DIGEST_WAY_LOADED; k++) {
			describe_requests(text, sizeof text, way, k);
			if (way->bytes[k])
				add_piece(&p, text);
		}
		if (p.used)
			add_piece(&p, what_is_known(way));
		end_pieces(&p);
	}
	print_loaded(out, d);
}

/* What is neither a read nor a write, the longest first. */
static void print_operations(FILE *out, const struct digest *d)
{
	struct pieces p = {.out = out, .label = "other calls"};
	for (size_t o = 0; o < d->noperations && o < TOP_OPERATIONS; o++) {
		char text[128];
		snprintf(text, sizeof text, "%s %s %s", N(d->operation[o].count), d->operation[o].name,
			 S(d->operation[o].time));
		add_piece(&p, text);
	}
	p.full = p.full || d->noperations > TOP_OPERATIONS;
	end_pieces(&p);
}

/* What came from storage for it; where data are mapped as well it is not known which. */
static int64_t paged_for_startup(const struct digest *d)
{
	bool worth = d->used.fault_bytes >= MUCH_STARTUP && d->used.fault_time >= LITTLE * d->run_time;
	return worth && !d->way[DIGEST_WAY_MAPPED].bytes[IO_READ] ? d->used.fault_bytes : 0;
}

static void describe_startup(const struct digest *d, char text[STARTUP_TEXT])
{
	const struct digest_startup *s = &d->startup;
	bool many = s->bytes >= MUCH_STARTUP || s->opens >= MANY_STARTUP;
	int64_t paged = paged_for_startup(d);
	int n = 0;
	*text = '\0';
	if (s->first_data >= WORTH * d->run_time && (many || paged)) {
		n = snprintf(text, STARTUP_TEXT, "before its first data the program spent %s of %s:", S(s->first_data),
			     S(d->run_time));
		if (s->files)
			n += snprintf(text + n, STARTUP_TEXT - (size_t)n, " %s (%s)%s",
				      COUNTED(s->files, "Python file"), B(s->file_bytes), paged ? "," : "");
		else if (!paged)
			snprintf(text + n, STARTUP_TEXT - (size_t)n, " %s of libraries", B(s->bytes));
		if (paged)
			snprintf(text + n, STARTUP_TEXT - (size_t)n, " %s of programs and libraries from storage",
				 B(paged));
	} else if (many) {
		snprintf(text, STARTUP_TEXT, "%s of Python code and libraries in %s", B(s->bytes),
			 COUNTED(s->opens, "open"));
	}
}

static void print_findings(FILE *out, const struct digest *d)
{
	int64_t read = 0;
	for (size_t n = 0; n < d->nfiles; n++)
		read += d->files[n].bytes_read;
	if (d->accesses >= MANY_ACCESSES && 2 * d->small >= d->accesses) {
		label(out, "small");
		fprintf(out, "%s of %s reads and writes through posix move at most 10 KiB\n",
			P((double)d->small, (double)d->accesses), N(d->accesses));
	}
	if (d->reread >= MUCH_REREAD && 10 * d->reread >= read) {
		label(out, "read again");
		fprintf(out, "%s of %s, most from ", B(d->reread), B(read));
		print_tail(out, digest_file_final(d->most_reread), NAME_WIDTH - 20);
		fprintf(out, ", read %.1f times over\n", digest_file_factor(d->most_reread));
	}
	char text[STARTUP_TEXT];
	describe_startup(d, text);
	if (*text) {
		label(out, "start-up");
		print_words(out, text);
	}
}

static const struct {
	const char *name, *text;
	bool file;
} kinds[] = {
	{"pipe", "pipes", 0},
	{"terminal", "terminals", 0},
	{"special", "special", 0},
	{"device", "devices", 0},
	{"library", "libraries", 1},
	{"python", "Python", 1},
	{"program", "programs", 1},
	{"config", "/etc", 1},
	{"kernel", "/proc, /sys", 1},
	{"state", "/var", 1},
	{"filtered", "filtered", 1},
	{"mpi", "the MPI's own", 1},
	{"nameless", "files without a path", 1},
};

static void add_class(struct pieces *p, const struct digest_class *k, const char *text)
{
	char piece[128], written[64] = "";
	if (!k->bytes_read && !k->bytes_written)
		return;
	if (k->bytes_written)
		snprintf(written, sizeof written, "%s wrote %s", k->bytes_read ? "," : "", B(k->bytes_written));
	snprintf(piece, sizeof piece, "%s%s%s%s", text, k->bytes_read ? " read " : "",
		 k->bytes_read ? B(k->bytes_read) : "", written);
	add_piece(p, piece);
}

/* By where the other end is. */
static void print_sockets(FILE *out, const struct digest *d)
{
	static const char *const ends[][2] = {{"socket_public", "public network"},
					      {"socket_private", "private network"},
					      {"socket_loopback", "loopback"},
					      {"socket_unix", "unix"},
					      {"socket", "others"}};
	struct pieces p = {.out = out, .label = "sockets", .wrap = true};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		for (size_t c = 0; c < d->nclasses; c++)
			if (strcmp(d->class[c].name, ends[i][0]) == 0)
				add_class(&p, &d->class[c], ends[i][1]);
	end_pieces(&p);
}

static void print_classes(FILE *out, const struct digest *d, bool files)
{
	struct pieces p = {.out = out, .label = files ? "system files" : "not files"};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (size_t c = 0; c < d->nclasses && kinds[i].file == files; c++)
			if (strcmp(d->class[c].name, kinds[i].name) == 0)
				add_class(&p, &d->class[c], kinds[i].text);
	end_pieces(&p);
}

/* ---- what is missing ---- */

static const char *reason_text(const char *reason)
{
	static const char *const texts[][2] = {{"static", "statically linked"},
					       {"setuid", "setuid"},
					       {"environment", "without LD_PRELOAD"},
					       {"machine", "for another machine or word size"},
					       {"libc", "of another C library"},
					       {"no_store", "without access to the library or the stores' directory"},
					       {"filter", "in a sandbox"}};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(reason, texts[i][0]) == 0)
			return texts[i][1];
	return "statically linked, setuid, or without LD_PRELOAD";
}

static void print_unobserved(FILE *out, const struct digest *d)
{
	if (!d->unobserved)
		return;
	label(out, "unobserved");
	fprintf(out, "%s: ", COUNTED(d->unobserved, "program"));
	if (*d->unobserved_program)
		print_tail(out, d->unobserved_program, NAME_WIDTH - 10);
	fprintf(out, "%s%s%s\n", *d->unobserved_program ? ", " : "", reason_text(d->unobserved_reason),
		*d->unobserved_program && d->unobserved > 1 ? ", ..." : "");
}

static void print_unrecorded(FILE *out, const struct digest *d)
{
	for (size_t n = 0; n < d->nunrecorded; n++) {
		char text[UNRECORDED_TEXT];
		unrecorded_describe(&d->unrecorded[n], text);
		label(out, n ? "" : "not recorded");
		print_words(out, text);
	}
}

static void print_observers(FILE *out, const struct digest *d)
{
	if (d->by_kernel) {
		label(out, "observed by");
		fprintf(out, "kernel: %s of %s, by system calls\n", N(d->by_kernel), COUNTED(d->processes, "process"));
	}
	if (d->totals_only) {
		label(out, d->by_kernel ? "" : "observed by");
		fprintf(out, "totals: %s of %s, by /proc: which files is unknown\n", N(d->totals_only),
			COUNTED(d->processes, "process"));
	}
}

static void print_missing(FILE *out, const struct digest *d)
{
	if (d->missing) {
		label(out, "missing");
		fprintf(out, "%s without a usable store: iolens show --ext says why\n", COUNTED(d->missing, "process"));
	}
	if (d->folded_opens) {
		label(out, "folded");
		moved_print_folded(out, d);
	}
	if (d->sampled.calls) {
		label(out, "times");
		fprintf(out, "of %s %s estimated from %s", COUNTED(d->sampled.calls, "fast call"),
			units_agree(d->sampled.calls, "is", "are"), COUNTED(d->sampled.timed, "timed one"));
		if (d->sampled.doubtful)
			fprintf(out, "; %s may have waited, %s at most", N(d->sampled.doubtful),
				S(d->sampled.doubtful_time));
		fputc('\n', out);
	}
	if (d->clock_jumps) {
		label(out, "clock");
		fprintf(out,
			"the processor's counter and the clock disagreed %s (suspended, restored, or in another "
			"time namespace): times near it are uncertain\n",
			COUNTED(d->clock_jumps, "time"));
	}
	if (d->incomplete_trace) {
		label(out, "trace");
		fputs("incomplete: there was no room for more accesses (IOLENS_TRACE_BUDGET, in MiB)\n", out);
	}
}

static void print_moved(FILE *out, double time, int64_t bytes_read, int64_t bytes_written)
{
	fprintf(out, "  %11s  read %10s  wrote %10s  ", S(time), B(bytes_read), B(bytes_written));
}

/* A file's line, and a second one of what the program requested from MPI-IO. */
static void print_file(FILE *out, const struct digest_file *f)
{
	const struct digest_interface *above = &f->mpiio;
	print_moved(out, digest_file_time(f), f->bytes_read, f->bytes_written);
	print_tail(out, digest_file_shown(f), NAME_WIDTH - f->directory);
	fputs(f->directory ? "/\n" : "\n", out);
	if (!above->records)
		return;
	print_moved(out, digest_interface_time(above), above->bytes_read, above->bytes_written);
	fputs("  by its calls of MPI-IO\n", out);
}

static void print_files(FILE *out, const struct digest *d)
{
	if (!d->nfiles)
		return;
	fprintf(out, d->nfiles > 1 ? "  slowest of %s\n" : "  the only file\n", COUNTED(d->nfiles, "file"));
	for (size_t n = 0; n < d->nfiles && n < TOP_FILES; n++)
		print_file(out, &d->files[n]);
}

static void print_verdict(FILE *out, const struct digest *d)
{
	struct verdict v;
	verdict_of(d, &v);
	label(out, "verdict");
	print_words(out, v.text);
}

/*
 * A command to copy: in quotes where a shell would take the name apart, and in those that take escapes where a terminal
 * must not see it as it is.
 */
static void print_next(FILE *out, const char *log)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,/:@%=";
	bool quoted = log[strspn(log, plain)], hides = shown_hides(log);
	char shown[OUTPUT_SHOWN];
	label(out, "next");
	fprintf(out, "iolens report --open %s%s%s", *log == '-' ? "./" : "", hides ? "$" : "", quoted ? "'" : "");
	while (*log) {
		bool quote = *log == '\'';
		bool escape = *log == '\\' && hides;
		log += output_next(log, shown);
		fputs(quote && hides ? "\\'" : quote ? "'\\''" : escape ? "\\\\" : shown, out);
	}
	fputs(quoted ? "'\n" : "\n", out);
}

static void print_digest(FILE *out, const struct digest *d, const char *log)
{
	fputs("\niolens: ", out);
	print_command(out, d->job->exe, WIDTH - 8);
	fputc('\n', out);
	print_time(out, d);
	print_interfaces(out, d);
	print_ways(out, d);
	if (digest_much_unexplained(d))
		print_unexplained(out, d);
	print_sockets(out, d);
	print_operations(out, d);
	print_findings(out, d);
	print_classes(out, d, false);
	print_classes(out, d, true);
	if (!digest_much_unexplained(d))
		print_unexplained(out, d);
	print_unobserved(out, d);
	print_unrecorded(out, d);
	print_observers(out, d);
	print_missing(out, d);
	print_files(out, d);
	label(out, "log");
	shown_line(out, "%s", log);
	print_verdict(out, d);
	print_next(out, log);
}

static int fail_log(const char *log, const struct log_error *err)
{
	cli_log_error(log, err);
	return CLI_INPUT;
}

/* Written at once: it must not be torn apart by what the command's own children still say. */
int summary_print(FILE *out, const char *log)
{
	struct digest d;
	struct log_error err;
	char *text = NULL;
	size_t n = 0;
	int code = digest_open(&d, log, &err);
	FILE *memory = code >= 0 ? open_memstream(&text, &n) : NULL;
	if (memory) {
		print_digest(memory, &d, log);
		fclose(memory);
		fwrite(text, 1, n, out);
		fflush(out);
	}
	free(text);
	digest_close(&d);
	return code < 0 ? fail_log(log, &err) : 0;
}

int summary_json(const char *file, const char *log)
{
	struct digest d;
	struct log_error err;
	if (digest_open(&d, log, &err) < 0) {
		digest_close(&d);
		return fail_log(log, &err);
	}
	FILE *out = fopen(file, "w");
	if (out) {
		struct json j = {.out = out};
		digest_json(&j, &d, log);
	}
	int failed = !out || fclose(out) != 0;
	digest_close(&d);
	return failed ? cli_fail(CLI_INPUT, "run: %s: cannot write the summary: %s", file, strerror(errno)) : 0;
}
