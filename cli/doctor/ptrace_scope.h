#ifndef IOLENS_PTRACE_SCOPE_H
#define IOLENS_PTRACE_SCOPE_H

/* kernel.yama.ptrace_scope: 0 to 3; -1 where the kernel has no Yama. From 1 on it also decides which users see the call of
 * a thread: 1 and 2 root, 3 none. */
int ptrace_scope(void);

/* Why this process is not told, and who would be. */
const char *ptrace_scope_words(void);

#endif
