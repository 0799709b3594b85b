#include "shape.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t KIB = 1024, MIB = 1 << 20, GIB = 1 << 30, TIB = 1LL << 40;

/* What a pattern needs to make its files. */
struct making {
	struct uses *uses;
	struct dice *dice;
	const struct population *population;
	const struct job *job;
	int64_t files; /* that a job of this kind has, drawn */
	int most;
	char folder[64];
};

static struct use *add(struct making *m, const char *name, enum way way, int64_t rank)
{
	struct uses *all = m->uses;
	if (m->job->nprocs == 1)
		rank = 0;
	if (all->n == all->room) {
		all->room = all->room ? 2 * all->room : 256;
		all->list = realloc(all->list, all->room * sizeof *all->list);
		if (!all->list)
			abort();
	}
	struct use *u = &all->list[all->n++];
	*u = (struct use){.way = way, .rank = rank, .ranks = rank < 0 ? m->job->nprocs : 1};
	u->opens = u->ranks;
	snprintf(u->name, sizeof u->name, "%s%s", name[0] == '/' ? "" : m->folder, name);
	uint64_t id = 14695981039346656037u;
	for (const char *c = u->name; *c; c++)
		id = (id ^ (unsigned char)*c) * 1099511628211u;
	u->id = mix(id) | 1;
	u->ost = (int)(roll(m->dice) % 156);
	return u;
}

/* `calls` in all, of one size; what all read of a file of that length. */
static void reads(struct use *u, int64_t calls, int64_t size, int64_t extent)
{
	u->reads = calls;
	u->read_size = size;
	u->extent_read = extent < size ? size : extent;
}

static void writes(struct use *u, int64_t calls, int64_t size)
{
	u->writes = calls;
	u->write_size = size;
	u->extent_written = calls * size;
}

/* Seconds, from bytes and calls, on a file system that others use: 80 MB/s per rank, 60 us per call, noise. */
static void take_time(struct making *m, struct use *u, double from, double to)
{
	double noise = roll_lognormal(m->dice, 1, 0.5), run = (double)m->job->run;
	double most = (to - from) * run * (double)u->ranks * 0.8;
	u->start = from * run + roll_unit(m->dice) * 0.01 * run;
	u->last = to * run;
	u->read_time = noise * ((double)u->reads * 6e-5 + (double)(u->reads * u->read_size) / 80e6);
	u->write_time = noise * ((double)u->writes * 6e-5 + (double)(u->writes * u->write_size) / 80e6);
	double share = (u->read_time + u->write_time) / most;
	if (share > 1) {
		u->read_time /= share;
		u->write_time /= share;
	} else if (u->ranks == 1 && u->last - u->start > 2 * (u->read_time + u->write_time) + 0.1) {
		u->last = u->start + 2 * (u->read_time + u->write_time) + 0.1;
	}
	u->meta_time = noise * (double)(u->opens * 2 + u->stats) * 4e-4;
}

static void stdio_output(struct making *m, const char *name, int64_t lines)
{
	struct use *u = add(m, name, BY_STDIO, 0);
	writes(u, lines, 72);
	take_time(m, u, 0.01, 0.99);
}

static void input_deck(struct making *m, const char *name, int64_t size, bool all)
{
	struct use *u = add(m, name, BY_POSIX, all ? -1 : 0);
	int64_t piece = size < 64 * KIB ? size : 64 * KIB;
	int64_t each = (size + piece - 1) / piece;
	reads(u, each * u->ranks, piece, each * piece);
	u->stats = u->ranks;
	take_time(m, u, 0, 0.02);
}

static void checkpoint_shared(struct making *m, enum way way)
{
	char name[80];
	input_deck(m, "input/parameters.nml", 3000, true);
	int64_t steps = m->files < 2 ? 1 : m->files > m->most ? m->most : m->files;
	int64_t piece = MIB << roll_below(m->dice, 4);
	for (int64_t step = 0; step < steps; step++) {
		snprintf(name, sizeof name, "output/%s.%06d.%s", way == BY_HDF5 ? "plot" : "restart", (int)step * 500,
			 way == BY_HDF5 ? "h5" : "dat");
		struct use *u = add(m, name, way, -1);
		writes(u, u->ranks * (1 + (int64_t)(mix(m->job->number) % 4)), piece);
		take_time(m, u, (double)(step + 1) / (double)(steps + 1), ((double)step + 1.5) / (double)(steps + 1));
	}
	stdio_output(m, "run.log", 400);
}

