/* Verbs on streams of the C library, each with a buffer of its own that is larger than what is written at once. */
#include <fcntl.h>

#include "interpreter.h"

static FILE *streams[STREAMS];
static char stream_room[STREAMS][STREAM_ROOM];

static long long made_stream(int k, FILE *f)
{
	streams[k] = f;
	return f ? setvbuf(f, stream_room[k], _IOFBF, STREAM_ROOM) : -1;
}

VERB(fopen)
{
	return made_stream(num(op, 0), fopen(path(op, 1), op->word[2]));
}

VERB(fdopen)
{
	return made_stream(num(op, 0), fdopen(num(op, 1), op->word[2]));
}

VERB(freopen)
{
	return made_stream(num(op, 0), freopen(path(op, 1), op->word[2], streams[num(op, 0)]));
}

VERB(fclose)
{
	return fclose(streams[num(op, 0)]);
}

/* STREAM ITEM ITEMS */
VERB(fread)
{
	size_t n = fread(buffer, num(op, 1), num(op, 2), streams[num(op, 0)]);
	hash(op, buffer, n * num(op, 1));
	return n;
}

VERB(fgetc)
{
	return fgetc(streams[num(op, 0)]);
}

VERB(fgets)
{
	int n = num(op, 1);
	memset(buffer, 1, n);
	if (!fgets(buffer, n, streams[num(op, 0)]))
		return -1;
	while (buffer[--n])
		;
	return n; /* a line may hold NUL */
}

static long long then_flushed(const struct op *op, int k, long long result)
{
	return num(op, k) && fflush(streams[num(op, 0)]) ? -1 : result;
}

/* STREAM ITEM ITEMS FLUSH */
VERB(fwrite)
{
	char *data = filled(op, 0, num(op, 1) * num(op, 2), 0);
	return then_flushed(op, 3, fwrite(data, num(op, 1), num(op, 2), streams[num(op, 0)]));
}

/* STREAM SIZE FLUSH */
VERB(fputs)
{
	filled(op, 0, num(op, 1), 0)[num(op, 1)] = 0;
	return then_flushed(op, 2, fputs(buffer, streams[num(op, 0)]) < 0 ? -1 : 0);
}

VERB(fprintf)
{
	return then_flushed(op, 2, fprintf(streams[num(op, 0)], "%0*d", (int)num(op, 1), 7));
}

/* STREAM FLUSH */
VERB(fputc)
{
	return then_flushed(op, 1, fputc('c', streams[num(op, 0)]));
}

VERB(fflush)
{
	return fflush(streams[num(op, 0)]);
}

VERB(fseek)
{
	return fseek(streams[num(op, 0)], num(op, 1), num(op, 2));
}

VERB(rewind)
{
	rewind(streams[num(op, 0)]);
	return 0;
}

VERB(fileno)
{
	return fileno(streams[num(op, 0)]);
}

/* STREAM PATH */
VERB(refile)
{
	if (close(streams[num(op, 0)]->_fileno))
		return -1;
	return open(path(op, 1), O_RDWR | O_CREAT | O_TRUNC, 0600);
}

VERB(print)
{
	int n = printf("%d print\n", op->index);
	return fflush(stdout) ? -1 : n;
}

/* FD SIZE: a redirection of standard output, as shells make it */
VERB(printto)
{
	int own = fcntl(1, F_DUPFD, 200);
	if (dup2(num(op, 0), 1) != 1) {
		int error = errno;
		close(own);
		errno = error;
		return -1;
	}
	int n = printf("%0*d", (int)num(op, 1), 7);
	return fflush(stdout) || dup2(own, 1) != 1 || close(own) ? -1 : n;
}

const struct verb stream_verbs[] = {
	ROW(fopen),  ROW(fdopen), ROW(freopen), ROW(fclose),  ROW(fread),  ROW(fgetc), ROW(fgets),
	ROW(fwrite), ROW(fputs),  ROW(fprintf), ROW(fputc),   ROW(fflush), ROW(fseek), ROW(rewind),
	ROW(fileno), ROW(refile), ROW(print),   ROW(printto), {0},
};
