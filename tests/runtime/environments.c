/* An environment that another thread may change or free: what cannot be read is not there, and raises no signal. */
#include <string.h>
#include <sys/mman.h>

#include "lock.h"
#include "readable.h"
#include "unit.h"

enum { PAGE = 4096 };

static void find_and_cut(void)
{
	char *list[] = {"LONGER=1", "LONG=abcdef", "LON", "EMPTY=", NULL};
	char value[4];
	CHECK(readable_variable(list, "LONG", value, sizeof value));
	TEXT(value, "abc");
	CHECK(readable_variable(list, "EMPTY", value, sizeof value));
	TEXT(value, "");
	CHECK(!readable_variable(list, "LON", value, sizeof value));
	CHECK(!readable_variable(NULL, "LONG", value, sizeof value));
}

static void find_in_freed(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char **list = (char **)(pages + PAGE) - 2, value[16];
	list[0] = strcpy(pages, "FIRST=here");
	list[1] = strcpy(pages + 2 * PAGE, "SECOND=there");
	list[2] = NULL;
	mprotect(pages + 2 * PAGE, PAGE, PROT_NONE);
	CHECK(readable_variable(list, "FIRST", value, sizeof value));
	TEXT(value, "here");
	CHECK(!readable_variable(list, "SECOND", value, sizeof value));
	mprotect(pages + PAGE, PAGE, PROT_NONE); /* where the list goes on */
	CHECK(!readable_variable(list, "THIRD", value, sizeof value));
	munmap(pages, 3 * PAGE);
	CHECK(!readable_variable(list, "FIRST", value, sizeof value));
}

TEST(environment_variable_is_found_and_cut_to_its_room)
{
	find_and_cut();
	lock_start(); /* one thread: it is read in place */
	find_and_cut();
}

TEST(environment_that_is_freed_has_no_variables)
{
	find_in_freed();
	lock_start();
	find_in_freed();
}

TEST(environment_is_copied_only_while_others_may_change_it)
{
	static const char text[] = "NAME=value";
	struct readable_copy c = {0};
	size_t n;
	const char *copied = readable_bytes(&c, text, &n);
	CHECK(copied && copied != text && memcmp(copied, text, sizeof text) == 0);
	lock_start();
	CHECK(readable_bytes(&c, text + 5, &n) == text + 5);
	CHECK(n >= 6 && n <= PAGE && ((uintptr_t)text + 5 + n) % PAGE == 0);
	lock_share();
	copied = readable_bytes(&c, text + 5, &n);
	CHECK(copied && copied != text + 5 && memcmp(copied, "value", 6) == 0);
}
