/*
 * What stdio promises at its edges: every call's result, errno, the stream's state and position, one line each. Where the
 * standard leaves something open the line says what this libc does; it must do the same under observation.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static int line;

static void say(const char *what, long long result)
{
	int error = errno;
	dprintf(1, "%4d %-60.60s %lld errno %d\n", ++line, what, result, error);
	errno = 0;
}

#define SAY(call)  (errno = 0, say(#call, (long long)(call)))
#define TEXT(text) dprintf(1, "     \"%s\"\n", (text) ? (text) : "(null)")

static void state(FILE *f)
{
	errno = 0;
	long at = ftell(f);
	dprintf(1,
		"     at %ld errno %d eof %d error %d wide %d pending %zu reading %d writing %d buffer %zu line %d\n",
		at, errno, !!feof(f), !!ferror(f), fwide(f, 0), __fpending(f), !!__freading(f), !!__fwriting(f),
		__fbufsize(f), !!__flbf(f));
}

static void content(const char *name)
{
	char buf[200];
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof buf);
	dprintf(1, "     %s holds %zd:", name, n);
	for (ssize_t i = 0; i < n; i++)
		dprintf(1, buf[i] >= ' ' && buf[i] < 127 ? "%c" : "\\%03o", (unsigned char)buf[i]);
	dprintf(1, "\n");
	close(fd);
}

static void make(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(fd, text, strlen(text)) < 0)
		exit(9);
	close(fd);
}

/* ---- pushing back ---- */

static void pushed_back(void)
{
	char buf[32] = "";
	make("a", "0123456789\nsecond\n");
	FILE *f = fopen("a", "r+");
	SAY(ungetc('x', f));
	state(f);
	SAY(fgetc(f));
	SAY(fgetc(f));
	for (int i = 0; i < 6; i++)
		SAY(ungetc('a' + i, f));
	state(f);
	SAY(fread(buf, 1, 4, f));
	TEXT(buf);
	SAY(ungetc(EOF, f));
	SAY(fseek(f, 2, SEEK_SET));
	SAY(ungetc('Z', f));
	SAY(fseek(f, 0, SEEK_CUR));
	SAY(fgetc(f));
	SAY(ungetc('\377', f));
	SAY(fgetc(f));
	while (fgetc(f) != EOF)
		;
	state(f);
	SAY(ungetc('e', f));
	state(f);
	SAY(fgetc(f));
	SAY(fgetc(f));
	SAY(fputc('W', f));
	state(f);
	SAY(fclose(f));
	content("a");
}

/* ---- reading and writing by turns, appending ---- */

static void by_turns(void)
{
	char buf[32] = "";
	make("b", "0123456789");
	FILE *f = fopen("b", "r+");
	SAY(fread(buf, 1, 3, f));
	SAY(fseek(f, 0, SEEK_CUR));
	SAY(fwrite("ABC", 1, 3, f));
	SAY(fflush(f));
	SAY(fgetc(f));
	SAY(fputs("without a seek", f));
	state(f);
	SAY(fclose(f));
	content("b");
	f = fopen("b", "a+");
	state(f);
	SAY(fgetc(f));
	SAY(fputs("end", f));
	state(f);
	SAY(fseek(f, 1, SEEK_SET));
	SAY(fputc('!', f));
	SAY(fflush(f));
	state(f);
	rewind(f);
	SAY(fread(buf, 1, 31, f));
	TEXT(buf);
	SAY(ftruncate(fileno(f), 4));
	SAY(fputs("tail", f));
	SAY(fclose(f));
	content("b");
	f = fopen("b", "r");
	SAY(fputc('x', f));
	state(f);
	SAY(fwrite("x", 1, 1, f));
	clearerr(f);
	SAY(fgetc(f));
	SAY(fclose(f));
	f = fopen("b", "w");
	SAY(fgetc(f));
	SAY(fread(buf, 1, 1, f));
	state(f);
	SAY(fclose(f));
}

/* ---- buffers ---- */

