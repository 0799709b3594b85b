/* An environment that another thread may change or free: what cannot be read is not there, and raises no signal. */
#include <string.h>
#include <sys/mman.h>

#include "readable.h"
#include "unit.h"

enum { PAGE = 4096 };

TEST(environment_variable_is_found_and_cut_to_its_room)
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

TEST(environment_that_is_freed_has_no_variables)
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
