#include "must.h"

#include <wchar.h>

int main(void)
{
	MUST(wprintf(L"%d\n", 123) == 4);
	MUST(putwchar(L'x') == L'x');
	MUST(fputws(L"abc\n", stdout) >= 0);
}