static void buffers(void)
{
	static char own[16];
	char buf[8] = "";
	FILE *f = fopen("c", "w+");
	SAY(setvbuf(f, own, _IOFBF, sizeof own));
	SAY(fputs("0123456789", f));
	state(f);
	content("c");
	SAY(fputs("abcdefghij", f));
	content("c");
	SAY(setvbuf(f, NULL, _IOLBF, 0));
	SAY(fputs("x\ny", f));
	content("c");
	SAY(setvbuf(f, NULL, _IONBF, 0));
	SAY(fputs("z", f));
	content("c");
	SAY(setvbuf(f, NULL, 77, 0));
	setbuf(f, NULL);
	setlinebuf(f);
	SAY(fputs("12", f));
	__fpurge(f);
	SAY(fclose(f));
	content("c");
	f = fopen("c", "r");
	setvbuf(f, NULL, _IONBF, 0);
	SAY(fgetc(f));
	SAY(lseek(fileno(f), 0, SEEK_CUR));
	SAY(fread(buf, 3, 2, f));
	SAY(lseek(fileno(f), 0, SEEK_CUR));
	SAY(fclose(f));
}

/* ---- formats ---- */

static int print_list(FILE *f, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int n = vfprintf(f, format, list);
	va_end(list);
	return n;
}

static void formats(void)
{
	int n = -1, m = -1, a = 0, b = 0;
	char word[16] = "", set[16] = "", *made = NULL;
	const char *volatile counting = "12345%n678%n";
	FILE *f = fopen("d", "w+");
	SAY(fprintf(f, counting, &n, &m));
	dprintf(1, "     %%n %d %d\n", n, m);
	SAY(print_list(f, "%5d|%-5d|%05.1f|%s|%.2s|%c|%%|%x|%lld|%zu|%Lf\n", 42, 42, 3.14159, "text", "text", 'c', 255u,
		       1LL << 40, (size_t)7, 1.5L));
	SAY(fprintf(f, "%2$s %1$s\n", "world", "hello"));
	SAY(fprintf(f, "%ls\n", L"wide"));
	SAY(fprintf(f, "%ls\n", L"\x20ac"));
	state(f);
	clearerr(f);
	SAY(fprintf(f, "%*d %.*f\n", 8, 1, 3, 2.0));
	SAY(fprintf(f, "%s", ""));
	SAY(fprintf(f, "%100000d", 1) == 100000);
	rewind(f);
	SAY(fscanf(f, "%d|", &a));
	SAY(fscanf(f, "%15[0-9 ]|%n", set, &n));
	TEXT(set);
	SAY(fscanf(f, "%d%d", &a, &b));
	SAY(fscanf(f, "%*[^\n]%c", word));
	SAY(fscanf(f, "%15s %ms", word, &made));
	TEXT(word);
	TEXT(made);
	free(made);
	SAY(fscanf(f, "nothing like this"));
	SAY(fscanf(f, ""));
	state(f);
	SAY(fclose(f));
	f = fopen("d", "w");
	fclose(f);
	f = fopen("d", "r");
	SAY(fscanf(f, "%d", &a));
	state(f);
	SAY(fprintf(f, "refused"));
	SAY(fclose(f));
}

/* ---- lines ---- */

static void lines(void)
{
	char buf[8], *text = NULL;
	size_t room = 0;
	int fd = open("e", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(fd, "short\na line that is longer\n\nnul\0inside\nno end", 45) != 45)
		exit(9);
	close(fd);
	FILE *f = fopen("e", "r");
	for (int i = 0; i < 4; i++) {
		char *got = fgets(buf, sizeof buf, f);
		say("fgets", got != NULL);
		TEXT(got);
	}
	SAY(fgets(buf, 1, f) != NULL);
	SAY(getline(&text, &room, f));
	SAY(getline(&text, &room, f));
	SAY(getdelim(&text, &room, 'n', f));
	SAY(getdelim(&text, &room, '\0', f));
	SAY(getline(&text, &room, f));
	SAY(getline(&text, &room, f));
	state(f);
	SAY(getline(&text, &room, f));
	SAY(getline(NULL, &room, f));
	SAY(fgets(buf, sizeof buf, f) != NULL);
	free(text);
	SAY(fclose(f));
}

/* ---- places ---- */

static void places(void)
{
	fpos_t mark;
	make("g", "0123456789");
	FILE *f = fopen("g", "r+");
	SAY(fseek(f, -1, SEEK_SET));
	SAY(fseek(f, -3, SEEK_END));
	SAY(fgetc(f));
	SAY(fgetpos(f, &mark));
	SAY(fseek(f, 5, SEEK_END));
	SAY(ftell(f));
	SAY(fgetc(f));
	SAY(fsetpos(f, &mark));
	SAY(fgetc(f));
	SAY(fseek(f, 0, 77));
	SAY(fseeko(f, (off_t)5 << 30, SEEK_SET));
	SAY(fputc('L', f));
	SAY(ftello(f));
	SAY(fflush(f));
	SAY(fseeko(f, -1, SEEK_CUR));
	SAY(fgetc(f));
	state(f);
	SAY(ftruncate(fileno(f), 3));
	rewind(f);
	SAY(fgetc(f));
	SAY(lseek(fileno(f), 2, SEEK_SET));
	SAY(fgetc(f));
	SAY(fflush(f));
	SAY(lseek(fileno(f), 0, SEEK_CUR));
	SAY(fclose(f));
	content("g");
}

