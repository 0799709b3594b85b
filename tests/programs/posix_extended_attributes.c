#include "must.h"

#include <sys/xattr.h>

/* Not all file systems have such attributes of users: a file that is not there, and no descriptor, fail on all. */
#define FAILS(call, error) MUST((call) == -1 && errno == (error))

int main(void)
{
	char to[256];
	FAILS(setxattr("missing", "user.a", "1", 1, 0), ENOENT);
	FAILS(lsetxattr("missing", "user.a", "1", 1, 0), ENOENT);
	FAILS(fsetxattr(-1, "user.a", "1", 1, 0), EBADF);
	FAILS(getxattr("missing", "user.a", to, sizeof to), ENOENT);
	FAILS(lgetxattr("missing", "user.a", to, sizeof to), ENOENT);
	FAILS(fgetxattr(-1, "user.a", to, sizeof to), EBADF);
	FAILS(listxattr("missing", to, sizeof to), ENOENT);
	FAILS(llistxattr("missing", to, sizeof to), ENOENT);
	FAILS(flistxattr(-1, to, sizeof to), EBADF);
	FAILS(removexattr("missing", "user.a"), ENOENT);
	FAILS(lremovexattr("missing", "user.a"), ENOENT);
	FAILS(fremovexattr(-1, "user.a"), EBADF);
}
