/* Handles whose numbers never come again, as HDF5's: found while they are open, and no memory for those that are closed. */
#include "handles.h"

#include <stdio.h>

#include "lock.h"
#include "unit.h"

enum { OPEN = 100, ALL = 2000000 };

struct kept {
	struct handle handle;
	uintptr_t number;
};

static struct handles handles = {.size = sizeof(struct kept)};

static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	CHECK(f && fscanf(f, "%*d %ld", &pages) == 1);
	fclose(f);
	return pages * 4;
}

static void add(uintptr_t number)
{
	struct kept what = {.number = number};
	CHECK(handles_add(&handles, number, &what) != NULL);
}

static void take_out(uintptr_t number)
{
	struct kept *found = handles_remove(&handles, number);
	CHECK(found && found->number == number);
	handles_release(&handles, found);
}

static uintptr_t number_of(int i)
{
	return ((uintptr_t)5 << 56) + (uintptr_t)i;
}

TEST(handles_that_are_closed_take_no_memory)
{
	lock_identify();
	for (int i = 0; i < OPEN; i++)
		add(number_of(i));
	long before = resident();
	for (int i = OPEN; i < ALL; i++) {
		add(number_of(i));
		take_out(number_of(i - OPEN));
		const struct kept *oldest = handles_find(&handles, number_of(i - OPEN + 1));
		CHECK(oldest && oldest->number == number_of(i - OPEN + 1));
		CHECK(!handles_find(&handles, number_of(i - OPEN)));
	}
#ifndef __SANITIZE_THREAD__ /* which remembers accesses in memory of its own */
	CHECK(resident() - before < 256);
#else
	(void)before;
#endif
	for (int i = ALL - OPEN; i < ALL; i++)
		take_out(number_of(i));
}
