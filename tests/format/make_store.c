#include "make_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container.h"
#include "hash.h"
#include "process_state.h"
#include "records.h"
#include "schema.h"
#include "trailer.h"
#include "unit.h"

enum {
	NAMES = CONTAINER_HEADER + CONTAINER_JOB_MAX,
	RECORDS = 65536,
	STATE = 1 << 20,
	TAIL = 4096,
	OWN = 40,
	SHARED = 25,
	SOME = 9
};

struct making {
	uint8_t *image;
	size_t at; /* of the next name or record */
	int64_t rank, nprocs;
};

static void set_u64(struct making *m, size_t at, uint64_t value)
{
	memcpy(m->image + at, &value, sizeof value);
}

/* Calls with the name of every file that the rank has in a module; LOG_MAX_MODULES = in any. */
static void each_file(struct making *m, int module, void (*see)(struct making *m, int module, const char *name))
{
	int part = module == LOG_MOD_STDIO ? 4 : module == LOG_MOD_MPIIO ? 2 : 1;
	char name[64];
	for (int n = 0; n < SHARED / part; n++) {
		snprintf(name, sizeof name, "/shared/%d", n);
		see(m, module, name);
	}
	for (int n = 0; n < OWN / part; n++) {
		snprintf(name, sizeof name, "/own/%d/%d", (int)m->rank, n);
		see(m, module, name);
	}
	for (int n = 0; n < SOME / part; n++) {
		snprintf(name, sizeof name, "/some/%d", n);
		if (n % 3 == m->rank % 3)
			see(m, module, name);
	}
}

static void add_name(struct making *m, int module, const char *name)
{
	(void)module;
	set_u64(m, m->at, log_id(name));
	strcpy((char *)m->image + m->at + 8, name);
	m->at += 9 + strlen(name);
}

/* What does not depend on the order in which records meet: tables with the same four values, one value of all ranks. */
static uint64_t number_for(const struct schema_module *s, const struct schema_field *f, int element, uint64_t *seed,
			   uint64_t *common)
{
	for (uint32_t k = 0; k < s->nfields; k++)
		if (s->fields[k].reduce == REDUCE_TOP4 && s->fields[k].follows == (int)(f - s->fields))
			return 100 * (uint64_t)element + 100;
	if (f->reduce == REDUCE_FIRST || (f->reduce == REDUCE_ANY && f->follows < 0))
		return unit_random(common) % 1000;
	return unit_random(seed) % 1000;
}

static void add_record(struct making *m, int module, const char *name)
{
	const struct schema_module *s = &schema_modules[module];
	uint8_t *record = m->image + m->at;
	uint64_t id = log_id(name), common = id, seed = id + 7919 * (uint64_t)m->rank + (uint64_t)module;
	for (uint32_t f = 0; f < s->nfields; f++) {
		for (int e = 0; e < s->fields[f].count; e++) {
			uint64_t value = number_for(s, &s->fields[f], e, &seed, &common);
			double real = (double)value / 1024;
			memcpy(record + s->fields[f].offset + 8 * e,
			       s->fields[f].type == FIELD_F64 ? (void *)&real : &value, 8);
		}
	}
	memcpy(record, &id, 8);
	memset(record + 8, 0, 8);
	m->at += s->size;
}

static void fill_state(const struct making *m, struct process_state *state)
{
	state->version = STATE_VERSION;
	state->size = sizeof *state;
	state->shards = 1;
	state->process = (struct state_process){.pid = 1000 + m->rank,
						.parent = 999,
						.started = 1700000000000000000 + m->rank,
						.end = 2 + (double)m->rank / 8,
						.end_reason = STATE_END_FINALIZE,
						.mpi_size = m->nprocs,
						.mpi_rank = m->rank,
						.mpi_world = 77,
						.host = "unit",
						.exe = "/bin/program"};
	state_timeline_add(&state->shard[0].timeline, IO_READ, 0.25, 0.5);
	state->shard[0].heat[0].width = 0.125;
	state_heat_add(&state->shard[0].heat[0], IO_READ, 300 + m->rank, 0.25, 0.5 + (double)m->rank / 16);
	state->shard[0].operation[STATE_OP_POSIX_OPEN] = (struct state_operation){4 + m->rank, 1, 0, 0.5};
}

static void fill_regions(struct making *m)
{
	m->at = NAMES;
	each_file(m, LOG_MAX_MODULES, add_name);
	set_u64(m, 32, NAMES);
	set_u64(m, 40, m->at - NAMES);
	m->at = RECORDS;
	for (int i = 0; i < WRITTEN_COUNT; i++) {
		int module = written_modules[i].module;
		const struct schema_interface *of = schema_modules[module].interface;
		size_t begun = m->at, place = 48 + 16 * (size_t)module;
		if (!of || strcmp(of->level, "library") == 0)
			continue;
		each_file(m, module, add_record);
		set_u64(m, place, begun);
		set_u64(m, place + 8, m->at - begun);
		memcpy(m->image + 1072 + 4 * module, &schema_modules[module].version, 4);
	}
	CHECK(m->at <= STATE);
}

void make_store(const char *path, int64_t rank, int64_t nprocs)
{
	static const char schema[] = "version u64\nsize u64\n";
	size_t state = section_in_place_size(schema, sizeof(struct process_state), 1, 0);
	const int64_t magic = CONTAINER_MAGIC;
	size_t size = (STATE + state + 2 * TAIL) & ~(size_t)(TAIL - 1);
	struct making m = {.image = calloc(1, size), .rank = rank, .nprocs = nprocs};
	strcpy((char *)m.image, "3.41");
	memcpy(m.image + 8, &magic, sizeof magic);
	m.image[16] = LOG_PLAIN;
	snprintf((char *)m.image + CONTAINER_HEADER + CONTAINER_JOB, 100, "/bin/program of %d%s", (int)rank,
		 rank == 1 ? "\next4\t/mnt" : "");
	fill_regions(&m);
	size_t tail = size - sizeof(struct trailer_entry) - sizeof(struct trailer_footer);
	struct trailer_entry *entry = (struct trailer_entry *)(m.image + tail);
	fill_state(&m, section_in_place(entry, m.image, STATE, "live", schema, sizeof(struct process_state), 1, 0));
	entry->rows = 1;
	footer_in_place((struct trailer_footer *)(entry + 1), tail, 1);
	FILE *file = fopen(path, "w");
	CHECK(file && fwrite(m.image, 1, size, file) == size);
	if (file)
		fclose(file);
	free(m.image);
}
