#include "scan.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RUN_MAX = 256, /* logs in a run */
	QUEUE = 3,     /* batches a run may have waiting */
	THREADS_MAX = 64,
	AHEAD = 4, /* runs per thread that may be begun before the one whose turn it is has ended */
	RUNS_PER_THREAD = 8,
};

/* Consecutive logs, read by one thread. */
struct run {
	struct table *queue[QUEUE];
	size_t first, count;
	bool ended;
};

struct scan {
	struct scan_spec spec;
	char **paths;
	struct handle **handles;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t threads[THREADS_MAX];
	int nthreads;
	bool started;
	atomic_bool stopped;
	pid_t process; /* a forked child has none of the threads */
	size_t run_logs, nruns;
	size_t begun, turn; /* runs */
	struct run *runs;
	struct log_failure *failures;
	size_t nfailures, room;
	struct log_failure first_failure; /* by number of the log */
};

static void add_failure(struct scan *s, size_t log, const struct log_error *error)
{
	pthread_mutex_lock(&s->lock);
	struct log_failure one = {log, *error};
	if (!s->first_failure.error.code || log < s->first_failure.log)
		s->first_failure = one;
	if (s->nfailures == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct log_failure *more = realloc(s->failures, room * sizeof *more);
		s->room = more ? room : s->room;
		s->failures = more ? more : s->failures;
	}
	if (s->nfailures < s->room)
		s->failures[s->nfailures++] = one;
	pthread_mutex_unlock(&s->lock);
}

/* Hands over a batch of a run, when there is room in its queue. */
static void push(struct scan *s, struct run *run, struct table *t)
{
	pthread_mutex_lock(&s->lock);
	while (run->count == QUEUE && !s->stopped)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->stopped) {
		table_drop(t);
	} else {
		run->queue[(run->first + run->count++) % QUEUE] = t;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
}

static void number_rows(const struct scan *s, struct table *t, int64_t from, size_t log)
{
	int slot = s->spec.form->log_column;
	for (int64_t i = from; slot >= 0 && i < t->rows; i++) {
		int64_t value = (int64_t)log;
		memcpy(table_at(t, slot, i), &value, sizeof value);
	}
}

static bool has_table(const struct scan *s, const struct log *log)
{
	const struct view *v = s->spec.view;
	bool of_module = v->kind == module_kind(v->module) && v->module;
	return !of_module || log_container(log)->module[v->module].length;
}

/* Appends one log's rows to *t, which is handed over whenever it is full. */
static int read_rows(struct scan *s, struct run *run, size_t number, struct rows *rows, struct table **t,
		     struct log_error *err)
{
	for (int more = 1; more > 0 && !s->stopped;) {
		if (!*t)
			*t = rows_table(rows, s->spec.form, s->spec.batch_rows, s->run_logs);
		if (!*t)
			return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
		int64_t from = (*t)->rows;
		more = rows->kind->fill(rows, *t, err);
		number_rows(s, *t, from, number);
		if (more < 0)
			return more;
		if (more) {
			push(s, run, *t);
			*t = NULL;
		}
	}
	return LOG_OK;
}

static void read_log(struct scan *s, struct run *run, size_t number, struct table **t)
{
	struct handle *h;
	struct rows *rows = NULL;
	struct log_error err = {0};
	int code = LOG_OK;
	if (s->handles)
		h = handle_hold(s->handles[number]);
	else
		code = handle_open(&h, s->paths[number], NULL, 0, &err);
	if (code >= 0 && has_table(s, h->log)) {
		code = rows_open(&rows, s->spec.view, h, s->spec.form, &err);
		if (code >= 0)
			code = read_rows(s, run, number, rows, t, &err);
	}
	if (code < 0)
		add_failure(s, number, &err);
	rows_close(rows);
	handle_drop(h);
}

