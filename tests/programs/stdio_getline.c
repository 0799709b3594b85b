#include "must.h"

int main(void)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f = fopen("in", "r");
	MUST(f != NULL);
	MUST(getline(&line, &size, f) == 4);
	MUST(getdelim(&line, &size, ';', f) == 5);
	MUST(getline(&line, &size, f) == 5);
	MUST(getline(&line, &size, f) == -1);
	MUST(fclose(f) == 0);
	free(line);
}
