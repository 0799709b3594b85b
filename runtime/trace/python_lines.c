#include "python_lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "readable.h"
#include "resolve.h"

enum {
	DEEPEST = 128, /* frames that are searched for the user's */
	WHOLE = 1 << 16,
	ATTEMPTS = 8,
	PAGES = 256,
	PATH = 1024,
	PAGE = 4096,
	NONE = 0xffff,
	/* of objects */
	TYPE = 8,
	SIZE = 16,
	BYTES = 32,
	/* of texts */
	LENGTH = 16,
	STATE = 32,
	/* of types: a table of {name, kind, offset, flags, description} */
	MEMBERS = 240,
	MEMBER = 40,
	MEMBER_OFFSET = 16,
	OWNED_BY_C = 3 /* a frame that is none of Python code */
};

/* Where things are in an interpreter, in bytes; NONE = it has no such thing. */
struct layout {
	uint16_t top;   /* in the state of a thread: its innermost frame, or a struct that has that at `inner` */
	uint16_t inner; /* there */
	/* In a frame: its caller's, its code object, the instruction that it is at. */
	uint16_t back, code, instruction, owner;
	/* In a code object, what `instruction` points into. NONE: `instruction` is a number from 0 on, of so many bytes. */
	uint16_t bytecode, unit;
	uint16_t path, name, lines;
	uint16_t ascii, wide; /* characters in a text of ASCII, and in another */
};

/* 3.8 to 3.12. */
static const struct layout layouts[] = {
	{24, NONE, 24, 32, 104, NONE, NONE, 1, 104, 112, 120, 48, 72},
	{24, NONE, 24, 32, 104, NONE, NONE, 1, 104, 112, 120, 48, 72},
	{24, NONE, 24, 32, 96, NONE, NONE, 2, 104, 112, 120, 48, 72},
	{56, 8, 48, 32, 56, NONE, 184, 0, 112, 120, 136, 48, 72},
	{56, 0, 8, 0, 56, 70, 192, 0, 112, 120, 136, 40, 56},
};

enum { FIRST = 8, DESCRIBED = 13 };

/* What 3.13 says of itself at the begin of _PyRuntime, as words. */
enum {
	SAYS_COOKIE,
	SAYS_VERSION,
	SAYS_FREE_THREADED,
	SAYS_TOP = 23,
	SAYS_BACK = 29,
	SAYS_CODE,
	SAYS_INSTRUCTION,
	SAYS_OWNER = 33,
	SAYS_PATH = 35,
	SAYS_NAME,
	SAYS_LINES = 38,
	SAYS_BYTECODE = 43,
	SAYS_TYPE = 45,
	SAYS_STATE = 68,
	SAYS_LENGTH,
	SAYS_ASCII
};

enum state { UNCHECKED, CHECKED, REFUSED };

/* Under the lock of site.c. */
static struct {
	enum state state;
	int attempts;
	uint32_t version;
	struct layout layout;
	void *only; /* the interpreter */
	uintptr_t code_type, frame_type, text_type, bytes_type;
	void *(*thread)(void);
	void *(*running)(void); /* the thread that has the GIL, or NULL */
	int (*ending)(void);
	void *first; /* the thread that was checked */
	void *(*first_interpreter)(void);
	void *(*next_interpreter)(void *interpreter);
	int (*line)(const void *code, int address);
	int (*line_of_frame)(const void *frame);
	bool of_object;    /* of a frame object */
	char standard[16]; /* "/python3.11/" */
	char path[PATH];
	uintptr_t page[PAGES];
} python;

bool python_met; /* under the same lock */

uint32_t python_refused(void)
{
	return python.state == REFUSED ? python.version : 0;
}

/* ---- memory ---- */

