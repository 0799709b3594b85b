/*
 * What is called with which arguments. A signature is a word for each argument: a number, or a letter:
 *
 *	d q s t   descriptor: of data, of other, reading and writing end of a pipe; x y of a socket and its peer; m j messages
 *	P N D T   path: of data, of nothing, of a directory, template        X Q E   program: by path, by name, none
 *	B c L U   buffer to write, text, memory to fill in, the same with what differs from run to run
 *	V O I K   vector, offset, two list elements of memory, stack of a child
 *	S R M     stream, directory stream, mode of a stream
 *	F W w v   format, wide text, wide format, va_list
 *	A G       arguments, environment
 *	a l g z   aiocb, list of them, pointer to a line, to a size
 *	k         function
 *
 * Results: i int, l long, p pointer, n process, v nothing, - not called: it returns twice or elsewhere, or takes no wrong one.
 */
#include <aio.h>
#include <linux/filter.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct subject {
	const char *name;
	char result;
	const char *signature;
};

#define WIDTHS(name, result, signature)      \
	{name, result, signature},           \
	{                                    \
		name "64", result, signature \
	}
#define DIALECTS(name, result, signature)                                 \
	{name, result, signature}, {"__isoc99_" name, result, signature}, \
	{                                                                 \
		"__isoc23_" name, result, signature                       \
	}
#define LOCKED(name, result, signature)             \
	{name, result, signature},                  \
	{                                           \
		name "_unlocked", result, signature \
	}

