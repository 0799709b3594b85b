/*
 * Text of a log, a job or a path on its way to a terminal. Whatever prints such a text does it through one of these, or by
 * put_escaped, JSON or CSV: then no character of it is a command to the terminal, ends a line or turns its direction.
 */
#ifndef IOLENS_SHOWN_H
#define IOLENS_SHOWN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The text, each character as output_next shows it. */
void shown_put(FILE *out, const char *text);

/* The same into a string of `room` bytes; what does not fit is left out, and no escape is cut. */
void shown_copy(char *to, size_t room, const char *text);

/* Would any character of it be shown as another one? */
bool shown_hides(const char *text);

/* printf and the end of a line: what the format and its arguments say is one line, whatever is in them. */
void shown_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void shown_vline(FILE *out, const char *format, va_list list) __attribute__((format(printf, 2, 0)));

#endif
