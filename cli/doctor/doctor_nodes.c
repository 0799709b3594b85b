/* Whether other nodes have the same files as this one. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "units.h"

enum { AT_ONCE = 32, NAME = 64, FILES = 2, DIGEST = 64, SECONDS = 20 };

struct node {
	char name[NAME];
	FILE *told;
};

/* What goes through two shells needs no quotes. */
static bool is_plain(const char *text, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (!isalnum((unsigned char)text[k]) && !strchr("._:@-/+", text[k]))
			return false;
	return n > 0 && *text != '-';
}

/* `through` with the node's name in place of %h or behind it, then sha256sum. */
static FILE *ask(const char *through, const char *name, const char *const files[FILES])
{
	char command[3 * PATH_MAX];
	size_t used = (size_t)snprintf(command, sizeof command, "timeout %d ", SECONDS);
	bool named = false;
	for (const char *at = through; *at && used + NAME + 1 < sizeof command; at++) {
		bool here = at[0] == '%' && at[1] == 'h';
		used += here ? (size_t)snprintf(command + used, sizeof command - used, "%s", name)
			     : (size_t)snprintf(command + used, sizeof command - used, "%c", *at);
		named = named || here;
		at += here;
	}
	int n = snprintf(command + used, sizeof command - used, " %s sha256sum %s %s </dev/null 2>&1",
			 named ? "" : name, files[0], files[1]);
	return used + (size_t)n < sizeof command ? popen(command, "re") : NULL;
}

/* Digests in the order of the files; anything else that was said is in `line`. */
static int read_digests(FILE *told, char digests[FILES][DIGEST + 1], char line[256])
{
	char text[2 * PATH_MAX];
	int n = 0;
	line[0] = '\0';
	while (told && fgets(text, sizeof text, told)) {
		text[strcspn(text, "\n")] = '\0';
		if (n < FILES && strspn(text, "0123456789abcdef") == DIGEST && text[DIGEST] == ' ')
			snprintf(digests[n++], DIGEST + 1, "%.*s", DIGEST, text);
		else if (*text)
			snprintf(line, 256, "%.255s", text);
	}
	if (told)
		pclose(told);
	return n;
}

static bool judge(struct doctor *d, const char *name, int n, char (*theirs)[DIGEST + 1], char (*ours)[DIGEST + 1],
		  const char *const files[FILES], const char *said)
{
	bool same = n == FILES;
	if (!same)
		checks_add(&d->checks, CHECK_PROBLEM, "nodes", "%s: %s", name,
			   *said ? said : "no answer: is it up, and can it be reached without a password?");
	for (int f = 0; f < FILES && n == FILES; f++)
		if (strcmp(theirs[f], ours[f]) != 0) {
			same = false;
			checks_add(&d->checks, CHECK_PROBLEM, "nodes",
				   "%s: %s is not the same file as here: install one version on all nodes", name,
				   files[f]);
		}
	return same;
}

static size_t ask_some(struct doctor *d, struct node *nodes, size_t n, const char *through, char (*ours)[DIGEST + 1],
		       const char *const files[FILES])
{
	char theirs[FILES][DIGEST + 1], said[256];
	size_t same = 0;
	for (size_t k = 0; k < n; k++)
		nodes[k].told = ask(through, nodes[k].name, files);
	for (size_t k = 0; k < n; k++) {
		int got = read_digests(nodes[k].told, theirs, said);
		same += judge(d, nodes[k].name, got, theirs, ours, files, said);
	}
	return same;
}

void doctor_nodes(struct doctor *d, const char *list, const char *through)
{
	char self[PATH_MAX] = "", ours[FILES][DIGEST + 1], said[256];
	const char *const files[FILES] = {self, d->library};
	struct node nodes[AT_ONCE];
	size_t n = 0, all = 0, same = 0;
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	d->checks.about = "nodes";
	if (length <= 0 || !is_plain(self, (size_t)length) || !is_plain(d->library, strlen(d->library))) {
		checks_add(&d->checks, CHECK_NOTE, "nodes",
			   "not compared: the path of command or library has blanks in it");
		return;
	}
	if (read_digests(ask("env", "-i", files), ours, said) != FILES) {
		checks_add(&d->checks, CHECK_PROBLEM, "nodes", "sha256sum on this node says: %s", said);
		return;
	}
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t of = strcspn(at, ",");
		if (of >= NAME || !is_plain(at, of)) {
			checks_add(&d->checks, CHECK_PROBLEM, "nodes", "\"%.*s\" is no name of a node", (int)of, at);
			continue;
		}
		all++;
		snprintf(nodes[n++].name, NAME, "%.*s", (int)of, at);
		if (n == AT_ONCE) {
			same += ask_some(d, nodes, n, through, ours, files);
			n = 0;
		}
	}
	same += ask_some(d, nodes, n, through, ours, files);
	if (same)
		checks_add(&d->checks, CHECK_OK, "nodes", "%zu of %s %s the same command and library as this one", same,
			   COUNTED(all, "node"), units_agree((int64_t)same, "has", "have"));
}
