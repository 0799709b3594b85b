#include "population.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"

const char *const state_names[STATES] = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL"};

/* Which applications a machine runs, and how often, is an assumption; kinds of I/O as the papers describe them. */
const struct application applications[] = {
	{"vasp_std", "vasp_std", CHEMISTRY, 14, true},
	{"pw.x", "pw.x -npool 4 -input scf.in", CHEMISTRY, 7, false},
	{"g09", "g09 molecule.com", CHEMISTRY, 5, true},
	{"namd2", "namd2 run.namd", QUIET, 9, true},
	{"lmp", "./lmp -in in.melt", QUIET, 6, false},
	{"gromacs", "gmx_mpi mdrun -deffnm md", QUIET, 7, false},
	{"cesm.exe", "./cesm.exe", CHECKPOINT_OWN, 5, false},
	{"wrf.exe", "./wrf.exe", CHECKPOINT_COLLECTIVE, 5, false},
	{"chimera", "./chimera", CHECKPOINT_HDF5, 3, false},
	{"flash4", "./flash4", CHECKPOINT_HDF5, 4, false},
	{"gts", "./gts", CHECKPOINT_OWN, 3, false},
	{"s3d.x", "./s3d.x", CHECKPOINT_OWN, 2, false},
	{"vorpal", "./vorpal -i beam.in", CHECKPOINT_HDF5, 3, false},
	{"milc_su3", "./milc_su3", CHECKPOINT_COLLECTIVE, 5, false},
	{"epoch3d", "./epoch3d", CHECKPOINT_COLLECTIVE, 3, false},
	{"hmmsearch", "hmmsearch --mpi profiles.hmm uniprot.fasta", SEARCH, 4, false},
	{"blastp", "blastp -db nr -query reads.fa", SEARCH, 4, false},
	{"python3", "python3 analysis/collect.py --all", SERIAL, 8, false},
	{"ncrcat", "ncrcat -O month.nc year.nc", SERIAL, 4, false},
	{"a.out", "./a.out", SERIAL, 6, false},
	{"train.py", "python3 train.py --epochs 90", TRAINING, 3, false},
};
const size_t napplications = sizeof applications / sizeof *applications;

/*
 * Hopper, 1 January to 13 March 2013: of 261,890 logs 671 re-read more than 1 TiB, of 37 users; 252 spent at least 25 % of
 * their I/O in metadata, of 45 users, 72 of them among the 671; 220 wrote more than 10^8 small pieces into shared files, of 11
 * users (tables 3 to 5). How many wrote 10^6 to 10^8 is not told: assumed.
 */
static const struct screened {
	int pathology;
	int jobs, users;
	double median_procs;
} screened[] = {
	{REDUNDANT_READS, 671 - 72, 37, 1024},
	{METADATA, 252 - 72, 45, 1024},
	{REDUNDANT_READS | METADATA, 72, 20, 2048},
	{SMALL_WRITES | NOTICED_WRITES, 220, 11, 256},
	{NOTICED_WRITES, 660, 60, 128},
};
enum { HOPPER_LOGS = 261890, SCREENED = sizeof screened / sizeof *screened };

/* The examples that the paper tells of are made where there are so many logs. */
enum { EXAMPLES_FROM = 10000 };
static const struct {
	int procs;
	int64_t run;
} examples[SCREENED] = {{6138, 23400}, {40960, 229}, {0, 0}, {128, 1800}, {0, 0}};

/* Days after the start when the library came with a compiler: PGI 15 November, GNU and Intel 7 January, Cray 1 February. */
static const int rollout[] = {-47, 6, 6, 31};

/* 70 % of the jobs with the library left a log (30 % did not, 45 % of the core hours); by what end is an assumption. */
static const struct {
	double jobs, logged;
} ends[STATES] = {{0.82, 0.83}, {0.07, 0.2}, {0.06, 0.05}, {0.035, 0.1}, {0.01, 0}, {0.005, 0}};

static void *space(size_t n, size_t size)
{
	void *made = calloc(n ? n : 1, size);
	if (!made) {
		fputs("fleetgen: out of memory\n", stderr);
		exit(1);
	}
	return made;
}

