/* What the kernel has counted for this process. */
#ifndef IOLENS_KERNEL_H
#define IOLENS_KERNEL_H

#include <stdint.h>

#include "live.h"

/* Fills in /proc/self/io less what iolens itself has read; all zero where it cannot be read. */
void kernel_io(int64_t out[LIVE_IO_COUNT]);

#endif
