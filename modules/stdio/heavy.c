/* Files that share a record, and of which one open turns out to be used so much that they get one of their own. */
#include "state.h"

#include "../posix/record.h"

enum { HEAVY = 64 /* a power of two */ };

/* It was made for the open at hand, which moves over to it. */
static void made_heavy(struct file *f)
{
	((struct stdio_file *)f)->record->opens = 1;
}

static const struct file_kind heavy = {WRITTEN_STDIO, sizeof(struct stdio_file), made_heavy};

static void take_open(struct stdio_file *shared)
{
	if (!lock_take(&shared->lock))
		return;
	shared->record->opens -= shared->record->opens > 0;
	lock_drop(&shared->lock);
}

void stdio_weigh(struct stdio_stream *t, const FILE *f)
{
	struct stdio_file *shared = t->file;
	uint32_t n = ++t->accesses;
	if (n & (n - 1) || n < HEAVY)
		return;
	PATH(p);
	if (posix_behind(f->_fileno, LOG_MOD_STDIO, p))
		return;
	bool known = file_known(&heavy, names_find(p));
	struct stdio_file *own = file_heavy(&heavy, p, n);
	if (!own)
		return;
	if (!known)
		take_open(shared);
	t->shares = false;
	__atomic_store_n(&t->file, own, __ATOMIC_RELEASE);
}
