/*
 * What calls on PnetCDF files do to their records. The functions return at once for an empty span, and keep errno.
 */
#ifndef IOLENS_PNETCDF_FILE_RECORD_H
#define IOLENS_PNETCDF_FILE_RECORD_H

#include "library.h"

/* What the library has moved for an open file so far. */
struct pnetcdf_moved {
	int64_t read, written; /* bytes, -1 = it does not say */
};

/* A file was created, or opened, as *file. */
void pnetcdf_file_on_open(struct pnetcdf_span s, bool created, const int *file, const char *name, int code);

/* Before a file is closed: nothing can be asked afterwards. */
struct pnetcdf_moved pnetcdf_file_moved(struct pnetcdf_span s, int file);
void pnetcdf_file_on_close(struct pnetcdf_span s, int file, struct pnetcdf_moved moved, int code);

void pnetcdf_file_on_redef(struct pnetcdf_span s, int file, int code);
void pnetcdf_file_on_enddef(struct pnetcdf_span s, int file, int code);
void pnetcdf_file_on_sync(struct pnetcdf_span s, int file, int code);
void pnetcdf_file_on_wait(struct pnetcdf_span s, int file, bool together, int code);

/* The path of an open file; false if it cannot be had. Outside self_enter. */
bool pnetcdf_file_path(const struct pnetcdf_library *l, int file, struct path *out);

#endif
