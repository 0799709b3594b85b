/* A store as the assembly sees it: opened, checked, and not trusted any further than that. */
#ifndef IOLENS_STORE_READER_H
#define IOLENS_STORE_READER_H

#include "process_state.h"
#include "log.h"
#include "interval_union.h"
#include "trailer.h"

struct store_reader {
	struct log *log;
	struct trailer *trailer;
	const struct process_state *state; /* NULL until loaded; has only the first shards */
	void *row;                         /* the memory that it lies in; NULL = the store's own */
	size_t shards;
	struct state_communication *communication; /* NULL = none was counted */
	size_t communicating;
	uint8_t *sites; /* the region (process_state.h); NULL = none */
	size_t sites_size;
	bool own; /* of this process: what lies beside the records is read where it is, may still change, and ends with the used shards */
	int64_t rank;
};

/* Opens an entry of a bundle (bundle.h), which many stores are in; NULL = there are none. */
enum { STORE_NOT_BUNDLED = -2 };
extern int (*store_open_bundled)(const char *path);

/* A descriptor of the store, or -1 and errno. */
int store_open(const char *path);

int store_reader_open_file(struct store_reader *i, const char *path, struct log_error *err);
int store_reader_open_memory(struct store_reader *i, const void *data, size_t size, struct log_error *err);
int store_reader_open_own(struct store_reader *i, const void *store, size_t size, struct log_error *err);

/* Loads what lies beside the records: i->live, up to a megabyte. */
int store_reader_load_state(struct store_reader *i, struct log_error *err);
void store_reader_drop_state(struct store_reader *i);
void store_reader_close(struct store_reader *i);

/* Sums over the threads' shards. */
struct state_class store_reader_class(const struct store_reader *i, int class);
struct state_operation store_reader_operation(const struct store_reader *i, int operation);
struct state_sizes store_reader_sizes(const struct store_reader *i, int way, int op);
struct state_completion store_reader_completion(const struct store_reader *i, int way, int op);
struct state_requests store_reader_requests(const struct store_reader *i, int interface, int op);
struct state_batches store_reader_batches(const struct store_reader *i, int interface);

/* What the threads' calls of one kind came to. */
struct state_call store_reader_call(const struct store_reader *i, int call);
/* Seconds of all of them. */
double store_reader_communication(const struct store_reader *i);
double store_reader_synchronization(const struct store_reader *i);

/* The threads' heat maps as one that covers `until` seconds; false if nothing was moved. */
bool store_reader_heat(const struct store_reader *i, int heat, double until, struct state_heat *out);

/* Threads that did anything. */
int store_reader_threads(const struct store_reader *i);

/* Time in I/O, the union over threads; negative code when memory is short. */
int store_reader_busy(const struct store_reader *i, struct interval_union *out);

/* The latest moment that the store knows of, s since the epoch. */
double store_reader_last(const struct store_reader *i);

#endif
