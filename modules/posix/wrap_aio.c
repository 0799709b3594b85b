/*
 * Asynchronous I/O. An operation is remembered before it is submitted: it may be done, its result fetched and its control block
 * freed by another thread before the submission returns.
 */
#include "wrap.h"

#include <aio.h>
#include <errno.h>

#include "readable.h"
#include "record.h"

static int submitted(const struct aiocb *control, int result)
{
	if (result != 0)
		posix_aio_returned(control, -1);
	return result;
}

WRAP(int, aio_read, struct aiocb *control)
{
	posix_aio_submit(control, IO_READ);
	return submitted(control, REAL(aio_read)(control));
}
ALIAS(aio_read64, aio_read);

WRAP(int, aio_write, struct aiocb *control)
{
	posix_aio_submit(control, IO_WRITE);
	return submitted(control, REAL(aio_write)(control));
}
ALIAS(aio_write64, aio_write);

WRAP(ssize_t, aio_return, struct aiocb *control)
{
	ssize_t got = REAL(aio_return)(control);
	posix_aio_returned(control, got);
	return got;
}
ALIAS(aio_return64, aio_return);

WRAP(int, aio_error, const struct aiocb *control)
{
	int error = REAL(aio_error)(control);
	if (error == 0)
		posix_aio_done(control);
	return error;
}
ALIAS(aio_error64, aio_error);

/* Those of a list that are done. */
static void done_of(const struct aiocb *const list[], int count)
{
	for (int i = 0; i < count; i++)
		if (list[i] && list[i]->__error_code == 0)
			posix_aio_done(list[i]);
}

WRAP(int, aio_suspend, const struct aiocb *const list[], int count, const struct timespec *timeout)
{
	int result = REAL(aio_suspend)(list, count, timeout);
	if (result == 0)
		done_of(list, count);
	return result;
}
ALIAS(aio_suspend64, aio_suspend);

static bool is_access(const struct aiocb *control)
{
	return control && readable(control, sizeof *control) &&
	       (control->aio_lio_opcode == LIO_READ || control->aio_lio_opcode == LIO_WRITE);
}

WRAP(int, lio_listio, int mode, struct aiocb *const list[], int count, struct sigevent *event)
{
	bool known = count > 0 && readable(list, (size_t)count * sizeof *list);
	for (int i = 0; known && i < count; i++)
		if (is_access(list[i]))
			posix_aio_submit(list[i], list[i]->aio_lio_opcode == LIO_READ ? IO_READ : IO_WRITE);
	int result = REAL(lio_listio)(mode, list, count, event);
	if (known && mode == LIO_WAIT && (result == 0 || errno == EIO))
		done_of((const struct aiocb *const *)list, count);
	for (int i = 0; known && result != 0 && errno == EINVAL && i < count; i++)
		posix_aio_returned(list[i], -1);
	return result;
}
ALIAS(lio_listio64, lio_listio);
