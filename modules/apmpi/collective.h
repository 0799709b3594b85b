/*
 * The forms of a collective call: blocking, non-blocking, and persistent, whose bytes are those of each start. `list` is a macro of
 * the counts' type with the parameters that all forms have, `passed_list` their names in parentheses.
 */
#ifndef IOLENS_APMPI_COLLECTIVE_H
#define IOLENS_APMPI_COLLECTIVE_H

#include "call.h"

#define PERSISTENT(name, id, list, passed_list, bytes)                                                 \
	CALL_OR(apmpi_unsupported, name##_init, id##_INIT, (list(int), uintptr_t info, void *request), \
		(MPI_UNPACK passed_list, info, request), 0, apmpi_remember(request, (bytes)))

/* Counts are numbers: in 32 and in 64 bits. `how` makes the wrappers. */
#define WITH_LARGE(how, name, id, list, more, passed, fits, bytes)         \
	how(NULL, name, id, (list(int) MPI_UNPACK more), passed,           \
	    bytes) static int narrow_##name(list(int64_t) MPI_UNPACK more) \
	{                                                                  \
		if (!(fits))                                               \
			return APMPI_ERROR_COUNT;                          \
		return MPI_NEXT(type_MPI_##name, MPI_##name, NULL) passed; \
	}                                                                  \
	how(narrow_##name, name##_c, id, (list(int64_t) MPI_UNPACK more), passed, bytes)

#define STARTS(instead, name, id, given, passed, bytes) CALL_OR(instead, name, id, given, passed, bytes, )

#define FORMS(how, name, lower, id, list, passed_list, fits, bytes)                                                  \
	WITH_LARGE(how, name, id, list, (), passed_list, fits, bytes)                                                \
	WITH_LARGE(STARTS, I##lower, I##id, list, (, void *request), (MPI_UNPACK passed_list, request), fits, bytes) \
	PERSISTENT(name, id, list, passed_list, bytes)

#define FORMS_OF_ARRAYS(how, name, lower, id, list, passed_list, bytes)                                     \
	how(NULL, name, id, (list(int)), passed_list, bytes)                                                \
		CALL(I##lower, I##id, (list(int), void *request), (MPI_UNPACK passed_list, request), bytes) \
			PERSISTENT(name, id, list, passed_list, bytes)

#define COLLECTIVE(name, lower, id, list, passed_list, fits, bytes) \
	FORMS(COLLECTIVE_CALL_OR, name, lower, id, list, passed_list, fits, bytes)

/* Counts are arrays: in 32 bits alone, since an MPI before 4 could not do the work of the others. */
#define COLLECTIVE_OF_ARRAYS(name, lower, id, list, passed_list, bytes) \
	FORMS_OF_ARRAYS(COLLECTIVE_CALL_OR, name, lower, id, list, passed_list, bytes)

/* Among neighbours: not all ranks need call it at a time. */
#define NEIGHBORS(name, lower, id, list, passed_list, fits, bytes) \
	FORMS(STARTS, name, lower, id, list, passed_list, fits, bytes)
#define NEIGHBORS_OF_ARRAYS(name, lower, id, list, passed_list, bytes) \
	FORMS_OF_ARRAYS(STARTS, name, lower, id, list, passed_list, bytes)

/* clang-format off */
#define EACH_GIVEN(integer) \
	const void *buffer, integer count, uintptr_t type, void *into, integer room, uintptr_t as, uintptr_t comm
#define EACH_PASSED buffer, count, type, into, room, as, comm

#define EACH_V_GIVEN(integer) \
	const void *buffer, integer count, uintptr_t type, void *into, const integer *rooms, const integer *places, \
	uintptr_t as, uintptr_t comm
#define EACH_V_PASSED buffer, count, type, into, rooms, places, as, comm

#define TO_EACH_V_GIVEN(integer) \
	const void *buffer, const integer *counts, const integer *from, uintptr_t type, \
	void *into, const integer *rooms, const integer *places, uintptr_t as, uintptr_t comm
#define TO_EACH_V_PASSED buffer, counts, from, type, into, rooms, places, as, comm

/* Displacements are integers, and MPI_Aint among neighbours. */
#define TO_EACH_W_GIVEN(integer) \
	const void *buffer, const integer *counts, const void *from, const void *types, \
	void *into, const integer *rooms, const void *places, const void *as, uintptr_t comm
#define TO_EACH_W_PASSED buffer, counts, from, types, into, rooms, places, as, comm

#define BOTH_FIT (FITS(count) && FITS(room))
/* clang-format on */

#endif
