#include "variable.h"

#include <string.h>

#include "../pnetcdf_file/record.h"
#include "hash.h"
#include "schema.h"

enum { MOST_DIMENSIONS = 1024, NAME_MAX_BYTES = 256 }; /* NC_MAX_NAME of all releases */

bool variable_name(const struct pnetcdf_library *l, int file, int number, struct path *name, uint64_t *file_id)
{
	if (!pnetcdf_file_path(l, file, name) || names_class(LOG_MOD_PNETCDF_VAR, name) ||
	    sizeof name->text - name->length < NAME_MAX_BYTES + 2)
		return false;
	*file_id = log_hash(name->text, name->length, 0);
	char *after = name->text + name->length;
	if (l->ncmpi_inq_varname(file, number, after + 1))
		return false;
	*after = ':';
	name->length += 1 + (uint32_t)strlen(after + 1);
	return true;
}

/* By nc_type: of a string it is that of a pointer. */
static int64_t size_of(int type)
{
	static const uint8_t sizes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8, 8};
	return type > 0 && type < (int)sizeof sizes ? sizes[type] : 0;
}

bool variable_ask(const struct pnetcdf_library *l, int file, struct pnetcdf_variable *v)
{
	int type = 0, of[MOST_DIMENSIONS], records = -1;
	if (l->ncmpi_inq_vartype(file, v->number, &type) || l->ncmpi_inq_varndims(file, v->number, &v->dimensions) ||
	    v->dimensions > MOST_DIMENSIONS || l->ncmpi_inq_vardimid(file, v->number, of) ||
	    l->ncmpi_inq_unlimdim(file, &records))
		return false;
	v->element_size = size_of(type);
	v->elements = 1;
	v->records = -1;
	for (int i = 0; i < v->dimensions; i++) {
		int64_t length = 0;
		if (of[i] == records)
			v->records = of[i];
		else if (l->ncmpi_inq_dimlen(file, of[i], &length))
			return false;
		else
			v->elements *= length;
	}
	return true;
}

int64_t variable_records(const struct pnetcdf_library *l, int file, const struct pnetcdf_variable *v)
{
	int64_t records = 1;
	if (v->records >= 0 && l->ncmpi_inq_dimlen(file, v->records, &records))
		return 0;
	return records;
}
