/*
 * Names for what a program does: its I/O is then told apart by them in the log of iolens.
 *
 *	#include "iolens_phase.h"
 *
 *	iolens_phase_begin("checkpoint");
 *	... write ...
 *	iolens_phase_end("checkpoint");
 *
 * One header and no library: where iolens does not run they do nothing. Phases are the calling thread's, and one may be in another;
 * what threads without a phase do counts for the thread that began one first. Names are kept to 63 bytes, and 64 different ones
 * (with what is around them) in a process; there is no need to keep the text.
 */
#ifndef IOLENS_PHASE_H
#define IOLENS_PHASE_H

typedef void iolens_phase_function(const char *name);

/* The loader's word for what iolens exports; 0 where it does not run. Through the table of the loader, so that no linker settles it. */
#if defined(__x86_64__)
#define IOLENS_PHASE_FIND(symbol, found) \
	__asm__(".weak " #symbol "\n\tmovq " #symbol "@GOTPCREL(%%rip), %0" : "=r"(found))
#elif defined(__aarch64__)
#define IOLENS_PHASE_FIND(symbol, found) \
	__asm__(".weak " #symbol "\n\tadrp %0, :got:" #symbol "\n\tldr %0, [%0, :got_lo12:" #symbol "]" : "=r"(found))
#else
#define IOLENS_PHASE_FIND(symbol, found) ((found) = 0)
#endif

static inline void iolens_phase_begin(const char *name)
{
	iolens_phase_function *function;
	IOLENS_PHASE_FIND(iolens_runtime_phase_begin, function);
	if (function)
		function(name);
}

/* The phase of that name, with those that were begun in it and have not ended; 0: the one that was begun last. */
static inline void iolens_phase_end(const char *name)
{
	iolens_phase_function *function;
	IOLENS_PHASE_FIND(iolens_runtime_phase_end, function);
	if (function)
		function(name);
}

#ifdef __cplusplus
/* { iolens_phase here("checkpoint"); ... } */
class iolens_phase
{
      public:
	explicit iolens_phase(const char *name) : name_(name)
	{
		iolens_phase_begin(name);
	}
	~iolens_phase()
	{
		iolens_phase_end(name_);
	}
	iolens_phase(const iolens_phase &) = delete;
	iolens_phase &operator=(const iolens_phase &) = delete;

      private:
	const char *name_;
};
#endif

#endif
