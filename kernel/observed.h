/*
 * What the kernel's side and the companion share: the maps' keys and values, and the events that go through the ring.
 * Included by a BPF program, so: no library's headers. Times are ns of CLOCK_MONOTONIC.
 *
 * A program image is what an exec or a fork has made; each has a number of its own, which is never given twice.
 */
#ifndef IOLENS_KERNEL_OBSERVED_H
#define IOLENS_KERNEL_OBSERVED_H

#include <linux/bpf.h>
#include <linux/types.h>

enum {
	OBSERVED_FILES = 65536,        /* records at a time, of all processes */
	OBSERVED_IMAGE_FILES = 16384,  /* of one image, or more by IOLENS_BUDGET: further files share records */
	OBSERVED_FILE_COST = 720,      /* bytes of that budget */
	OBSERVED_SHARED_FILES = 16384, /* such records: one for each file system of each image */
	OBSERVED_IMAGES = 16384,       /* at a time */
	OBSERVED_OPENS = 65536,        /* open file descriptions */
	OBSERVED_RING = 8 << 20,       /* bytes */
	OBSERVED_FILLED = 1 << 20,     /* of them, at which the companion is woken before its time */
	OBSERVED_CALLS = 512,          /* numbers of system calls are below */
	OBSERVED_ENVIRONMENT = 8192,   /* bytes at a time */
	OBSERVED_DISTINCT = 32,
	OBSERVED_SIZES = 10,
	OBSERVED_PATH = 4096,
	OBSERVED_DEPTH = 40, /* directories of a path that the kernel is asked for */
	OBSERVED_ARGS = 3072,
	OBSERVED_DIRECTORIES = 2
};

enum observed_kind { OBSERVED_READ, OBSERVED_WRITE, OBSERVED_META, OBSERVED_KINDS };

struct observed_key {
	__u64 image;
	__u64 name; /* hash of the path as the program gave it, and of the directory that it begins at: odd */
};

/* The name of the record that an image's further files of a file system share: even. */
#define OBSERVED_SHARED(device)  ((__u64)(device) << 2 | 2)
#define OBSERVED_IS_SHARED(name) (!((name)&1))

struct observed_frequent {
	__u32 used;
	__u32 latest; /* where the last value was: the next one is mostly the same */
	__s64 value[OBSERVED_DISTINCT];
	__s64 count[OBSERVED_DISTINCT];
};

/* Of one file in one image: the counters of a POSIX record, by kind where there are two. */
struct observed_file {
	struct bpf_spin_lock lock;
	__u32 unused;
	__u32 executable; /* mapped as a program or a library */
	__s32 last_kind;  /* of the last access + 1; 0 = none yet */
	__s64 opens, dups, seeks, stats, mmaps, fsyncs, fdsyncs, rename_sources, rename_targets;
	__u64 renamed_from; /* observed_key.name; 0 = never */
	__s64 mode;
	__s64 calls[2], bytes[2], max_byte[2], consecutive[2], sequential[2];
	__s64 switches, unaligned_memory, unaligned_file, alignment;
	__s64 size[2][OBSERVED_SIZES];
	struct observed_frequent access, stride;
	__u64 open_first, open_last, close_first, close_last;
	__u64 first[2], last[2];
	__u64 time[OBSERVED_KINDS], ended[OBSERVED_KINDS];
	__u64 longest[2];
	__s64 longest_bytes[2];
};

/* Operations that are counted by name, as the module posix names them. */
#define OBSERVED_OPERATIONS(X) \
	X(OPEN)                \
	X(CLOSE)               \
	X(STAT)                \
	X(SEEK)                \
	X(DUP)                 \
	X(SYNC)                \
	X(FSYNC)               \
	X(UNLINK)              \
	X(RENAME)              \
	X(LINK)                \
	X(SYMLINK)             \
	X(READLINK)            \
	X(MKDIR)               \
	X(RMDIR)               \
	X(OPENDIR)             \
	X(ACCESS)              \
	X(CHMOD)               \
	X(CHOWN)               \
	X(UTIME)               \
	X(TRUNCATE)            \
	X(FALLOCATE)           \
	X(LOCK)                \
	X(SENDFILE)            \
	X(COPY_FILE_RANGE)     \
	X(READAHEAD)           \
	X(MMAP)                \
	X(MSYNC)

#define OBSERVED_OPERATION(name) OBSERVED_##name,
enum observed_operation_id { OBSERVED_OPERATIONS(OBSERVED_OPERATION) OBSERVED_OPERATION_COUNT };

struct observed_operation {
	__s64 count, errors, bytes;
	__u64 time;
};

/* What is no regular file is counted by its kind. */
enum observed_class {
	OBSERVED_NO_CLASS,
	OBSERVED_PIPE,
	OBSERVED_SOCKET,
	OBSERVED_TERMINAL,
	OBSERVED_DEVICE,
	OBSERVED_SPECIAL,
	OBSERVED_CLASSES
};

/* Of one image, beside its files. */
struct observed_image {
	__u64 files;  /* records of their own */
	__u64 ignore; /* set by the companion: nothing more is to be counted */
	struct observed_operation operation[OBSERVED_OPERATION_COUNT];
	struct {
		__s64 opens, calls[2], bytes[2];
	} class[OBSERVED_CLASSES];
};

/* For all images together. */
struct observed_sums {
	__u64 images; /* numbers that were given */
	__u64 files;  /* files for which there was no record at all */
	__u64 events; /* that the ring had no room for */
};

/* ---- events ---- */

enum observed_event {
	OBSERVED_EVENT_NAME,
	OBSERVED_EVENT_EXEC,
	OBSERVED_EVENT_FORK,
	OBSERVED_EVENT_EXIT,
	OBSERVED_EVENT_PRELOADED,
	OBSERVED_EVENT_SHARED, /* a file has been opened that has no record of its own: `name` is the shared one's */
	OBSERVED_EVENT_ENVIRONMENT, /* a piece of it (`path` bytes), of the exec that follows; of a node alone */
	OBSERVED_EVENT_RUNNING      /* like an exec, of what ran before the companion did: /proc knows its command */
};

/*
 * Behind the head: `path` bytes as the program gave them, without NUL, then `base` bytes of names of directories, each with
 * a NUL, the innermost first. Of an exec: the program's file as such names (`path`), the working directory (`base`), and
 * the arguments, each with a NUL (`args`).
 */
struct observed_head {
	__u32 event;
	__u32 path, base, args;
	__u64 image;
	__u64 name;   /* observed_key.name */
	__u64 parent; /* the image that was before */
	__u64 when;
	__s32 pid, parent_pid;
	__s32 group; /* of processes */
	__u32 user;
	__s32 status; /* as of wait */
	__u32 unused;
};

/* What the companion tells its BPF programs before they are loaded. */
struct observed_settings {
	__s32 root;        /* what this process starts is observed; 0: static programs of the whole node, */
	__u32 least_user;  /* of users from this one on */
	__u64 image_files; /* OBSERVED_IMAGE_FILES, or less */
	struct {
		__u64 device, inode;
	} directory[OBSERVED_DIRECTORIES]; /* who makes a file here is preloaded, and has a store of its own */
};

#endif