static void checkpoint_own(struct making *m)
{
	char name[80];
	int64_t ranks = m->job->nprocs < m->files * 3 ? m->job->nprocs : m->files * 3;
	ranks = ranks > m->most ? m->most : ranks;
	int64_t size = 256 * KIB << roll_below(m->dice, 6);
	input_deck(m, "input/namelist", 5000, true);
	for (int64_t rank = 0; rank < ranks; rank++) {
		snprintf(name, sizeof name, "output/dump.%06d", (int)rank);
		struct use *u = add(m, name, BY_POSIX, rank);
		writes(u, 20, size);
		take_time(m, u, 0.5, 0.6);
	}
	stdio_output(m, "run.log", 900);
}

static void chemistry(struct making *m)
{
	static const char *const decks[] = {"INCAR", "KPOINTS", "POSCAR", "POTCAR"};
	char name[80];
	for (size_t n = 0; n < sizeof decks / sizeof *decks; n++)
		input_deck(m, decks[n], 2000 + roll_below(m->dice, 200 * KIB), false);
	int64_t scratch = m->files > m->most ? m->most : m->files;
	for (int64_t n = 0; n < scratch; n++) {
		snprintf(name, sizeof name, "scratch/tmp.%04d", (int)n);
		struct use *u = add(m, name, BY_POSIX, n % m->job->nprocs);
		int64_t calls = 50 + roll_below(m->dice, 2000);
		writes(u, calls, 128 * KIB);
		if (n % 2)
			reads(u, calls, 128 * KIB, calls * 128 * KIB);
		take_time(m, u, 0.05, 0.9);
	}
	stdio_output(m, "OUTCAR", 4000 + roll_below(m->dice, 60000));
	stdio_output(m, "OSZICAR", 300);
}

static void serial(struct making *m)
{
	char name[80];
	int64_t files = m->files > m->most ? m->most : m->files;
	for (int64_t n = 0; n < files; n++) {
		snprintf(name, sizeof name, "results/part-%05d.csv", (int)n);
		struct use *u = add(m, name, n % 3 ? BY_POSIX : BY_STDIO, n % m->job->nprocs);
		int64_t calls = 1 + roll_below(m->dice, 500);
		reads(u, calls, 8 * KIB, calls * 8 * KIB);
		u->stats = 2;
		take_time(m, u, (double)n / (double)files, (double)(n + 1) / (double)files);
	}
	stdio_output(m, "summary.txt", 200);
}

static void training(struct making *m)
{
	char name[80];
	int64_t files = 4 * m->files > m->most ? m->most : 4 * m->files;
	for (int64_t n = 0; n < files; n++) {
		snprintf(name, sizeof name, "/projects/imagenet/train/%03d/%06d.tfrecord", (int)(n % 100), (int)n);
		struct use *u = add(m, name, BY_POSIX, n % m->job->nprocs);
		int64_t calls = 1 + roll_below(m->dice, 600), epochs = 1 + roll_below(m->dice, 5);
		reads(u, calls * epochs, 112 * KIB, calls * 112 * KIB);
		u->opens = epochs;
		u->random = true;
		take_time(m, u, (double)n / (double)files, (double)(n + 1) / (double)files);
	}
	struct use *u = add(m, "model.pt", BY_POSIX, 0);
	writes(u, 40, 4 * MIB);
	take_time(m, u, 0.95, 0.98);
}

/* The database is read many times, some hundred GiB in all at most: less than screening asks for. */
static void search(struct making *m)
{
	struct use *u = add(m, "/projects/db/uniprot.fasta", BY_POSIX, -1);
	int64_t size = 250 * MIB, times = 1 + roll_below(m->dice, 1500);
	reads(u, times * size / (64 * KIB), 64 * KIB, size);
	u->random = true;
	take_time(m, u, 0.02, 0.95);
	input_deck(m, "query.hmm", 30 * KIB, true);
	stdio_output(m, "hits.out", 3000);
}

static void quiet(struct making *m)
{
	input_deck(m, "in.conf", 2000, m->job->nprocs < 500);
	input_deck(m, "structure.pdb", 4 * MIB, false);
	struct use *u = add(m, "trajectory.dcd", BY_POSIX, 0);
	writes(u, 100 + roll_below(m->dice, 5000), 256 * KIB);
	take_time(m, u, 0.05, 0.98);
	stdio_output(m, "run.log", 2000);
}

