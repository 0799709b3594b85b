/*
 * Interfaces whose calls pass by: of an MPI without a backend, and of libraries that were linked statically into the program, where
 * nothing can be preloaded before them. And Python whose lines cannot be read.
 */
#include <stdio.h>
#include <string.h>

#include "assembly.h"
#include "linked_in.h"

/* Each program's file is looked at once, where the log is written; on another node it may not be there. */
static unsigned linked_into(struct assembly *a, const char *program)
{
	bool is_new = false;
	if (!a->job->linked_in)
		return 0;
	size_t n = text_number(&a->programs, program, strlen(program), &is_new);
	if (n == SIZE_MAX || (is_new && !index_grow(&a->linked, n, sizeof *a->linked)))
		return 0;
	if (is_new)
		a->linked[n] = (uint8_t)a->job->linked_in(program);
	return a->linked[n];
}

/* What was recorded was found: the program has a shared library of that name, too. */
static bool is_recorded(const struct assembly *a, const struct state_process *p, int library)
{
	const char *begin = library == LINKED_HDF5 ? "H5" : "PNETCDF", *name;
	if (library == LINKED_MPI)
		return p->mpi_size > 0;
	for (int m = 0; m < LOG_MAX_MODULES; m++)
		if (a->source->holds >> m & 1 && (name = log_module_name(m)) && !strncmp(name, begin, strlen(begin)))
			return true;
	return false;
}

static int add(struct assembly *a, int64_t rank, const char *interface, const char *program, const char *reason)
{
	struct trailer_section *s = &a->section[ASSEMBLY_UNRECORDED];
	section_row(s);
	section_set_i64(s, "rank", 0, rank);
	section_set_text(s, "interface", 0, interface);
	section_set_text(s, "program", 0, program);
	return section_set_text(s, "reason", 0, reason);
}

static int add_python(struct assembly *a, const struct store_reader *i, const char *program)
{
	char interface[32];
	unsigned version = assembly_python_refused(i);
	snprintf(interface, sizeof interface, "Python %u.%u.%u", version >> 24, version >> 16 & 0xff,
		 version >> 8 & 0xff);
	return version ? add(a, i->rank, interface, program, "no_lines") : 0;
}

int assembly_add_unrecorded(struct assembly *a, struct store_reader *i)
{
	const struct state_process *p = &i->state->process;
	char program[sizeof p->exe];
	int code = 0;
	memcpy(program, p->exe, sizeof program);
	program[sizeof program - 1] = '\0';
	if (p->observer != STATE_BY_ITSELF)
		return 0;
	unsigned found = linked_into(a, program);
	for (int n = 0; code >= 0 && n < LINKED_LIBRARIES; n++)
		if (found >> n & 1 && !is_recorded(a, p, n))
			code = add(a, i->rank, linked_in_names[n], program, "linked_in");
	bool lacks = p->mpi_size > 0 && !*p->mpi;
	if (code >= 0 && lacks)
		code = add(a, i->rank, "MPI-IO", program, "no_backend");
	return code >= 0 ? add_python(a, i, program) : code;
}
