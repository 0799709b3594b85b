#include "must.h"

int main(void)
{
}
