#include "must.h"

static FILE *f;

static void *put(void *unused)
{
	for (int i = 0; i < 5000; i++)
		MUST(fputc('x', f) == 'x');
	return unused;
}

int main(void)
{
	pthread_t other;
	MUST((f = fopen("out", "w")) != NULL);
	MUST(pthread_create(&other, NULL, put, NULL) == 0);
	put(NULL);
	MUST(pthread_join(other, NULL) == 0);
	MUST(fclose(f) == 0);
}
