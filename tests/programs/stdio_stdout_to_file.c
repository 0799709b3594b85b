#include "must.h"

int main(void)
{
	MUST(printf("%s\n", "hello") == 6);
}
