/* PnetCDF files: create, open, define, wait, sync, close. The library may come late, by dlopen, or never. */
#include "record.h"
#include "schema.h"
#include "site.h"
#include "wrap.h"

#define SPAN(next)      pnetcdf_span(LOG_MOD_PNETCDF_FILE, (const void *)(next))
#define SPAN_OPEN(next) pnetcdf_span_open((const void *)(next))

WRAP_LATE(int, ncmpi_create, "pnetcdf", pnetcdf_refuse, uintptr_t communicator, const char *name, int mode,
	  uintptr_t info, int *file)
{
	type_ncmpi_create next = NEXT(ncmpi_create);
	struct pnetcdf_span s = SPAN_OPEN(next);
	int code = next(communicator, name, mode, info, file);
	SITE(pnetcdf_file_on_open(s, true, file, name, code));
	return code;
}

WRAP_LATE(int, ncmpi_open, "pnetcdf", pnetcdf_refuse, uintptr_t communicator, const char *name, int mode,
	  uintptr_t info, int *file)
{
	type_ncmpi_open next = NEXT(ncmpi_open);
	struct pnetcdf_span s = SPAN_OPEN(next);
	int code = next(communicator, name, mode, info, file);
	SITE(pnetcdf_file_on_open(s, false, file, name, code));
	return code;
}

WRAP_LATE(int, ncmpi_close, "pnetcdf", pnetcdf_refuse, int file)
{
	type_ncmpi_close next = NEXT(ncmpi_close);
	struct pnetcdf_span s = SPAN_OPEN(next);
	struct pnetcdf_moved moved = pnetcdf_file_moved(s, file);
	int code = next(file);
	pnetcdf_file_on_close(s, file, moved, code);
	return code;
}

/* A close that takes back what was being defined. */
WRAP_LATE(int, ncmpi_abort, "pnetcdf", pnetcdf_refuse, int file)
{
	type_ncmpi_abort next = NEXT(ncmpi_abort);
	struct pnetcdf_span s = SPAN_OPEN(next);
	struct pnetcdf_moved moved = pnetcdf_file_moved(s, file);
	int code = next(file);
	pnetcdf_file_on_close(s, file, moved, code);
	return code;
}

PNETCDF_CALL(ncmpi_redef, (int file), (file), pnetcdf_file_on_redef(s, file, code))
PNETCDF_CALL(ncmpi_enddef, (int file), (file), pnetcdf_file_on_enddef(s, file, code))

/* With room and alignment of its parts. */
PNETCDF_CALL(ncmpi__enddef, (int file, int64_t head, int64_t align, int64_t variables, int64_t records),
	     (file, head, align, variables, records), pnetcdf_file_on_enddef(s, file, code))
PNETCDF_CALL(ncmpi_sync, (int file), (file), pnetcdf_file_on_sync(s, file, code))
PNETCDF_CALL(ncmpi_wait, (int file, int count, int *requests, int *codes), (file, count, requests, codes),
	     pnetcdf_file_on_wait(s, file, false, code))
PNETCDF_CALL(ncmpi_wait_all, (int file, int count, int *requests, int *codes), (file, count, requests, codes),
	     pnetcdf_file_on_wait(s, file, true, code))
