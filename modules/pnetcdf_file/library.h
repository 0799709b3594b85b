/*
 * PnetCDF as a program has it: none at build time, one or several copies at run time, on whatever MPI. What is asked of a copy
 * are functions that change nothing and need no other rank; they are called in the program's own thread, between its calls.
 */
#ifndef IOLENS_PNETCDF_LIBRARY_H
#define IOLENS_PNETCDF_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handles.h"
#include "resolve.h"

struct path;

/* MPI_Offset has 64 bits in every MPI, and nc_type is an int. */
#define PNETCDF_FUNCTIONS(X)                            \
	X(int, ncmpi_inq_path, (int, int *, char *))    \
	X(int, ncmpi_inq_varname, (int, int, char *))   \
	X(int, ncmpi_inq_vartype, (int, int, int *))    \
	X(int, ncmpi_inq_varndims, (int, int, int *))   \
	X(int, ncmpi_inq_vardimid, (int, int, int *))   \
	X(int, ncmpi_inq_unlimdim, (int, int *))        \
	X(int, ncmpi_inq_dimlen, (int, int, int64_t *)) \
	/* From here on: not in every release. */       \
	X(int, ncmpi_inq_get_size, (int, int64_t *))    \
	X(int, ncmpi_inq_put_size, (int, int64_t *))

/* What is kept of a variable of an open file. */
struct pnetcdf_variable {
	struct handle handle;
	void *file;                     /* the module's; NULL: it has no record */
	int64_t element_size, elements; /* of one record where it has records */
	int dimensions, number;
	int records; /* the dimension that grows, -1 = it has none */
	struct pnetcdf_variable *next;
};

/* What is kept of an open file. */
struct pnetcdf_open {
	struct handle handle;
	void *file;            /* the module's; NULL: it has no record */
	int64_t read, written; /* bytes that its record has */
	struct pnetcdf_variable *variables;
};

/* One copy of PnetCDF in this process. */
struct pnetcdf_library {
	struct resolve_copied copied;
	struct handles files, variables;
	PNETCDF_FUNCTIONS(RESOLVE_POINTER)
};

/* A call that is being watched. */
struct pnetcdf_span {
	struct pnetcdf_library *library; /* NULL: do not record */
	double start;                    /* s */
};

/* The start of a call of `function`, the real one, for a module of the log. */
struct pnetcdf_span pnetcdf_span(int module, const void *function);

/* The same for what opens or closes a file: both modules need to know. */
struct pnetcdf_span pnetcdf_span_open(const void *function);

/* ---- what is open. A variable is one of its file: numbers of two files are the same. ---- */

struct pnetcdf_open *pnetcdf_find(const struct pnetcdf_library *l, int file);
struct pnetcdf_variable *pnetcdf_find_variable(const struct pnetcdf_library *l, int file, int number);

/* These are called inside self_enter. A file takes the place of the one that had its number before. */
struct pnetcdf_open *pnetcdf_keep(struct pnetcdf_library *l, int file, void *of_module);
struct pnetcdf_variable *pnetcdf_keep_variable(struct pnetcdf_library *l, int file, const struct pnetcdf_variable *v);
void pnetcdf_forget(struct pnetcdf_library *l, int file);

/* What a wrapper answers where there is no PnetCDF: failure. */
long pnetcdf_refuse(void);

#define PNETCDF_CALL(symbol, parameters, arguments, after) \
	WRAP_LATE_CALL(int, code, symbol, "pnetcdf", pnetcdf_refuse, struct pnetcdf_span, parameters, arguments, after)

#endif
