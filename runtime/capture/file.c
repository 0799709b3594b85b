#include "file.h"

#include "arena.h"
#include "config.h"
#include "schema.h"
#include "store.h"

static struct file *make(const struct file_kind *k, struct name *n)
{
	void *record = store_record(k->slot, n->id, names_is_overflow(n));
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

static struct file *of_name(const struct file_kind *k, struct name *n)
{
	struct file *f = file_known(k, n);
	return f || !n ? f : make(k, n);
}

void *file_of(const struct file_kind *k, const struct path *p)
{
	int module = written_modules[k->slot].module;
	if (!config_module_on(module) || !names_lock())
		return NULL;
	struct file *f = of_name(k, names_entry(p));
	f = f ? f : of_name(k, names_overflow(module, p));
	names_unlock();
	return f;
}
