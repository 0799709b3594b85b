/* What PnetCDF says about a variable. Nothing here is recorded; it is asked outside self_enter. */
#ifndef IOLENS_PNETCDF_VAR_VARIABLE_H
#define IOLENS_PNETCDF_VAR_VARIABLE_H

#include "../pnetcdf_file/library.h"
#include "names.h"

/* FILE:variable, and the id of the file's record; false: excluded by a setting, or it cannot be had. */
bool variable_name(const struct pnetcdf_library *l, int file, int number, struct path *name, uint64_t *file_id);

/* Its type and dimensions; false if there is no such variable. */
bool variable_ask(const struct pnetcdf_library *l, int file, struct pnetcdf_variable *v);

/* What it has of the dimension that grows, 1 where it has none. */
int64_t variable_records(const struct pnetcdf_library *l, int file, const struct pnetcdf_variable *v);

#endif
