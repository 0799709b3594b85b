/*
 * POSIX extended regular expressions, searched for in bytes: what a setting gives, and a data path matches. Where the C library's
 * regexec takes memory and locks, which the program may have been interrupted in, this one has a fixed amount of stack, and takes
 * time in the product of both lengths at most.
 *
 * Supported is what regcomp takes with REG_EXTENDED in the C locale (with GNU's \w \s \b \< \>), but no references.
 */
#ifndef IOLENS_EXPRESSION_H
#define IOLENS_EXPRESSION_H

#include <stdbool.h>

struct expression;

/* NULL: not an expression, or one that is too large. Not for data paths; memory of the arena. */
const struct expression *expression_make(const char *text);

bool expression_found(const struct expression *e, const char *text);

#endif
