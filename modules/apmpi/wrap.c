/* Messages from one rank to another. The Fortran procedures call these C functions (README.md). */
#include "call.h"

/* clang-format off */
#define GIVEN_SEND(integer) (const void *buffer, integer count, uintptr_t type, int to, int tag, uintptr_t comm)
#define PASS_SEND           (buffer, count, type, to, tag, comm)
#define GIVEN_POST(integer) (void *buffer, integer count, uintptr_t type, int other, int tag, uintptr_t comm, void *request)
#define PASS_POST           (buffer, count, type, other, tag, comm, request)
#define GIVEN_RECV(integer) (void *buffer, integer count, uintptr_t type, int from, int tag, uintptr_t comm, void *status)
#define PASS_RECV           (buffer, count, type, from, tag, comm, status)

#define SENDRECV_GIVEN(integer) \
	const void *buffer, integer count, uintptr_t type, int to, int tag, void *into, integer room, uintptr_t as, \
	int from, int from_tag, uintptr_t comm
#define SENDRECV_PASSED buffer, count, type, to, tag, into, room, as, from, from_tag, comm
#define GIVEN_SENDRECV(integer) (SENDRECV_GIVEN(integer), void *status)
#define PASS_SENDRECV           (SENDRECV_PASSED, status)
#define GIVEN_ISENDRECV         (SENDRECV_GIVEN(int), void *request)
#define PASS_ISENDRECV          (SENDRECV_PASSED, request)

#define REPLACE_GIVEN(integer) \
	void *buffer, integer count, uintptr_t type, int to, int tag, int from, int from_tag, uintptr_t comm
#define REPLACE_PASSED buffer, count, type, to, tag, from, from_tag, comm
#define GIVEN_REPLACE(integer) (REPLACE_GIVEN(integer), void *status)
#define PASS_REPLACE           (REPLACE_PASSED, status)
#define GIVEN_IREPLACE         (REPLACE_GIVEN(int), void *request)
#define PASS_IREPLACE          (REPLACE_PASSED, request)

#define GIVEN_MRECV(integer)  (void *buffer, integer count, uintptr_t type, void *message, void *status)
#define PASS_MRECV            (buffer, count, type, message, status)
#define GIVEN_IMRECV(integer) (void *buffer, integer count, uintptr_t type, void *message, void *request)
#define PASS_IMRECV           (buffer, count, type, message, request)

#define ASKED    mpi_bytes(count, type)
#define CAME     apmpi_received(status, count, type)
#define BOTH_FIT (FITS(count) && FITS(room))
/* clang-format on */

BOTH(Send, SEND, GIVEN_SEND, PASS_SEND, FITS(count), ASKED)
BOTH(Ssend, SSEND, GIVEN_SEND, PASS_SEND, FITS(count), ASKED)
BOTH(Rsend, RSEND, GIVEN_SEND, PASS_SEND, FITS(count), ASKED)
BOTH(Bsend, BSEND, GIVEN_SEND, PASS_SEND, FITS(count), ASKED)
BOTH(Recv, RECV, GIVEN_RECV, PASS_RECV, FITS(count), CAME)

BOTH(Isend, ISEND, GIVEN_POST, PASS_POST, FITS(count), ASKED)
BOTH(Issend, ISSEND, GIVEN_POST, PASS_POST, FITS(count), ASKED)
BOTH(Irsend, IRSEND, GIVEN_POST, PASS_POST, FITS(count), ASKED)
BOTH(Ibsend, IBSEND, GIVEN_POST, PASS_POST, FITS(count), ASKED)
BOTH(Irecv, IRECV, GIVEN_POST, PASS_POST, FITS(count), ASKED)

BOTH(Sendrecv, SENDRECV, GIVEN_SENDRECV, PASS_SENDRECV, BOTH_FIT, ASKED + apmpi_received(status, room, as))
BOTH(Sendrecv_replace, SENDRECV_REPLACE, GIVEN_REPLACE, PASS_REPLACE, FITS(count), ASKED + CAME)
CALL_4(Isendrecv, ISENDRECV, GIVEN_ISENDRECV, PASS_ISENDRECV, ASKED + mpi_bytes(room, as))
CALL_4(Isendrecv_replace, ISENDRECV_REPLACE, GIVEN_IREPLACE, PASS_IREPLACE, 2 * ASKED)

CALL(Probe, PROBE, (int from, int tag, uintptr_t comm, void *status), (from, tag, comm, status), 0)
CALL(Iprobe, IPROBE, (int from, int tag, uintptr_t comm, int *flag, void *status), (from, tag, comm, flag, status), 0)
CALL(Mprobe, MPROBE, (int from, int tag, uintptr_t comm, void *message, void *status),
     (from, tag, comm, message, status), 0)
CALL(Improbe, IMPROBE, (int from, int tag, uintptr_t comm, int *flag, void *message, void *status),
     (from, tag, comm, flag, message, status), 0)
BOTH(Mrecv, MRECV, GIVEN_MRECV, PASS_MRECV, FITS(count), CAME)
BOTH(Imrecv, IMRECV, GIVEN_IMRECV, PASS_IMRECV, FITS(count), ASKED)
