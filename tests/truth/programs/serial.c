/* One cause, or the same work without it: serial FOLDER WHAT ARGUMENT... The computation is a sleep.
 * Numbers may end in K and M. FOLDER/data0 has 64 MiB. */
#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cause.h"

static void fail(void)
{
	exit(3);
}

static void read_whole(int file, size_t size)
{
	ssize_t got;
	while ((got = read(file, block, size)) > 0)
		;
	must(got == 0);
}

/* write SIZE TOTAL SYNC: fsync after each so many writes, 0: never */
static void write_by(void)
{
	size_t size = number(0), total = number(1), sync = number(2), n = 0;
	int file = opened("out", 0, O_WRONLY | O_CREAT);
	for (size_t at = 0; at < total; at += size) {
		must(write(file, block, size) == (ssize_t)size);
		if (sync && ++n % sync == 0)
			must(!fsync(file));
	}
	close(file);
}

/* read SIZE PASSES: all of data0, the passes one after another; read SIZE PASSES sought: with a seek before each */
static void read_by(void)
{
	size_t size = number(0);
	int file = opened("data", 0, O_RDONLY);
	for (size_t pass = 0; pass < number(1); pass++) {
		for (size_t at = 0; at < TOTAL; at += size) {
			if (is(2, "sought") || !at)
				must(lseek(file, (off_t)at, SEEK_SET) == (off_t)at);
			must(read(file, block, size) > 0);
		}
	}
	close(file);
}

/* read_at SIZE FACTOR, write_at SIZE FACTOR: every block of data0 once, in random order; FACTOR is 1 (in order) or 4n+1 */
static void jump(int writes)
{
	size_t size = number(0), factor = number(1), count = TOTAL / size, next = 0;
	int file = opened("data", 0, O_RDWR);
	for (size_t i = 0; i < count; i++) {
		off_t at = (off_t)(next * size);
		must((writes ? pwrite(file, block, size, at) : pread(file, block, size, at)) == (ssize_t)size);
		next = (factor * next + (factor > 1 ? 12345 : 1)) % count;
	}
	close(file);
}

/* backwards SIZE: all of data0, from its end; columns SIZE: as a matrix of four rows, a column after the other */
static void against(int reversed)
{
	size_t size = number(0), rows = 4, row = TOTAL / rows;
	int file = opened("data", 0, O_RDONLY);
	for (size_t i = 0; i < TOTAL / size; i++) {
		size_t at = reversed ? TOTAL - size * (i + 1) : i % rows * row + i / rows * size;
		must(pread(file, block, size, (off_t)at) == (ssize_t)size);
	}
	close(file);
}

/* read_strided SIZE STEP, write_strided SIZE STEP: of each STEP bytes of data0 the first SIZE */
static void stride(int writes)
{
	size_t size = number(0);
	int file = opened("data", 0, O_RDWR);
	for (off_t at = 0; at < TOTAL; at += (off_t)number(1))
		must((writes ? pwrite(file, block, size, at) : pread(file, block, size, at)) == (ssize_t)size);
	close(file);
}

/* files COUNT SIZE */
static void write_files(void)
{
	for (size_t i = 0; i < number(0); i++) {
		int file = opened("result", i, O_WRONLY | O_CREAT);
		must(write(file, block, number(1)) == (ssize_t)number(1));
		close(file);
	}
}

/* load COUNT TIMES: reads the files that `files` has made, or opens each TIMES times and reads 100 bytes; 0: opens only */
static void read_files(void)
{
	for (size_t i = 0; i < number(0); i++)
		for (size_t time = 0; time < (number(1) ? number(1) : 1); time++) {
			int file = opened("result", i, O_RDONLY);
			if (number(1))
				must(read(file, block, number(1) > 1 ? 100 : MB) > 0);
			close(file);
		}
}

/* append COUNT reopened|kept|open: lines of 100 bytes at the end of a log, or 1,024 at a time */
static void append(void)
{
	int at_once = is(1, "open") ? 1024 : 1, file = opened("log", 0, O_WRONLY | O_CREAT | O_APPEND);
	for (size_t i = 0; i < number(0); i += at_once) {
		if (is(1, "reopened")) {
			close(file);
			file = opened("log", 0, O_WRONLY | O_CREAT | O_APPEND);
		}
		must(write(file, block, 100 * at_once) == 100 * at_once);
	}
	close(file);
}

/* stat TIMES: one file; stat_all COUNT: each that `files` has made; missing TIMES: opens of files that are not there */
static void ask(int missing, int all)
{
	struct stat there;
	for (size_t i = 0; i < number(0); i++)
		if (missing)
			must(open(named("missing", i), O_RDONLY) < 0);
		else
			must(!stat(named(all ? "result" : "data", all ? i : 0), &there));
}

/* list: the names and kinds of all files */
static void list(void)
{
	DIR *directory = opendir(folder);
	must(directory != NULL);
	while (readdir(directory))
		;
	closedir(directory);
}

/* lines COUNT SIZE BUFFER FLUSH: to a stream, with fflush after each so many; print COUNT FLUSH: to standard output */
static void lines(int console)
{
	FILE *out = console ? stdout : fopen(named("lines", 0), "w");
	size_t size = console ? 64 : number(1), flush = number(console ? 1 : 3);
	must(out != NULL);
	if (!console && number(2))
		setvbuf(out, NULL, _IOFBF, number(2));
	for (size_t i = 1; i <= number(0); i++) {
		must(fwrite(block, size, 1, out) == 1);
		if (flush && i % flush == 0)
			fflush(out);
	}
	if (!console)
		fclose(out);
}

