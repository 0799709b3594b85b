#include "path.h"

#include <errno.h>
#include <string.h>

#include "sys.h"

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