static bool get(struct python_view *v, uintptr_t at, void *to, size_t n)
{
	if (at < PAGE || at + n < at)
		return false;
	for (uintptr_t page = at & ~(uintptr_t)(PAGE - 1); page < at + n; page += PAGE) {
		uintptr_t *known = &v->page[page / PAGE % v->pages];
		if (*known != page && !readable((const void *)page, 1))
			return false;
		*known = page;
	}
	memcpy(to, (const void *)at, n);
	return true;
}

static bool get_word(struct python_view *v, uintptr_t at, uintptr_t *word)
{
	return at % sizeof *word == 0 && get(v, at, word, sizeof *word);
}

/* And is not freed: its count of references is a link of a list then. */
static bool has_type(struct python_view *v, uintptr_t object, uintptr_t type)
{
	uintptr_t references, found;
	return get_word(v, object, &references) && references && references <= UINT32_MAX &&
	       get_word(v, object + TYPE, &found) && found == type;
}

/* ---- texts ---- */

static size_t put(char *out, uint32_t c)
{
	if (c >= 0xdc80 && c <= 0xdcff) /* a byte of a path that is not UTF-8 */
		c -= 0xdc00;
	else if (c < ' ' || c == 0x7f)
		c = '?';
	else if (c >= 0x10000) {
		*out++ = (char)(0xf0 | c >> 18);
		*out++ = (char)(0x80 | (c >> 12 & 0x3f));
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out = (char)(0x80 | (c & 0x3f));
		return 4;
	} else if (c >= 0x800) {
		*out++ = (char)(0xe0 | c >> 12);
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out = (char)(0x80 | (c & 0x3f));
		return 3;
	} else if (c >= 0x80) {
		*out++ = (char)(0xc0 | c >> 6);
		*out = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	*out = (char)c;
	return 1;
}

/* As UTF-8 with a NUL; its bytes without that, -1: it has no room, or is no such text. */
static ssize_t get_text(struct python_view *v, uintptr_t text, char *out, size_t room)
{
	enum { KIND = 7 << 2, COMPACT = 1 << 5, ASCII = 1 << 6, LONGEST = 4 };
	uintptr_t length;
	uint32_t state, c = 0;
	size_t n = 0;
	if (!has_type(v, text, python.text_type) || !get_word(v, text + LENGTH, &length) ||
	    !get(v, text + STATE, &state, sizeof state) || !(state & COMPACT) || length >= room)
		return -1;
	size_t size = (state & KIND) >> 2;
	uintptr_t at = text + (state & ASCII ? python.layout.ascii : python.layout.wide);
	if (size != 1 && size != 2 && size != 4)
		return -1;
	for (; length; length--, at += size) {
		if (n + LONGEST >= room || !get(v, at, &c, size))
			return -1;
		n += put(out + n, c);
	}
	out[n] = '\0';
	return (ssize_t)n;
}

/* ---- frames ---- */

enum found { END, FRAME, BROKEN };

static bool get_address(struct python_view *v, struct python_frame *f)
{
	const struct layout *l = &python.layout;
	uintptr_t at, units;
	int32_t number;
	if (l->bytecode == NONE) {
		if (!get(v, f->at + l->instruction, &number, sizeof number) || number < -1 || number > 1 << 28)
			return false;
		f->address = number * l->unit;
		return true;
	}
	if (!get_word(v, f->code + SIZE, &units) || !get(v, f->at + l->instruction, &at, sizeof at))
		return false;
	intptr_t address = (intptr_t)(at - f->code - l->bytecode);
	f->address = (int32_t)address;
	return units < 1 << 28 && address >= -2 && address < 2 * (intptr_t)units;
}

/* The frame at `at`, or the next one of Python code that it was called from. */
static enum found get_frame(struct python_view *v, uintptr_t at, struct python_frame *f)
{
	const struct layout *l = &python.layout;
	for (int n = 0; at && n < DEEPEST; n++) {
		unsigned char owner = 0;
		if (l->owner != NONE && !get(v, at + l->owner, &owner, 1))
			return BROKEN;
		if (owner != OWNED_BY_C) {
			bool good = l->bytecode != NONE || has_type(v, at, python.frame_type);
			f->at = at;
			good = good && get_word(v, at + l->code, &f->code) && has_type(v, f->code, python.code_type);
			return good && get_address(v, f) ? FRAME : BROKEN;
		}
		if (!get_word(v, at + l->back, &at))
			return BROKEN;
	}
	return at ? BROKEN : END;
}

static enum found first_frame(struct python_view *v, uintptr_t at, struct python_frame *f)
{
	if (!get_word(v, at + python.layout.top, &at))
		return BROKEN;
	if (at && python.layout.inner != NONE && !get_word(v, at + python.layout.inner, &at))
		return BROKEN;
	return get_frame(v, at, f);
}

static enum found next_frame(struct python_view *v, struct python_frame *f)
{
	uintptr_t at;
	return get_word(v, f->at + python.layout.back, &at) ? get_frame(v, at, f) : BROKEN;
}

static bool has_lines(struct python_view *v, uintptr_t code)
{
	uintptr_t table, size;
	char byte;
	if (!get_word(v, code + python.layout.lines, &table) || !has_type(v, table, python.bytes_type) ||
	    !get_word(v, table + SIZE, &size) || size > 1 << 24)
		return false;
	for (uintptr_t at = table + BYTES; at < table + BYTES + size; at += PAGE)
		if (!get(v, at, &byte, 1))
			return false;
	return get(v, table + BYTES + size, &byte, 1);
}

/* Reads the code object alone, which does not change. */
static void find_line(struct python_view *v, struct python_frame *f)
{
	int line = has_lines(v, f->code) ? python.line((const void *)f->code, f->address) : 0;
	f->line = line > 0 ? (uint32_t)line : 0;
}

/* ---- is it as this interpreter itself has it? ---- */

/* Types name their members, and where these are. */
static bool member_is_at(struct python_view *v, const char *name, uint16_t offset)
{
	enum { MOST = 64, LONGEST = 24 };
	char text[LONGEST];
	uintptr_t members, called, at;
	if (!get_word(v, python.code_type + MEMBERS, &members))
		return false;
	for (int n = 0; n < MOST && get_word(v, members, &called) && called; n++, members += MEMBER)
		if (get(v, called, text, strlen(name) + 1) && memcmp(text, name, strlen(name) + 1) == 0)
			return get_word(v, members + MEMBER_OFFSET, &at) && at == offset;
	return false;
}

/* As the interpreter itself finds it in a frame. 3.11 has it for frame objects alone: it looks at what is in one. */
static int own_line(const struct python_frame *f)
{
	uintptr_t object[16] = {[3] = f->at};
	bool inside = python.of_object && python.layout.bytecode != NONE;
	return python.line_of_frame(inside ? (const void *)object : (const void *)f->at);
}

/* All frames, down to the outermost: each has a name, and the line that the interpreter says it has. */
static bool check_frames(struct python_view *v, struct python_frame f)
{
	uintptr_t name;
	for (int n = 0; n < WHOLE; n++) {
		find_line(v, &f);
		if (!get_word(v, f.code + python.layout.path, &name) || get_text(v, name, python.path, PATH) < 0 ||
		    !get_word(v, f.code + python.layout.name, &name) || get_text(v, name, python.path, PATH) < 0)
			return false;
		int line = own_line(&f);
		if (f.line != (uint32_t)(line > 0 ? line : 0))
			return false;
		enum found next = next_frame(v, &f);
		if (next != FRAME)
			return next == END;
	}
	return false;
}

/* The first frames decide. A debugger may have changed a line: what it is in others is seen then. */
static void check(struct python_view *v, void *thread, const struct python_frame *f)
{
	python.first = thread;
	if (member_is_at(v, "co_filename", python.layout.path) && member_is_at(v, "co_name", python.layout.name) &&
	    check_frames(v, *f)) {
		python.only = python.first_interpreter();
		__atomic_store_n(&python.state, CHECKED, __ATOMIC_RELEASE);
	} else if (++python.attempts == ATTEMPTS)
		python.state = REFUSED;
}

/* ---- is it where it was? ---- */

static uintptr_t word_at(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

static uint64_t mixed(uint64_t x, uint64_t y)
{
	x = (x ^ y) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

/* The end of its source's path, and the begin of its table of lines: another code object may get the address of one that is gone. */
static uint64_t with_frame(uint64_t frames, uintptr_t code, uint64_t instruction)
{
	uintptr_t lines = word_at(code + python.layout.lines), path = word_at(code + python.layout.path);
	uint64_t length = word_at(path + LENGTH), end = length;
	if (length >= sizeof end)
		memcpy(&end, (const char *)path + python.layout.ascii + length - sizeof end, sizeof end);
	frames = mixed(frames, code ^ word_at(lines + SIZE) << 48);
	frames = mixed(frames, instruction ^ length << 48);
	return mixed(mixed(frames, end), word_at(lines + BYTES));
}

/*
 * The process's first thread has released the GIL and the interpreter does not end: frames and code objects are in use, and none
 * of their pages is asked about.
 */
uint64_t python_frames(void)
{
	const struct layout *l = &python.layout;
	uint64_t frames = 1;
	if (__atomic_load_n(&python.state, __ATOMIC_ACQUIRE) != CHECKED || !python.running || !python.ending)
		return 0;
	void *thread = python.thread();
	if (!thread || thread != python.first || python.running() == thread || python.ending() ||
	    python.first_interpreter() != python.only)
		return 0;
	uintptr_t at = word_at((uintptr_t)thread + l->top);
	if (at && l->inner != NONE)
		at = word_at(at + l->inner);
	for (int n = 0; at; at = word_at(at + l->back)) {
		if (++n == DEEPEST)
			return 0;
		if (l->owner != NONE && *(const unsigned char *)(at + l->owner) == OWNED_BY_C)
			continue;
		uint64_t instruction =
			l->bytecode == NONE ? *(const uint32_t *)(at + l->instruction) : word_at(at + l->instruction);
		frames = with_frame(frames, word_at(at + l->code), instruction);
	}
	return frames;
}

/* ---- whose code is it? ---- */

/* Code of the interpreter; of a library; made of a text, whose it is that of its caller; the user's. */
enum kind { BUILT_IN, LIBRARY, TEXT, USER };

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* A script without `.py` in a `bin` is one that pip has made. */
static bool is_entry(const char *path)
{
	const char *name = strrchr(path, '/');
	return name && name - path >= 4 && !memcmp(name - 4, "/bin", 4) && !strstr(name, ".py");
}

static bool is_standard(const char *path)
{
	const char *at = strstr(path, python.standard);
	return at &&
	       ((at - path >= 4 && !memcmp(at - 4, "/lib", 4)) || (at - path >= 6 && !memcmp(at - 6, "/lib64", 6)));
}

static enum kind kind_of(const char *path)
{
	static const char *const typed[] = {"<stdin>", "<input>", "<console>", "<ipython-input"};
	for (size_t n = 0; n < sizeof typed / sizeof *typed; n++)
		if (begins(path, typed[n]))
			return USER;
	if (*path == '<')
		return strcmp(path, "<string>") == 0 ? TEXT : BUILT_IN;
	bool library = strstr(path, "/site-packages/") || strstr(path, "/dist-packages/") || is_standard(path) ||
		       is_entry(path);
	return library ? LIBRARY : USER;
}

static enum kind kind_of_frame(struct python_view *v, const struct python_frame *f)
{
	uintptr_t path;
	bool known = get_word(v, f->code + python.layout.path, &path) && get_text(v, path, python.path, PATH) > 0;
	return known ? kind_of(python.path) : BUILT_IN;
}

/* `f` becomes the user's innermost frame, or else that of a library; what it is. BUILT_IN: there is neither. */
static enum kind find_begin(struct python_view *v, struct python_frame *f)
{
	struct python_frame library = {0}, text = {0};
	enum found found = FRAME;
	for (int n = 0; found == FRAME && n < DEEPEST; n++, found = next_frame(v, f)) {
		enum kind kind = kind_of_frame(v, f);
		if (kind == USER && text.at)
			*f = text;
		if (kind == USER)
			return USER;
		if (kind == TEXT && !text.at)
			text = *f;
		if (kind < TEXT)
			text.at = 0;
		if (kind == LIBRARY && !library.at)
			library = *f;
	}
	*f = text.at && found == END ? text : library;
	return text.at && found == END ? USER : library.at ? LIBRARY : BUILT_IN;
}

/* Without the interpreter's own. */
static void keep_frames(struct python_stack *s, struct python_frame f, size_t most)
{
	enum found found = FRAME;
	for (int n = 0; found == FRAME && n < DEEPEST && s->n < most; n++, found = next_frame(&s->view, &f)) {
		if (kind_of_frame(&s->view, &f) == BUILT_IN)
			continue;
		find_line(&s->view, &f);
		s->frame[s->n++] = f;
	}
}

/* Of more than one interpreter it is not known which one the thread is in. */
static bool has_one_interpreter(void)
{
	void *first = python.first_interpreter();
	return first && !python.next_interpreter(first);
}

/*
 * Which pages are readable is remembered from one open to the next where all that is read is in use: the thread has released the
 * GIL, so the interpreter is between two of its steps, and no other thread can be ending it. A handler in C may have interrupted it
 * elsewhere; a thread that is not the first one may lose its state meanwhile.
 */
static struct python_view view_of(struct python_stack *s, const void *thread)
{
	bool at_rest = thread == python.first && python.running && python.ending && python.running() != thread &&
		       !python.ending();
	if (at_rest)
		return (struct python_view){python.page, PAGES};
	memset(s->page, 0, sizeof s->page);
	return (struct python_view){s->page, PYTHON_PAGES};
}

bool python_stack(struct python_stack *s)
{
	struct python_frame f;
	if (!python_met || python.state == REFUSED || !has_one_interpreter())
		return false;
	void *thread = python.thread();
	s->n = 0;
	s->view = view_of(s, thread);
	if (!thread || first_frame(&s->view, (uintptr_t)thread, &f) != FRAME)
		return false;
	if (python.state == UNCHECKED)
		check(&s->view, thread, &f);
	enum kind kind = python.state == CHECKED ? find_begin(&s->view, &f) : BUILT_IN;
	if (kind != BUILT_IN)
		keep_frames(s, f, kind == USER ? PYTHON_FRAMES : 1);
	return s->n;
}

size_t python_code(struct python_stack *s, size_t frame, char *out, size_t room)
{
	uintptr_t path, name, code = s->frame[frame].code;
	if (!get_word(&s->view, code + python.layout.path, &path) ||
	    !get_word(&s->view, code + python.layout.name, &name))
		return 0;
	ssize_t n = get_text(&s->view, path, out, room);
	ssize_t more = n < 0 ? -1 : get_text(&s->view, name, out + n + 1, room - (size_t)n - 1);
	return more < 0 ? 0 : (size_t)(n + 1 + more + 1);
}

/* ---- a new interpreter ---- */

/* Fields and their order are 3.13's. */
static bool take_description(const uint64_t *says)
{
	bool good = says && memcmp(says, "xdebugpy", 8) == 0 && says[SAYS_VERSION] >> 16 == python.version >> 16 &&
		    !says[SAYS_FREE_THREADED] && says[SAYS_TYPE] == TYPE && says[SAYS_STATE] == STATE &&
		    says[SAYS_LENGTH] == LENGTH;
	if (good)
		python.layout = (struct layout){
			.top = (uint16_t)says[SAYS_TOP],
			.inner = NONE,
			.back = (uint16_t)says[SAYS_BACK],
			.code = (uint16_t)says[SAYS_CODE],
			.instruction = (uint16_t)says[SAYS_INSTRUCTION],
			.owner = (uint16_t)says[SAYS_OWNER],
			.bytecode = (uint16_t)says[SAYS_BYTECODE],
			.path = (uint16_t)says[SAYS_PATH],
			.name = (uint16_t)says[SAYS_NAME],
			.lines = (uint16_t)says[SAYS_LINES],
			.ascii = (uint16_t)says[SAYS_ASCII],
			.wide = (uint16_t)(says[SAYS_ASCII] + 16),
		};
	return good;
}

static uint32_t version_of(const struct link_map *map)
{
	const unsigned long *number = resolve_defined_by(map, "Py_Version");
	const char *(*text)(void) = (const char *(*)(void))resolve_defined_by(map, "Py_GetVersion");
	uint32_t version = 0;
	if (number || !text)
		return number ? (uint32_t)*number : 0;
	const char *at = text();
	for (int n = 0; n < 3; n++, at += strcspn(at, ". ") + 1)
		version |= ((uint32_t)strtoul(at, NULL, 10) & 0xff) << (24 - 8 * n);
	return version;
}

static bool find_layout(const struct link_map *map, unsigned minor)
{
	if (python.version >> 24 != 3 || minor < FIRST || minor > DESCRIBED)
		return false;
	if (minor == DESCRIBED)
		return take_description(resolve_defined_by(map, "_PyRuntime"));
	python.layout = layouts[minor - FIRST];
	return true;
}

static void *either(const struct link_map *map, const char *older, const char *newer)
{
	void *at = resolve_defined_by(map, older);
	return at ? at : resolve_defined_by(map, newer);
}

void python_meet(const struct link_map *map)
{
	void *thread = map ? resolve_defined_by(map, "PyGILState_GetThisThreadState") : NULL;
	if (!thread || python.thread == (void *(*)(void))thread)
		return;
	python.state = REFUSED;
	if (python_met) /* of two it is not known which one runs */
		return;
	python_met = true;
	python.version = version_of(map);
	unsigned minor = python.version >> 16 & 0xff;
	python.of_object = minor < 12;
	const char *line = python.of_object ? "PyFrame_GetLineNumber" : "PyUnstable_InterpreterFrame_GetLine";
	python.thread = (void *(*)(void))thread;
	python.running = (void *(*)(void))either(map, "_PyThreadState_UncheckedGet", "PyThreadState_GetUnchecked");
	python.ending = (int (*)(void))either(map, "_Py_IsFinalizing", "Py_IsFinalizing");
	python.first_interpreter = (void *(*)(void))resolve_defined_by(map, "PyInterpreterState_Head");
	python.next_interpreter = (void *(*)(void *))resolve_defined_by(map, "PyInterpreterState_Next");
	python.line = (int (*)(const void *, int))resolve_defined_by(map, "PyCode_Addr2Line");
	python.line_of_frame = (int (*)(const void *))resolve_defined_by(map, line);
	python.code_type = (uintptr_t)resolve_defined_by(map, "PyCode_Type");
	python.frame_type = (uintptr_t)resolve_defined_by(map, "PyFrame_Type");
	python.text_type = (uintptr_t)resolve_defined_by(map, "PyUnicode_Type");
	python.bytes_type = (uintptr_t)resolve_defined_by(map, "PyBytes_Type");
	memcpy(python.standard, "/python3.", 9);
	size_t n = 9;
	if (minor > 9)
		python.standard[n++] = (char)('0' + minor / 10);
	python.standard[n++] = (char)('0' + minor % 10);
	python.standard[n] = '/';
	if (find_layout(map, minor) && python.first_interpreter && python.next_interpreter && python.line &&
	    python.line_of_frame && python.code_type && python.frame_type && python.text_type && python.bytes_type)
		python.state = UNCHECKED;
}
