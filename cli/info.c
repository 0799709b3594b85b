/* iolens info: one page about a log, whatever is in it. */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "beside_peak.h"
#include "choices.h"
#include "cli.h"
#include "json.h"
#include "moved.h"
#include "platform_page.h"
#include "reduce.h"
#include "shown.h"
#include "trailer.h"
#include "units.h"
#include "unrecorded.h"
#include "verdict.h"

struct info_module {
	int id;
	const char *name;
	uint32_t version;
	int64_t records;                    /* -1 = not decoded */
	uint64_t stored, unpacked;          /* bytes */
	uint64_t bytes_read, bytes_written; /* unsigned: sums of a damaged log may wrap */
	bool moves_bytes;                   /* the interface counts bytes */
	bool partial, damaged;
};

struct info {
	const char *path;
	struct log *log;
	const struct log_container *container;
	const struct log_job *job; /* NULL = unreadable */
	bool judged;               /* there is a verdict */
	struct verdict verdict;
	struct beside beside;
	struct trailer *trailer;
	struct info_module module[LOG_MAX_MODULES];
	int nmodules;
	int exit;
	struct log_error said; /* the last one: two parts of the page may need one section */
};

static void info_error(struct info *i, const char *where, const struct log_error *err)
{
	struct log_error placed = cli_error_in(where, err);
	if (strcmp(placed.message, i->said.message) != 0)
		cli_log_error(i->path, &placed);
	i->said = placed;
	i->exit = CLI_PARTIAL;
}

static void count_records(struct info *i, struct info_module *m, struct log_records *records)
{
	struct log_record r;
	struct log_error err;
	int code;
	while ((code = log_records_next(records, &r, &err)) > 0) {
		m->records++;
		m->bytes_read += (uint64_t)reduce_i64(r.schema, r.data, ROLE_BYTES_READ);
		m->bytes_written += (uint64_t)reduce_i64(r.schema, r.data, ROLE_BYTES_WRITTEN);
		const struct schema_field *read = schema_by_role(r.schema, ROLE_BYTES_READ);
		m->moves_bytes |= read && log_record_has(&r, read);
	}
	m->unpacked = log_records_bytes(records);
	if (code < 0) {
		m->damaged = true;
		info_error(i, m->name, &err);
	}
}

static void read_module(struct info *i, int id)
{
	struct info_module *m = &i->module[i->nmodules++];
	struct log_records *records;
	struct log_error err;
	*m = (struct info_module){
		.id = id,
		.name = log_module_name(id),
		.version = i->container->module_version[id],
		.stored = i->container->module[id].length,
		.partial = i->container->partial >> id & 1,
	};
	int code = log_records_open(&records, i->log, id, &err);
	if (code >= 0) {
		count_records(i, m, records);
	} else {
		m->records = -1;
		m->damaged = code != LOG_E_UNSUPPORTED;
		if (m->damaged)
			info_error(i, m->name, &err);
	}
	log_records_close(records);
}

/* What is damaged has no verdict. Before the log's names are read, so that memory holds them once. */
static void judge(struct info *i)
{
	struct digest d;
	struct log_error err;
	i->judged = digest_open(&d, i->path, &err) >= 0;
	if (i->judged) {
		verdict_of(&d, &i->verdict);
		beside_find(&i->beside, &d);
	}
	digest_close(&d);
}

static void read_log(struct info *i)
{
	struct log_error err;
	i->container = log_container(i->log);
	if (log_job(i->log, &i->job, &err) < 0)
		info_error(i, "job", &err);
	if (log_names(i->log, &err) < 0)
		info_error(i, "names", &err);
	for (int id = 0; id < LOG_MAX_MODULES; id++)
		if (i->container->module[id].length || i->container->partial >> id & 1)
			read_module(i, id);
	if (trailer_open(&i->trailer, i->log, &err) < 0)
		info_error(i, "trailer", &err);
}

static const char *compression_name(const struct info *i)
{
	static const char *const names[] = {"zlib", "bzip2", "uncompressed"};
	return names[i->container->compression];
}

static const char *metadata(const struct info *i, const char *key)
{
	for (size_t k = 0; i->job && k < i->job->nmetadata; k++)
		if (!strcmp(i->job->metadata[k].key, key))
			return i->job->metadata[k].value;
	return "";
}

static const char *when(char text[64], int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;
	if (!seconds || !localtime_r(&t, &tm) || !strftime(text, 64, "%Y-%m-%d %H:%M:%S %z", &tm))
		return "unknown";
	return text;
}

/* Without a scheduler, the job's number is the first process's. */
static bool is_pid(struct info *i, int64_t number)
{
	struct trailer_table *t;
	bool found = false;
	if (!i->trailer || trailer_find(i->trailer, "process", &t, NULL) < 0)
		return false;
	for (uint64_t row = 0; !found && t && row < trailer_rows(t); row++)
		found = trailer_i64(t, row, trailer_field(t, "pid"), 0) == number;
	trailer_free(t);
	return found;
}

