"""Programs of random system calls, and what each must print, leave behind and have counted.

`generator` makes a list of operations from a seed. `interpreter.c` runs it: threads, forks and programs started by exec
take turns, so that a program always does the same. `model` says what the kernel and the C library do, and what the
documents (`docs/`, `modules/*/*.toml`) say of the counters; it was written without a look at the runtime. `runner`
compares both and makes programs that differ small. What is known to differ has a line in `known`.
"""
