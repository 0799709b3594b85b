/* Where the other end of a socket is. */
#ifndef IOLENS_ENDPOINT_H
#define IOLENS_ENDPOINT_H

#include <sys/socket.h>

#include "process_state.h"

/* By an address of `room` bytes. */
enum state_class_id endpoint_class(const void *address, socklen_t room);

/* By a descriptor's peer. STATE_CLASS_NONE: a stream that is not connected (yet), to be asked again. */
enum state_class_id endpoint_of(int fd);

#endif
