/* Files without a record of their own: how many, and in which directories. */
#include <string.h>

#include "assembly.h"

/*
 * What the files beyond the budget would have taken, a POSIX record and a name each, and what they leave to others: files of programs
 * half of the budget, all files an eighth.
 */
static int64_t sufficient_budget(const struct process_state *state, int64_t files, bool programs)
{
	const struct overflow *f = &state->overflow;
	int64_t name = f->name_bytes / overflow_opens(f) + 9;
	int64_t missing = files * ((int64_t)sizeof(struct posix_record) + name);
	return state->process.budget + (programs ? 2 * missing : missing + missing / 7);
}

static int add_folded_directories(struct assembly *a, struct store_reader *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_FOLDED_DIRECTORY];
	char text[OVERFLOW_DIRECTORY_TEXT + 1] = ""; /* stores are untrusted: the text may have no end */
	int64_t rows = state_rows(i->state->overflow.directories, OVERFLOW_DIRECTORIES);
	for (const struct overflow_directory *d = i->state->optional.folded; rows--; d++) {
		if (d->opens <= 0)
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		memcpy(text, d->text, OVERFLOW_DIRECTORY_TEXT);
		section_set_text(s, "directory", 0, text);
		section_set_i64(s, "opens", 0, d->opens);
		section_set_i64(s, "surplus", 0, d->surplus);
	}
	return s->failed;
}

int assembly_add_folded(struct assembly *a, struct store_reader *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_FOLDED];
	const struct overflow_files *kind = i->state->overflow.files;
	int64_t opens = overflow_opens(&i->state->overflow);
	if (opens <= 0)
		return 0;
	int64_t programs = overflow_files(&kind[OVERFLOW_PROGRAM]),
		files = programs + overflow_files(&kind[OVERFLOW_DATA]);
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_i64(s, "opens", 0, opens);
	section_set_i64(s, "files", 0, files);
	section_set_i64(s, "program_opens", 0, kind[OVERFLOW_PROGRAM].opens);
	section_set_i64(s, "program_files", 0, programs);
	section_set_i64(s, "budget", 0, i->state->process.budget);
	section_set_i64(s, "sufficient_budget", 0, sufficient_budget(i->state, files, programs > 0));
	return s->failed ? s->failed : add_folded_directories(a, i);
}
