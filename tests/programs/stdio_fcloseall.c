#include "must.h"

int main(void)
{
	FILE *a = fopen("a", "w");
	FILE *b = fopen("b", "w");
	MUST(a != NULL && b != NULL);
	MUST(fputs("a", a) >= 0 && fputs("bb", b) >= 0);
	MUST(fcloseall() == 0);
}
