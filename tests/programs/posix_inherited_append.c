#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	MUST(write(1, buf, 10) == 10);
	MUST(write(1, buf, 10) == 10);
}
