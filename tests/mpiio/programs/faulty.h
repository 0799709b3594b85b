/* What faulty.c below the program makes fail: non-blocking writes at this offset and beyond. */
enum { FAULTY = 1 << 20 };
