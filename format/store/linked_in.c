#include "linked_in.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"

enum { PIECE = 64 << 10, SECTIONS = 4096, PLACES = 8, MOST = 32 << 20 };

const char *const linked_in_names[LINKED_LIBRARIES] = {
	[LINKED_HDF5] = "HDF5", [LINKED_PNETCDF] = "PnetCDF", [LINKED_MPI] = "MPI"};

/* Functions that a program cannot use the library without; the last one is of a program that iolens counts in itself. */
enum { OURS = LINKED_LIBRARIES };
static const struct {
	const char *name;
	int of;
} marks[] = {{"H5open", LINKED_HDF5},
	     {"ncmpi_close", LINKED_PNETCDF},
	     {"PMPI_Init", LINKED_MPI},
	     {"PMPI_Init_thread", LINKED_MPI},
	     {"__wrap_read", OURS}};

enum { MARKS = sizeof marks / sizeof *marks };

/* Where a mark's name stands in the table of strings: a linker lets names end alike. */
struct places {
	uint64_t at[PLACES];
	size_t n;
};

struct search {
	int fd;
	char *piece; /* PIECE bytes */
	struct places found[MARKS];
};

static bool read_whole(const struct search *s, void *to, size_t n, uint64_t at)
{
	return at <= INT64_MAX && pread(s->fd, to, n, (off_t)at) == (ssize_t)n;
}

static void find_name(struct places *found, const char *name, const char *piece, size_t n, uint64_t at)
{
	size_t length = strlen(name) + 1;
	for (const char *p = piece; found->n < PLACES && (p = memmem(p, n - (size_t)(p - piece), name, length)); p++)
		found->at[found->n++] = at + (uint64_t)(p - piece);
}

/* Pieces overlap by the longest name, of which none is found twice. */
static void find_names(struct search *s, const Elf64_Shdr *strings)
{
	for (int m = 0; m < MARKS; m++) {
		size_t overlap = strlen(marks[m].name);
		for (uint64_t at = 0; at < strings->sh_size; at += PIECE - overlap) {
			uint64_t rest = strings->sh_size - at;
			size_t n = rest < PIECE ? (size_t)rest : PIECE;
			if (!read_whole(s, s->piece, n, strings->sh_offset + at))
				return;
			find_name(&s->found[m], marks[m].name, s->piece, n, at);
		}
	}
}

static unsigned mark_of(const struct search *s, const Elf64_Sym *symbol)
{
	int type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
		return 0;
	for (int m = 0; m < MARKS; m++)
		for (size_t p = 0; p < s->found[m].n; p++)
			if (s->found[m].at[p] == symbol->st_name)
				return 1u << marks[m].of;
	return 0;
}

static unsigned find_symbols(struct search *s, const Elf64_Shdr *symbols)
{
	enum { WHOLE = PIECE - PIECE % (int)sizeof(Elf64_Sym) };
	unsigned found = 0;
	for (uint64_t at = 0; at < symbols->sh_size; at += WHOLE) {
		uint64_t rest = symbols->sh_size - at;
		size_t n = rest < WHOLE ? (size_t)rest : WHOLE;
		if (!read_whole(s, s->piece, n, symbols->sh_offset + at))
			break;
		for (size_t b = 0; b + sizeof(Elf64_Sym) <= n; b += sizeof(Elf64_Sym)) {
			Elf64_Sym symbol;
			memcpy(&symbol, s->piece + b, sizeof symbol);
			found |= mark_of(s, &symbol);
		}
	}
	return found;
}

static bool read_section(const struct search *s, const Elf64_Ehdr *e, uint32_t n, Elf64_Shdr *section)
{
	return n < e->e_shnum && n < SECTIONS &&
	       read_whole(s, section, sizeof *section, e->e_shoff + (uint64_t)n * sizeof *section);
}

/* The program's whole table, which stripped ones lack; that of dynamic symbols says nothing of who calls. */
static bool find_tables(const struct search *s, Elf64_Shdr *symbols, Elf64_Shdr *strings)
{
	Elf64_Ehdr e;
	if (!read_whole(s, &e, sizeof e, 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_shentsize != sizeof *symbols || e.e_shoff > INT64_MAX)
		return false;
	for (uint32_t n = 0; read_section(s, &e, n, symbols); n++)
		if (symbols->sh_type == SHT_SYMTAB)
			return read_section(s, &e, symbols->sh_link, strings) && strings->sh_type == SHT_STRTAB &&
			       symbols->sh_size <= MOST && strings->sh_size <= MOST &&
			       symbols->sh_offset <= INT64_MAX && strings->sh_offset <= INT64_MAX;
	return false;
}

static unsigned search(int fd)
{
	struct search s = {.fd = fd};
	Elf64_Shdr symbols, strings;
	unsigned found = 0;
	if (!find_tables(&s, &symbols, &strings) || !(s.piece = log_alloc(PIECE)))
		return 0;
	find_names(&s, &strings);
	bool any = false;
	for (int m = 0; m < MARKS; m++)
		any |= s.found[m].n && marks[m].of != OURS;
	found = any ? find_symbols(&s, &symbols) : 0;
	log_free(s.piece);
	return found >> OURS & 1 ? 0 : found;
}

unsigned linked_in(const char *path)
{
	struct stat s;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	unsigned found = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? search(fd) : 0;
	close(fd);
	return found;
}
