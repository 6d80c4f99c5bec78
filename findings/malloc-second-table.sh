#!/usr/bin/env bash
# Memory that a program gets back from malloc and frees, twice the same.
#
# Packages  libc6 2.36-9+deb12u* (Debian 12), gcc
# Guess     Blocks of 20 MB are far above the 128 KiB from which malloc takes memory by mmap, so free() returns each at once.
# In truth  Only the first. Freeing it raises the limit to its size: the second block of 20 MB comes from the heap, and one small
#           block behind it keeps all of it in the process after free(). With the limit set by the environment, even to its own
#           default, it does not move, and each block is returned.
# Matters   to trainers that replace a table or a batch's buffers: what they use after the second round is not what they use
#           after the first, and a leak is looked for that is none. GLIBC_TUNABLES settles it without a change to the program.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W gcc libc6-dev libc6 2> /dev/null || apt-get install -qq -y --no-install-recommends gcc libc6-dev > /dev/null
ldd --version | head -n 1

cat > rounds.c << 'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long resident(void) {
    long all, here;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &here) != 2) exit(2);
    fclose(file);
    return here * sysconf(_SC_PAGESIZE) >> 20;
}

int main(void) {
    for (int round = 1; round <= 3; round++) {
        char *volatile table = malloc(20 << 20);
        memset(table, 1, 20 << 20);
        char *volatile name = malloc(100);
        memset(name, 1, 100);
        free(table);
        printf("%ld ", resident());
    }
    puts("");
}
C
gcc rounds.c -o rounds
by_default=$(./rounds)
fixed=$(GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072 ./rounds)
echo "MiB in the process after the free of rounds 1, 2, 3: $by_default; with the limit set: $fixed"
read -r first second third <<< "$by_default"
[ "$first" -lt 10 ] && [ "$second" -ge 20 ] && [ "$third" -ge 20 ] && [[ ! $fixed =~ [0-9][0-9] ]]
