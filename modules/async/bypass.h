/* Asynchronous I/O by syscall(): the kernel's own calls, which Rust's and other bindings make. */
#ifndef IOLENS_ASYNC_BYPASS_H
#define IOLENS_ASYNC_BYPASS_H

#include "request.h"

/* After io_uring_setup gave `fd`: memory that the kernel has filled. */
void uring_set_up(int fd, const void *parameters);

/* After io_uring_enter. */
void uring_entered(struct async_call *c, int fd);

/* After io_uring_register. */
void uring_registered(int fd, unsigned operation, const void *argument, unsigned n);

#endif