/* ---- streams of other kinds ---- */

static ssize_t give(void *cookie, char *to, size_t n)
{
	int *left = cookie;
	if (*left <= 0) {
		errno = EREMOTEIO;
		return *left;
	}
	n = n < (size_t)*left ? n : (size_t)*left;
	memset(to, 'k', n);
	*left -= (int)n;
	return (ssize_t)n;
}

static ssize_t take(void *cookie, const char *from, size_t n)
{
	(void)from;
	*(int *)cookie += (int)n;
	return n > 5 ? 5 : (ssize_t)n;
}

static void other_kinds(void)
{
	char room[16] = "given", buf[32] = "", *grown = NULL;
	size_t size = 0;
	int left = 10;
	FILE *f = fmemopen(room, sizeof room, "r+");
	SAY(fgetc(f));
	SAY(fputs("ABCDEFGHIJKLMNOPQRSTUVWXYZ", f));
	SAY(fflush(f));
	state(f);
	SAY(fclose(f));
	SAY(fmemopen(NULL, 0, "q") != NULL);
	f = open_memstream(&grown, &size);
	SAY(fprintf(f, "grown %d", 5));
	SAY(fflush(f));
	TEXT(grown);
	SAY(fseek(f, 2, SEEK_SET));
	SAY(fputs("XX", f));
	SAY(fclose(f));
	TEXT(grown);
	say("size", (long long)size);
	free(grown);
	f = fopencookie(&left, "r", (cookie_io_functions_t){.read = give});
	SAY(fread(buf, 1, 7, f));
	SAY(fread(buf, 1, 7, f));
	state(f);
	left = -1;
	clearerr(f);
	SAY(fgetc(f));
	SAY(fileno(f));
	SAY(fseek(f, 0, SEEK_SET));
	SAY(fclose(f));
	left = 0;
	f = fopencookie(&left, "w", (cookie_io_functions_t){.write = take});
	SAY(fputs("more than five", f));
	SAY(fflush(f));
	say("taken", left);
	SAY(fclose(f));
	f = tmpfile();
	SAY(fputs("temporary", f));
	rewind(f);
	SAY(fread(buf, 1, 9, f));
	SAY(fclose(f));
}

static void processes(void)
{
	char buf[64] = "";
	FILE *f = popen("echo out; exit 3", "r");
	SAY(fgets(buf, sizeof buf, f) != NULL);
	TEXT(buf);
	SAY(fgetc(f));
	SAY(fseek(f, 0, SEEK_SET));
	state(f);
	SAY(WEXITSTATUS(pclose(f)));
	f = popen("cat >h; kill -9 $$", "we");
	SAY(fputs("to the child", f));
	SAY(fcntl(fileno(f), F_GETFD));
	SAY(WTERMSIG(pclose(f)));
	content("h");
	SAY(popen("true", "rw") != NULL);
	SAY(WEXITSTATUS(system("exit 5")));
	f = popen("true", "w");
	SAY(fclose(f));
}

/* ---- the same stream again, descriptors ---- */

