/* What happens to files and directories without moving data. */
#include "wrap.h"

#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <utime.h>

#include "map.h"
#include "names.h"
#include "record.h"
#include "sys.h"

/* ---- stat: by name (__xstat and its relatives are what programs built before glibc 2.33 call) ---- */

WRAP(int, stat, const char *path, struct stat *out)
{
	struct span s = span_path();
	int result = REAL(stat)(path, out);
	posix_on_stat(s, AT_FDCWD, path, result ? 0 : out->st_mode, result);
	return result;
}
ALIAS(stat64, stat);

WRAP(int, lstat, const char *path, struct stat *out)
{
	struct span s = span_path();
	int result = REAL(lstat)(path, out);
	posix_on_stat(s, AT_FDCWD, path, result ? 0 : out->st_mode, result);
	return result;
}
ALIAS(lstat64, lstat);

WRAP(int, fstat, int fd, struct stat *out)
{
	struct span s = span_fd(fd);
	int result = REAL(fstat)(fd, out);
	posix_on_fstat(s, result ? 0 : out->st_mode, result);
	return result;
}
ALIAS(fstat64, fstat);

static void on_stat_at(struct span s, int dir, const char *path, int flags, unsigned mode, int result)
{
	if (flags & AT_EMPTY_PATH && result == 0 && (!path || !*path))
		posix_on_fstat(span_again(s, dir), mode, result);
	else
		posix_on_stat(s, dir, path, mode, result);
}

WRAP(int, fstatat, int dir, const char *path, struct stat *out, int flags)
{
	struct span s = span_path();
	int result = REAL(fstatat)(dir, path, out, flags);
	on_stat_at(s, dir, path, flags, result ? 0 : out->st_mode, result);
	return result;
}
ALIAS(fstatat64, fstatat);

WRAP(int, statx, int dir, const char *path, int flags, unsigned mask, struct statx *out)
{
	struct span s = span_path();
	int result = REAL(statx)(dir, path, flags, mask, out);
	on_stat_at(s, dir, path, flags, result ? 0 : out->stx_mode, result);
	return result;
}

WRAP(int, __xstat, int version, const char *path, struct stat *out)
{
	struct span s = span_path();
	int result = REAL(__xstat)(version, path, out);
	posix_on_stat(s, AT_FDCWD, path, result ? 0 : out->st_mode, result);
	return result;
}
ALIAS(__xstat64, __xstat);

WRAP(int, __lxstat, int version, const char *path, struct stat *out)
{
	struct span s = span_path();
	int result = REAL(__lxstat)(version, path, out);
	posix_on_stat(s, AT_FDCWD, path, result ? 0 : out->st_mode, result);
	return result;
}
ALIAS(__lxstat64, __lxstat);

WRAP(int, __fxstat, int version, int fd, struct stat *out)
{
	struct span s = span_fd(fd);
	int result = REAL(__fxstat)(version, fd, out);
	posix_on_fstat(s, result ? 0 : out->st_mode, result);
	return result;
}
ALIAS(__fxstat64, __fxstat);

WRAP(int, __fxstatat, int version, int dir, const char *path, struct stat *out, int flags)
{
	struct span s = span_path();
	int result = REAL(__fxstatat)(version, dir, path, out, flags);
	on_stat_at(s, dir, path, flags, result ? 0 : out->st_mode, result);
	return result;
}
ALIAS(__fxstatat64, __fxstatat);

/* ---- names: what is renamed may be the working directory, or above it ---- */

WRAP(int, rename, const char *old, const char *new)
{
	struct span s = span_path();
	names_directory_changing();
	int result = REAL(rename)(old, new);
	names_directory_changed();
	posix_on_rename(s, AT_FDCWD, old, AT_FDCWD, new, result);
	return result;
}

WRAP(int, renameat, int old_dir, const char *old, int new_dir, const char *new)
{
	struct span s = span_path();
	names_directory_changing();
	int result = REAL(renameat)(old_dir, old, new_dir, new);
	names_directory_changed();
	posix_on_rename(s, old_dir, old, new_dir, new, result);
	return result;
}

WRAP(int, renameat2, int old_dir, const char *old, int new_dir, const char *new, unsigned flags)
{
	struct span s = span_path();
	names_directory_changing();
	int result = REAL(renameat2)(old_dir, old, new_dir, new, flags);
	names_directory_changed();
	posix_on_rename(s, old_dir, old, new_dir, new, result);
	return result;
}

