/*
 * iolens-kernel: loads the BPF programs of observe.bpf.c, and leaves what they count as stores. Started by `iolens run --kernel`
 * it does so in the session's directory, for programs that nothing is preloaded into, and ends by SIGUSR2, also when that has
 * ended. As the service of a node (node.c) it makes a log of each job's.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "config.h"
#include "node.h"
#include "observer.h"

static struct {
	struct image_session session;
	struct observer observer;
	bool failed; /* a store could not be written */
	volatile sig_atomic_t ends;
} companion;

static bool is_complete(const struct image *i)
{
	return (i->ended.when || i->preloaded) && !i->dirty;
}

static void flush(void)
{
	struct observer *o = &companion.observer;
	observer_sweep(o);
	for (size_t n = 0; n < o->nimages; n++) {
		struct image *i = o->images[n];
		bool worth = i->dirty && image_worth_store(i);
		if (worth && !image_store_write(i, &companion.session))
			companion.failed = true;
		if (i->dirty && !worth && i->stored)
			image_store_remove(i, &companion.session);
		i->stored = worth || (i->stored && !i->dirty);
		i->dirty = false;
	}
	observer_drop(o, is_complete);
}

static void report_losses(void)
{
	struct observed_sums lost = observer_losses(&companion.observer);
	if (lost.files || lost.events)
		fprintf(stderr, "iolens: run: --kernel: partial: %llu files and %llu events had no room\n", lost.files,
			lost.events);
	if (companion.failed)
		fprintf(stderr, "iolens: run: --kernel: partial: a store could not be written\n");
}

static void on_end(int signal)
{
	(void)signal;
	companion.ends = 1;
}

/* Only SIGUSR2 ends it: signals for the job are none for it. */
static void take_signals(void)
{
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGUSR2);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_end}, NULL);
}

static int run(char **argv)
{
	char why[OBSERVER_REASON];
	struct utsname u;
	struct observer_scope scope = {.root = (pid_t)atoi(argv[2]), .directory = argv[1]};
	char epoch[EPOCH_TEXT];
	uname(&u);
	snprintf(companion.session.host, sizeof companion.session.host, "%.64s", u.nodename);
	companion.session.directory = argv[1];
	if (scope.root <= 0) {
		printf("%s: no process\n", argv[2]);
		return 2;
	}
	take_signals();
	if (!observer_start(&companion.observer, &scope, why)) {
		printf("%s\n", why);
		return 1;
	}
	/* The job's time begins now: loading is none of it. */
	companion.session.epoch = epoch_now();
	epoch_print(&companion.session.epoch, companion.session.host, epoch);
	printf("ready %s\n", epoch);
	while (!companion.ends) {
		observer_wait(&companion.observer, 1000);
		flush();
	}
	flush();
	report_losses();
	return 0;
}

int main(int argc, char **argv)
{
	extern char **environ;
	setvbuf(stdout, NULL, _IOLBF, 0);
	config_load(environ);
	if (argc == 3 && argv[1][0] == '/')
		return run(argv);
	return node_main(argc, argv);
}
