#include "cli.h"
int info_main(int argc, char **argv)
{
	(void)argc;(void)argv;
	return 0;
}
