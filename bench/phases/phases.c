/* Phases and ranges of nothing, one after the other: phases KIND TIMES. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iolens_phase.h"

/* Of libiolens-ranges.so, where it is preloaded: what a range of any interface takes. */
uint64_t iolens_ranges_begin(const char *text) __attribute__((weak));
void iolens_ranges_end(uint64_t id) __attribute__((weak));

static char names[60][16];

static void phase(long n)
{
	(void)n;
	iolens_phase_begin("checkpoint");
	iolens_phase_end("checkpoint");
}

/* Each is the one after 59 others in the table of names. */
static void sixtieth(long n)
{
	(void)n;
	iolens_phase_begin(names[59]);
	iolens_phase_end(names[59]);
}

/* Within eight others. */
static void deep(long n)
{
	if (!n)
		for (int i = 0; i < 8; i++)
			iolens_phase_begin("outer");
	phase(n);
}

/* What a step of a training loop takes more: its wait, whose processor time is asked. */
static void wait_for_batch(long n)
{
	(void)n;
	iolens_phase_begin("loader: next batch");
	iolens_phase_end("loader: next batch");
}

static void range(long n)
{
	(void)n;
	if (iolens_ranges_begin)
		iolens_ranges_end(iolens_ranges_begin("iteration 1234"));
}

static const struct {
	const char *name;
	void (*run)(long n);
} kinds[] = {{"phase", phase}, {"sixtieth", sixtieth}, {"deep", deep}, {"wait", wait_for_batch}, {"range", range}};

int main(int argc, char **argv)
{
	for (int i = 0; i < 60; i++)
		snprintf(names[i], sizeof names[i], "name %d", i);
	for (int i = 0; argc == 3 && i < 60 && strcmp(argv[1], "sixtieth") == 0; i++) {
		iolens_phase_begin(names[i]);
		iolens_phase_end(names[i]);
	}
	long times = argc == 3 ? atol(argv[2]) : 0;
	for (size_t k = 0; argc == 3 && k < sizeof kinds / sizeof *kinds; k++)
		for (long n = strcmp(kinds[k].name, argv[1]) ? times : 0; n < times; n++)
			kinds[k].run(n);
	return 0;
}
