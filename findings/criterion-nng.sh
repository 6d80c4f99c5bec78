#!/usr/bin/env bash
# A test program of Criterion for code that uses nng: Criterion itself talks to its tests by nanomsg.
#
# Packages  libcriterion-dev 2.4.1-2, libnng-dev 1.5.2-2, libnanomsg5 1.1.5+dfsg-1.1+b1 (Debian 12)
# Guess     nng and nanomsg are two libraries with two sets of names, so Criterion runs by nanomsg as ever, and nng starts its
#           threads when the program first uses it.
# In truth  libnng has nanomsg's names, too (nn_socket and 20 more), and Criterion needs nanomsg without naming a version of its
#           functions: they bind to libnng as soon as a program is linked with it, in either order. The program calls nothing of
#           nng, and yet each test runs beside nng's threads. Only nanomsg named before nng keeps Criterion on nanomsg.
# Matters   for tests of a server: thread counts, time, and what a sanitizer or strace shows are of another library than the one
#           that ldd lists for Criterion.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W gcc libcriterion-dev libnng-dev libnanomsg5 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends gcc libc6-dev libcriterion-dev=2.4.1-2 libnng-dev=1.5.2-2 > /dev/null
dpkg-query -W libcriterion3 libnng1 libnanomsg5

cat > test.c << 'C'
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(threads, of_this_process) {
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "Threads:", 8)) fputs(line, stderr);
    if (file) fclose(file);
}
C
# threads LIBRARY...: linked in this order, what it binds nn_socket to and how many threads a test has
threads() {
    gcc test.c -o program -Wl,--no-as-needed "$@"
    bound=$(LD_DEBUG=bindings ./program 2>&1 | sed -n "s/.*libcriterion.* to [^ ]*\/\(lib[a-z]*\).* .nn_socket'.*/\1/p" | sort -u)
    count=$(./program 2>&1 | awk '/^Threads:/ { print $2 }')
    echo "$*: nn_socket of Criterion is in $bound; threads in a test: $count"
}
threads -lcriterion
[ "$bound" = libnanomsg ] && alone=$count
threads -lcriterion -lnng
[ "$bound" = libnng ] && [ "$count" -gt "$alone" ]
threads -lnng -lcriterion
[ "$bound" = libnng ] && [ "$count" -gt "$alone" ]
threads -l:libnanomsg.so.5 -lcriterion -lnng
[ "$bound" = libnanomsg ] && [ "$count" -eq "$alone" ]