static void read_run(struct scan *s, size_t number)
{
	struct run *run = &s->runs[number];
	struct table *t = NULL;
	size_t end = (number + 1) * s->run_logs;
	for (size_t i = number * s->run_logs; i < end && i < s->spec.npaths && !s->stopped; i++)
		read_log(s, run, i, &t);
	if (t && t->rows)
		push(s, run, t);
	else
		table_drop(t);
	pthread_mutex_lock(&s->lock);
	run->ended = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void *work(void *scan)
{
	struct scan *s = scan;
	pthread_mutex_lock(&s->lock);
	while (!s->stopped && s->begun < s->nruns) {
		if (s->begun >= s->turn + (size_t)(AHEAD * s->spec.threads)) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		size_t number = s->begun++;
		pthread_mutex_unlock(&s->lock);
		read_run(s, number);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int copy_paths(struct scan *s)
{
	s->paths = calloc(s->spec.npaths + 1, sizeof *s->paths);
	for (size_t i = 0; s->paths && i < s->spec.npaths; i++)
		if (!(s->paths[i] = strdup(s->spec.paths[i])))
			return LOG_E_MEMORY;
	return s->paths ? LOG_OK : LOG_E_MEMORY;
}

static int hold_handles(struct scan *s)
{
	if (!s->spec.handles)
		return LOG_OK;
	s->handles = calloc(s->spec.npaths + 1, sizeof *s->handles);
	for (size_t i = 0; s->handles && i < s->spec.npaths; i++)
		s->handles[i] = handle_hold(s->spec.handles[i]);
	return s->handles ? LOG_OK : LOG_E_MEMORY;
}

/* Short runs at the end keep all threads busy, long ones make large batches. */
static size_t logs_in_a_run(const struct scan_spec *spec)
{
	size_t n = spec->npaths / (size_t)(RUNS_PER_THREAD * spec->threads);
	return n < 1 ? 1 : n > RUN_MAX ? RUN_MAX : n;
}

/* Signals are the main thread's business. */
static int start_threads(struct scan *s)
{
	sigset_t all, before;
	int failed = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&s->lock);
	while (s->nthreads < s->spec.threads && (size_t)s->nthreads < s->nruns && !failed) {
		failed = pthread_create(&s->threads[s->nthreads], NULL, work, s);
		s->nthreads += !failed;
	}
	pthread_mutex_unlock(&s->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed && !s->nthreads ? LOG_E_MEMORY : LOG_OK;
}

static int prepare(struct scan *s)
{
	int code = copy_paths(s);
	code = code < 0 ? code : hold_handles(s);
	s->run_logs = logs_in_a_run(&s->spec);
	s->nruns = (s->spec.npaths + s->run_logs - 1) / s->run_logs;
	s->runs = calloc(s->nruns + 1, sizeof *s->runs);
	return code < 0 || !s->runs ? LOG_E_MEMORY : LOG_OK;
}

int scan_open(struct scan **out, const struct scan_spec *spec, struct log_error *err)
{
	struct scan *s = calloc(1, sizeof *s);
	*out = NULL;
	if (!s)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	s->spec = *spec;
	s->process = getpid();
	s->spec.threads = spec->threads < 1 ? 1 : spec->threads > THREADS_MAX ? THREADS_MAX : spec->threads;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (prepare(s) < 0) {
		scan_close(s);
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	}
	*out = s;
	return LOG_OK;
}

void scan_stop(struct scan *s)
{
	if (s->process != getpid())
		return;
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	s->turn = s->nruns;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (; s->nthreads; s->nthreads--)
		pthread_join(s->threads[s->nthreads - 1], NULL);
	for (size_t i = 0; s->runs && i < s->nruns; i++)
		for (; s->runs[i].count; s->runs[i].count--)
			table_drop(s->runs[i].queue[s->runs[i].first++ % QUEUE]);
}

void scan_close(struct scan *s)
{
	if (!s || s->process != getpid())
		return;
	scan_stop(s);
	for (size_t i = 0; s->paths && i < s->spec.npaths; i++)
		free(s->paths[i]);
	for (size_t i = 0; s->handles && i < s->spec.npaths; i++)
		handle_drop(s->handles[i]);
	free(s->handles);
	free(s->paths);
	free(s->runs);
	free(s->failures);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The failure that ends the stream here: one of a log in the runs that are done. */
static bool must_stop(const struct scan *s)
{
	size_t done = s->turn * s->run_logs;
	return s->spec.stop_on_error && s->first_failure.error.code && s->first_failure.log < done;
}

/* Threads are started when rows are wanted: many a scan is only asked for its columns. */
static int begin(struct scan *s, struct log_error *err)
{
	if (s->started || s->stopped)
		return LOG_OK;
	s->started = true;
	return start_threads(s) < 0 ? log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "threads cannot be started") : LOG_OK;
}

int scan_next(struct scan *s, struct table **out, struct log_error *err, const char **path)
{
	*out = NULL;
	if (begin(s, err) < 0)
		return err->code;
	pthread_mutex_lock(&s->lock);
	while (s->turn < s->nruns && !*out && !must_stop(s)) {
		struct run *run = &s->runs[s->turn];
		if (run->count) {
			*out = run->queue[run->first];
			run->first = (run->first + 1) % QUEUE;
			run->count--;
			pthread_cond_broadcast(&s->changed);
		} else if (run->ended) {
			s->turn++;
			pthread_cond_broadcast(&s->changed);
		} else {
			pthread_cond_wait(&s->changed, &s->lock);
		}
	}
	int code = LOG_OK;
	if (!*out && must_stop(s)) {
		*err = s->first_failure.error;
		*path = s->paths[s->first_failure.log];
		code = err->code;
	}
	pthread_mutex_unlock(&s->lock);
	return code;
}

static int by_log(const void *a, const void *b)
{
	const struct log_failure *x = a, *y = b;
	return (x->log > y->log) - (x->log < y->log);
}

size_t scan_failures(struct scan *s, struct log_failure *out, size_t room)
{
	pthread_mutex_lock(&s->lock);
	size_t n = s->nfailures;
	qsort(s->failures, n, sizeof *s->failures, by_log);
	if (n && room)
		memcpy(out, s->failures, (n < room ? n : room) * sizeof *out);
	pthread_mutex_unlock(&s->lock);
	return n;
}
