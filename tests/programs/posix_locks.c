/* Locks of all kinds: taken, given back, refused, waited for. */
#include "must.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static int ask(int fd, int command, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET};
	return fcntl(fd, command, &l);
}

int main(void)
{
	int fd = open("locked", O_RDWR | O_CREAT, 0600), other = open("locked", O_RDWR),
	    none = open("unlocked", O_RDWR | O_CREAT, 0600);
	MUST(ask(fd, F_SETLK, F_WRLCK) == 0);
	MUST(ask(fd, F_SETLK, F_UNLCK) == 0);
	MUST(ask(fd, F_OFD_SETLK, F_WRLCK) == 0);
	MUST(ask(other, F_OFD_SETLK, F_RDLCK) == -1 && errno == EAGAIN);
	MUST(ask(fd, F_OFD_SETLK, F_UNLCK) == 0);
	MUST(flock(fd, LOCK_SH) == 0 && flock(other, LOCK_SH) == 0);
	MUST(flock(other, LOCK_EX | LOCK_NB) == -1 && errno == EAGAIN);
	MUST(flock(other, LOCK_UN) == 0 && flock(fd, LOCK_EX) == 0);
	if (fork() == 0) {
		usleep(200000);
		flock(fd, LOCK_UN); /* of the same description */
		_exit(0);
	}
	MUST(flock(other, LOCK_EX) == 0);
	MUST(flock(other, LOCK_UN) == 0);
	MUST(lockf(fd, F_LOCK, 10) == 0 && lockf(fd, F_TEST, 10) == 0 && lockf(fd, F_ULOCK, 10) == 0);
	MUST(fcntl(fd, F_SETLK, (void *)8) == -1 && errno == EFAULT);
	MUST(flock(-1, LOCK_EX) == -1 && errno == EBADF);
	int in = open("/var/tmp", O_RDONLY | O_DIRECTORY); /* counted by its class alone */
	MUST(flock(in, LOCK_SH) == 0 && flock(in, LOCK_UN) == 0);
	close(none);
	return wait(NULL) < 0;
}
