/*
 * PnetCDF variables. The library may come late, by dlopen, or never.
 *
 * A variable is moved by some 800 functions: verb x form x type, waiting for it alone or with all ranks, or not at all. They
 * are made from the tables below; what a type is makes no difference to us, since the bytes are those of the variable's.
 * An MPI's data types travel as uintptr_t: of one that is an int the callee looks at the lower half alone, in a register as in
 * a slot of the stack (x86-64, AArch64).
 */
#include "record.h"
#include "schema.h"
#include "site.h"
#include "wrap.h"

#define SPAN(next) pnetcdf_span(LOG_MOD_PNETCDF_VAR, (const void *)(next))

WRAP_LATE(int, ncmpi_def_var, "pnetcdf", pnetcdf_refuse, int file, const char *name, int type, int dimensions,
	  const int *dimension, int *number)
{
	type_ncmpi_def_var next = NEXT(ncmpi_def_var);
	struct pnetcdf_span s = SPAN(next);
	int code = next(file, name, type, dimensions, dimension, number);
	SITE(pnetcdf_var_on_open(s, file, number, code));
	return code;
}

WRAP_LATE(int, ncmpi_inq_varid, "pnetcdf", pnetcdf_refuse, int file, const char *name, int *number)
{
	type_ncmpi_inq_varid next = NEXT(ncmpi_inq_varid);
	struct pnetcdf_span s = SPAN(next);
	int code = next(file, name, number);
	SITE(pnetcdf_var_on_open(s, file, number, code));
	return code;
}

/* ---- forms: a function's parameters behind file and variable, and how they are recorded ---- */

#define VAR_PARAMETERS
#define VAR_ARGUMENTS
#define VAR_MOVED(s, how, code) pnetcdf_var_on_whole(s, how, file, number, code)

#define VAR1_PARAMETERS          const int64_t *start,
#define VAR1_ARGUMENTS           start,
#define VAR1_MOVED(s, how, code) pnetcdf_var_on_element(s, how, file, number, code)

#define VARA_PARAMETERS          const int64_t *start, const int64_t *count,
#define VARA_ARGUMENTS           start, count,
#define VARA_MOVED(s, how, code) pnetcdf_var_on_part(s, how, file, number, count, NULL, code)

#define VARS_PARAMETERS          const int64_t *start, const int64_t *count, const int64_t *stride,
#define VARS_ARGUMENTS           start, count, stride,
#define VARS_MOVED(s, how, code) pnetcdf_var_on_part(s, how, file, number, count, stride, code)

#define VARM_PARAMETERS          const int64_t *start, const int64_t *count, const int64_t *stride, const int64_t *map,
#define VARM_ARGUMENTS           start, count, stride, map,
#define VARM_MOVED(s, how, code) pnetcdf_var_on_part(s, how, file, number, count, stride, code)

#define VARN_PARAMETERS          int parts, const int64_t *const *starts, const int64_t *const *counts,
#define VARN_ARGUMENTS           parts, starts, counts,
#define VARN_MOVED(s, how, code) pnetcdf_var_on_parts(s, how, file, number, parts, counts, code)

#define VARD_PARAMETERS          uintptr_t selected,
#define VARD_ARGUMENTS           selected,
#define VARD_MOVED(s, how, code) pnetcdf_var_on_type(s, how, file, number, selected, code)

/* ---- the program's memory: of the function's type, or as an MPI describes it ---- */

#define TYPED_PARAMETERS    void *data
#define TYPED_ARGUMENTS     data
#define FLEXIBLE_PARAMETERS void *data, int64_t elements, uintptr_t type
#define FLEXIBLE_ARGUMENTS  data, elements, type

/* ---- modes: what is said last ---- */

#define INDEP_PARAMETERS
#define INDEP_ARGUMENTS
#define COLL_PARAMETERS
#define COLL_ARGUMENTS
#define NB_PARAMETERS , int *request
#define NB_ARGUMENTS  , request

/* ---- one function ---- */

