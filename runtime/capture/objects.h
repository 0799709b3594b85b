/*
 * The dynamic linker's list of objects, and their tables of symbols, read without calling the linker. Objects that began with the
 * program stay. The others stay while the caller is in dl_iterate_phdr, or where no other thread is.
 */
#ifndef IOLENS_OBJECTS_H
#define IOLENS_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* From `first` up to and without `end` (NULL: all), without one. */
struct objects {
	const struct link_map *first, *end, *without;
};

/* NULL: the object does not define it, or only the linker can tell its address. */
void *objects_defined_in(const struct link_map *map, const char *symbol);

/* The first of that name; `library`: of objects with that in their names, NULL = of any. */
void *objects_find(const struct objects *o, const char *symbol, const char *library);

/* The first object that defines it, where that is as above, and how many do; not counted further than `most`. */
struct objects_definer {
	const struct link_map *map;
	void *at;
	int count;
};

struct objects_definer objects_definer(const struct objects *o, const char *symbol, int most);

/* The object that the address is in. */
const struct link_map *objects_around(const struct objects *o, uintptr_t at);

/* In the object itself, and in those that it was linked with. */
void *objects_seen_from(const struct objects *o, const struct link_map *map, const char *symbol);

/* A library of iolens that wraps functions. */
bool objects_wraps(const struct link_map *map);

/* What the object refers to and does not define. `slot`: where the linker puts the address, with `addend`. */
struct objects_reference {
	const char *name;
	bool weak;
	ElfW(Addr) * slot, addend;
};

/* First the references by address, then those of calls, where `calls` is set. */
void objects_each_reference(const struct link_map *map, bool calls,
			    void (*found)(const struct objects_reference *r, void *with), void *with);

/* ---- weak references: by one to MPI_Init a program asks whether there is an MPI, and the linker answers with our wrapper ---- */

/* Those of what began with the program, to names that only this library defines, are NULL, as without it. By the start's one thread. */
void objects_unbind_weak(const struct link_map *own);

/* A loaded object refers to the name by a reference that is not weak: without us the linker would have refused. `torn`: resolve_torn. */
bool objects_need(const struct link_map *own, const char *symbol, bool torn);

#endif
