/* One line on standard error, "iolens: " in front: only for what the user must know. */
#ifndef IOLENS_MPI_NOTE_H
#define IOLENS_MPI_NOTE_H

void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
