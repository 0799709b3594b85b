/*
 * Memory that a program gave us, and that has to be looked at before the kernel has accepted it: whether it can be read. Asks the
 * kernel, a page at a time; what cannot be asked about is taken as unreadable.
 */
#ifndef IOLENS_READABLE_H
#define IOLENS_READABLE_H

#include <stdbool.h>
#include <stddef.h>

bool readable(const void *at, size_t n);

/* A text with its NUL; NULL is none. */
bool readable_text(const char *text);

/* Texts up to a NULL, as exec takes them. */
bool readable_texts(char *const *list);

#endif
