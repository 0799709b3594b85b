/* The file of a path that a stream was opened by, or of its descriptor. */
#include "record.h"

#include <fcntl.h>

#include "../lustre/record.h"
#include "../posix/record.h"
#include "fds.h"
#include "names.h"

static const struct file_kind kind = {WRITTEN_STDIO, sizeof(struct stdio_file), NULL};

struct stdio_file *stdio_file_of(const struct path *p)
{
	return file_of(&kind, p);
}

/* The first time in these letters. NULL and a class for a path that gets no record, NULL and none for what is no path. */
__attribute__((noinline)) static struct stdio_file *file_at(const char *path, enum state_class_id *class)
{
	PATH(p);
	if (!names_path(p, AT_FDCWD, path))
		return NULL;
	*class = names_open_class(LOG_MOD_STDIO, p);
	struct stdio_file *file = *class ? NULL : stdio_file_of(p);
	if (!file && !*class)
		*class = file_without_record(&kind);
	return file;
}

struct stdio_file *stdio_file_given(const FILE *f, enum state_class_id *class)
{
	int fd = f->_fileno;
	PATH(p);
	*class = posix_path_of(fd, LOG_MOD_STDIO, names_class, p);
	struct stdio_file *file = *class ? NULL : stdio_file_of(p);
	if (!file && !*class)
		*class = file_without_record(&kind);
	if (file)
		lustre_on_open(file->name, fd);
	posix_on_stream(fd, stdio_appends(f) && posix_stream_appends(fd));
	return file;
}

/* Of a path that leads to an open file: what it leads to. */
struct stdio_file *stdio_file_behind(int fd, enum state_class_id *class)
{
	PATH(p);
	*class = posix_behind(fd, LOG_MOD_STDIO, p);
	return *class ? NULL : file_of(&kind, p);
}

struct stdio_file *stdio_file_new(int fd, const char *path, enum state_class_id *class)
{
	if (!fds_is_pipe(fd))
		return file_at(path, class);
	*class = STATE_CLASS_PIPE;
	return NULL;
}
