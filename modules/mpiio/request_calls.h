/*
 * The calls that complete requests: name, parameters, arguments; the requests and how many; where their statuses go, the arguments
 * with `kept` instead of that; what the call says about them (struct mpiio_said).
 */
#ifndef IOLENS_MPIIO_REQUEST_CALLS_H
#define IOLENS_MPIIO_REQUEST_CALLS_H

/* clang-format off */
#define MPIIO_REQUEST_CALLS(X) \
	X(Wait, WAIT, (void *request, void *status), (request, status), \
	  request, 1, status, (request, kept), .one = true) \
	X(Test, TEST, (void *request, int *flag, void *status), (request, flag, status), \
	  request, 1, status, (request, flag, kept), .one = true) \
	X(Waitany, WAITANY, (int count, void *requests, int *index, void *status), (count, requests, index, status), \
	  requests, count, status, (count, requests, index, kept), .one = true) \
	X(Testany, TESTANY, (int count, void *requests, int *index, int *flag, void *status), \
	  (count, requests, index, flag, status), \
	  requests, count, status, (count, requests, index, flag, kept), .one = true) \
	X(Waitall, WAITALL, (int count, void *requests, void *statuses), (count, requests, statuses), \
	  requests, count, statuses, (count, requests, kept), .one = false) \
	X(Testall, TESTALL, (int count, void *requests, int *flag, void *statuses), (count, requests, flag, statuses), \
	  requests, count, statuses, (count, requests, flag, kept), .one = false) \
	X(Waitsome, WAITSOME, (int count, void *requests, int *done, int *indices, void *statuses), \
	  (count, requests, done, indices, statuses), \
	  requests, count, statuses, (count, requests, done, indices, kept), \
	  .indices = indices, .done = done, .count = count) \
	X(Testsome, TESTSOME, (int count, void *requests, int *done, int *indices, void *statuses), \
	  (count, requests, done, indices, statuses), \
	  requests, count, statuses, (count, requests, done, indices, kept), \
	  .indices = indices, .done = done, .count = count)
/* clang-format on */

#endif
