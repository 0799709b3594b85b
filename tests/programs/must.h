/* What every program here starts from. MUST ends the program when a call did not do what the test needs. */
#ifndef MUST_H
#define MUST_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB        1024
#define MIB        (1024 * 1024)
#define MUST(that) ((that) ? (void)0 : must_failed(__FILE__, __LINE__, #that))

static inline void must_failed(const char *file, int line, const char *that)
{
	char text[512];
	int n = snprintf(text, sizeof text, "%s:%d: not so: %s (errno %d)\n", file, line, that, errno);
	syscall(SYS_write, 2, text, n);
	syscall(SYS_exit_group, 99);
}

#endif
