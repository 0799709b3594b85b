/* Names of the runtime's own functions and variables are the program's to use. */
#include <stdio.h>

struct self {
	int mine;
} self = {1};
int store_state = 2, linked_names = 3, config = 4;

int log_hash(void);
int log_hash(void)
{
	return 5;
}

int inflate(void);
int inflate(void)
{
	return 6;
}

int main(void)
{
	FILE *f = fopen("sum", "w");
	fprintf(f, "%d\n", self.mine + store_state + linked_names + config + log_hash() + inflate());
	fclose(f);
	return 0;
}