/* stream SIZE BUFFER PASSES: data0 through a stream */
static void stream(void)
{
	FILE *in = fopen(named("data", 0), "r");
	must(in != NULL);
	setvbuf(in, NULL, _IOFBF, number(1));
	for (size_t pass = 0; pass < number(2); pass++) {
		rewind(in);
		while (fread(block, 1, number(0), in) == number(0))
			;
	}
	fclose(in);
}

/* seek COUNT: before one read of all */
static void seek(void)
{
	int file = opened("data", 0, O_RDONLY);
	for (size_t i = 0; i < number(0); i++)
		must(lseek(file, (off_t)(i * MB % TOTAL), SEEK_SET) >= 0);
	must(!lseek(file, 0, SEEK_SET));
	read_whole(file, 4 * MB);
	close(file);
}

/* rewrite TIMES: 16 MiB, by 4 MiB */
static void rewrite(void)
{
	int file = opened("out", 0, O_WRONLY | O_CREAT);
	for (size_t i = 0; i < number(0); i++)
		for (off_t at = 0; at < 16 * MB; at += 4 * MB)
			must(pwrite(file, block, 4 * MB, at) == 4 * MB);
	close(file);
}

/* exchange file|memory: data0 is written, and read back unless it stays in memory */
static void exchange(void)
{
	int file = opened("data", 0, O_RDWR);
	for (int i = 0; i < TOTAL / (4 * MB); i++)
		must(write(file, block, 4 * MB) == 4 * MB);
	must(!lseek(file, 0, SEEK_SET));
	if (is(0, "file"))
		read_whole(file, 4 * MB);
	close(file);
}

/* directories COUNT: made and removed; replace COUNT: a state of 100 bytes, by a new file and a rename */
static void change(int replaces)
{
	char final[4096];
	for (size_t i = 0; i < number(0); i++) {
		if (!replaces) {
			must(!mkdir(named("directory", i), 0755) && !rmdir(path));
			continue;
		}
		snprintf(final, sizeof final, "%s", named("state", 0));
		int file = opened("state.new", 0, O_WRONLY | O_CREAT | O_TRUNC);
		must(write(file, block, 100) == 100);
		close(file);
		must(!rename(path, final));
	}
}

/* What a pipe brings, to a file: with fsync after each block, or 2 ms of computation before the next one is asked for. */
static void consume(int from)
{
	int file = opened("out", 0, O_WRONLY | O_CREAT);
	for (ssize_t got; (got = read(from, block, 4096)) > 0;) {
		must(write(file, block, (size_t)got) == got);
		if (is(1, "sync"))
			must(!fsync(file));
		else
			usleep(2000);
	}
	close(file);
}

/* pipe COUNT sync|compute: blocks of 4 KiB by standard output to another process, for which this one waits */
static void pass_on(void)
{
	int ends[2];
	must(!pipe(ends));
	pid_t consumer = fork();
	must(consumer >= 0);
	close(ends[consumer ? 0 : 1]);
	if (!consumer) {
		consume(ends[0]);
		exit(0);
	}
	must(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO && !close(ends[1]));
	for (size_t i = 0; i < number(0); i++)
		must(fwrite(block, 4096, 1, stdout) == 1);
	fclose(stdout);
	must(waitpid(consumer, NULL, 0) == consumer);
}

/* lock HOLD: another process holds a lock for HOLD of the 400 ms that it computes; this one needs it for a record */
static void lock(void)
{
	int file = opened("out", 0, O_WRONLY | O_CREAT), ends[2];
	useconds_t hold = (useconds_t)number(0) * 1000;
	must(!pipe(ends));
	pid_t holder = fork();
	must(holder >= 0);
	if (!holder) {
		file = opened("out", 0, O_WRONLY);
		must(!flock(file, LOCK_EX) && write(ends[1], block, 1) == 1);
		usleep(hold);
		must(!flock(file, LOCK_UN));
		usleep(400000 - hold);
		exit(0);
	}
	must(read(ends[0], block, 1) == 1 && !flock(file, LOCK_EX));
	must(write(file, block, 100) == 100 && !flock(file, LOCK_UN));
	must(waitpid(holder, NULL, 0) == holder);
}

#define CASE(name, action)         \
	if (!strcmp(what, name)) { \
		action;            \
		return 0;          \
	}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	folder = argv[1];
	arguments = argv + 3;
	const char *what = argv[2];
	usleep(100000);
	CASE("write", write_by())
	CASE("read", read_by())
	CASE("read_at", jump(0))
	CASE("write_at", jump(1))
	CASE("backwards", against(1))
	CASE("columns", against(0))
	CASE("read_strided", stride(0))
	CASE("write_strided", stride(1))
	CASE("files", write_files())
	CASE("load", read_files())
	CASE("append", append())
	CASE("stat", ask(0, 0))
	CASE("stat_all", ask(0, 1))
	CASE("missing", ask(1, 0))
	CASE("list", list())
	CASE("lines", lines(0))
	CASE("print", lines(1))
	CASE("stream", stream())
	CASE("seek", seek())
	CASE("rewrite", rewrite())
	CASE("exchange", exchange())
	CASE("directories", change(0))
	CASE("replace", change(1))
	CASE("pipe", pass_on())
	CASE("lock", lock())
	return 2;
}
