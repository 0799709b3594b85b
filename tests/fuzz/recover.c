/*
 * libFuzzer target: a store, cut and overwritten as the input says, is put together with a sound one. Input: whether to cut (u8),
 * where (u24), then patches: where (u24, modulo what is used of the store), length (u8), bytes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "assemble.h"
#include "container.h"
#include "hash.h"
#include "process_state.h"
#include "records.h"
#include "schema.h"
#include "trailer.h"

enum {
	NAMES = CONTAINER_HEADER + CONTAINER_JOB_MAX,
	POSIX = 16384,
	MPIIO = 24576,
	STDIO = 32768,
	STATE = 40960,
	TAIL = 4096
};

static uint8_t *sound;
static size_t sound_size, used;
static int files[2];

static void set_u64(size_t at, uint64_t value)
{
	memcpy(sound + at, &value, sizeof value);
}

static void set_region(int module, uint64_t offset, uint64_t length)
{
	set_u64(48 + 16 * (size_t)module, offset);
	set_u64(56 + 16 * (size_t)module, length);
	memcpy(sound + 1072 + 4 * module, &schema_modules[module].version, 4);
}

static void fill_records(void)
{
	static const char *const names[] = {"/a/file", "/a/b/other", "<STDOUT>"};
	size_t at = NAMES;
	for (int n = 0; n < 3; n++) {
		set_u64(at, log_id(names[n]));
		strcpy((char *)sound + at + 8, names[n]);
		at += 9 + strlen(names[n]);
	}
	set_u64(32, NAMES);
	set_u64(40, at - NAMES);
	struct posix_record *p = (struct posix_record *)(sound + POSIX);
	for (int n = 0; n < 2; n++)
		p[n] = (struct posix_record){.id = log_id(names[n]), .opens = 1, .reads = 3, .bytes_read = 300};
	struct stdio_record *s = (struct stdio_record *)(sound + STDIO);
	*s = (struct stdio_record){.id = log_id(names[2]), .opens = 1, .writes = 5, .bytes_written = 50};
	set_region(LOG_MOD_POSIX, POSIX, 2 * sizeof *p);
	set_region(LOG_MOD_MPIIO, MPIIO, 0);
	set_region(LOG_MOD_STDIO, STDIO, sizeof *s);
}

static void fill_state(struct process_state *state)
{
	state->version = STATE_VERSION;
	state->size = sizeof *state;
	state->shards = 2;
	state->process = (struct state_process){.pid = 77,
						.parent = 76,
						.started = 1700000000000000000,
						.start = 0.1,
						.end = 2,
						.host = "fuzz",
						.exe = "/bin/x"};
	state->overflow.files[OVERFLOW_DATA].opens = 3;
	state->has |= STATE_HAS_FOLDED;
	state->overflow.directories = 1;
	state->optional.folded[0] = (struct overflow_directory){3, 0, "/folded"};
	state->deaths = 1;
	state->death[0] = (struct state_death){78, 9};
	state->unobserved[0] = (struct state_unobserved){1, UNTRACED_STATIC, "/bin/static"};
	state_timeline_add(&state->shard[0].timeline, IO_READ, 0.2, 0.3);
	state_heat_add(&state->shard[0].heat[0], IO_READ, 300, 0.2, 0.3);
	state->shard[1].operation[STATE_OP_POSIX_OPEN] = (struct state_operation){4, 1, 0, 0.01};
}

static void make_sound(void)
{
	static const char schema[] = "version u64\nsize u64\n";
	size_t state = section_in_place_size(schema, sizeof(struct process_state), 1, 0);
	const int64_t magic = CONTAINER_MAGIC;
	sound_size = (STATE + state + 2 * TAIL) & ~(size_t)(TAIL - 1);
	sound = calloc(1, sound_size);
	strcpy((char *)sound, "3.41");
	memcpy(sound + 8, &magic, sizeof magic);
	sound[16] = LOG_PLAIN;
	strcpy((char *)sound + CONTAINER_HEADER + CONTAINER_JOB, "/bin/x\n/\text4");
	fill_records();
	size_t tail = sound_size - sizeof(struct trailer_entry) - sizeof(struct trailer_footer);
	struct trailer_entry *entry = (struct trailer_entry *)(sound + tail);
	fill_state(section_in_place(entry, sound, STATE, "live", schema, sizeof(struct process_state), 1, 0));
	entry->rows = 1;
	footer_in_place((struct trailer_footer *)(entry + 1), tail, 1);
	used = STATE + 64 + offsetof(struct process_state, shard) + 2 * sizeof(struct state_shard);
}

static uint32_t take_u24(const uint8_t *from)
{
	return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16;
}

static void damage(int fd, const uint8_t *data, size_t size)
{
	for (size_t at = 4; at + 4 < size;) {
		uint32_t where = take_u24(data + at), n = data[at + 3];
		at += 4;
		n = n < size - at ? n : (uint32_t)(size - at);
		where %= (uint32_t)(used + 2 * TAIL);
		where = where < used ? where : (uint32_t)(sound_size - TAIL + where % TAIL);
		if (pwrite(fd, data + at, n, where) < 0)
			abort();
		at += n;
	}
	if (data[0] & 1 && ftruncate(fd, take_u24(data + 1) % (sound_size + TAIL)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char names[2][64], log[64];
	const char *const stores[] = {names[0], names[1]};
	struct assemble_found found;
	struct assemble_job job = {.found = &found, .command = 77, .status = 9};
	struct log_error err = {0};
	if (size < 4)
		return 0;
	for (int n = 0; n < 2; n++) {
		if (!sound)
			make_sound();
		if (!files[n])
			files[n] = memfd_create("store", 0);
		snprintf(names[n], sizeof names[n], "/proc/self/fd/%d", files[n]);
		if (ftruncate(files[n], (off_t)sound_size) != 0 || pwrite(files[n], sound, used, 0) < 0 ||
		    pwrite(files[n], sound + sound_size - TAIL, TAIL, (off_t)(sound_size - TAIL)) < 0)
			abort();
	}
	damage(files[0], data, size);
	snprintf(log, sizeof log, "/dev/shm/fuzz-recover-%d", (int)getpid());
	unlink(log);
	if (assemble_stores(&job, stores, 2, log, &err) < 0 && !err.message[0])
		abort();
	if (found.lost + found.torn > 1)
		abort();
	unlink(log);
	return 0;
}
