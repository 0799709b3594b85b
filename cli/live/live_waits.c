#include "live_waits.h"

#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "shown.h"
#include "units.h"

/* Calls of the process that have ended: where one more has, a thread that seems to wait is in the next one. */
static int64_t done_by(const struct live_process *p)
{
	int64_t n = 0;
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		n += live_operations(&p->store->interface[slot]);
	for (int op = 0; op < STATE_OP_COUNT; op++)
		n += p->store->operation[op].count;
	return n;
}

static bool same_call(const struct live_wait *a, const struct live_wait *b)
{
	return a->call.thread == b->call.thread && a->call.number == b->call.number && a->call.stack == b->call.stack &&
	       a->call.state == b->call.state &&
	       memcmp(a->call.arguments, b->call.arguments, sizeof a->call.arguments) == 0 &&
	       (a->call.switches == b->call.switches || a->done == b->done);
}

/*
 * A process with one thread in I/O has ended its latest call before this one began. What the scheduler says is by the clock of
 * another processor, which leaves out what was stolen from it: only a long sleep counts, and less than that.
 */
static void time_wait(struct live_wait *w, const struct live_wait *before, const struct live_look *look)
{
	const struct live_store *s = w->call.process->store;
	double epoch = live_store_epoch(s),
	       began = epoch + (s->threads <= 1 && s->last > 0 ? s->last : s->process.start);
	w->most = look->now > began ? look->now - began : 0;
	w->seen = before ? before->seen : look->at;
	w->told = before && before->told;
	w->least = look->at - w->seen;
	double slept = 0.9 * w->call.slept - 5;
	slept = slept < w->most ? slept : w->most;
	w->least = slept > w->least ? slept : w->least;
	if (before && before->least > w->least)
		w->least = before->least;
	w->most = w->most > w->least ? w->most : w->least;
}

static int by_time(const void *x, const void *y)
{
	const struct live_wait *a = x, *b = y;
	return a->least > b->least ? -1 : a->least < b->least;
}

bool live_waits_update(struct live_waits *w, const struct live_job *j, const struct live_look *look)
{
	struct live_calls calls;
	struct live_waits made = {.running = j->running};
	bool good = live_calls_find(&calls, j);
	made.waits = good ? log_alloc((calls.n + 1) * sizeof *made.waits) : NULL;
	good = made.waits;
	made.threads = calls.threads;
	made.denied = calls.denied;
	for (; good && made.n < calls.n; made.n++) {
		struct live_wait *wait = &made.waits[made.n];
		const struct live_wait *before = NULL;
		*wait = (struct live_wait){.call = calls.calls[made.n], .done = done_by(calls.calls[made.n].process)};
		for (size_t n = 0; n < w->n && !before; n++)
			before = same_call(&w->waits[n], wait) ? &w->waits[n] : NULL;
		time_wait(wait, before, look);
	}
	if (made.n)
		qsort(made.waits, made.n, sizeof *made.waits, by_time);
	live_calls_free(&calls);
	live_waits_free(w);
	*w = made;
	return good;
}

void live_waits_free(struct live_waits *w)
{
	log_free(w->waits);
	*w = (struct live_waits){0};
}

void live_wait_print(FILE *out, const struct live_wait *w, bool stall)
{
	const struct live_call *c = &w->call;
	const struct state_process *p = &c->process->store->process;
	if (p->mpi_size > 0)
		fprintf(out, "rank %lld, process %lld", (long long)p->mpi_rank, (long long)c->process->store->pid);
	else
		fprintf(out, "process %lld", (long long)c->process->store->pid);
	if (c->thread != c->process->store->pid)
		fprintf(out, ", thread %lld", (long long)c->thread);
	fputs(" on ", out);
	shown_put(out, p->host);
	fputs(": ", out);
	if (c->state == 'T')
		fputs("stopped by a signal", out);
	else
		fprintf(out, "waits in %s", *c->name ? c->name : "a call that the kernel hides");
	if (*c->file) {
		fputs(" of ", out);
		shown_put(out, c->file);
	}
	if (c->descriptor >= 0)
		fprintf(out, " (descriptor %d)", c->descriptor);
	fprintf(out, ", for %.1f s at least, %.1f s at most%s\n", w->least, w->most, stall ? ": a stall" : "");
	if (*c->mount)
		shown_line(out, "  on %s, %s, from %s", c->mount, c->file_system, c->source);
	if (*c->waits_in)
		shown_line(out, "  in the kernel: %s, state %c", c->waits_in, c->state);
}

void live_wait_json(struct json *j, const struct live_wait *w, bool stall)
{
	const struct live_call *c = &w->call;
	const struct live_store *s = c->process->store;
	json_open(j, NULL, '{');
	if (s->process.mpi_size > 0)
		json_i64(j, "rank", s->process.mpi_rank);
	json_i64(j, "pid", s->pid);
	json_i64(j, "thread", c->thread);
	json_text(j, "host", s->process.host);
	json_text(j, "command", s->command);
	json_text(j, "state", (char[]){c->state, '\0'});
	json_text(j, "call", c->name);
	json_text(j, "file", c->file);
	if (c->descriptor >= 0)
		json_i64(j, "descriptor", c->descriptor);
	json_text(j, "mount", c->mount);
	json_text(j, "file_system", c->file_system);
	json_text(j, "source", c->source);
	json_text(j, "kernel_function", c->waits_in);
	json_f64(j, "at_least", w->least);
	json_f64(j, "at_most", w->most);
	json_bool(j, "stalled", stall);
	json_close(j);
}
