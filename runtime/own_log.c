#include "own_log.h"

void own_log_write(void)
{
}

void own_log_withdraw(void)
{
}
