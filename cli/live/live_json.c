#include "live_json.h"

#include <string.h>
#include <unistd.h>

/* With its microseconds, which json_f64 has no digits for. */
static void put_moment(struct json *j, const char *name, double moment)
{
	char text[40];
	snprintf(text, sizeof text, "%.6f", moment);
	json_raw(j, name, moment > 0 ? text : "null");
}

static void put_counts(struct json *j, const struct live_counts *c)
{
	json_i64(j, "reads", c->calls[IO_READ]);
	json_i64(j, "writes", c->calls[IO_WRITE]);
	json_i64(j, "opens", c->opens);
	json_i64(j, "bytes_read", c->bytes[IO_READ]);
	json_i64(j, "bytes_written", c->bytes[IO_WRITE]);
	json_f64(j, "read_time", c->time[IO_READ]);
	json_f64(j, "write_time", c->time[IO_WRITE]);
	json_f64(j, "meta_time", c->time[IO_META]);
}

/* Per second; nothing where there was but one look. */
static void put_rates(struct json *j, const struct live *l, const struct live_counts *since)
{
	if (!(l->interval > 0))
		return;
	json_open(j, "rates", '{');
	json_f64(j, "reads", live_rate(l, since->calls[IO_READ]));
	json_f64(j, "writes", live_rate(l, since->calls[IO_WRITE]));
	json_f64(j, "opens", live_rate(l, since->opens));
	json_f64(j, "bytes_read", live_rate(l, since->bytes[IO_READ]));
	json_f64(j, "bytes_written", live_rate(l, since->bytes[IO_WRITE]));
	json_f64(j, "time", live_time(since) / l->interval);
	json_close(j);
}

static void put_interfaces(struct json *j, const struct live *l, const struct live_job *job)
{
	json_open(j, "interfaces", '[');
	for (int slot = 0; slot < WRITTEN_COUNT; slot++) {
		const struct live_interface *i = &job->interface[slot];
		if (!i->files)
			continue;
		json_open(j, NULL, '{');
		json_text(j, "name", written_modules[slot].key);
		json_bool(j, "lowest", written_modules[slot].descriptors);
		json_i64(j, "records", i->files);
		put_counts(j, &i->counts);
		put_rates(j, l, &i->since);
		json_close(j);
	}
	json_close(j);
}

static void put_operations(struct json *j, const struct live *l, const struct live_job *job)
{
	json_open(j, "operations", '[');
	for (int n = 0; n < STATE_OP_COUNT; n++) {
		const struct live_operation *o = &job->operation[n];
		if (!o->count)
			continue;
		json_open(j, NULL, '{');
		json_text(j, "interface", written_operations[n].interface);
		json_text(j, "name", written_operations[n].name);
		json_i64(j, "count", o->count);
		json_i64(j, "errors", o->errors);
		json_f64(j, "time", o->time);
		if (l->interval > 0)
			json_f64(j, "rate", live_rate(l, o->since));
		json_close(j);
	}
	json_close(j);
}

static void put_numbers(struct json *j, const char *name, const int64_t *values, int n)
{
	json_open(j, name, '[');
	for (int k = 0; k < n; k++)
		json_i64(j, NULL, values[k]);
	json_close(j);
}

static void put_sizes(struct json *j, const struct live_job *job)
{
	json_open(j, "sizes", '{');
	put_numbers(j, "read", job->sizes[IO_READ], STATE_SIZES);
	put_numbers(j, "written", job->sizes[IO_WRITE], STATE_SIZES);
	json_close(j);
	json_open(j, "heat", '{');
	json_f64(j, "width", job->heat.width);
	int used = job->heat.width > 0 ? (int)(job->run_time / job->heat.width) + 1 : 0;
	used = used < STATE_BINS ? used : STATE_BINS;
	put_numbers(j, "read", job->heat.bytes[IO_READ], used);
	put_numbers(j, "written", job->heat.bytes[IO_WRITE], used);
	json_close(j);
}

