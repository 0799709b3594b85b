/* What the preload library offers (modules/phases/wrap.c); there is none in a process that runs without it. */
#ifndef IOLENS_RANGES_PHASE_H
#define IOLENS_RANGES_PHASE_H

#include <stdint.h>

uint64_t iolens_runtime_range_begin(const char *name, const void *of) __attribute__((weak));
void iolens_runtime_range_end(uint64_t id) __attribute__((weak));
void iolens_runtime_range_end_last(const void *of) __attribute__((weak));

#define RANGES_SEEN    (iolens_runtime_range_begin && iolens_runtime_range_end && iolens_runtime_range_end_last)
#define RANGES_VISIBLE __attribute__((visibility("default")))

#endif
