/* A made-up library, so that the template is a real module: named objects, each in a file of that name. */
#ifndef TEMPLATE_H
#define TEMPLATE_H

#include <stddef.h>

long template_put(const char *name, const void *data, size_t n); /* appends; bytes, or -1 and errno */
long template_get(const char *name, void *data, size_t n);       /* from the beginning; bytes, or -1 and errno */
int template_sync(const char *name);

#endif
