/* The log of a process outside any session, written by itself when it ends. */
#ifndef IOLENS_OWN_LOG_H
#define IOLENS_OWN_LOG_H

#include <stdbool.h>

#include "epoch.h"

/* False for a process that was woken to be ready and then did nothing, unless a setting names its log. */
bool own_log_wanted(void);

/* Writes it from the store, on a stack of our own; when that fails the store stays, and one line on standard error says where. */
void own_log_write(const struct epoch *epoch, int64_t job);

/* The process goes on after all (a failed exec): its log is written again at the real end. */
void own_log_withdraw(void);

#endif