/* A call that is only counted: parameters and arguments in brackets. */
#define COUNTED_AS(type, operation, name, parameters, arguments)              \
	WRAP(type, name, UNPACK parameters)                                   \
	{                                                                     \
		struct span s = span_path();                                  \
		type result = REAL(name) arguments;                           \
		posix_on_operation(s, STATE_OP_POSIX_##operation, result, 0); \
		return result;                                                \
	}
#define COUNTED(operation, name, parameters, arguments) COUNTED_AS(int, operation, name, parameters, arguments)
#define UNPACK(...)                                     __VA_ARGS__

COUNTED(UNLINK, unlink, (const char *path), (path))
COUNTED(UNLINK, remove, (const char *path), (path))
COUNTED(LINK, link, (const char *old, const char *new), (old, new))
COUNTED(LINK, linkat, (int od, const char *old, int nd, const char *new, int flags), (od, old, nd, new, flags))
COUNTED(SYMLINK, symlink, (const char *target, const char *path), (target, path))
COUNTED(SYMLINK, symlinkat, (const char *target, int dir, const char *path), (target, dir, path))
COUNTED(MKDIR, mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(MKDIR, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
COUNTED(RMDIR, rmdir, (const char *path), (path))
COUNTED(ACCESS, access, (const char *path, int how), (path, how))
COUNTED(ACCESS, faccessat, (int dir, const char *path, int how, int flags), (dir, path, how, flags))
COUNTED(ACCESS, euidaccess, (const char *path, int how), (path, how))
ALIAS(eaccess, euidaccess);
COUNTED(CHMOD, lchmod, (const char *path, mode_t mode), (path, mode))
COUNTED(CHMOD, chmod, (const char *path, mode_t mode), (path, mode))
COUNTED(CHMOD, fchmod, (int fd, mode_t mode), (fd, mode))
COUNTED(CHMOD, fchmodat, (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags))
COUNTED(CHOWN, chown, (const char *path, uid_t user, gid_t group), (path, user, group))
COUNTED(CHOWN, lchown, (const char *path, uid_t user, gid_t group), (path, user, group))
COUNTED(CHOWN, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
COUNTED(CHOWN, fchownat, (int dir, const char *path, uid_t user, gid_t group, int flags),
	(dir, path, user, group, flags))
COUNTED(UTIME, utimensat, (int dir, const char *path, const struct timespec t[2], int flags), (dir, path, t, flags))
COUNTED(UTIME, futimens, (int fd, const struct timespec t[2]), (fd, t))
COUNTED(UTIME, utimes, (const char *path, const struct timeval t[2]), (path, t))
COUNTED(UTIME, utime, (const char *path, const struct utimbuf *t), (path, t))
COUNTED(UTIME, futimes, (int fd, const struct timeval t[2]), (fd, t))
COUNTED(UTIME, lutimes, (const char *path, const struct timeval t[2]), (path, t))
COUNTED(UTIME, futimesat, (int dir, const char *path, const struct timeval t[2]), (dir, path, t))
COUNTED(TRUNCATE, truncate, (const char *path, off_t size), (path, size))
COUNTED(TRUNCATE, ftruncate, (int fd, off_t size), (fd, size))
COUNTED(SYNC, sync_file_range, (int fd, off_t at, off_t n, unsigned flags), (fd, at, n, flags))
COUNTED(SYNC, syncfs, (int fd), (fd))
COUNTED(SYNC, aio_fsync, (int how, struct aiocb *control), (how, control))
ALIAS(aio_fsync64, aio_fsync);
ALIAS(truncate64, truncate);
ALIAS(ftruncate64, ftruncate);

WRAP(int, unlinkat, int dir, const char *path, int flags)
{
	struct span s = span_path();
	int result = REAL(unlinkat)(dir, path, flags);
	posix_on_operation(s, flags & AT_REMOVEDIR ? STATE_OP_POSIX_RMDIR : STATE_OP_POSIX_UNLINK, result, 0);
	return result;
}

COUNTED_AS(ssize_t, READLINK, readlink, (const char *path, char *to, size_t n), (path, to, n))
COUNTED_AS(ssize_t, READLINK, readlinkat, (int dir, const char *path, char *to, size_t n), (dir, path, to, n))
COUNTED_AS(ssize_t, READLINK, __readlink_chk, (const char *path, char *to, size_t n, size_t room), (path, to, n, room))
COUNTED_AS(ssize_t, READLINK, __readlinkat_chk, (int dir, const char *path, char *to, size_t n, size_t room),
	   (dir, path, to, n, room))

/* Extended attributes: where there is none, the call fails. */
COUNTED_AS(ssize_t, XATTR, getxattr, (const char *path, const char *name, void *to, size_t n), (path, name, to, n))
COUNTED_AS(ssize_t, XATTR, lgetxattr, (const char *path, const char *name, void *to, size_t n), (path, name, to, n))
COUNTED_AS(ssize_t, XATTR, fgetxattr, (int fd, const char *name, void *to, size_t n), (fd, name, to, n))
COUNTED_AS(ssize_t, XATTR, listxattr, (const char *path, char *to, size_t n), (path, to, n))
COUNTED_AS(ssize_t, XATTR, llistxattr, (const char *path, char *to, size_t n), (path, to, n))
COUNTED_AS(ssize_t, XATTR, flistxattr, (int fd, char *to, size_t n), (fd, to, n))
COUNTED(XATTR, setxattr, (const char *path, const char *name, const void *from, size_t n, int flags),
	(path, name, from, n, flags))
COUNTED(XATTR, lsetxattr, (const char *path, const char *name, const void *from, size_t n, int flags),
	(path, name, from, n, flags))
COUNTED(XATTR, fsetxattr, (int fd, const char *name, const void *from, size_t n, int flags), (fd, name, from, n, flags))
COUNTED(XATTR, removexattr, (const char *path, const char *name), (path, name))
COUNTED(XATTR, lremovexattr, (const char *path, const char *name), (path, name))
COUNTED(XATTR, fremovexattr, (int fd, const char *name), (fd, name))

WRAP(void, sync, void)
{
	struct span s = span_path();
	REAL(sync)();
	posix_on_operation(s, STATE_OP_POSIX_SYNC, 0, 0);
}

/* ---- space ---- */

/* Of memory (below /dev/shm, or a memfd) it is no operation of storage: only of what has a record. */
WRAP(int, fallocate, int fd, int mode, off_t at, off_t n)
{
	struct span s = span_fd(fd);
	int result = REAL(fallocate)(fd, mode, at, n);
	if (span_tracked(s))
		posix_on_operation(s, STATE_OP_POSIX_FALLOCATE, result, n);
	return result;
}
ALIAS(fallocate64, fallocate);

WRAP(int, posix_fallocate, int fd, off_t at, off_t n)
{
	struct span s = span_fd(fd);
	int error = REAL(posix_fallocate)(fd, at, n);
	if (span_tracked(s))
		posix_on_operation(s, STATE_OP_POSIX_FALLOCATE, -error, n);
	return error;
}
ALIAS(posix_fallocate64, posix_fallocate);

/* The third argument is at most one pointer wide. */
WRAP(int, ioctl, int fd, unsigned long request, ...)
{
	va_list arguments;
	va_start(arguments, request);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	if (__builtin_expect(!posix_clones(request), 1))
		return REAL(ioctl)(fd, request, argument);
	struct span s = span_path();
	int result = REAL(ioctl)(fd, request, argument);
	posix_on_clone(s, request, argument, result);
	return result;
}

/* ---- storage ---- */

WRAP(int, fsync, int fd)
{
	struct span s = span_fd(fd);
	int result = REAL(fsync)(fd);
	posix_on_sync(s, false, result);
	return result;
}

WRAP(int, fdatasync, int fd)
{
	struct span s = span_fd(fd);
	int result = REAL(fdatasync)(fd);
	posix_on_sync(s, true, result);
	return result;
}

__thread bool posix_mapping __attribute__((tls_model("initial-exec")));

WRAP(void *, mmap, void *at, size_t n, int protection, int flags, int fd, off_t from)
{
	struct span s = flags & MAP_ANONYMOUS || fd < 0 ? (struct span){.fd = fd} : span_fd(fd);
	struct map_taken replaced;
	map_unmapping(&replaced, at, flags & MAP_FIXED ? n : 0);
	posix_mapping = true;
	void *got = REAL(mmap)(at, n, protection, flags, fd, from);
	posix_mapping = false;
	map_unmapped(&replaced, got != MAP_FAILED);
	posix_on_map(s, (int64_t)n, got != MAP_FAILED);
	if (got != MAP_FAILED && s.at)
		map_began(s, got, n, protection, flags, from);
	return got;
}
ALIAS(mmap64, mmap);

/* Takes the place of what is mapped there, if it is to. */
WRAP(void *, shmat, int segment, const void *at, int flags)
{
	struct shmid_ds of = {.shm_segsz = 0};
	bool replaces = flags & SHM_REMAP && at && sys_call(SYS_shmctl, segment, IPC_STAT, (long)&of, 0, 0, 0) == 0;
	struct map_taken replaced;
	map_unmapping(&replaced, at, replaces ? of.shm_segsz : 0);
	void *got = REAL(shmat)(segment, at, flags);
	map_unmapped(&replaced, got != MAP_FAILED);
	return got;
}

WRAP(int, munmap, void *at, size_t n)
{
	struct map_taken taken;
	map_unmapping(&taken, at, n);
	posix_mapping = true;
	int result = REAL(munmap)(at, n);
	posix_mapping = false;
	map_unmapped(&taken, result == 0);
	return result;
}

#ifndef MREMAP_DONTUNMAP /* headers before glibc 2.32 */
#define MREMAP_DONTUNMAP 4
#endif

WRAP(void *, mremap, void *old, size_t n, size_t room, int flags, ...)
{
	va_list rest;
	va_start(rest, flags);
	void *to = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(rest, void *) : NULL;
	va_end(rest);
	struct map_taken taken, replaced;
	map_resizing(&taken, old, n, room);
	map_unmapping(&replaced, to, flags & MREMAP_FIXED ? room : 0);
	posix_mapping = true;
	void *got = REAL(mremap)(old, n, room, flags, to);
	posix_mapping = false;
	map_unmapped(&replaced, got != MAP_FAILED);
	map_unmapped(&taken, got != MAP_FAILED);
	if (got != MAP_FAILED)
		map_moved(old, room < n ? room : n, got, room);
	return got;
}

WRAP(int, madvise, void *at, size_t n, int advice)
{
	if (advice == MADV_DONTNEED)
		map_measure(at, n);
	int result = REAL(madvise)(at, n, advice);
	if (advice == MADV_DONTNEED && result == 0)
		map_renewed(at, n);
	return result;
}

WRAP(int, msync, void *at, size_t n, int flags)
{
	map_measure_written(at, n);
	struct span s = span_path();
	int result = REAL(msync)(at, n, flags);
	posix_on_operation(s, STATE_OP_POSIX_MSYNC, result, 0);
	return result;
}

/* ---- directories ---- */

WRAP(DIR *, opendir, const char *path)
{
	struct span s = span_path();
	DIR *got = REAL(opendir)(path);
	posix_made(got ? dirfd(got) : -1);
	posix_on_operation(s, STATE_OP_POSIX_OPENDIR, got ? 0 : -1, 0);
	return got;
}

WRAP(DIR *, fdopendir, int fd)
{
	struct span s = span_path();
	DIR *got = REAL(fdopendir)(fd);
	posix_on_operation(s, STATE_OP_POSIX_OPENDIR, got ? 0 : -1, 0);
	return got;
}

WRAP(struct dirent *, readdir, DIR *dir)
{
	struct span s = span_path();
	struct dirent *got = REAL(readdir)(dir);
	posix_on_operation(s, STATE_OP_POSIX_READDIR, 0, 0);
	return got;
}
ALIAS(readdir64, readdir);

WRAP(int, scandir, const char *path, struct dirent ***list, int (*keep)(const struct dirent *),
     int (*order)(const struct dirent **, const struct dirent **))
{
	struct span s = span_path();
	int got = REAL(scandir)(path, list, keep, order);
	posix_on_operation(s, STATE_OP_POSIX_READDIR, got, 0);
	return got;
}
ALIAS(scandir64, scandir);

WRAP(int, scandirat, int dir, const char *path, struct dirent ***list, int (*keep)(const struct dirent *),
     int (*order)(const struct dirent **, const struct dirent **))
{
	struct span s = span_path();
	int got = REAL(scandirat)(dir, path, list, keep, order);
	posix_on_operation(s, STATE_OP_POSIX_READDIR, got, 0);
	return got;
}
ALIAS(scandirat64, scandirat);

/* Returns an error number. */
WRAP(int, readdir_r, DIR *dir, struct dirent *to, struct dirent **got)
{
	struct span s = span_path();
	int error = REAL(readdir_r)(dir, to, got);
	posix_on_operation(s, STATE_OP_POSIX_READDIR, -error, 0);
	return error;
}
ALIAS(readdir64_r, readdir_r);

WRAP(ssize_t, getdents64, int fd, void *to, size_t n)
{
	struct span s = span_path();
	ssize_t got = REAL(getdents64)(fd, to, n);
	posix_on_operation(s, STATE_OP_POSIX_READDIR, got, 0);
	return got;
}

WRAP(ssize_t, getdirentries, int fd, char *to, size_t n, off_t *at)
{
	struct span s = span_path();
	ssize_t got = REAL(getdirentries)(fd, to, n, at);
	posix_on_operation(s, STATE_OP_POSIX_READDIR, got, 0);
	return got;
}
ALIAS(getdirentries64, getdirentries);

/* The descriptor inside the stream goes with it. */
WRAP(int, closedir, DIR *dir)
{
	int fd = dir ? dirfd(dir) : -1;
	struct span s = fd >= 0 ? posix_span_close(fd) : (struct span){.fd = -1};
	int result = REAL(closedir)(dir);
	posix_on_close(s);
	return result;
}
