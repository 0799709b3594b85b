/* The runtime's own regular expressions against the C library's: the same are refused, the same are found. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"
#include "unit.h"

static const char *const pieces[] = {
	"a",    "b",   "c",    ".",  "a*", "b+",   "c?",          "(",    "(",       ")",
	")",    "|",   "^",    "$",  "1",  "-",    "/",           "[ab]", "[^a]",    "[a-c]",
	"[]a]", "\\.", "\\w",  "{2", "{0", "{1,2", "[[:alpha:]]", "[a-]", "[[.a.]]", "[^[:digit:]b]",
	"{2}",  "{0}", "{1,}", "*",  "+",  "?",    "\\b",         "\\B",  "\\<",     "\\>",
	"\\W",  "\\s", "\\S",  "[",  "]",  "{",    "}",           " ",    "{1,2}",   "[[=b=]c]"};

static size_t below(uint64_t *state, size_t n)
{
	return (size_t)(unit_random(state) % n);
}

static void make_text(uint64_t *state, char *text)
{
	static const char bytes[] = "abc/1. -_";
	size_t n = below(state, 9);
	for (size_t i = 0; i < n; i++)
		text[i] = bytes[below(state, sizeof bytes - 1)];
	text[n] = '\0';
}

TEST(expressions_are_those_of_the_c_library)
{
	uint64_t state = 11;
	int64_t valid = 0, found = 0;
	for (int k = 0; k < 20000; k++) {
		char pattern[200] = "", text[16];
		regex_t compiled;
		for (size_t n = 1 + below(&state, 8); n; n--)
			strcat(pattern, pieces[below(&state, sizeof pieces / sizeof *pieces)]);
		bool good = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) == 0;
		const struct expression *e = expression_make(pattern);
		unit_check((e != NULL) == good, pattern, __FILE__, __LINE__);
		for (int t = 0; good && e && t < 4; t++) {
			make_text(&state, text);
			bool hit = regexec(&compiled, text, 0, NULL, 0) == 0;
			unit_check(expression_found(e, text) == hit, pattern, __FILE__, __LINE__);
			found += hit;
		}
		valid += good;
		if (good)
			regfree(&compiled);
	}
	CHECK(valid > 5000 && found > 5000);
}

/* Where others go back and forth for ever. */
TEST(expressions_take_bounded_time)
{
	char text[4096];
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	CHECK(!expression_found(expression_make("^(a*)*(a|aa)+(a?){30}b$"), text));
	CHECK(expression_found(expression_make("^(a*)*(a|aa)+(a?){30}a$"), text));
}

TEST(expressions_too_large_are_refused)
{
	CHECK(expression_make("a{1000}") != NULL);
	CHECK(expression_make("(ab){1000}") == NULL);
	CHECK(expression_make("((a{100}){100}){100}") == NULL);
	char deep[400];
	memset(deep, '(', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	CHECK(expression_make(deep) == NULL);
}

/* Bytes above 127 are bytes; a closing bracket or brace by itself is a character. */
TEST(expressions_of_odd_bytes)
{
	CHECK(expression_found(expression_make("^/data/\xc3\xa9.*"), "/data/\xc3\xa9t\xc3\xa9"));
	CHECK(expression_found(expression_make("^..$"), "\xc3\xa9"));
	CHECK(expression_found(expression_make("a]}"), "a]}"));
	CHECK(!expression_found(expression_make("[^\xc3]"), "\xc3\xc3"));
}