#define MOVE(symbol, VERB, FORM, MODE, MEMORY)                                                                \
	PNETCDF_CALL(symbol, (int file, int number, FORM##_PARAMETERS MEMORY##_PARAMETERS MODE##_PARAMETERS), \
		     (file, number, FORM##_ARGUMENTS MEMORY##_ARGUMENTS MODE##_ARGUMENTS),                    \
		     FORM##_MOVED(s, ((struct pnetcdf_how){VERB_##VERB, FORM_##FORM, MODE_##MODE}), code))

/* ---- one function for several variables: its parameters are arrays ---- */

#define VAR_ARRAYS
#define VAR_OF_EACH
#define VAR_SHAPE    NULL, NULL
#define VAR1_ARRAYS  const int64_t *const *starts,
#define VAR1_OF_EACH starts,
#define VAR1_SHAPE   NULL, NULL
#define VARA_ARRAYS  VAR1_ARRAYS const int64_t *const *counts,
#define VARA_OF_EACH starts, counts,
#define VARA_SHAPE   counts, NULL
#define VARS_ARRAYS  VARA_ARRAYS const int64_t *const *strides,
#define VARS_OF_EACH starts, counts, strides,
#define VARS_SHAPE   counts, strides
#define VARM_ARRAYS  VARS_ARRAYS const int64_t *const *maps,
#define VARM_OF_EACH starts, counts, strides, maps,
#define VARM_SHAPE   counts, strides

#define TYPED_ARRAYS     void *const *data
#define TYPED_OF_EACH    data
#define FLEXIBLE_ARRAYS  void *const *data, const int64_t *elements, const void *types
#define FLEXIBLE_OF_EACH data, elements, types

#define MOVE_MANY(symbol, VERB, FORM, MODE, MEMORY)                                                            \
	PNETCDF_CALL(symbol, (int file, int many, const int *numbers, FORM##_ARRAYS MEMORY##_ARRAYS),          \
		     (file, many, numbers, FORM##_OF_EACH MEMORY##_OF_EACH),                                   \
		     pnetcdf_var_on_many(s, (struct pnetcdf_how){VERB_##VERB, FORM_##FORM, MODE_##MODE}, file, \
					 (struct pnetcdf_many){many, numbers, FORM##_SHAPE}, code))

/* ---- all of them ---- */

#define EACH_TYPE(DEFINE, name, VERB, FORM, MODE, all)                \
	DEFINE(ncmpi_##name##all, VERB, FORM, MODE, FLEXIBLE)         \
	DEFINE(ncmpi_##name##_text##all, VERB, FORM, MODE, TYPED)     \
	DEFINE(ncmpi_##name##_schar##all, VERB, FORM, MODE, TYPED)    \
	DEFINE(ncmpi_##name##_uchar##all, VERB, FORM, MODE, TYPED)    \
	DEFINE(ncmpi_##name##_short##all, VERB, FORM, MODE, TYPED)    \
	DEFINE(ncmpi_##name##_ushort##all, VERB, FORM, MODE, TYPED)   \
	DEFINE(ncmpi_##name##_int##all, VERB, FORM, MODE, TYPED)      \
	DEFINE(ncmpi_##name##_uint##all, VERB, FORM, MODE, TYPED)     \
	DEFINE(ncmpi_##name##_long##all, VERB, FORM, MODE, TYPED)     \
	DEFINE(ncmpi_##name##_float##all, VERB, FORM, MODE, TYPED)    \
	DEFINE(ncmpi_##name##_double##all, VERB, FORM, MODE, TYPED)   \
	DEFINE(ncmpi_##name##_longlong##all, VERB, FORM, MODE, TYPED) \
	DEFINE(ncmpi_##name##_ulonglong##all, VERB, FORM, MODE, TYPED)

#define EACH_FORM(verb, VERB, MODE, all)                    \
	EACH_TYPE(MOVE, verb##_var, VERB, VAR, MODE, all)   \
	EACH_TYPE(MOVE, verb##_var1, VERB, VAR1, MODE, all) \
	EACH_TYPE(MOVE, verb##_vara, VERB, VARA, MODE, all) \
	EACH_TYPE(MOVE, verb##_vars, VERB, VARS, MODE, all) \
	EACH_TYPE(MOVE, verb##_varm, VERB, VARM, MODE, all) \
	EACH_TYPE(MOVE, verb##_varn, VERB, VARN, MODE, all)

EACH_FORM(put, PUT, INDEP, )
EACH_FORM(put, PUT, COLL, _all)
EACH_FORM(get, GET, INDEP, )
EACH_FORM(get, GET, COLL, _all)
EACH_FORM(iput, IPUT, NB, )
EACH_FORM(iget, IGET, NB, )
EACH_FORM(bput, BPUT, NB, )

#define EACH_FORM_OF_MANY(verb, VERB, MODE, all)                 \
	EACH_TYPE(MOVE_MANY, verb##_var, VERB, VAR, MODE, all)   \
	EACH_TYPE(MOVE_MANY, verb##_var1, VERB, VAR1, MODE, all) \
	EACH_TYPE(MOVE_MANY, verb##_vara, VERB, VARA, MODE, all) \
	EACH_TYPE(MOVE_MANY, verb##_vars, VERB, VARS, MODE, all) \
	EACH_TYPE(MOVE_MANY, verb##_varm, VERB, VARM, MODE, all)

EACH_FORM_OF_MANY(mput, PUT, INDEP, )
EACH_FORM_OF_MANY(mput, PUT, COLL, _all)
EACH_FORM_OF_MANY(mget, GET, INDEP, )
EACH_FORM_OF_MANY(mget, GET, COLL, _all)

MOVE(ncmpi_put_vard, PUT, VARD, INDEP, FLEXIBLE)
MOVE(ncmpi_put_vard_all, PUT, VARD, COLL, FLEXIBLE)
MOVE(ncmpi_get_vard, GET, VARD, INDEP, FLEXIBLE)
MOVE(ncmpi_get_vard_all, GET, VARD, COLL, FLEXIBLE)
