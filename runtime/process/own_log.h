/* The log of a process outside any session, written by itself when it ends. */
#ifndef IOLENS_OWN_LOG_H
#define IOLENS_OWN_LOG_H

#include "epoch.h"

/* Writes it from the store; when that fails the store stays, and one line on standard error says where. */
void own_log_write(const struct epoch *epoch, int64_t job);

/* The process goes on after all (a failed exec): its log is written again at the real end. */
void own_log_withdraw(void);

#endif
