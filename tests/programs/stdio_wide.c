#include "must.h"

#include <wchar.h>

int main(int argc, char **argv)
{
	wchar_t line[16];
	int n, size = argc + 9;
	FILE *f = fopen(argv[0] ? "data" : "", "w+");
	MUST(f != NULL);
	MUST(fputwc(L'a', f) == L'a');
	MUST(putwc(L'b', f) == L'b');
	MUST(fputws(L"cde\n", f) >= 0);
	MUST(fwprintf(f, L"%d\n", 12345) == 6);
	rewind(f);
	MUST(fgetwc(f) == L'a');
	MUST(getwc(f) == L'b');
	MUST(fgetws(line, size, f) != NULL);
	MUST(fwscanf(f, L"%d", &n) == 1 && n == 12345);
	MUST(fgetws(line, size, f) != NULL);
	MUST(fgetws(line, size, f) == NULL);
	MUST(fclose(f) == 0);
}
