/* Which libraries that iolens wraps were linked statically into a program or a library, by its table of symbols. */
#ifndef IOLENS_LINKED_IN_H
#define IOLENS_LINKED_IN_H

enum linked_library { LINKED_HDF5, LINKED_PNETCDF, LINKED_MPI, LINKED_LIBRARIES };

/* As users know them. */
extern const char *const linked_in_names[LINKED_LIBRARIES];

/*
 * A bit for each of them: the file defines its functions, and calls them itself, so that no preloaded library sees the calls.
 * 0 for what is no file with a table of symbols (stripped), for tables of more than 32 MiB, and for programs that iolens is linked into.
 */
unsigned linked_in(const char *path);

#endif
