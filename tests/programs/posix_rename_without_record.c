#include "must.h"

int main(void)
{
	MUST(rename("old", "new") == 0);
	MUST(rename("missing", "new") == -1);
}