static int application_of(struct dice *d)
{
	double all = 0;
	for (size_t i = 0; i < napplications; i++)
		all += applications[i].popularity;
	double left = roll_unit(d) * all;
	size_t i = 0;
	while (i + 1 < napplications && left >= applications[i].popularity)
		left -= applications[i++].popularity;
	return (int)i;
}

/* Two syllables and a number, at most eight characters, as log names have them. */
static void name_user(char out[9], uint64_t i, struct dice *d)
{
	static const char first[] = "bdfghjklmnprstvw", second[] = "aeiou";
	for (int n = 0; n < 4; n++)
		out[n] = n % 2 ? second[roll_below(d, 5)] : first[roll_below(d, 16)];
	snprintf(out + 4, 5, "%04d", (int)(i % 10000));
}

static void draw_users(struct population *p)
{
	const struct wanted *w = &p->wanted;
	double heard = 0;
	p->users = space((size_t)w->users, sizeof *p->users);
	p->accounts = (int)(w->users / 5 + 1);
	for (int64_t i = 0; i < w->users; i++) {
		struct user *u = &p->users[i];
		struct dice d = dice_of(w->seed, 1ULL << 40 | (uint64_t)i);
		name_user(u->name, (uint64_t)i, &d);
		u->uid = 20000 + i;
		u->account = (int)(pow(roll_unit(&d), 2) * p->accounts); /* large projects, and many of one user */
		u->nprograms = 1 + (int)roll_below(&d, 4);
		for (int n = 0; n < u->nprograms; n++) {
			u->program[n] = application_of(&d);
			u->linked[n] =
				w->start + DAY * (rollout[roll_below(&d, 4)] + (int64_t)(25 * roll_exponential(&d)));
			if (applications[u->program[n]].precompiled || roll_chance(&d, 0.28))
				u->linked[n] = INT64_MAX;
		}
		u->heard_until = heard += 1 / pow((double)i + 3, 0.9); /* jobs per user: Zipf */
	}
}