static void put_classes(struct json *j, const struct live_job *job)
{
	static const char *const names[STATE_CLASS_COUNT] = {
#define NAME(id, name, about) [STATE_CLASS_##id] = name,
		STATE_CLASSES(NAME)
#undef NAME
	};
	json_open(j, "classes", '[');
	for (int n = 1; n < STATE_CLASS_COUNT; n++) {
		const struct state_class *c = &job->class[n];
		if (!c->opens && !c->calls[0] && !c->calls[1])
			continue;
		json_open(j, NULL, '{');
		json_text(j, "name", names[n]);
		json_i64(j, "opens", c->opens);
		json_i64(j, "reads", c->calls[IO_READ]);
		json_i64(j, "writes", c->calls[IO_WRITE]);
		json_i64(j, "bytes_read", c->bytes[IO_READ]);
		json_i64(j, "bytes_written", c->bytes[IO_WRITE]);
		json_close(j);
	}
	json_close(j);
}

static void put_files(struct json *j, const struct live *l, const struct live_job *job)
{
	json_open(j, "files", '[');
	for (size_t n = 0; n < job->nfiles; n++) {
		const struct live_file *f = &job->files[n];
		char interfaces[128];
		live_interfaces(f->interfaces, interfaces, sizeof interfaces);
		json_open(j, NULL, '{');
		json_text(j, "name", f->name);
		json_text(j, "file_system", f->file_system);
		json_text(j, "interfaces", interfaces);
		json_i64(j, "size", f->size);
		json_i64(j, "processes", f->processes);
		put_counts(j, &f->counts);
		put_rates(j, l, &f->since);
		json_close(j);
	}
	json_close(j);
}

static void put_processes(struct json *j, const struct live *l, const struct live_job *job)
{
	json_open(j, "processes", '[');
	for (size_t n = 0; n < job->nprocesses; n++) {
		const struct live_process *p = &job->processes[n];
		const struct state_process *s = &p->store->process;
		char state[2] = {p->store->state, '\0'};
		json_open(j, NULL, '{');
		json_i64(j, "pid", p->store->pid ? p->store->pid : s->pid);
		if (s->mpi_size > 0)
			json_i64(j, "rank", s->mpi_rank);
		json_text(j, "host", s->host);
		json_text(j, "command", p->store->command);
		json_bool(j, "running", p->store->pid != 0);
		json_text(j, "state", state);
		json_i64(j, "threads", p->store->threads);
		put_moment(j, "last_call", p->store->last > 0 ? live_store_epoch(p->store) + p->store->last : 0);
		put_counts(j, &p->counts);
		put_rates(j, l, &p->since);
		json_close(j);
	}
	json_close(j);
}

static void put_job(struct json *j, const struct live *l, const struct live_job *job)
{
	json_open(j, NULL, '{');
	json_text(j, "job", job->name);
	json_i64(j, "job_id", job->id);
	json_text(j, "stores", job->session);
	json_i64(j, "uid", job->owner);
	json_text(j, "command", job->command);
	put_moment(j, "started", job->started);
	json_f64(j, "run_time", job->run_time);
	json_i64(j, "running", (int64_t)job->running);
	json_i64(j, "ended", (int64_t)job->ended);
	json_i64(j, "ranks", (int64_t)job->ranks);
	json_i64(j, "hosts", (int64_t)job->hosts);
	put_counts(j, &job->counts);
	put_rates(j, l, &job->since);
	put_interfaces(j, l, job);
	put_operations(j, l, job);
	put_classes(j, job);
	put_sizes(j, job);
	put_files(j, l, job);
	put_processes(j, l, job);
	json_close(j);
}

static void put_nodes(struct json *j, const struct live_look *look)
{
	if (!look->nnodes)
		return;
	json_open(j, "nodes", '[');
	for (size_t n = 0; n < look->nnodes; n++) {
		json_open(j, NULL, '{');
		json_text(j, "name", look->nodes[n].name);
		json_text(j, "problem", look->nodes[n].problem);
		json_close(j);
	}
	json_close(j);
}

void live_json(struct json *j, const struct live *l, const struct live_look *look)
{
	char host[65] = "";
	gethostname(host, sizeof host - 1);
	json_document(j, "top", 1);
	put_moment(j, "time", look->now);
	json_text(j, "host", host);
	json_f64(j, "interval", l->interval);
	json_i64(j, "unreadable", (int64_t)look->unreadable);
	put_nodes(j, look);
	json_open(j, "jobs", '[');
	for (size_t n = 0; n < l->n; n++)
		put_job(j, l, &l->jobs[n]);
	json_close(j);
	json_close(j);
}