static const struct subject subjects[] = {
	/* posix: data */
	{"read", 'l', "d B 64"},
	{"__read_chk", 'l', "d B 64 4096"},
	{"__read", 'l', "d B 64"},
	{"write", 'l', "d B 64"},
	{"__write", 'l', "d B 64"},
	{"__lseek", 'l', "d 3 0"},
	{"llseek", 'l', "d 3 0"},
	WIDTHS("pread", 'l', "d B 64 8"),
	{"__pread_chk", 'l', "d B 64 8 4096"},
	{"__pread64_chk", 'l', "d B 64 8 4096"},
	WIDTHS("pwrite", 'l', "d B 64 8"),
	{"readv", 'l', "d V 2"},
	{"readv", 'l', "d V 0"},
	{"readv", 'l', "d V -1"},
	{"readv", 'l', "-1 V 2"},
	{"readv", 'l', "s V 2"},
	{"writev", 'l', "d V 2"},
	{"writev", 'l', "t V 2"},
	WIDTHS("preadv", 'l', "d V 2 8"),
	WIDTHS("pwritev", 'l', "d V 2 8"),
	{"preadv2", 'l', "d V 2 8 0"},
	{"preadv64v2", 'l', "d V 2 -1 0"},
	{"pwritev2", 'l', "d V 2 8 0"},
	{"pwritev64v2", 'l', "d V 2 -1 0"},
	WIDTHS("lseek", 'l', "d 3 0"),
	WIDTHS("sendfile", 'l', "q d O 64"),
	{"sendfile", 'l', "-1 d O 64"},
	{"splice", 'l', "d O t 0 32 0"},
	{"splice", 'l', "s 0 q O 4 0"},
	{"copy_file_range", 'l', "d O q O 64 0"},
	{"tee", 'l', "s t 4 0"},
	{"vmsplice", 'l', "t V 2 0"},
	{"readahead", 'l', "d 0 64"},
	{"ioctl", 'i', "d 0x40049409 q"}, /* FICLONE */
	{"ioctl", 'i', "-1 0x40049409 q"},
	{"ioctl", 'i', "d 0x4020940d B"}, /* FICLONERANGE */
	{"getxattr", 'l', "P c B 64"},
	{"lgetxattr", 'l', "P c B 64"},
	{"fgetxattr", 'l', "d c B 64"},
	{"setxattr", 'i', "P c B 8 0"},
	{"lsetxattr", 'i', "P c B 8 0"},
	{"fsetxattr", 'i', "d c B 8 0"},
	{"listxattr", 'l', "P B 64"},
	{"llistxattr", 'l', "P B 64"},
	{"flistxattr", 'l', "d B 64"},
	{"removexattr", 'i', "P c"},
	{"lremovexattr", 'i', "P c"},
	{"fremovexattr", 'i', "d c"},
	{"setmntent", 'p', "P M"},
	{"__setmntent", 'p', "P M"},
	{"endmntent", 'i', "S"},
	{"__endmntent", 'i', "S"},
	{"getmntent", 'p', "S"},
	{"getmntent_r", 'p', "S U B 64"},
	{"__getmntent_r", 'p', "S U B 64"},
	{"fgetpwent", 'p', "S"},
	{"fgetgrent", 'p', "S"},
	{"fgetspent", 'p', "S"},
	{"fgetsgent", 'p', "S"},
	{"fgetpwent_r", 'i', "S U B 64 U"},
	{"fgetgrent_r", 'i', "S U B 64 U"},
	{"fgetspent_r", 'i', "S U B 64 U"},
	{"fgetsgent_r", 'i', "S U B 64 U"},
	{"putpwent", 'i', "U S"},
	{"putgrent", 'i', "U S"},
	{"putspent", 'i', "U S"},
	{"putsgent", 'i', "U S"},
	{"addmntent", 'i', "S U"},
	{"malloc_info", 'i', "1 S"},
	{"_IO_sgetn", 'l', "S B 64"},
	{"_IO_padn", 'l', "S 120 64"},
	WIDTHS("posix_fadvise", 'i', "d 0 64 3"),
	WIDTHS("aio_read", 'i', "a"),
	WIDTHS("aio_write", 'i', "a"),
	WIDTHS("aio_return", 'l', "a"),
	WIDTHS("aio_error", 'i', "a"),
	WIDTHS("aio_suspend", 'i', "l 1 U"),
	WIDTHS("lio_listio", 'i', "0 l 1 0"),
	{"lio_listio", 'i', "7 l 1 0"},
	/* posix: descriptors */
	WIDTHS("open", 'i', "P 2 0"),
	WIDTHS("open", 'i', "N 0101 0644"),
	{"__open_2", 'i', "P 2"},
	{"__open64_2", 'i', "P 2"},
	WIDTHS("openat", 'i', "-100 P 2 0"),
	{"__openat_2", 'i', "-100 P 2"},
	{"__openat64_2", 'i', "-100 P 2"},
	{"openat2", 'i', "-100 P c 24"},
	WIDTHS("creat", 'i', "P 0644"),
	WIDTHS("mkstemp", 'i', "T"),
	WIDTHS("mkostemp", 'i', "T 0"),
	WIDTHS("mkstemps", 'i', "T 0"),
	WIDTHS("mkostemps", 'i', "T 0 0"),
	{"__open", 'i', "P 2 0"},
	{"__open64", 'i', "P 2 0"},
	{"open_by_handle_at", 'i', "-100 U 0"},
	{"__close", 'i', "d"},
	{"__dup2", 'i', "d q"},
	{"__fcntl", 'i', "d 6 L"},
	{"daemon", '-', ""},
	{"login_tty", 'i', "d"},
	{"forkpty", '-', ""},
	{"close", 'i', "d"},
	{"close_range", 'i', "d q 0"},
	{"dlclose", '-', ""},
	{"closefrom", 'v', "d"},
	{"pipe", 'i', "U"},
	{"__pipe", 'i', "U"},
	{"pipe2", 'i', "U 0"},
	{"socket", 'i', "1 1 0"},
	{"socketpair", 'i', "1 1 0 U"},
	{"accept", 'i', "x 0 0"},
	{"accept4", 'i', "x 0 0 0"},
	{"eventfd", 'i', "0 0"},
	{"eventfd_read", 'i', "d U"},
	{"eventfd_write", 'i', "d 5"},
	{"timerfd_create", 'i', "1 0"},
	{"signalfd", 'i', "-1 c 0"},
	{"epoll_create", 'i', "1"},
	{"epoll_create1", 'i', "0"},
	{"inotify_init", 'i', ""},
	{"inotify_init1", 'i', "0"},
	{"fanotify_init", 'i', "0 0"},
	{"memfd_create", 'i', "P 0"},
	{"shmat", 'l', "-1 0 0"},
	{"shm_open", 'i', "P 0 384"},
	{"mq_open", 'i', "P 0"},
	{"__mq_open_2", 'i', "P 0"},
	{"mq_close", 'i', "d"},
	{"mq_send", 'i', "d B 64 0"},
	{"mq_timedsend", 'i', "d B 64 0 L"},
	{"mq_receive", 'l', "d B 64 L"},
	{"mq_timedreceive", 'l', "d B 64 L L"},
	{"mq_close", 'i', "-1"},
	{"posix_openpt", 'i', "2"},
	{"getpt", 'i', ""},
	{"openpty", 'i', "U U 0 0 0"},
	{"pidfd_open", 'i', "1 0"},
	{"pidfd_getfd", 'i', "-1 0 0"},
	{"open_tree", 'i', "-100 P 0"},
	{"fsopen", 'i', "c 0"},
	{"fspick", 'i', "-100 D 0"},
	{"fsmount", 'i', "-1 0 0"},
	{"rresvport", 'i', "U"},
	{"rresvport_af", 'i', "U 2"},
	{"dup", 'i', "d"},
	{"dup2", 'i', "d q"},
	{"dup3", 'i', "d q 0"},
	WIDTHS("fcntl", 'i', "d 6 L"),
	WIDTHS("fcntl", 'i', "d 5 L"),
	{"fcntl", 'i', "d 0 0"},
	/* posix: names and the rest */
	WIDTHS("stat", 'i', "P U"),
	WIDTHS("lstat", 'i', "P U"),
	WIDTHS("fstat", 'i', "d U"),
	WIDTHS("fstatat", 'i', "-100 P U 0"),
	{"fstatat", 'i', "d P U 0x1000"},
	{"statx", 'i', "-100 P 0 0x7ff U"},
	{"statx", 'i', "d c 0x1000 0x7ff U"},
	WIDTHS("__xstat", 'i', "1 P U"),
	WIDTHS("__lxstat", 'i', "1 P U"),
	WIDTHS("__fxstat", 'i', "1 d U"),
	WIDTHS("__fxstatat", 'i', "1 -100 P U 0"),
	{"rename", 'i', "P N"},
	{"renameat", 'i', "-100 P -100 N"},
	{"renameat2", 'i', "-100 P -100 N 1"},
	{"unlink", 'i', "P"},
	{"remove", 'i', "P"},
	{"link", 'i', "P N"},
	{"linkat", 'i', "-100 P -100 N 0"},
	{"symlink", 'i', "P N"},
	{"symlinkat", 'i', "P -100 N"},
	{"mkdir", 'i', "N 0755"},
	{"mkdirat", 'i', "-100 N 0755"},
	{"rmdir", 'i', "P"},
	{"access", 'i', "P 4"},
	{"euidaccess", 'i', "P 4"},
	{"eaccess", 'i', "P 4"},
	{"lchmod", 'i', "P 0600"},
	{"futimes", 'i', "d L"},
	{"lutimes", 'i', "P L"},
	{"futimesat", 'i', "-100 P L"},
	WIDTHS("aio_fsync", 'i', "0 a"),
	{"__readlink_chk", 'l', "P B 64 4096"},
	{"__readlinkat_chk", 'l', "-100 P B 64 4096"},
	{"getdents64", 'l', "d U 64"},
	WIDTHS("getdirentries", 'l', "d U 64 L"),
	WIDTHS("scandirat", 'i', "-100 D U 0 0"),
	{"readdir_r", 'i', "R U U"},
	{"readdir64_r", 'i', "R U U"},
	{"faccessat", 'i', "-100 P 4 0"},
	{"chmod", 'i', "P 0600"},
	{"fchmod", 'i', "d 0600"},
	{"fchmodat", 'i', "-100 P 0600 0"},
	{"chown", 'i', "P -1 -1"},
	{"lchown", 'i', "P -1 -1"},
	{"fchown", 'i', "d -1 -1"},
	{"fchownat", 'i', "-100 P -1 -1 0"},
	{"utimensat", 'i', "-100 P L 0"},
	{"futimens", 'i', "d L"},
	{"utimes", 'i', "P L"},
	{"utime", 'i', "P L"},
	WIDTHS("truncate", 'i', "P 9"),
	WIDTHS("ftruncate", 'i', "d 9"),
	{"flock", 'i', "d 1"},
	WIDTHS("lockf", 'i', "d 2 0"),
	{"sync_file_range", 'i', "d 0 64 0"},
	{"syncfs", 'i', "d"},
	{"msync", 'i', "L 4096 1"},
	{"unlinkat", 'i', "-100 P 0"},
	{"readlink", 'l', "P B 64"},
	{"readlinkat", 'l', "-100 P B 64"},
	{"sync", 'v', ""},
	WIDTHS("fallocate", 'i', "d 0 0 512"),
	WIDTHS("posix_fallocate", 'i', "d 0 512"),
	{"fsync", 'i', "d"},
	{"fdatasync", 'i', "d"},
	WIDTHS("mmap", 'p', "0 4096 1 2 d 0"),
	{"mmap", 'p', "I 4096 1 0x100002 d 0"},
	{"opendir", 'p', "D"},
	{"fdopendir", 'p', "d"},
	WIDTHS("readdir", 'p', "R"),
	WIDTHS("scandir", 'i', "D U 0 0"),
	{"closedir", 'i', "R"},
	/* stdio */
	WIDTHS("fopen", 'p', "P M"),
	{"_IO_fopen", 'p', "P M"},
	{"fdopen", 'p', "d M"},
	{"_IO_fdopen", 'p', "d M"},
	WIDTHS("freopen", 'p', "P M S"),
	WIDTHS("tmpfile", 'p', ""),
	{"popen", 'p', "Q M"},
	{"_IO_popen", 'p', "Q M"},
	{"fclose", 'i', "S"},
	{"_IO_fclose", 'i', "S"},
	{"pclose", 'i', "S"},
	LOCKED("fileno", 'i', "S"),
	LOCKED("fflush", 'i', "S"),
	{"_IO_fflush", 'i', "S"},
	{"fseek", 'i', "S 3 0"},
	WIDTHS("fseeko", 'i', "S 3 0"),
	WIDTHS("fsetpos", 'i', "S L"),
	WIDTHS("_IO_fsetpos", 'i', "S L"),
	{"rewind", 'v', "S"},
	LOCKED("fread", 'l', "B 1 64 S"),
	{"_IO_fread", 'l', "B 1 64 S"},
	{"__fread_chk", 'l', "B 4096 1 64 S"},
	{"__fread_unlocked_chk", 'l', "B 4096 1 64 S"},
	LOCKED("fwrite", 'l', "B 1 64 S"),
	{"_IO_fwrite", 'l', "B 1 64 S"},
	LOCKED("fgetc", 'i', "S"),
	LOCKED("getc", 'i', "S"),
	{"_IO_getc", 'i', "S"},
	LOCKED("getchar", 'i', ""),
	{"__uflow", 'i', "S"},
	{"getw", 'i', "S"},
	{"ungetc", 'i', "65 S"},
	{"_IO_ungetc", 'i', "65 S"},
	LOCKED("fgets", 'p', "B 64 S"),
	{"_IO_fgets", 'p', "B 64 S"},
	{"__fgets_chk", 'p', "B 4096 64 S"},
	{"__fgets_unlocked_chk", 'p', "B 4096 64 S"},
	{"gets", 'p', "B"},
	{"_IO_gets", 'p', "B"},
	{"__gets_chk", 'p', "B 4096"},
	{"getdelim", 'l', "g z 10 S"},
	{"__getdelim", 'l', "g z 10 S"},
	{"getline", 'l', "g z S"},
	LOCKED("fputc", 'i', "65 S"),
	LOCKED("putc", 'i', "65 S"),
	{"_IO_putc", 'i', "65 S"},
	LOCKED("putchar", 'i', "65"),
	{"__overflow", 'i', "S 65"},
	{"putw", 'i', "65 S"},
	LOCKED("fputs", 'i', "c S"),
	{"_IO_fputs", 'i', "c S"},
	{"puts", 'i', "c"},
	{"_IO_puts", 'i', "c"},
	{"perror", 'v', "c"},
	{"vfprintf", 'i', "S F v"},
	{"_IO_vfprintf", 'i', "S F v"},
	{"fprintf", 'i', "S F 5"},
	{"_IO_fprintf", 'i', "S F 5"},
	{"vprintf", 'i', "F v"},
	{"printf", 'i', "F 5"},
	{"_IO_printf", 'i', "F 5"},
	{"__vfprintf_chk", 'i', "S 1 F v"},
	{"__fprintf_chk", 'i', "S 1 F 5"},
	{"__vprintf_chk", 'i', "1 F v"},
	{"__printf_chk", 'i', "1 F 5"},
	{"vdprintf", 'i', "d F v"},
	{"dprintf", 'i', "d F 5"},
	{"__vdprintf_chk", 'i', "d 1 F v"},
	{"__dprintf_chk", 'i', "d 1 F 5"},
	{"vfwprintf", 'i', "S w v"},
	{"fwprintf", 'i', "S w 5"},
	{"vwprintf", 'i', "w v"},
	{"wprintf", 'i', "w 5"},
	{"__vfwprintf_chk", 'i', "S 1 w v"},
	{"__fwprintf_chk", 'i', "S 1 w 5"},
	{"__vwprintf_chk", 'i', "1 w v"},
	{"__wprintf_chk", 'i', "1 w 5"},
	DIALECTS("vfscanf", 'i', "S F v"),
	{"__vfscanf", 'i', "S F v"},
	DIALECTS("fscanf", 'i', "S F L"),
	DIALECTS("vscanf", 'i', "F v"),
	DIALECTS("scanf", 'i', "F L"),
	DIALECTS("vfwscanf", 'i', "S w v"),
	DIALECTS("fwscanf", 'i', "S w L"),
	DIALECTS("vwscanf", 'i', "w v"),
	DIALECTS("wscanf", 'i', "w L"),
	LOCKED("fgetwc", 'i', "S"),
	LOCKED("getwc", 'i', "S"),
	LOCKED("getwchar", 'i', ""),
	LOCKED("fputwc", 'i', "65 S"),
	LOCKED("putwc", 'i', "65 S"),
	LOCKED("putwchar", 'i', "65"),
	{"ungetwc", 'i', "65 S"},
	LOCKED("fgetws", 'p', "B 16 S"),
	{"__fgetws_chk", 'p', "B 1024 16 S"},
	{"__fgetws_unlocked_chk", 'p', "B 1024 16 S"},
	LOCKED("fputws", 'i', "W S"),
	/* process */
	{"_exit", 'v', "3"},
	{"_Exit", 'v', "3"},
	{"quick_exit", 'v', "3"},
	{"execve", 'i', "X A G"},
	{"execve", 'i', "E A G"},
	{"execv", 'i', "X A"},
	{"execvp", 'i', "Q A"},
	{"execvpe", 'i', "Q A G"},
	{"fexecve", 'i', "d A G"},
	{"execveat", 'i', "-100 X A G 0"},
	{"execveat", 'i', "d c A G 0x1000"},
	{"execl", 'i', "X X 0"},
	{"execlp", 'i', "Q Q 0"},
	{"execle", 'i', "X X 0 G"},
	{"posix_spawn", 'i', "U X 0 0 A G"},
	{"posix_spawnp", 'i', "U Q 0 0 A G"},
	{"vfork", '-', ""},
	{"__vfork", '-', ""},
	{"_Fork", '-', ""},
	{"system", 'i', "0"},
	{"__cxa_at_quick_exit", '-', ""},
	{"clone", 'n', "k K 17 0"},
	{"wait", 'n', "L"},
	{"waitpid", 'n', "-1 L 0"},
	{"wait3", 'n', "L 0 U"},
	{"wait4", 'n', "-1 L 0 U"},
	{"waitid", 'i', "0 0 U 4"},
	{"prctl", 'i', "15 P"},
	{"prctl", 'i', "22 2 L"},
	{"chroot", 'i', "D"},
	{"unshare", 'i', "512"},
	{"setns", 'i', "d 0"},
	{"mount", 'i', "P D c 4096 c"},
	{"umount", 'i', "D"},
	{"umount2", 'i', "D 0"},
	{"setuid", 'i', "0"},
	{"seteuid", 'i', "0"},
	{"setreuid", 'i', "0 0"},
	{"setresuid", 'i', "0 0 0"},
	{"setfsuid", 'i', "0"},
	{"setfsgid", 'i', "0"},
	{"setrlimit", 'i', "13 U"},
	{"setrlimit64", 'i', "13 U"},
	{"prlimit", 'i', "0 13 U L"},
	{"prlimit64", 'i', "0 13 U L"},
	{"chdir", 'i', "D"},
	{"fchdir", 'i', "d"},
	WIDTHS("nftw", '-', ""),
	{"fts_open", '-', ""},
	{"fts64_open", '-', ""},
	{"fts_read", '-', ""},
	{"fts64_read", '-', ""},
	{"fts_children", '-', ""},
	{"fts64_children", '-', ""},
	{"fts_close", '-', ""},
	{"fts64_close", '-', ""},
	{"syscall", 'l', "0 d B 64"},
	{"syscall", 'l', "20 d V 2"},
	{"syscall", 'l', "257 -100 P 0 0"},
	{"syscall", 'l', "326 d O q O 64 0"},
	{"io_submit", 'i', "0 1 l"},
	{"io_uring_queue_init", 'i', "0 U 0"},
	{"io_uring_queue_init_params", 'i', "0 U L"},
	{"longjmp", 'v', "U 1"},
	{"_longjmp", 'v', "U 1"},
	{"siglongjmp", 'v', "U 1"},
	{"__longjmp_chk", 'v', "U 1"},
	{"setcontext", 'i', "U"},
	{"swapcontext", 'i', "U U"},
	/* sockets, mappings; libaio and liburing are called where libc has them: nowhere */
	{"munmap", 'i', "I 4096"},
	{"mremap", 'p', "I 4096 4096 0"},
	{"madvise", 'i', "L 4096 4"},
	{"send", 'l', "y c 5 0"},
	{"__send", 'l', "y c 5 0"},
	{"sendto", 'l', "y c 5 0 0 0"},
	{"sendto", 'l', "y c 5 0 L 16"},
	{"sendmsg", 'l', "y m 0"},
	{"sendmmsg", 'i', "y j 1 0"},
	{"recv", 'l', "x B 64 0x40"},
	{"__recv_chk", 'l', "x B 64 4096 0x40"},
	{"recvfrom", 'l', "x B 64 0x40 L z"},
	{"__recvfrom_chk", 'l', "x B 64 4096 0x40 L z"},
	{"recvmsg", 'l', "x m 0x40"},
	{"recvmmsg", 'i', "x j 1 0x40 0"},
	{"connect", 'i', "x L 16"},
	{"__connect", 'i', "x L 16"},
	{"io_cancel", 'i', "0 l L"},
	{"io_destroy", 'i', "0"},
	{"io_getevents", 'i', "0 1 1 L 0"},
	{"io_pgetevents", 'i', "0 1 1 L 0 0"},
	{"io_uring_queue_init_mem", 'i', "0 U L L 64"},
	{"io_uring_submit", 'i', "U"},
	{"io_uring_submit_and_wait", 'i', "U 0"},
	{"io_uring_submit_and_wait_timeout", 'i', "U L 0 0 0"},
	{"io_uring_submit_and_wait_min_timeout", 'i', "U L 0 0 0 0"},
	{"io_uring_submit_and_wait_reg", 'i', "U L 0 0"},
	{"io_uring_submit_and_get_events", 'i', "U"},
	{"io_uring_get_events", 'i', "U"},
	{"io_uring_wait_cqes", 'i', "U L 0 0 0"},
	{"io_uring_wait_cqe_timeout", 'i', "U L 0"},
	{"__io_uring_get_cqe", 'i', "U L 0 0 0"},
	{"io_uring_peek_batch_cqe", 'i', "U L 1"},
	{"io_uring_register_files", 'i', "U L 1"},
	{"io_uring_register_files_tags", 'i', "U L L 1"},
	{"io_uring_register_files_update", 'i', "U 0 L 1"},
	{"io_uring_register_files_update_tag", 'i', "U 0 L L 1"},
	{"io_uring_unregister_files", 'i', "U"},
	{"io_uring_queue_exit", 'v', "U"},
	{"__asan_default_options", '-', ""},
	{NULL, 0, NULL}};

