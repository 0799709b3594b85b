#include "record.h"

#include <errno.h>

#include "arena.h"
#include "config.h"
#include "layout.h"
#include "mounts.h"
#include "store.h"
#include "sys.h"

enum { USUAL = 2048, MOST = 65536 /* of an extended attribute */ };

static const char attribute[] = "lustre.lov";

/* What is kept of a file in addition to its record. */
struct lustre_file {
	struct lustre_record *record;
	int64_t grows_at;
};

/* ---- asking ---- */

struct answer {
	const void *at;
	size_t n;
	const struct lustre_layout *layout;
};

static ssize_t get(int fd, void *to, size_t room)
{
	return sys_call(SYS_fgetxattr, fd, (long)attribute, (long)to, (long)room, 0, 0);
}

static void fill(void *record, const void *context)
{
	const struct answer *a = context;
	lustre_layout_store(a->at, a->n, a->layout, record);
}

/* No component is in use: readers of the store and of logs skip what is left of it. */
static void retire(struct lustre_record *r)
{
	if (r)
		((struct lustre_component *)(r + 1))->stripe_size = -1;
}

static struct lustre_file *file_of_name(struct name *n)
{
	struct lustre_file *f = n->file[WRITTEN_LUSTRE];
	if (!f && (f = arena_take(sizeof *f)))
		__atomic_store_n(&n->file[WRITTEN_LUSTRE], f, __ATOMIC_RELEASE);
	return f;
}

/* A record of more components takes the place of the one before. */
static void keep(struct name *n, const struct answer *a)
{
	const struct lustre_layout *l = a->layout;
	struct lustre_file *f = l->components ? file_of_name(n) : NULL;
	if (!f || (f->record && f->record->num_components >= l->components))
		return;
	struct lustre_record *r = store_record_filled(WRITTEN_LUSTRE, n->id, lustre_layout_size(l), fill, a);
	if (!r || l->left_out)
		store_partial(LOG_MOD_LUSTRE);
	if (!r)
		return;
	retire(f->record);
	f->record = r;
	f->grows_at = l->grows_at;
	if (l->grows)
		__atomic_store_n(&n->layout, NAMES_LAYOUT_GROWS, __ATOMIC_RELEASE);
}

static void read_answer(struct name *n, const void *at, ssize_t got)
{
	struct lustre_layout l;
	if (got > 0 && lustre_layout_read(at, (size_t)got, &l) >= 0)
		keep(n, &(struct answer){at, (size_t)got, &l});
}

/* Apart, for the room that it takes on the stack. */
__attribute__((noinline)) static bool ask_usual(struct name *n, int fd)
{
	uint8_t room[USUAL] __attribute__((aligned(8)));
	ssize_t got = get(fd, room, sizeof room);
	read_answer(n, room, got);
	return got != -ERANGE;
}

static void ask_large(struct name *n, int fd)
{
	void *room = sys_map(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!room)
		return;
	read_answer(n, room, get(fd, room, MOST));
	sys_unmap(room, MOST);
}

static void ask(struct name *n, int fd)
{
	if (!ask_usual(n, fd))
		ask_large(n, fd);
}

void lustre_ask(struct name *n, int fd)
{
	uint8_t layout = __atomic_load_n(&n->layout, __ATOMIC_RELAXED);
	if (layout == NAMES_ASKED || layout == NAMES_LAYOUT_GROWS || !config_module_on(LOG_MOD_LUSTRE))
		return;
	if (__atomic_exchange_n(&n->layout, NAMES_ASKED, __ATOMIC_ACQ_REL) != layout)
		return; /* another thread asks */
	if (layout == NAMES_LAYOUT || mounts_on_lustre(fd))
		ask(n, fd);
}

/* When that changes nothing, nothing more is asked. */
void lustre_ask_again(struct name *n, int fd, int64_t last_written)
{
	uint8_t grows = NAMES_LAYOUT_GROWS;
	const struct lustre_file *f = __atomic_load_n(&n->file[WRITTEN_LUSTRE], __ATOMIC_ACQUIRE);
	if (!f || last_written < f->grows_at)
		return;
	if (__atomic_compare_exchange_n(&n->layout, &grows, NAMES_ASKED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		ask(n, fd);
}
