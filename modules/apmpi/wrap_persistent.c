/* Requests that are made once and started often, whole or in parts: the bytes are those of each start. */
#include "call.h"

/* clang-format off */
#define GIVEN_INIT  (void *buffer, int count, uintptr_t type, int other, int tag, uintptr_t comm, void *request)
#define PASS_INIT   (buffer, count, type, other, tag, comm, request)
#define GIVEN_PARTS \
	(void *buffer, int parts, int64_t count, uintptr_t type, int other, int tag, uintptr_t comm, uintptr_t info, void *request)
#define PASS_PARTS  (buffer, parts, count, type, other, tag, comm, info, request)
/* clang-format on */

#define INIT(name, id) \
	CALL_OR(NULL, name, id, GIVEN_INIT, PASS_INIT, 0, apmpi_remember(request, mpi_bytes(count, type)))
#define INIT_PARTS(name, id)                                             \
	CALL_OR(apmpi_unsupported, name, id, GIVEN_PARTS, PASS_PARTS, 0, \
		apmpi_remember(request, parts *mpi_bytes(count, type)))

INIT(Send_init, SEND_INIT)
INIT(Bsend_init, BSEND_INIT)
INIT(Ssend_init, SSEND_INIT)
INIT(Rsend_init, RSEND_INIT)
INIT(Recv_init, RECV_INIT)
INIT_PARTS(Psend_init, PSEND_INIT)
INIT_PARTS(Precv_init, PRECV_INIT)

CALL(Start, START, (void *request), (request), apmpi_started(request, 1))
CALL(Startall, STARTALL, (int count, void *requests), (count, requests), apmpi_started(requests, count))

CALL_4(Pready, PREADY, (int part, uintptr_t request), (part, request), 0)
CALL_4(Pready_range, PREADY_RANGE, (int first, int last, uintptr_t request), (first, last, request), 0)
CALL_4(Pready_list, PREADY_LIST, (int count, const int *parts, uintptr_t request), (count, parts, request), 0)
CALL_4(Parrived, PARRIVED, (uintptr_t request, int part, int *flag), (request, part, flag), 0)
