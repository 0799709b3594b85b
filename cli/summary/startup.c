#include "startup.h"

#include <stdio.h>
#include <string.h>

#include "units.h"

enum { MUCH = 1 << 20 /* bytes */, MANY = 50 };

static const double WORTH = 0.05, LITTLE = 0.02 /* of the run time */;

#define B(n) units_bytes((char[UNITS_TEXT]){0}, (double)(n))
#define N(n) units_count((char[UNITS_TEXT]){0}, n)
#define S(t) units_seconds((char[UNITS_TEXT]){0}, t)

static bool ends(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && strcmp(name + n - m, suffix) == 0;
}

static bool of_python(const char *name)
{
	static const char *const suffixes[] = {".py", ".pyc", ".pyi", ".pth", "/<other program files>"};
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		if (ends(name, suffixes[i]))
			return true;
	return false;
}

static bool of_library(const char *name)
{
	return ends(name, ".so") || strstr(name, ".so.");
}

/* Neither code nor what packages and environments keep with their code. Streams that were open before are no files here. */
static bool has_data(const struct digest_file *f)
{
	static const char *const places[] = {"/site-packages/", "/dist-packages/", "/node_modules/", "/pyvenv.cfg"};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strstr(f->name, places[i]))
			return false;
	return *f->name == '/' && f->opened > 0 && f->bytes_read + f->bytes_written > 0 && !digest_file_shares(f);
}

static void find_in_files(struct digest *d)
{
	struct digest_startup *s = &d->startup;
	for (size_t n = 0; n < d->nfiles; n++) {
		const struct digest_file *f = &d->files[n];
		bool python = of_python(f->name);
		if ((python || of_library(f->name)) && !f->bytes_written) {
			s->opens += f->opens;
			s->bytes += f->bytes_read;
			if (python && f->bytes_read) {
				s->files += digest_file_shares(f) ? f->opens : 1;
				s->file_bytes += f->bytes_read;
			}
		} else if (has_data(f) && (s->first_data <= 0 || f->opened < s->first_data)) {
			s->first_data = f->opened;
		}
	}
}

void startup_find(struct digest *d)
{
	struct digest_startup *s = &d->startup;
	find_in_files(d);
	for (size_t c = 0; c < d->nclasses; c++) {
		const struct digest_class *k = &d->class[c];
		bool python = strcmp(k->name, "python") == 0;
		if (!python && strcmp(k->name, "library") != 0)
			continue;
		s->opens += k->opens;
		s->bytes += k->bytes_read;
		s->files += python ? k->opens : 0;
		s->file_bytes += python ? k->bytes_read : 0;
	}
}

/* What came from storage for it; where data are mapped as well it is not known which. */
static int64_t paged_in(const struct digest *d)
{
	bool worth = d->used.fault_bytes >= MUCH && d->used.fault_time >= LITTLE * d->run_time;
	return worth && !d->way[DIGEST_WAY_MAPPED].bytes[IO_READ] ? d->used.fault_bytes : 0;
}

void startup_describe(const struct digest *d, char text[STARTUP_TEXT])
{
	const struct digest_startup *s = &d->startup;
	bool many = s->bytes >= MUCH || s->opens >= MANY;
	int64_t paged = paged_in(d);
	int n = 0;
	*text = '\0';
	if (s->first_data >= WORTH * d->run_time && (many || paged)) {
		n = snprintf(text, STARTUP_TEXT, "before its first data the program spent %s of %s:", S(s->first_data),
			     S(d->run_time));
		if (s->files)
			n += snprintf(text + n, STARTUP_TEXT - (size_t)n, " %s Python %s (%s)%s", N(s->files),
				      s->files == 1 ? "file" : "files", B(s->file_bytes), paged ? "," : "");
		else if (!paged)
			snprintf(text + n, STARTUP_TEXT - (size_t)n, " %s of libraries", B(s->bytes));
		if (paged)
			snprintf(text + n, STARTUP_TEXT - (size_t)n, " %s of programs and libraries from storage",
				 B(paged));
	} else if (many) {
		snprintf(text, STARTUP_TEXT, "%s of Python code and libraries in %s %s", B(s->bytes), N(s->opens),
			 s->opens == 1 ? "open" : "opens");
	}
}