static int user_of(const struct population *p, struct dice *d)
{
	double at = roll_unit(d) * p->users[p->wanted.users - 1].heard_until;
	int low = 0, high = (int)p->wanted.users - 1;
	while (low < high) {
		int middle = (low + high) / 2;
		if (p->users[middle].heard_until <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* More by day than by night, fewer at weekends. */
static int64_t moment(const struct wanted *w, struct dice *d)
{
	for (;;) {
		int64_t day = roll_below(d, w->days), second = roll_below(d, DAY);
		int64_t weekday = (w->start / DAY + day + 3) % 7; /* 0 = Monday */
		double busy = 0.55 + 0.45 * sin(6.283185307179586 * (double)(second - 8 * 3600) / DAY);
		if (roll_chance(d, busy * (weekday >= 5 ? 0.55 : 1)))
			return w->start + day * DAY + second;
	}
}

static int procs_of(enum pattern pattern, struct dice *d)
{
	if (pattern == SERIAL)
		return roll_chance(d, 0.8) ? 1 : 24;
	if (pattern == SEARCH || pattern == TRAINING)
		return 1 << roll_below(d, 8);
	int64_t nodes = (int64_t)roll_lognormal(d, 4, 1.5); /* 24 cores each */
	return (int)(24 * (nodes < 1 ? 1 : nodes > 1700 ? 1700 : nodes));
}

static int state_of(struct dice *d)
{
	double at = roll_unit(d);
	int state = 0;
	while (state + 1 < STATES && at >= ends[state].jobs)
		at -= ends[state++].jobs;
	return state;
}

static int64_t run_of(int state, struct dice *d)
{
	int64_t run = (int64_t)roll_lognormal(d, 2400, 1.3);
	if (state == TIMEOUT)
		run = 1800 * (1 + run / 1200);
	return run < 10 ? 10 : run > 2 * DAY ? 2 * DAY : run;
}

static void draw_job(const struct population *p, struct job *j, uint64_t number)
{
	struct dice d = dice_of(p->wanted.seed, number);
	const struct user *u = &p->users[j->user = user_of(p, &d)];
	int program = (int)roll_below(&d, u->nprograms);
	j->number = number;
	j->start = moment(&p->wanted, &d);
	j->application = u->program[program];
	j->nprocs = procs_of(applications[j->application].pattern, &d);
	j->state = (unsigned char)state_of(&d);
	j->run = run_of(j->state, &d);
	j->linked = j->start >= u->linked[program];
	j->outside = j->linked && roll_chance(&d, 0.003);
	if (j->outside)
		j->state = COMPLETED;
	bool logged = j->linked && (j->outside || roll_chance(&d, ends[j->state].logged));
	j->logs = !logged ? 0 : roll_chance(&d, 0.94) ? 1 : 2 + (int)roll_below(&d, 7);
	j->array = !j->outside && roll_chance(&d, 0.06);
}

/* The n-th job that a screen is to find: of its users each has one, the first ones most. */
static void draw_screened(const struct population *p, struct job *j, int which, int n)
{
	const struct screened *s = &screened[which];
	struct dice d = dice_of(p->wanted.seed, (uint64_t)(which + 2) << 40 | (uint64_t)n);
	int64_t users = s->users < p->wanted.users ? s->users : p->wanted.users;
	int64_t place = n < users ? n : (int64_t)(pow(roll_unit(&d), 3) * (double)users);
	/* Those of both metadata and redundant reads are among the users of either. */
	j->user = (int)(s->pathology == NOTICED_WRITES ? place * 7 % p->wanted.users : place * 3 % p->wanted.users);
	j->number = (uint64_t)(which + 2) << 40 | (uint64_t)n;
	j->application = p->users[j->user].program[0];
	j->start = moment(&p->wanted, &d);
	int64_t procs = 24 * (int64_t)(roll_lognormal(&d, s->median_procs, 0.8) / 24);
	j->nprocs = (int)(procs < 192 ? 192 : procs > 8184 ? 8184 : procs);
	j->run = 3600 + (int64_t)roll_lognormal(&d, 7200, 0.6);
	j->pathology = (unsigned char)s->pathology;
	j->linked = true;
	j->logs = 1;
	if (n == 0 && p->wanted.logs >= EXAMPLES_FROM && examples[which].procs) {
		j->nprocs = examples[which].procs;
		j->run = examples[which].run;
		j->example = true;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Numbers as a scheduler gives them, growing; arrays are of tasks next to each other in time. */
static void number_jobs(struct population *p)
{
	struct dice d = dice_of(p->wanted.seed, 1ULL << 50);
	int64_t id = 1000000, array = 0, tasks = 0;
	int logs = 0;
	for (size_t i = 0; i < p->njobs; i++) {
		struct job *j = &p->jobs[i];
		j->first_log = logs;
		logs += j->logs;
		j->id = j->outside ? 300 + roll_below(&d, 32000) : (id += 1 + roll_below(&d, 3));
		if (!j->array || j->outside)
			continue;
		if (tasks == 0) {
			array = j->id;
			tasks = 2 + roll_below(&d, 30);
		}
		tasks--;
		j->array = array;
	}
}

/* How many logs a screen finds among so many: as on Hopper, rounded. */
static int64_t share(int64_t of_hopper, int64_t logs)
{
	return (of_hopper * logs + HOPPER_LOGS / 2) / HOPPER_LOGS;
}

void population_draw(struct population *p, const struct wanted *wanted)
{
	size_t room = 1024;
	int64_t logs = 0;
	*p = (struct population){.wanted = *wanted};
	draw_users(p);
	p->jobs = space(room, sizeof *p->jobs);
	for (int which = 0; which < SCREENED; which++)
		for (int64_t n = 0; n < share(screened[which].jobs * wanted->screened, wanted->logs); n++, logs++) {
			if (p->njobs == room)
				p->jobs = realloc(p->jobs, (room *= 2) * sizeof *p->jobs);
			p->jobs[p->njobs] = (struct job){0};
			draw_screened(p, &p->jobs[p->njobs++], which, (int)n);
		}
	for (uint64_t number = 0; logs < wanted->logs; number++) {
		if (p->njobs == room)
			p->jobs = realloc(p->jobs, (room *= 2) * sizeof *p->jobs);
		struct job *j = &p->jobs[p->njobs++];
		*j = (struct job){0};
		draw_job(p, j, number);
		if (j->logs > wanted->logs - logs)
			j->logs = (int)(wanted->logs - logs);
		logs += j->logs;
	}
	qsort(p->jobs, p->njobs, sizeof *p->jobs, by_time);
	number_jobs(p);
}

void population_free(struct population *p)
{
	free(p->users);
	free(p->jobs);
}
