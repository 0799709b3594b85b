/* Files that share a record, and of which one open turns out to be used so much that they get one of their own. */
#include "state.h"

#include "../posix/record.h"

/* It was made for the open at hand, which moves over to it. */
static void made_heavy(struct file *f)
{
	((struct stdio_file *)f)->record->opens = 1;
}

static const struct file_kind heavy = {WRITTEN_STDIO, sizeof(struct stdio_file), made_heavy};

void stdio_weigh(struct stdio_stream *t, struct stdio_file *shared, const FILE *f)
{
	uint64_t weight = file_weigh(&t->weight, 0);
	if (!weight || t->file != shared)
		return;
	PATH(p);
	if (posix_behind(f->_fileno, LOG_MOD_STDIO, p))
		return;
	bool known = file_known(&heavy, names_find(p));
	struct stdio_file *own = file_heavy(&heavy, p, weight);
	if (!own)
		return;
	shared->record->opens -= !known && shared->record->opens > 0;
	__atomic_store_n(&t->file, own, __ATOMIC_RELEASE);
}
