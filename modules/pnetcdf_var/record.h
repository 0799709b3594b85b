/*
 * What calls on PnetCDF variables do to their records. The functions return at once for an empty span and for calls that
 * failed, and keep errno.
 */
#ifndef IOLENS_PNETCDF_VAR_RECORD_H
#define IOLENS_PNETCDF_VAR_RECORD_H

#include "../pnetcdf_file/library.h"
#include "process_state.h"

/* How a variable is moved. The counters of the record are in this order: all forms of a verb, verb by verb. */
enum pnetcdf_form { FORM_VAR, FORM_VAR1, FORM_VARA, FORM_VARS, FORM_VARM, FORM_VARN, FORM_VARD, FORMS };
enum pnetcdf_verb {
	VERB_PUT,
	VERB_GET = VERB_PUT + FORMS,
	VERB_IPUT = VERB_GET + FORMS,
	VERB_IGET = VERB_IPUT + FORMS - 1, /* there is no vard without waiting */
	VERB_BPUT = VERB_IGET + FORMS - 1,
};
enum pnetcdf_mode { MODE_INDEP, MODE_COLL, MODE_NB };

struct pnetcdf_how {
	enum pnetcdf_verb verb : 8;
	enum pnetcdf_form form : 8;
	enum pnetcdf_mode mode : 8;
};

/* A variable was defined or found by its name, as *number. */
void pnetcdf_var_on_open(struct pnetcdf_span s, int file, const int *number, int code);

/* All of it, one element, */
void pnetcdf_var_on_whole(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, int code);
void pnetcdf_var_on_element(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, int code);

/* so many elements along each dimension, */
void pnetcdf_var_on_part(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, const int64_t *count,
			 const int64_t *stride, int code);

/* several such parts (of one element where a count is NULL), */
void pnetcdf_var_on_parts(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, int parts,
			  const int64_t *const *counts, int code);

/* or what a data type of MPI selects in the file. */
void pnetcdf_var_on_type(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, uintptr_t type, int code);

/* Several variables in one call, a part or an element of each, or all of it: its time is shared evenly. */
struct pnetcdf_many {
	int variables;
	const int *numbers;
	const int64_t *const *counts, *const *strides;
};

void pnetcdf_var_on_many(struct pnetcdf_span s, struct pnetcdf_how how, int file, struct pnetcdf_many m, int code);

#endif
