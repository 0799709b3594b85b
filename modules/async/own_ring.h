/* Asynchronous I/O by syscall(): the kernel's own calls, which Rust's and other bindings make. */
#ifndef IOLENS_ASYNC_OWN_RING_H
#define IOLENS_ASYNC_OWN_RING_H

#include "request.h"

/* After io_uring_setup gave `fd`: memory that the kernel has filled. */
void uring_set_up(int fd, const void *parameters);

/* Before io_uring_enter, which may take `submit` requests; and after it. */
void uring_entering(struct async_call *c, int fd, unsigned submit);
void uring_entered(struct async_call *c, int fd);

/* After io_uring_register. */
void uring_registered(int fd, unsigned operation, const void *argument, unsigned n);

#endif
