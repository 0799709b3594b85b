/*
 * A file system that stands for Lustre: the files of a directory, and as their attribute lustre.lov what stands under their name
 * in another. A file of at least a MiB has the layout NAME.grown, if there is one. Every question for a layout is a line of
 * LAYOUTS/.asked. While there is a file LAYOUTS/.slow, questions for the file system itself take 0.7 s.
 *
 *	standin FILES LAYOUTS -f -o subtype=TYPE MOUNTPOINT
 */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { GROWN = 1 << 20 };

static int files, layouts; /* directories */

static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int result(long code)
{
	return code < 0 ? -errno : 0;
}

static int get_attributes(const char *path, struct stat *out, struct fuse_file_info *info)
{
	(void)info;
	return result(fstatat(files, below(path), out, AT_SYMLINK_NOFOLLOW));
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t from, struct fuse_file_info *info,
		enum fuse_readdir_flags flags)
{
	(void)from, (void)info, (void)flags;
	int fd = openat(files, below(path), O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return -errno;
	for (struct dirent *e; (e = readdir(d));)
		fill(buffer, e->d_name, NULL, 0, 0);
	closedir(d);
	return 0;
}

static int open_file(const char *path, struct fuse_file_info *info)
{
	int fd = openat(files, below(path), info->flags & ~O_CREAT);
	info->fh = (uint64_t)fd;
	return result(fd);
}

static int create(const char *path, mode_t mode, struct fuse_file_info *info)
{
	int fd = openat(files, below(path), info->flags | O_CREAT, mode);
	info->fh = (uint64_t)fd;
	return result(fd);
}

static int read_file(const char *path, char *to, size_t n, off_t at, struct fuse_file_info *info)
{
	(void)path;
	ssize_t got = pread((int)info->fh, to, n, at);
	return got < 0 ? -errno : (int)got;
}

/* The file's server is slow, if LAYOUTS/NAME.slow is there. */
static void wait_for_server(const char *path)
{
	char name[4096];
	snprintf(name, sizeof name, "%s.slow", below(path));
	if (faccessat(layouts, name, F_OK, 0) == 0)
		usleep(20000);
}

static int write_file(const char *path, const char *from, size_t n, off_t at, struct fuse_file_info *info)
{
	wait_for_server(path);
	ssize_t put = pwrite((int)info->fh, from, n, at);
	return put < 0 ? -errno : (int)put;
}

static int release(const char *path, struct fuse_file_info *info)
{
	(void)path;
	return result(close((int)info->fh));
}

static int cut(const char *path, off_t size, struct fuse_file_info *info)
{
	if (info)
		return result(ftruncate((int)info->fh, size));
	int fd = openat(files, below(path), O_WRONLY);
	int code = fd < 0 ? -errno : result(ftruncate(fd, size));
	if (fd >= 0)
		close(fd);
	return code;
}

static int make_directory(const char *path, mode_t mode)
{
	return result(mkdirat(files, below(path), mode));
}

static int remove_file(const char *path)
{
	return result(unlinkat(files, below(path), 0));
}

static int move(const char *from, const char *to, unsigned flags)
{
	return flags ? -EINVAL : result(renameat(files, below(from), files, below(to)));
}

static int facts(const char *path, struct statvfs *out)
{
	(void)path;
	if (faccessat(layouts, ".slow", F_OK, 0) == 0)
		usleep(700 * 1000);
	return result(fstatvfs(files, out));
}

/* ---- layouts ---- */

static void note(const char *path)
{
	int fd = openat(layouts, ".asked", O_WRONLY | O_CREAT | O_APPEND, 0644);
	dprintf(fd, "%s\n", path + 1);
	close(fd);
}

static int open_layout(const char *path)
{
	struct stat s;
	char name[4096];
	snprintf(name, sizeof name, "%s.grown", below(path));
	int fd = -1;
	if (fstatat(files, below(path), &s, 0) == 0 && s.st_size >= GROWN)
		fd = openat(layouts, name, O_RDONLY);
	return fd < 0 ? openat(layouts, below(path), O_RDONLY) : fd;
}

static int get_attribute(const char *path, const char *name, char *to, size_t n)
{
	struct stat s;
	if (strcmp(name, "lustre.lov") != 0)
		return -ENODATA;
	note(path);
	int fd = open_layout(path);
	if (fd < 0 || fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
		return -ENODATA;
	int code = !n ? (int)s.st_size : (size_t)s.st_size > n ? -ERANGE : (int)read(fd, to, n);
	close(fd);
	return code;
}

static const struct fuse_operations operations = {
	.getattr = get_attributes,
	.readdir = list,
	.open = open_file,
	.create = create,
	.read = read_file,
	.write = write_file,
	.release = release,
	.truncate = cut,
	.mkdir = make_directory,
	.unlink = remove_file,
	.rename = move,
	.statfs = facts,
	.getxattr = get_attribute,
};

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	files = open(argv[1], O_RDONLY | O_DIRECTORY);
	layouts = open(argv[2], O_RDONLY | O_DIRECTORY);
	if (files < 0 || layouts < 0)
		return 2;
	argv[2] = argv[0];
	return fuse_main(argc - 2, argv + 2, &operations, NULL);
}
