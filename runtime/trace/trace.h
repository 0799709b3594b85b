/*
 * Tracing: every access of a file, in the store of the process (format/store/trace_chunk.h). A thread of a process that traces
 * is `special` (runtime/base/thread.h): one that does not never comes here, and pays nothing.
 */
#ifndef IOLENS_TRACE_H
#define IOLENS_TRACE_H

#include "file.h"
#include "trace_chunk.h"

/* Adds an access that began at `start` and ended at `end`, s since the job's start. Holds the file's lock. */
void trace_access(struct file *f, enum trace_interface interface, enum io_op op, int64_t at, int64_t length,
		  double start, double end);

#endif
