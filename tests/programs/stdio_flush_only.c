#include "must.h"

int main(void)
{
	MUST(fflush(stdout) == 0);
	MUST(fflush(stdout) == 0);
}
