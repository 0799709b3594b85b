#include "must.h"
#include <wchar.h>
#include "must.h"

int main(void)
{
	wchar_t line[16];
	FILE *f = fopen("data", "w+");
	MUST(f != NULL);
	MUST(fputwc(L'a', f) == L'a');
	MUST(putwc(L'b', f) == L'b');
	MUST(fputws(L"cde\n", f) >= 0);
	MUST(fwprintf(f, L"%d\n", 12345) == 6);
	rewind(f);
	MUST(fgetwc(f) == L'a');
	MUST(getwc(f) == L'b');
	MUST(fgetws(line, 16, f) != NULL);
	MUST(fgetws(line, 16, f) != NULL);
	MUST(fgetws(line, 16, f) == NULL);
	MUST(fclose(f) == 0);
}