static void again(void)
{
	make("i", "first");
	make("j", "other");
	FILE *f = fopen("i", "r");
	SAY(fgetc(f));
	int fd = fileno(f);
	FILE *g = freopen("j", "r", f);
	say("same stream, same number", g == f && fileno(g) == fd);
	SAY(fgetc(g));
	g = freopen(NULL, "r+", g);
	say("freopen(NULL)", g != NULL);
	if (g) {
		SAY(fputc('P', g));
		SAY(fclose(g));
	}
	content("j");
	f = fopen("i", "r");
	SAY(freopen("no/such/file", "r", f) == NULL);
	SAY(fopen("no/such/file", "r") == NULL);
	SAY(fopen("i", "nonsense") == NULL);
	SAY(fopen("i", "wx") == NULL);
	SAY(fopen(".", "w") == NULL);
	f = fopen(".", "r");
	if (f) {
		SAY(fgetc(f));
		state(f);
		SAY(fclose(f));
	}
	SAY(fdopen(-1, "r") == NULL);
	SAY(fdopen(999, "r") == NULL);
	fd = open("i", O_RDONLY);
	SAY(fdopen(fd, "w") == NULL);
	f = fdopen(fd, "r");
	SAY(lseek(fd, 3, SEEK_SET));
	SAY(fgetc(f));
	SAY(close(fd));
	SAY(fgetc(f));
	SAY(fgetc(f));
	SAY(fgetc(f));
	state(f);
	SAY(fclose(f));
	f = fopen("i", "w");
	SAY(fputs("lost", f));
	close(fileno(f));
	SAY(fflush(f));
	state(f);
	SAY(fclose(f));
	fd = dup(1);
	f = fopen("/dev/full", "w");
	SAY(fputs("no room", f));
	SAY(fflush(f));
	SAY(ferror(f));
	SAY(fputs("no room", f));
	SAY(fclose(f));
	close(fd);
	SAY(fcloseall());
}

static void wide(void)
{
	wchar_t buf[16] = L"";
	setlocale(LC_ALL, "C.UTF-8");
	FILE *f = fopen("k", "w+");
	SAY(fwide(f, 1));
	SAY(fputwc(L'\x20ac', f));
	SAY(fputws(L"\xe4\xf6\xfc\n", f));
	SAY(fwprintf(f, L"%ls %d\n", L"text", 7));
	SAY(fputc('n', f));
	SAY(fprintf(f, "narrow"));
	state(f);
	rewind(f);
	SAY(fgetwc(f));
	SAY(ungetwc(L'\x1d11e', f));
	SAY(fgetwc(f));
	SAY(fgetws(buf, 16, f) != NULL);
	SAY(fwscanf(f, L"%ls", buf));
	SAY(fgetc(f));
	state(f);
	SAY(fclose(f));
	content("k");
	make("k", "\303");
	f = fopen("k", "r,ccs=UTF-8");
	SAY(f != NULL);
	SAY(fgetwc(f));
	state(f);
	SAY(fclose(f));
}

static void *lock_it(void *stream)
{
	SAY(ftrylockfile(stream));
	return NULL;
}

static void locks_and_limits(void)
{
	pthread_t thread;
	char buf[8];
	FILE *f = fopen("l", "w+");
	flockfile(f);
	flockfile(f);
	pthread_create(&thread, NULL, lock_it, f);
	pthread_join(thread, NULL);
	funlockfile(f);
	funlockfile(f);
	SAY(putc_unlocked('u', f));
	SAY(fputs_unlocked("nlocked", f));
	SAY(fwrite_unlocked("!", 1, 1, f));
	SAY(fflush_unlocked(f));
	rewind(f);
	SAY(getc_unlocked(f));
	SAY(fread_unlocked(buf, 1, 3, f));
	SAY(putw(77, f));
	rewind(f);
	SAY(getw(f));
	SAY(fread(buf, 0, 5, f));
	SAY(fwrite(buf, 5, 0, f));
	SAY(fread(buf, 1, (size_t)-1 / 2 > 3 ? 3 : 0, f));
	SAY(__fsetlocking(f, FSETLOCKING_QUERY));
	SAY(fclose(f));
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){6, 6});
	FILE *many[8];
	for (int i = 0; i < 8; i++) {
		errno = 0;
		many[i] = fopen("l", "r");
		say("fopen with few numbers", many[i] ? fileno(many[i]) : -1);
	}
	SAY(popen("true", "r") == NULL);
	SAY(tmpfile() == NULL);
	for (int i = 0; i < 8; i++)
		if (many[i])
			fclose(many[i]);
}

/* What is in a buffer at a fork is written by both, and by exit, not by _exit. */
static void forks(void)
{
	FILE *f = fopen("m", "w");
	SAY(fputs("before ", f));
	if (fork() == 0) {
		fputs("child ", f);
		exit(0);
	}
	wait(NULL);
	if (fork() == 0) {
		fputs("never ", f);
		_exit(0);
	}
	wait(NULL);
	SAY(fputs("parent", f));
	SAY(fclose(f));
	content("m");
}

int main(void)
{
	pushed_back();
	by_turns();
	buffers();
	formats();
	lines();
	places();
	other_kinds();
	processes();
	wide();
	forks();
	locks_and_limits();
	again();
	return 7;
}