static void print_owner(struct info *i)
{
	const struct log_job *j = i->job;
	const struct passwd *user = getpwuid((uid_t)j->uid);
	printf("job         ");
	if (is_pid(i, j->id))
		printf("no scheduler");
	else
		printf("%" PRId64, j->id);
	printf(", user ");
	if (user)
		shown_put(stdout, user->pw_name);
	printf(user ? " (%" PRId64 "), %s\n" : "%" PRId64 ", %s\n", j->uid, COUNTED(j->nprocs, "process"));
}

static void print_job(struct info *i)
{
	char text[64];
	const struct log_job *j = i->job;
	print_owner(i);
	shown_line(stdout, "command     %s", j->exe);
	printf("start       %s\n", when(text, j->start));
	printf("end         %s\n", when(text, j->end));
	printf("run time    %.3f s\n", log_run_time(i->log));
	shown_line(stdout, "written by  runtime %s",
		   *metadata(i, "lib_ver") ? metadata(i, "lib_ver") : "of unknown version");
	printf("mounts      %zu\n", j->nmounts);
}

static void print_module(const struct info_module *m)
{
	char count[UNITS_TEXT], stored[UNITS_TEXT], unpacked[UNITS_TEXT], read[UNITS_TEXT], written[UNITS_TEXT];
	const char *note = m->damaged ? "  damaged" : m->partial ? "  incomplete" : "";
	printf("%-12s %7u ", m->name, m->version);
	units_bytes(stored, (double)m->stored);
	if (m->records < 0) {
		printf("%11s %11s %11s %11s %11s%s\n", "-", stored, "-", "-", "-", *note ? note : "  not decoded");
		return;
	}
	printf("%11s %11s %11s ", units_count(count, m->records), stored, units_bytes(unpacked, (double)m->unpacked));
	if (m->moves_bytes)
		printf("%11s %11s%s\n", units_bytes(read, (double)m->bytes_read),
		       units_bytes(written, (double)m->bytes_written), note);
	else
		printf("%11s %11s%s\n", "-", "-", note);
}

static void print_modules(const struct info *i)
{
	printf("\n%-12s %7s %11s %11s %11s %11s %11s\n", "module", "version", "records", "stored", "unpacked", "read",
	       "written");
	for (int k = 0; k < i->nmodules; k++)
		print_module(&i->module[k]);
	if (!i->nmodules)
		puts("no module data");
}

static void print_trailer(const struct info *i)
{
	char rows[UNITS_TEXT], stored[UNITS_TEXT], unpacked[UNITS_TEXT];
	if (!trailer_count(i->trailer))
		return;
	printf("\n%-20s %11s %11s %11s\n", "extension", "rows", "stored", "unpacked");
	for (size_t k = 0; k < trailer_count(i->trailer); k++) {
		const struct trailer_entry *e = trailer_at(i->trailer, k);
		shown_line(stdout, "%-20s %11s %11s %11s%s", e->name, units_count(rows, (int64_t)e->rows),
			   units_bytes(stored, (double)e->stored), units_bytes(unpacked, (double)e->raw),
			   e->flags & TRAILER_IN_PLACE ? "  live" : "");
	}
}

/* From the modules' sums and the extension. */
static void digest_ways(struct info *i, struct digest *d)
{
	struct log_error err;
	*d = (struct digest){.log = i->log, .job = i->job};
	for (int k = 0; k < i->nmodules; k++)
		digest_set_moved(d, i->module[k].id, (int64_t)i->module[k].bytes_read,
				 (int64_t)i->module[k].bytes_written);
	if (i->trailer && digest_read_trailer(d, &err) < 0)
		info_error(i, "trailer", &err);
}

static void print_unrecorded(const struct digest *d)
{
	for (size_t n = 0; n < d->nunrecorded; n++) {
		char text[UNRECORDED_TEXT];
		unrecorded_describe(&d->unrecorded[n], text);
		printf("%s%s\n", n ? "" : "\n", text);
	}
}

static void print_info(struct info *i)
{
	struct digest ways;
	struct log_error err;
	char size[UNITS_TEXT], count[UNITS_TEXT];
	shown_line(stdout, "log         %s", i->path);
	shown_line(stdout, "format      %s, %s, %s, %s", i->container->version,
		   i->container->swapped ? "big-endian" : "little-endian", compression_name(i),
		   units_bytes(size, (double)i->container->file_size));
	if (i->job)
		print_job(i);
	if (i->judged)
		shown_line(stdout, "verdict     %s", i->verdict.text);
	printf("file names  %s\n", units_count(count, (int64_t)log_names_count(i->log)));
	print_modules(i);
	print_trailer(i);
	digest_ways(i, &ways);
	moved_print(stdout, &ways);
	if (ways.own_log)
		puts("not in it: what the process moved after it had written this log");
	print_unrecorded(&ways);
	beside_print(stdout, &i->beside);
	if (platform_print(stdout, i->trailer, &err) < 0)
		info_error(i, "trailer", &err);
}

