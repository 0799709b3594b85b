#include "digest_json.h"

#include <stdio.h>
#include <string.h>

#include "unrecorded.h"
#include "verdict.h"

static void json_interfaces(struct json *j, const struct digest *d)
{
	json_open(j, "interfaces", '{');
	for (int i = 0; i < WRITTEN_COUNT; i++) {
		const struct digest_interface *f = &d->interface[i];
		if (!f->records)
			continue;
		json_open(j, f->name, '{');
		json_i64(j, "records", f->records);
		json_i64(j, "reads", f->reads);
		json_i64(j, "writes", f->writes);
		json_i64(j, "bytes_read", f->bytes_read);
		json_i64(j, "bytes_written", f->bytes_written);
		json_f64(j, "read_time", f->read_time);
		json_f64(j, "write_time", f->write_time);
		json_f64(j, "meta_time", f->meta_time);
		json_close(j);
	}
	json_close(j);
}

static void json_beside(struct json *j, const struct digest *d)
{
	json_open(j, "excluded", '{');
	for (size_t c = 0; c < d->nclasses; c++) {
		json_open(j, d->class[c].name, '{');
		json_i64(j, "opens", d->class[c].opens);
		json_i64(j, "calls", d->class[c].calls);
		json_i64(j, "bytes_read", d->class[c].bytes_read);
		json_i64(j, "bytes_written", d->class[c].bytes_written);
		json_close(j);
	}
	json_close(j);
	json_open(j, "operations", '{');
	for (size_t o = 0; o < d->noperations; o++) {
		json_open(j, d->operation[o].name, '{');
		json_i64(j, "count", d->operation[o].count);
		json_f64(j, "time", d->operation[o].time);
		json_close(j);
	}
	json_close(j);
	json_open(j, "ways", '{');
	for (int w = 0; w < DIGEST_WAY_SOCKET; w++) {
		json_open(j, digest_way_key(w), '{');
		json_i64(j, "reads", d->way[w].calls[IO_READ]);
		json_i64(j, "writes", d->way[w].calls[IO_WRITE]);
		json_i64(j, "bytes_read", d->way[w].bytes[IO_READ]);
		json_i64(j, "bytes_written", d->way[w].bytes[IO_WRITE]);
		json_close(j);
	}
	json_close(j);
	json_i64(j, "unexplained_read", d->unexplained_read);
	json_i64(j, "unexplained_written", d->unexplained_written);
	json_i64(j, "unseen_read", d->unseen_read);
	json_i64(j, "unseen_written", d->unseen_written);
	json_i64(j, "unseen_unknown", d->unseen_unknown);
	json_i64(j, "folded_opens", d->folded_opens);
	unrecorded_json(j, d);
	if (!d->sampled.calls)
		return;
	json_open(j, "sampled_times", '{');
	json_i64(j, "calls", d->sampled.calls);
	json_f64(j, "time", d->sampled.time);
	json_i64(j, "timed", d->sampled.timed);
	json_i64(j, "doubtful", d->sampled.doubtful);
	json_f64(j, "doubtful_time", d->sampled.doubtful_time);
	json_close(j);
}

static void json_upper(struct json *j, const struct digest_interface *i)
{
	if (!i->records)
		return;
	json_open(j, "mpiio", '{');
	json_i64(j, "reads", i->reads);
	json_i64(j, "writes", i->writes);
	json_i64(j, "bytes_read", i->bytes_read);
	json_i64(j, "bytes_written", i->bytes_written);
	json_f64(j, "read_time", i->read_time);
	json_f64(j, "write_time", i->write_time);
	json_f64(j, "meta_time", i->meta_time);
	json_close(j);
}

/* Lines of Python code, innermost first; nothing without. */
static void json_stack(struct json *j, const struct site *site)
{
	char line[4096];
	const char *at = site->stack, *end = at + site->stack_length;
	if (at == end)
		return;
	json_open(j, "stack", '[');
	for (const char *next; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		next = next ? next : end;
		snprintf(line, sizeof line, "%.*s", (int)(next - at), at);
		json_text(j, NULL, line);
	}
	json_close(j);
}

static void json_sites(struct json *j, const struct sites *sites, const struct digest_file *f)
{
	json_open(j, "opened_by", '[');
	for (int i = 0; i < WRITTEN_COUNT; i++) {
		struct site site;
		char path[4096];
		for (size_t n = 0; f->written >> i & 1 && sites_of(sites, written_modules[i].key, f->id, n, &site);
		     n++) {
			json_open(j, NULL, '{');
			json_text(j, "interface", written_modules[i].key);
			snprintf(path, sizeof path, "%.*s", (int)site.length, site.module);
			json_text(j, "module", path);
			json_i64(j, "offset", (int64_t)site.offset);
			json_stack(j, &site);
			json_i64(j, "ranks", site.ranks);
			json_close(j);
		}
	}
	json_close(j);
}

void digest_json_file(struct json *j, const struct digest_file *f, const struct sites *sites)
{
	json_open(j, NULL, '{');
	json_text(j, "name", f->name);
	if (f->shown)
		json_text(j, "shown", f->shown);
	json_text(j, "file_system", f->file_system);
	json_text(j, "class", f->class);
	json_bool(j, "directory", f->directory);
	json_i64(j, "size", f->size);
	json_i64(j, "read_size", f->read_size);
	json_i64(j, "reads", f->reads);
	json_i64(j, "writes", f->writes);
	json_i64(j, "opens", f->opens);
	json_i64(j, "seeks", f->seeks);
	json_i64(j, "bytes_read", f->bytes_read);
	json_i64(j, "bytes_written", f->bytes_written);
	json_f64(j, "read_time", f->read_time);
	json_f64(j, "write_time", f->write_time);
	json_f64(j, "meta_time", f->meta_time);
	json_upper(j, &f->mpiio);
	if (sites)
		json_sites(j, sites, f);
	json_close(j);
}

void digest_json(struct json *j, const struct digest *d, const char *log)
{
	struct verdict verdict;
	verdict_of(d, &verdict);
	json_document(j, "run", 1);
	json_text(j, "log", log);
	json_text(j, "command", d->job->exe);
	json_i64(j, "processes", d->processes);
	json_i64(j, "unfinished", d->unfinished);
	json_i64(j, "unobserved", d->unobserved);
	json_i64(j, "observed_by_kernel", d->by_kernel);
	json_i64(j, "totals_only", d->totals_only);
	json_i64(j, "missing", d->missing);
	json_f64(j, "run_time", d->run_time);
	json_f64(j, "io_time", d->io.total);
	json_f64(j, "io_read_time", d->io.by_op[IO_READ]);
	json_f64(j, "io_write_time", d->io.by_op[IO_WRITE]);
	json_f64(j, "io_meta_time", d->io.by_op[IO_META]);
	verdict_json(j, &verdict);
	json_i64(j, "reread_bytes", d->reread);
	json_i64(j, "startup_bytes", d->startup.bytes);
	json_i64(j, "startup_opens", d->startup.opens);
	if (d->startup.first_data > 0)
		json_f64(j, "startup_time", d->startup.first_data);
	json_i64(j, "small_accesses", d->small);
	json_i64(j, "accesses", d->accesses);
	json_interfaces(j, d);
	json_beside(j, d);
	json_open(j, "files", '[');
	for (size_t n = 0; n < d->nfiles; n++)
		digest_json_file(j, &d->files[n], NULL);
	json_close(j);
	json_close(j);
}
