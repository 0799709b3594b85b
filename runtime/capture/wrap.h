/*
 * How a symbol is wrapped.
 *
 *	WRAP(ssize_t, read, int fd, void *buf, size_t n)
 *	{
 *		... REAL(read)(fd, buf, n) ...
 *	}
 *	ALIAS(pread64, pread);
 *
 * WRAP defines the exported symbol under a C name of our own, so that no header's macro, redirection
 * or inline definition of it gets in the way. It is for what libc itself exports. REAL is the next definition
 * in the search order (another preloaded library's, or libc's), found at the first call. Where this libc has none the
 * call fails with ENOSYS.
 *
 * WRAP_LATE is for every other library's symbols, of which there need be none, or several. NEXT is what the
 * caller would have called without us, or `instead`: a function of the same type that refuses as that library does.
 */
#ifndef IOLENS_WRAP_H
#define IOLENS_WRAP_H

#include "resolve.h"

#define WRAP(type, symbol, ...)                                                                  \
	typedef type (*type_##symbol)(__VA_ARGS__);                                              \
	static void *real_##symbol __attribute__((unused));                                      \
	type wrap_##symbol(__VA_ARGS__) __asm__(#symbol) __attribute__((visibility("default"))); \
	type wrap_##symbol(__VA_ARGS__)

#define REAL(symbol) ((type_##symbol)wrap_real(#symbol, &real_##symbol))

/* False: it is not found yet. Otherwise it is KNOWN, too, where nothing may be called for it. */
#define REAL_IS_KNOWN(symbol) __builtin_expect(__atomic_load_n(&real_##symbol, __ATOMIC_RELAXED) != NULL, 1)
#define KNOWN(symbol)         ((type_##symbol)__atomic_load_n(&real_##symbol, __ATOMIC_RELAXED))

/* What is known of it is said when it is first called: hundreds of such symbols take no relocation when a program starts. */
#define WRAP_LATE(type, symbol, library_, instead_, ...)                                             \
	typedef type (*type_##symbol)(__VA_ARGS__);                                                  \
	static struct late late_##symbol;                                                            \
	__attribute__((cold, noinline, unused)) static void *find_##symbol(const void *caller)       \
	{                                                                                            \
		return resolve_named(&late_##symbol, #symbol, library_, (void *)(instead_), caller); \
	}                                                                                            \
	type wrap_##symbol(__VA_ARGS__) __asm__(#symbol) __attribute__((visibility("default")));     \
	type wrap_##symbol(__VA_ARGS__)

#define NEXT(symbol)                                                                  \
	((type_##symbol)({                                                            \
		void *real_ = __atomic_load_n(&late_##symbol.real, __ATOMIC_ACQUIRE); \
		if (__builtin_expect(!real_, 0))                                      \
			real_ = find_##symbol(__builtin_return_address(0));           \
		real_;                                                                \
	}))

/*
 * The usual wrapper of one: the call, and what `after` makes of its result and of the span `s` that began before it. What
 * SPAN is the file says that uses it. Parameters and arguments are in parentheses.
 */
#define WRAP_LATE_CALL(type, result, symbol, library, refuse, span, parameters, arguments, after) \
	WRAP_LATE(type, symbol, library, refuse, WRAP_UNPACK parameters)                          \
	{                                                                                         \
		type_##symbol next = NEXT(symbol);                                                \
		span s = SPAN(next);                                                              \
		type result = next arguments;                                                     \
		after;                                                                            \
		return result;                                                                    \
	}
#define WRAP_UNPACK(...) __VA_ARGS__

/* A second name of the same function: same machine code contract, so the first one's REAL serves both. */
#define ALIAS(other, symbol) __asm__(".globl " #other "\n.type " #other ", @function\n.set " #other ", " #symbol)

/* The same of a name by which libc calls itself: of a static program such calls are not the program's. */
#ifdef IOLENS_LINKED
#define ALIAS_OF_LIBC(other, symbol) _Static_assert(1, "")
#else
#define ALIAS_OF_LIBC(other, symbol) ALIAS(other, symbol)
#endif

#endif