/* ---- arguments that are more than text ---- */

static int data, other, pipe_ends[2], sockets[2];

/* In the child, before the call. A child of its own to wait for. */
static void prepare(void)
{
	data = open("data", O_RDWR);
	other = open("other", O_RDWR);
	if (pipe(pipe_ends) || write(pipe_ends[1], "in a pipe", 9) != 9)
		_exit(9);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) || send(sockets[1], "in a socket", 11, 0) != 11)
		_exit(9);
	dup2(data, STDIN_FILENO);
	dup2(other, STDOUT_FILENO);
	freopen("/dev/null", "w", stderr);
	if (fork() == 0)
		_exit(7);
	lseek(data, 0, SEEK_SET);
}

static int run(void *nothing)
{
	(void)nothing;
	syscall(SYS_exit_group, 5);
	return 0;
}

#define AS(type, ...) memcpy(at, &(type)__VA_ARGS__, sizeof(type))

static void *good_list(char kind, char *at)
{
	void *area[] = {at + 256, at + 256};
	switch (kind) {
	case 'm':
	case 'j':
		AS(struct mmsghdr, {.msg_hdr = {.msg_iov = (struct iovec *)(at + 256), .msg_iovlen = 1}});
		memcpy(at + 256, &(struct iovec){at + 512, 24}, sizeof(struct iovec));
		return at;
	case 'V':
		memcpy(at, (struct iovec[]){{at + 512, 24}, {at + 1024, 40}}, 2 * sizeof(struct iovec));
		return at;
	case 'A':
		memcpy(at, (char *[]){"true", NULL}, 2 * sizeof(char *));
		return at;
	case 'G':
		memcpy(at, (char *[]){"A=b", "C=d", NULL}, 3 * sizeof(char *));
		return at;
	case 'l':
		memcpy(at, (void *[]){at + 512}, sizeof(void *));
		at += 512; /* fall through */
	case 'a':
		AS(struct aiocb, {.aio_fildes = data, .aio_buf = at + 1024, .aio_nbytes = 32});
		break;
	case 'v': /* as System V lays it out on x86-64 */
		memcpy(at + 64, area, sizeof area);
		memcpy(at, (unsigned[]){48, 304}, 8);
		memcpy(at + 8, (void *[]){at + 64, at + 64}, 16);
		return at;
	}
	return kind == 'l' ? at - 512 : at;
}

static long good_object(char kind, char *at)
{
	switch (kind) {
	case 'd':
		return data;
	case 'q':
		return other;
	case 's':
		return pipe_ends[0];
	case 't':
		return pipe_ends[1];
	case 'x':
		return sockets[0];
	case 'y':
		return sockets[1];
	case 'S':
		return (long)fopen("data", "r+");
	case 'R':
		return (long)opendir("dir");
	case 'k':
		return (long)run;
	case 'K':
		return (long)(at + 4096 - 64);
	case 'O':
		return (long)AS(long, {8});
	case 'W':
		return (long)wcscpy((wchar_t *)at, L"wide\n");
	case 'w':
		return (long)wcscpy((wchar_t *)at, L"%d\n");
	case 'B':
		return (long)strcpy(at, "what is written");
	case 'g':
	case 'z':
		return (long)memset(at, 0, 64);
	case 'L':
	case 'U':
	case 'I':
		return (long)memset(at, 0, 512);
	}
	return (long)good_list(kind, at);
}