static void json_job(struct json *out, struct info *i)
{
	const struct log_job *j = i->job;
	json_open(out, "job", '{');
	json_i64(out, "id", j->id);
	json_i64(out, "uid", j->uid);
	json_i64(out, "nprocs", j->nprocs);
	json_text(out, "exe", j->exe);
	json_i64(out, "start", j->start);
	json_i64(out, "start_ns", j->start_ns);
	json_i64(out, "end", j->end);
	json_i64(out, "end_ns", j->end_ns);
	json_f64(out, "run_time", log_run_time(i->log));
	json_open(out, "metadata", '{');
	for (size_t k = 0; k < j->nmetadata; k++)
		json_text(out, j->metadata[k].key, j->metadata[k].value);
	json_close(out);
	json_i64(out, "mounts", (int64_t)j->nmounts);
	json_close(out);
}

static void json_module(struct json *out, const struct info_module *m)
{
	json_open(out, NULL, '{');
	json_text(out, "name", m->name);
	json_i64(out, "version", m->version);
	json_i64(out, "stored", (int64_t)m->stored);
	json_i64(out, "partial", m->partial);
	json_i64(out, "damaged", m->damaged);
	json_i64(out, "decoded", m->records >= 0);
	if (m->records >= 0) {
		json_i64(out, "records", m->records);
		json_i64(out, "unpacked", (int64_t)m->unpacked);
	}
	if (m->moves_bytes) {
		json_i64(out, "bytes_read", (int64_t)m->bytes_read);
		json_i64(out, "bytes_written", (int64_t)m->bytes_written);
	}
	json_close(out);
}

static void json_trailer(struct json *out, const struct info *i)
{
	json_open(out, "extension", '[');
	for (size_t k = 0; k < trailer_count(i->trailer); k++) {
		const struct trailer_entry *e = trailer_at(i->trailer, k);
		json_open(out, NULL, '{');
		json_text(out, "name", e->name);
		json_i64(out, "rows", (int64_t)e->rows);
		json_i64(out, "stored", (int64_t)e->stored);
		json_i64(out, "unpacked", (int64_t)e->raw);
		json_close(out);
	}
	json_close(out);
}

static void print_json(struct info *i)
{
	struct json out = {.out = stdout};
	struct digest ways;
	struct log_error err;
	json_document(&out, "info", 1);
	json_text(&out, "log", i->path);
	json_text(&out, "format", i->container->version);
	json_text(&out, "byte_order", i->container->swapped ? "big" : "little");
	json_text(&out, "compression", compression_name(i));
	json_i64(&out, "size", (int64_t)i->container->file_size);
	if (i->job)
		json_job(&out, i);
	json_i64(&out, "names", (int64_t)log_names_count(i->log));
	json_open(&out, "modules", '[');
	for (int k = 0; k < i->nmodules; k++)
		json_module(&out, &i->module[k]);
	json_close(&out);
	json_trailer(&out, i);
	if (i->judged)
		verdict_json(&out, &i->verdict);
	digest_ways(i, &ways);
	moved_json(&out, &ways);
	unrecorded_json(&out, &ways);
	beside_json(&out, &i->beside);
	if (platform_json(&out, i->trailer, &err) < 0)
		info_error(i, "trailer", &err);
	json_close(&out);
}

static const struct choice table[] = {
	{"json", NULL, choice_flag, .about = "the same as JSON"},
};

static const struct choices info_choices = {
	.command = "info",
	.before = "info [OPTION...] LOG\n"
		  "\n"
		  "One page about a log: job, command, modules with their records, sizes and bytes moved, extension "
		  "tables; of\n"
		  "iolens's logs, also how the bytes were moved and what the job ran on.\n",
	.after = "Exit codes: 0 ok, 2 wrong usage, 3 unreadable, 4 shown, but some data are missing.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.most = 1,
	.wanted = "give one log",
};

static int info_main(int argc, char **argv)
{
	static struct info i;
	struct log_error err;
	bool json = false;
	int at = choices_parse(&info_choices, argc, argv, &json, &i.exit);
	if (at < 0)
		return i.exit;
	i.path = argv[at];
	if (log_open_file(&i.log, i.path, &err) < 0) {
		cli_log_error(i.path, &err);
		return CLI_INPUT;
	}
	judge(&i);
	read_log(&i);
	(json ? print_json : print_info)(&i);
	trailer_close(i.trailer);
	log_close(i.log);
	return i.exit;
}

const struct command info_command = {
	.name = "info",
	.main = info_main,
	.group = GROUP_LOOK,
	.place = 10,
	.about = "one page about a log: job, modules, sizes, verdict",
	.choices = &info_choices,
	.reads_logs = true,
};
