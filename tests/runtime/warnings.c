/* Lines of the runtime say what the C library would, without asking it. */
#include <errno.h>
#include <string.h>

#include "unit.h"
#include "warn.h"

TEST(errors_have_the_c_librarys_words)
{
	int known = 0;
	for (int error = 1; error < 134; error++)
		if (strcmp(warn_error(error), "an error of the system") != 0) {
			TEXT(warn_error(error), strerror(error));
			known++;
		}
	EQUAL(known, 20);
	TEXT(warn_error(ENOSPC), "No space left on device");
	TEXT(warn_error(-1), "an error of the system");
}
