/* A function of the program itself by name, from its table of symbols: to the loader they are hidden (own.map). */
#include "own_symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *image; /* the program's file */

static const char *map_image(void)
{
	struct stat s;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s) != 0)
		_exit(9);
	void *at = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		_exit(9);
	close(fd);
	return at;
}

/* What is to be added to the addresses of the file. */
static uintptr_t base(void)
{
	return getauxval(AT_ENTRY) - ((const Elf64_Ehdr *)image)->e_entry;
}

static const Elf64_Shdr *symbol_table(void)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	const Elf64_Shdr *section = (const Elf64_Shdr *)(image + head->e_shoff);
	for (int i = 0; i < head->e_shnum; i++)
		if (section[i].sh_type == SHT_SYMTAB)
			return &section[i];
	return NULL;
}

void *own_symbol(const char *name)
{
	image = image ? image : map_image();
	const Elf64_Shdr *table = symbol_table();
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + ((const Elf64_Ehdr *)image)->e_shoff);
	const Elf64_Sym *symbol = table ? (const Elf64_Sym *)(image + table->sh_offset) : NULL;
	for (size_t i = 0; table && i < table->sh_size / sizeof *symbol; i++)
		if (symbol[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC &&
		    strcmp(image + sections[table->sh_link].sh_offset + symbol[i].st_name, name) == 0)
			return (void *)(base() + symbol[i].st_value);
	return NULL;
}
