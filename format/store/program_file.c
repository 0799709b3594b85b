#include "program_file.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

enum { HEAD = 1024 };

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#else
enum { OUR_MACHINE = EM_AARCH64 };
#endif

/* musl, uClibc, bionic: how the names of their loaders begin. */
static bool is_foreign(const char *loader)
{
	static const char *const foreign[] = {"ld-musl-", "ld-uClibc", "ld64-uClibc", "linker"};
	const char *slash = strrchr(loader, '/');
	const char *name = slash ? slash + 1 : loader;
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
		if (strncmp(name, foreign[i], strlen(foreign[i])) == 0)
			return true;
	return false;
}

struct head {
	char bytes[HEAD + 1] __attribute__((aligned(8)));
	size_t n;
};

static enum program_kind of_loader(int fd, program_read *read_at, const struct head *h, const Elf64_Phdr *where,
				   char interpreter[PROGRAM_PATH])
{
	size_t n = where->p_filesz < PROGRAM_PATH ? where->p_filesz : PROGRAM_PATH - 1;
	ssize_t got = (ssize_t)n;
	if (where->p_offset < h->n && n <= h->n - where->p_offset)
		memcpy(interpreter, h->bytes + where->p_offset, n);
	else
		got = read_at(fd, interpreter, n, (int64_t)where->p_offset);
	interpreter[got > 0 ? got : 0] = '\0';
	return is_foreign(interpreter) ? PROGRAM_LIBC : PROGRAM_OURS;
}

/* libiolens.a leaves a note in the programs that it is linked into. */
static bool has_runtime(int fd, program_read *read_at, const struct head *h)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)h->bytes;
	for (size_t i = 0; i < e->e_phnum; i++) {
		char notes[1024];
		const Elf64_Phdr *p = (const Elf64_Phdr *)(h->bytes + e->e_phoff + i * sizeof(Elf64_Phdr));
		size_t n = p->p_filesz < sizeof notes ? p->p_filesz : sizeof notes;
		ssize_t got = p->p_type == PT_NOTE ? read_at(fd, notes, n, (int64_t)p->p_offset) : 0;
		if (got > 0 && memmem(notes, (size_t)got, "iolens", sizeof "iolens"))
			return true;
	}
	return false;
}

static enum program_kind of_elf(int fd, program_read *read_at, const struct head *h, char interpreter[PROGRAM_PATH])
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)h->bytes;
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != OUR_MACHINE)
		return PROGRAM_MACHINE;
	for (size_t i = 0; i < e->e_phnum; i++) {
		size_t at = e->e_phoff + i * sizeof(Elf64_Phdr);
		if (e->e_phentsize != sizeof(Elf64_Phdr) || at > h->n || h->n - at < sizeof(Elf64_Phdr))
			return PROGRAM_UNKNOWN;
		const Elf64_Phdr *p = (const Elf64_Phdr *)(h->bytes + at);
		if (p->p_type == PT_INTERP)
			return of_loader(fd, read_at, h, p, interpreter);
	}
	return has_runtime(fd, read_at, h) ? PROGRAM_OURS : PROGRAM_STATIC;
}

static enum program_kind of_script(const char *head, char interpreter[PROGRAM_PATH])
{
	const char *path = head + 2 + strspn(head + 2, " \t");
	size_t length = strcspn(path, " \t\n");
	if (!path[length] || length >= PROGRAM_PATH)
		return PROGRAM_UNKNOWN;
	memcpy(interpreter, path, length);
	interpreter[length] = '\0';
	return PROGRAM_SCRIPT;
}

enum program_kind program_kind(int fd, program_read *read_at, char interpreter[PROGRAM_PATH])
{
	struct head h = {0};
	ssize_t n = read_at(fd, h.bytes, HEAD, 0);
	interpreter[0] = '\0';
	h.n = n > 0 ? (size_t)n : 0;
	if (h.n > 2 && h.bytes[0] == '#' && h.bytes[1] == '!')
		return of_script(h.bytes, interpreter);
	if (h.n < sizeof(Elf64_Ehdr) || memcmp(h.bytes, ELFMAG, SELFMAG) != 0)
		return PROGRAM_UNKNOWN;
	return of_elf(fd, read_at, &h, interpreter);
}
