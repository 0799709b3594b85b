#include "must.h"

int main(void)
{
	MUST(system("echo hello >out; echo again >>out; echo") == 0);
}
