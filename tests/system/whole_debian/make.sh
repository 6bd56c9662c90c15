# Twelve files compiled by four processes at a time.
rm -rf /tmp/made && mkdir /tmp/made && cd /tmp/made || exit 1
for i in $(seq 12); do echo "int f$i(void) { return $i; }" > f$i.c; done
printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n' > Makefile
make -s -j4 && ls *.o | wc -l
