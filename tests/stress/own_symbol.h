#ifndef OWN_SYMBOL_H
#define OWN_SYMBOL_H

/* NULL: the program defines no function of that name. */
void *own_symbol(const char *name);

#endif
