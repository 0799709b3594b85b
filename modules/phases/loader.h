/*
 * How long a PyTorch program waits for its DataLoader, and what the loader's workers do: phases of the names `loader: ...`, without a
 * change of the program (docs/decisions/0053-loaders.md).
 */
#ifndef IOLENS_PHASES_LOADER_H
#define IOLENS_PHASES_LOADER_H

#include "path.h"

/* The process is about to import PyTorch, or at least looks for it. Keeps errno. */
void loader_begin(const struct path *p);

/* The first time that a file is looked for. */
static inline void loader_path(const struct path *p)
{
	char last = p->text[p->length - 1];
	if (__builtin_expect(last == 'c' || last == 'y', 0)) /* of .pyc, .py */
		loader_begin(p);
}

#endif
