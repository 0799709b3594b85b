#include "path.h"

#include <errno.h>
#include <string.h>

#include "sys.h"
#include "thread.h"

/*
 * Rooms for threads that open a file for the first time at once: a few, and the others where these do not do. Each is some
 * thread's, from a frame on; what this thread has left by a jump, and what others had when it was forked, is free again.
 */
enum { FIRST = 16, ROOMS = 256, WORD = 64 };

static struct path first[FIRST];      /* each written by the one thread that has its bit */
static struct path *others;           /* ROOMS - FIRST, mapped once, atomic */
static uint64_t in_use[ROOMS / WORD]; /* a bit for each, atomic */

static struct {
	const struct self *thread;
	uintptr_t frame;
} held[ROOMS]; /* written by the thread that has the bit; "thread" is atomic */

static int take_bit(int word, uint64_t wanted)
{
	uint64_t unused, bit;
	do {
		unused = ~__atomic_load_n(&in_use[word], __ATOMIC_RELAXED) & wanted;
		bit = unused & -unused;
		if (!bit)
			return -1;
	} while (__atomic_fetch_or(&in_use[word], bit, __ATOMIC_ACQUIRE) & bit);
	return word * WORD + __builtin_ctzll(bit);
}

static void give_bit(int room)
{
	__atomic_fetch_and(&in_use[room / WORD], ~(UINT64_C(1) << room % WORD), __ATOMIC_RELEASE);
}

static struct path *others_made(void)
{
	size_t n = (ROOMS - FIRST) * sizeof *others;
	struct path *there = __atomic_load_n(&others, __ATOMIC_ACQUIRE);
	if (there)
		return there;
	struct path *made = sys_map(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!made || __atomic_compare_exchange_n(&others, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	sys_unmap(made, n);
	return there;
}

struct path *path_take(void)
{
	const uint64_t few = (UINT64_C(1) << FIRST) - 1;
	int room = take_bit(0, few);
	struct path *more = room < 0 ? others_made() : NULL;
	for (int word = 0; more && room < 0 && word < ROOMS / WORD; word++)
		room = take_bit(word, word ? UINT64_MAX : ~few);
	if (room < 0)
		return NULL;
	held[room].frame = (uintptr_t)__builtin_frame_address(0);
	__atomic_store_n(&held[room].thread, &self, __ATOMIC_RELAXED);
	return room < FIRST ? &first[room] : &more[room - FIRST];
}

void path_give(struct path **p)
{
	const struct path *more = __atomic_load_n(&others, __ATOMIC_RELAXED);
	int room = *p >= first && *p < first + FIRST                   ? (int)(*p - first)
		   : more && *p >= more && *p < more + (ROOMS - FIRST) ? FIRST + (int)(*p - more)
								       : -1;
	if (room < 0)
		return;
	__atomic_store_n(&held[room].thread, NULL, __ATOMIC_RELAXED);
	give_bit(room);
}

/* `below` 0: all that other threads hold; otherwise what this one holds in deeper frames. */
static void free_left(uintptr_t below)
{
	for (int word = 0; word < ROOMS / WORD; word++)
		for (uint64_t taken = __atomic_load_n(&in_use[word], __ATOMIC_RELAXED); taken; taken &= taken - 1) {
			int room = word * WORD + __builtin_ctzll(taken);
			const struct self *thread = __atomic_load_n(&held[room].thread, __ATOMIC_RELAXED);
			if (below ? thread == &self && held[room].frame < below : thread && thread != &self)
				path_give(&(struct path *){room < FIRST ? &first[room] : &others[room - FIRST]});
		}
}

void path_jumped(uintptr_t target)
{
	free_left(target);
}

void path_forked(void)
{
	free_left(0);
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

/* The directory itself, too: programs that look through devices open and stat it again and again. */
static bool is_in(const struct path *p, const char *directory)
{
	size_t n = strlen(directory) - 1;
	return path_starts(p, directory) || (p->length == n && memcmp(p->text, directory, n) == 0);
}

enum state_class_id path_excluded(const struct path *p)
{
	if (p->length == 1 && *p->text == '/')
		return STATE_CLASS_PROGRAM;
	for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
		if (is_in(p, excluded[i].text))
			return excluded[i].class == STATE_CLASS_PROGRAM ? program_class(p) : excluded[i].class;
	return STATE_CLASS_NONE;
}

bool path_rescued(const struct path *p)
{
	return path_starts(p, "/var/opt/cray/dws/mounts/");
}
