/* Writes a log of random records and prints what is in it: module, rank, id, counter, value. For comparing readers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compact.h"
#include "hash.h"
#include "make.h"

static void print_value(const struct schema_field *f, const void *at)
{
	int64_t whole;
	double seconds;
	memcpy(&whole, at, sizeof whole);
	memcpy(&seconds, at, sizeof seconds);
	if (f->type == FIELD_F64)
		printf("%.17g\n", seconds);
	else
		printf(f->type == FIELD_I64 ? "%" PRId64 "\n" : "%" PRIu64 "\n", whole);
}

static void print_record(const struct schema_module *m, const void *record)
{
	int64_t head[2];
	memcpy(head, record, sizeof head);
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		for (int k = 0; k < f->nlabels; k++) {
			printf("%s\t%" PRId64 "\t%" PRIu64 "\t%s\t", m->name, head[1], head[0], f->labels[k].darshan);
			print_value(f, (const uint8_t *)record + f->offset + 8 * k);
		}
	}
}

static void print_bins(const struct made_heatmap *h)
{
	static const char *const kinds[] = {"WRITE", "READ"};
	for (int kind = 0; kind < 2; kind++)
		for (int64_t i = 0; i < h->head.nbins; i++)
			printf("HEATMAP\t%" PRId64 "\t%" PRIu64 "\tHEATMAP_%s_BIN_%" PRId64 "\t%" PRId64 "\n",
			       h->head.rank, h->head.id, kinds[kind], i, h->bins[kind * h->head.nbins + i]);
}

static uint64_t file_id(int i, char *name, size_t room)
{
	snprintf(name, room, "/data/directory %d/file-%d.dat", i % 7, i);
	return log_id(name);
}

static void write_posix(struct log_writer *w, uint64_t *seed, int files, int nprocs)
{
	char name[64];
	struct posix_record p;
	log_write_module(w, LOG_MOD_POSIX, 4);
	for (int i = 0; i < files; i++) {
		make_posix(&p, seed, file_id(i, name, sizeof name), i % (nprocs + 1) - 1);
		log_write_record(w, &p, sizeof p);
		print_record(&schema_modules[LOG_MOD_POSIX], &p);
	}
}

static void write_stdio(struct log_writer *w, uint64_t *seed, int files, int nprocs)
{
	char name[64];
	struct stdio_record s;
	log_write_module(w, LOG_MOD_STDIO, 2);
	for (int i = 0; i < files; i += 3) {
		make_stdio(&s, seed, file_id(i, name, sizeof name), i % nprocs);
		log_write_record(w, &s, sizeof s);
		print_record(&schema_modules[LOG_MOD_STDIO], &s);
	}
}

static void write_heatmaps(struct log_writer *w, uint64_t *seed, int nprocs)
{
	struct made_heatmap h;
	log_write_module(w, LOG_MOD_HEATMAP, 1);
	for (int i = 0; i < nprocs; i++) {
		log_write_record(w, &h, make_heatmap(&h, seed, log_id("heatmap:POSIX"), i, 50));
		print_record(&schema_modules[LOG_MOD_HEATMAP], &h);
		print_bins(&h);
	}
}

/* Rows of a section from `from` on. */
static void write_rows(struct log_writer *w, const struct trailer_section *all, uint64_t from, uint64_t n)
{
	struct trailer_section some;
	struct log_bytes stored = {0};
	struct compact_part part;
	make_section(&some, all->name, 0);
	section_add_rows(&some, all->rows.at + from * all->row_size, n, (const char *)all->heap.at, all->heap.used);
	compact_write_part(&stored, &some, &part);
	log_write_part(w, all->name, &part, stored.at);
	log_bytes_free(&stored);
	section_free(&some);
}

static void write_section(struct log_writer *w, int rows, uint64_t parts)
{
	struct trailer_section all;
	make_section(&all, "process", rows);
	for (uint64_t k = 0; k < parts; k++) {
		uint64_t from = k * all.nrows / parts;
		write_rows(w, &all, from, (k + 1) * all.nrows / parts - from);
	}
	if (!parts)
		log_write_section(w, &all);
	section_free(&all);
}

/* FILE SEED FILES PROCESSES [PARTS of the table of processes] */
int main(int argc, char **argv)
{
	struct log_writer *w;
	struct log_error err = {0};
	char name[64];
	if (argc != 5 && argc != 6)
		return 2;
	uint64_t seed = strtoull(argv[2], NULL, 10);
	int files = atoi(argv[3]), nprocs = atoi(argv[4]);
	struct log_job_text job = make_job(nprocs);
	if (log_writer_file(&w, argv[1], &err) >= 0) {
		log_write_job(w, &job);
		for (int i = 0; i < files; i++)
			log_write_name(w, file_id(i, name, sizeof name), name);
		log_write_name(w, log_id("heatmap:POSIX"), "heatmap:POSIX");
		write_posix(w, &seed, files, nprocs);
		write_stdio(w, &seed, files, nprocs);
		write_heatmaps(w, &seed, nprocs);
		write_section(w, nprocs, argc > 5 ? strtoull(argv[5], NULL, 10) : 0);
		log_writer_finish(w, &err);
		log_writer_free(w);
	}
	if (err.code)
		fprintf(stderr, "%s\n", err.message);
	return err.code < 0;
}