/* A few files that all ranks read in small pieces, again and again; the example's: 547 TiB of 1.2 TiB, 8 KiB at a time. */
static void redundant_reads(struct making *m)
{
	char name[80];
	bool example = m->job->example;
	int64_t files = example ? 1117 : 3 + roll_below(m->dice, 20);
	double excess = example ? 547.3 * (double)TIB : (double)TIB * (1.02 + 4 * roll_exponential(m->dice));
	int64_t size = example ? 1152921504 : GIB * (1 + roll_below(m->dice, 6));
	for (int64_t n = 0; n < files; n++) {
		snprintf(name, sizeof name, "lattice/field.%04d", (int)n);
		struct use *u = add(m, name, BY_POSIX, -1);
		int64_t piece = example ? 8 * KIB : 32 * KIB;
		int64_t calls = (int64_t)((excess / (double)files + (double)size) / (double)piece);
		reads(u, calls, piece, size);
		take_time(m, u, 0.05, 0.95);
	}
}

/* Small files of every rank, looked at before they are opened; the example's: 5 for each of 40,960 ranks, of 406 KiB. */
static void metadata(struct making *m)
{
	char name[80];
	int64_t files = m->job->example ? 204803 : m->job->nprocs > m->most ? m->most : m->job->nprocs;
	double each = m->job->example ? 46 : 36 + 20 * roll_exponential(m->dice); /* s of a rank */
	double all = each * (double)m->job->nprocs;
	for (int64_t n = 0; n < files; n++) {
		snprintf(name, sizeof name, "history/%05d/h%d.nc", (int)(n % m->job->nprocs),
			 (int)(n / m->job->nprocs));
		struct use *u = add(m, name, BY_POSIX, n % m->job->nprocs);
		writes(u, 4, 104 * KIB);
		u->stats = 3;
		take_time(m, u, 0.1, 0.9);
		u->meta_time = all / (double)files * (m->job->example ? 0.995 : 0.9);
		u->write_time = all / (double)files * (m->job->example ? 0.005 : 0.3);
		u->last = u->start + 1.1 * (u->meta_time + u->write_time);
	}
}

/* All ranks into one file, some bytes at a time; the example's: 5.6 billion of at most 100 bytes. */
static void small_writes(struct making *m, bool many)
{
	char name[80];
	int64_t files = m->job->example ? 7 : 1 + roll_below(m->dice, 4);
	double calls = many ? 1.1e8 * (1 + 2 * roll_exponential(m->dice)) : 1.1e6 + 8e7 * pow(roll_unit(m->dice), 3);
	if (m->job->example)
		calls = 5.7e9;
	for (int64_t n = 0; n < files; n++) {
		snprintf(name, sizeof name, "output/field.%d", (int)n);
		struct use *u = add(m, name, n || !m->job->example ? BY_POSIX : BY_MPIIO, -1);
		double part = m->job->example ? (n ? 2.9e6 / 6 : calls - 2.9e6) : calls / (double)files;
		writes(u, (int64_t)part + 1, m->job->example ? 48 : 8 + roll_below(m->dice, 4000));
		take_time(m, u, 0.1, 0.95);
	}
}

static void shape_screened(struct making *m)
{
	int what = m->job->pathology;
	if (what & METADATA)
		metadata(m);
	if (what & REDUNDANT_READS)
		redundant_reads(m);
	if (what & METADATA && what & REDUNDANT_READS) /* reading from caches is quick: the ratio stays */
		for (size_t i = 0; i < m->uses->n; i++)
			if (m->uses->list[i].rank < 0)
				m->uses->list[i].read_time = (double)m->job->nprocs * 2;
	if (what & (SMALL_WRITES | NOTICED_WRITES))
		small_writes(m, what & SMALL_WRITES);
}

void shape_job(struct uses *out, const struct population *p, const struct job *j, struct dice *d, double files,
	       int most)
{
	struct making m = {out, d, p, j, 0, most, ""};
	const struct user *u = &p->users[j->user];
	out->n = 0;
	snprintf(m.folder, sizeof m.folder, "/scratch/%s/run%04d/", u->name, (int)(j->number % 9973));
	/* Long tails: half the jobs have a third of the mean. */
	m.files = 1 + (int64_t)roll_lognormal(d, files * 0.32, 1.5);
	if (j->pathology) {
		shape_screened(&m);
		return;
	}
	switch (applications[j->application].pattern) {
	case CHECKPOINT_COLLECTIVE:
		checkpoint_shared(&m, BY_COLLECTIVE);
		break;
	case CHECKPOINT_OWN:
		checkpoint_own(&m);
		break;
	case CHECKPOINT_HDF5:
		checkpoint_shared(&m, BY_HDF5);
		break;
	case CHEMISTRY:
		chemistry(&m);
		break;
	case SERIAL:
		serial(&m);
		break;
	case TRAINING:
		training(&m);
		break;
	case SEARCH:
		search(&m);
		break;
	case QUIET:
		quiet(&m);
		break;
	}
}
