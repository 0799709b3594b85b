#include "path.h"

#include <errno.h>
#include <string.h>

#include "sys.h"

enum { ROOMS = 16 }; /* threads that open a file for the first time at once */

static struct path rooms[ROOMS]; /* of the thread that has its bit */
static uint32_t in_use;          /* a bit for each, atomic */

struct path *path_take(void)
{
	uint32_t unused, bit;
	do {
		unused = ~__atomic_load_n(&in_use, __ATOMIC_RELAXED) & ((1u << ROOMS) - 1);
		bit = unused & -unused;
		if (!bit)
			return NULL;
	} while (__atomic_fetch_or(&in_use, bit, __ATOMIC_ACQUIRE) & bit);
	return &rooms[__builtin_ctz(bit)];
}

void path_give(struct path **p)
{
	if (*p >= rooms && *p < rooms + ROOMS)
		__atomic_fetch_and(&in_use, ~(1u << (*p - rooms)), __ATOMIC_RELEASE);
}

void path_trim(struct path *p)
{
	uint32_t n = p->length;
	if (n > 1 && p->text[n - 1] == '.' && p->text[n - 2] == '/')
		n--;
	if (n > 1 && p->text[n - 1] == '/')
		n--;
	p->text[p->length = n] = '\0';
}

static bool is_dots(const char *component, size_t n)
{
	return n == 2 && component[0] == '.' && component[1] == '.';
}

/* The last component of text[0, n) is there and no link. readlink refuses it then, and follows nothing but its parents. */
static bool is_no_link(char *text, size_t n)
{
	char target;
	char after = text[n];
	text[n] = '\0';
	bool no_link = sys_readlink(text, &target, sizeof target) == -EINVAL;
	text[n] = after;
	return no_link;
}

/* The length of text[0, n) without its last component, which a `..` follows; n if both stay. */
static size_t parent(char *text, size_t n)
{
	size_t start = n;
	while (start && text[start - 1] != '/')
		start--;
	if (!start || is_dots(text + start, n - start) || !is_no_link(text, n))
		return n;
	return start - 1;
}

void path_resolve(struct path *p)
{
	char *text = p->text;
	size_t used = 0;
	for (size_t at = 0, n; at < p->length; at += n) {
		for (n = 1; at + n < p->length && text[at + n] != '/';)
			n++;
		bool dots = is_dots(text + at + 1, n - 1);
		size_t up = dots ? parent(text, used) : used;
		if (dots && (up < used || !used)) {
			used = up;
		} else {
			memmove(text + used, text + at, n);
			used += n;
		}
	}
	if (!used)
		text[used++] = '/';
	text[p->length = (uint32_t)used] = '\0';
}

/* ---- what gets no records by default, as in Darshan ---- */

struct prefix {
	const char *text;
	enum state_class_id class;
};

static const struct prefix excluded[] = {
	{"/etc/", STATE_CLASS_CONFIG},  {"/dev/", STATE_CLASS_DEVICE},   {"/usr/", STATE_CLASS_PROGRAM},
	{"/bin/", STATE_CLASS_PROGRAM}, {"/boot/", STATE_CLASS_PROGRAM}, {"/lib/", STATE_CLASS_PROGRAM},
	{"/opt/", STATE_CLASS_PROGRAM}, {"/sbin/", STATE_CLASS_PROGRAM}, {"/sys/", STATE_CLASS_KERNEL},
	{"/proc/", STATE_CLASS_KERNEL}, {"/var/", STATE_CLASS_STATE},
};

bool path_starts(const struct path *p, const char *prefix)
{
	size_t n = strlen(prefix);
	return p->length >= n && memcmp(p->text, prefix, n) == 0;
}

static bool ends(const struct path *p, const char *suffix)
{
	size_t n = strlen(suffix);
	return p->length >= n && memcmp(p->text + p->length - n, suffix, n) == 0;
}

static enum state_class_id program_class(const struct path *p)
{
	static const char *const python[] = {".py", ".pyc", ".pyo", ".pyi", ".pth"};
	for (size_t i = 0; i < sizeof python / sizeof *python; i++)
		if (ends(p, python[i]))
			return STATE_CLASS_PYTHON;
	return ends(p, ".so") || strstr(p->text, ".so.") ? STATE_CLASS_LIBRARY : STATE_CLASS_PROGRAM;
}

enum state_class_id path_excluded(const struct path *p)
{
	for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
		if (path_starts(p, excluded[i].text))
			return excluded[i].class == STATE_CLASS_PROGRAM ? program_class(p) : excluded[i].class;
	return STATE_CLASS_NONE;
}

bool path_rescued(const struct path *p)
{
	return path_starts(p, "/var/opt/cray/dws/mounts/");
}
