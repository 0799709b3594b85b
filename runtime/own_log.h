/* The log of a process outside any session, written by itself when it ends. */
#ifndef IOLENS_OWN_LOG_H
#define IOLENS_OWN_LOG_H

void own_log_write(void);

/* The process goes on after all (a failed exec): its log is written again at the real end. */
void own_log_withdraw(void);

#endif
