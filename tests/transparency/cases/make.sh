mkdir o; for i in $(seq 40); do echo "int f$i(void) { return $i; }" >f$i.c; done
printf 'all: $(patsubst %%,o/f%%.o,$(shell seq 40))\n\tar rc l.a o/*.o\no/%%.o: %%.c\n\t$(CC) -c -O1 -o $@ $<\n' >Makefile
make -s -j4 && nm l.a | grep -c ' T '; make -s -j4; touch f7.c; make -j4 | grep -c f7; make -s -j4 nothing 2>/dev/null; echo $?
