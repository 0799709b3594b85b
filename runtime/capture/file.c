#include "file.h"

#include "arena.h"
#include "config.h"
#include "folded.h"
#include "schema.h"
#include "store.h"

static struct file *make(const struct file_kind *k, struct name *n, enum store_use use)
{
	void *record = store_record(k->slot, n->id, use);
	struct file *f = record ? arena_take(k->size) : NULL; /* never before a record: it could not be given back */
	if (!f)
		return NULL;
	f->name = n;
	f->record = record;
	if (k->made)
		k->made(f);
	__atomic_store_n(&n->file[k->slot], f, __ATOMIC_RELEASE);
	return f;
}

static struct file *of_name(const struct file_kind *k, struct name *n, enum store_use use)
{
	struct file *f = file_known(k, n);
	return f || !n ? f : make(k, n, use);
}

static struct file *of_folded(const struct file_kind *k, const struct path *p, enum store_use use)
{
	struct file *f = NULL;
	if (folded_is_heavy(p))
		f = of_name(k, names_entry(p, STORE_HEAVY), STORE_HEAVY);
	if (f)
		return f;
	folded_count(written_modules[k->slot].module, p, use);
	if (use == STORE_PROGRAM)
		f = of_name(k, folded_package(p), STORE_DATA);
	return f ? f : of_name(k, folded_mount(p, use), STORE_SHARED);
}

void *file_of(const struct file_kind *k, const struct path *p)
{
	int module = written_modules[k->slot].module;
	if (!config_module_on(module))
		return NULL;
	if (!names_lock()) {
		self.gave_up = true;
		return NULL;
	}
	enum store_use use = folded_use(p);
	struct file *f = of_name(k, names_entry(p, use), use);
	if (!f) {
		self.gave_up = false;
		f = of_folded(k, p, use);
	}
	names_unlock();
	return f;
}

enum state_class_id file_without_record(const struct file_kind *k)
{
	bool gave_up = self.gave_up;
	self.gave_up = false;
	if (!config_module_on(written_modules[k->slot].module))
		return STATE_CLASS_FILTERED;
	return gave_up ? STATE_CLASS_TABLE_BUSY : STATE_CLASS_NO_ROOM;
}

void *file_heavy(const struct file_kind *k, const struct path *p, uint64_t weight)
{
	struct file *f = NULL;
	if (!names_lock())
		return NULL;
	if (weight >= folded_threshold())
		f = of_name(k, names_entry(p, STORE_HEAVY), STORE_HEAVY);
	names_unlock();
	return f && !names_is_overflow(f->name) ? f : NULL;
}
