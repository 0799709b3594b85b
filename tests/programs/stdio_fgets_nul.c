#include "must.h"

int main(void)
{
	static char line[100];
	FILE *f = fopen("data", "w+");
	MUST(f);
	for (int i = 0; i < 10; i++)
		MUST(fwrite("a\0bcdefgh\n", 1, 10, f) == 10);
	rewind(f);
	for (int i = 0; i < 10; i++)
		MUST(fgets(line, i < 5 ? sizeof line : 11, f) == line && line[2] == 'b');
	MUST(!fgets(line, sizeof line, f));
	MUST(fclose(f) == 0);
}
