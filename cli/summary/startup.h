/* What a program reads before its own work: Python code and libraries. */
#ifndef IOLENS_STARTUP_H
#define IOLENS_STARTUP_H

#include "digest.h"

enum { STARTUP_TEXT = 256 };

/* When the files and classes are known. */
void startup_find(struct digest *d);

/* "" where it is not worth a line. */
void startup_describe(const struct digest *d, char text[STARTUP_TEXT]);

#endif
