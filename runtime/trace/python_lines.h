/*
 * The lines of Python code that the calling thread is in. CPython's frames are read where they lie, without its lock (GIL): only the
 * thread itself changes them. Nothing that is read is trusted: each page is asked about before it is read, each code object
 * has Python's own type, and each instruction lies in its code (docs/decisions/0052-python-lines.md).
 *
 * Called by site.c alone, under its lock, but for python_frames.
 */
#ifndef IOLENS_PYTHON_LINES_H
#define IOLENS_PYTHON_LINES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYTHON_FRAMES = 8, PYTHON_PAGES = 16 };

/* Pages that are known to be readable. */
struct python_view {
	uintptr_t *page;
	size_t pages;
};

struct python_frame {
	uintptr_t at, code;
	int32_t address; /* of the instruction, in bytes from the code's first one; negative: before it */
	uint32_t line;   /* 0 = none */
};

struct python_stack {
	struct python_view view;
	uintptr_t page[PYTHON_PAGES];
	struct python_frame frame[PYTHON_FRAMES]; /* innermost first */
	size_t n;
};

/* An object that the program's calls come from; it may be an interpreter. */
void python_meet(const struct link_map *map);

/* There is one. */
extern bool python_met __attribute__((visibility("hidden")));

/* The innermost frame of the user's code, and its callers. Without one the innermost frame of a library alone. False: there is none. */
bool python_stack(struct python_stack *s);

/*
 * A number for the code and the instructions of all frames of the calling thread: while it stays the same, so does the stack. 0: that
 * is not known, as of a thread that is not the process's first one, or has the GIL. Takes no lock.
 */
uint64_t python_frames(void);

/* Path, NUL, function, NUL of a frame's code; how many bytes, 0: they have no room, or cannot be read. */
size_t python_code(struct python_stack *s, size_t frame, char *out, size_t room);

/* The version (0x030b0700 = 3.11.7) of an interpreter whose lines cannot be read; 0 = they can, or there is none. */
uint32_t python_refused(void);

#endif
