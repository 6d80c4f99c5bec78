#!/usr/bin/env bash
# Can somebody build on an installed locus? Installs to a staging folder, compiles a small program against it in the ways
# that people do, moves the tree elsewhere, and does it again.
set -u
cd "$(dirname "$0")/.." || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL # what the caller's make was told is not meant for those below
passed=0 failed=0 skipped=0
soversion=$(sed -n 's/^#define LOCUS_VERSION_MAJOR //p' include/locus.h)
place=$(mktemp -d)
log=$place/log
trap 'rm -rf "$place"' EXIT

good() { passed=$((passed + 1)); echo "ok      $*"; }
bad() { failed=$((failed + 1)); sed 's/^/    /' "$log"; echo "failed: $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped: $1: $2"; }
# Ports of loopback that nobody has, for who asks here alone: between those of the other tests and those that systems deal out.
port=32000
free_port() {
    while ((++port)) && (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do :; done
}
# try NAME COMMAND...
try() {
    local name=$1
    shift
    if "$@" > "$log" 2>&1; then good "$name"; else bad "$name"; fi
}

cat > "$place/program.c" <<'PROGRAM'
#include <locus.h>
#include <stdio.h>

int main(void)
{
    const char *text = locus_strerror(0);
    puts(text);
    return !(text && text[0]);
}
PROGRAM

# Compiles like a user: words of pkg-config and all. compile COMPILER SOURCE RESULT FLAGS...
compile() { "$1" -Wall -Wextra -Werror "$2" -o "$3" "${@:4}"; }
flags() { PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config "$@" locus; }

shared() {
    # shellcheck disable=SC2046
    compile gcc "$place/program.c" "$place/shared" $(flags --cflags --libs) &&
        LD_LIBRARY_PATH=$prefix/lib "$place/shared" &&
        ldd "$place/shared" | grep -q "liblocus\.so\.$soversion "
}

# Nothing but the shared library, whose own needs are not asked for: those have no archives, or none that link.
offers_no_archive() {
    [ ! -e "$prefix/lib/liblocus.a" ] && [ "$(flags --static --cflags --libs)" = "$(flags --cflags --libs)" ]
}

# The program of docs/reference/scheduling.md, alone and as a cluster of two.
scheduling() {
    awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' docs/reference/scheduling.md > "$place/scheduling.c"
    # shellcheck disable=SC2046
    compile gcc "$place/scheduling.c" "$place/scheduling" -Wno-unused-parameter $(flags --cflags --libs) -lm &&
        export LD_LIBRARY_PATH=$prefix/lib && timeout 300 "$place/scheduling" > "$place/found" &&
        timeout 300 "$prefix/bin/locus" run -n 2 "$place/scheduling" >> "$place/found" &&
        [ "$(grep -c 'coefficient 4 is 4.000' "$place/found")" = 3 ]
}

in_cpp() {
    # shellcheck disable=SC2046
    compile g++ test/install/embed.cpp "$place/cpp" -std=c++11 -Wpedantic $(flags --cflags --libs) &&
        LD_LIBRARY_PATH=$prefix/lib "$place/cpp"
}

with_clang() {
    # shellcheck disable=SC2046
    compile clang "$place/program.c" "$place/clang" $(flags --cflags --libs) &&
        LD_LIBRARY_PATH=$prefix/lib "$place/clang"
}

# As locus.h says: with the suppressions that are installed nothing is reported but a program's own race.
under_tsan() {
    local status
    # shellcheck disable=SC2046
    compile gcc test/install/viewer.c "$place/viewer" -g -O1 -fsanitize=thread $(flags --cflags --libs) || return
    export LD_LIBRARY_PATH=$prefix/lib TSAN_OPTIONS="suppressions=$prefix/share/locus/tsan.suppressions"
    free_port
    timeout 400 "$place/viewer" "127.0.0.1:$port" > "$place/quiet" 2>&1 || { cat "$place/quiet"; return 1; }
    if grep 'WARNING: ThreadSanitizer' "$place/quiet"; then return 1; fi
    free_port
    timeout 400 "$place/viewer" "127.0.0.1:$port" race > "$place/racy" 2>&1
    status=$?
    cat "$place/racy"
    [ $status -ne 0 ] && grep -q 'data race .*be_careless' "$place/racy"
}

# What the headers declare is there, and nothing else can be seen.
exports() {
    local declared exported
    declared=$(sed -n 's/^LOCUS_API .*[ *]\(locus_[a-z0-9_]*\)(.*/\1/p' "$prefix"/include/locus*.h | sort -u)
    exported=$(nm -D --defined-only "$prefix/lib/liblocus.so" | awk '{ print $NF }' | sort -u)
    diff <(echo "$declared") <(echo "$exported")
}

needs_only_what_it_uses() {
    ! LC_ALL=C ldd -u "$prefix/lib/liblocus.so" | grep '/lib/'
}

all_ways() {
    try "$1: shared" shared
    try "$1: pkg-config --static asks for no more" offers_no_archive
    if command -v g++ > /dev/null; then
        try "$1: C++" in_cpp
    else
        skip "$1: C++" "there is no g++ here"
    fi
    if command -v clang > /dev/null; then
        try "$1: clang" with_clang
    else
        skip "$1: clang" "there is no clang here"
    fi
}

# Nothing is installed in the source tree, or, for want of a word, in the root.
refuses_prefix() {
    ! make install PREFIX="$1" DESTDIR= > /dev/null 2> "$place/refused" && grep -q 'must be an absolute path' "$place/refused"
}
try "a relative PREFIX is refused" refuses_prefix here/locus
try "an empty PREFIX is refused" refuses_prefix ""

prefix=$place/stage/opt/locus
try "install with DESTDIR and PREFIX" make -j"$(nproc)" install PREFIX=/opt/locus DESTDIR="$place/stage"
all_ways "installed"
if echo 'int main(void) { return 0; }' | gcc -fsanitize=thread -x c - -o "$place/probe" > "$log" 2>&1 && "$place/probe"; then
    try "a program under ThreadSanitizer" under_tsan
else
    skip "a program under ThreadSanitizer" "it does not run here"
fi
try "the example of docs/reference/scheduling.md" scheduling
try "the exported names are those of the headers" exports
try "no library is linked in vain" needs_only_what_it_uses

has_manuals() {
    local program
    for program in "$prefix"/bin/*; do
        grep -q "^${program##*/} .*-" "$prefix/share/man/man1/${program##*/}.1" || return 1
    done
    [ -s "$prefix/share/man/man1/locus-run.1" ] && [ -s "$prefix/share/man/man3/locus_pull.3" ]
}
try "manuals are there" has_manuals
try "the command is there" "$prefix/bin/locus" --version
in_python() {
    local name
    for name in "${commands[@]}"; do (cd / && "$prefix/bin/$name" --help) || return 1; done
}
mapfile -t commands < <(sed -n 's/^\(locus-[a-z]*\) = .*/\1/p' python/pyproject.toml)
try "the commands in Python are there" in_python

# The programs: from any folder, with nothing set.
kge() { (cd / && "$prefix/bin/locus" run -n 4 kge --data "$place/graph" --epochs 1 --dim 8); }
wv() { (cd / && "$prefix/bin/locus" run -n 2 locus-wv --data "$place/text" --epochs 1 --dim 8); }
mf() { (cd / && "$prefix/bin/locus" run -n 2 locus-mf --data "$place/ratings" --rank 4 --epochs 1); }
elsewhere() {
    mkdir -p "$place/graph" && awk 'BEGIN { for (i = 0; i < 60; i++) printf "a%d\tr%d\tb%d\n", i % 7, i % 2, i % 5 }' |
        tee "$place/graph/train.txt" "$place/graph/valid.txt" > "$place/graph/test.txt"
    awk 'BEGIN { for (i = 0; i < 3000; i++) print "word" i % 9, "other" i % 7, "third" i % 5 }' > "$place/text"
    awk 'BEGIN { for (i = 0; i < 400; i++) printf "%d\t%d\t%g\n", i % 50, i % 19, i * 7 % 5 }' > "$place/ratings"
    kge && wv && mf
}

# examples/: each as its user would compile it, alone and on two nodes; what it prints shows that it learned.
build_examples() {
    local source
    mkdir -p "$place/examples"
    for source in examples/*.c; do
        # shellcheck disable=SC2046
        compile gcc "$source" "$place/examples/$(basename "$source" .c)" -O2 $(flags --cflags --libs) -lm -pthread || return
    done
}
example() { LD_LIBRARY_PATH=$prefix/lib timeout 400 "$place/examples/$1" "${@:2}" 2>&1; }
examples_on_two() {
    LD_LIBRARY_PATH=$prefix/lib timeout 400 "$prefix/bin/locus" run -n 2 "$place/examples/$1" "${@:2}" 2>&1
}
# says PATTERN COUNT: so many lines of the input are of that form; shows the input
says() { tee "$place/said" | grep -cE -- "$1" > "$place/count"; cat "$place/said"; [ "$(cat "$place/count")" = "$2" ]; }
# first N lines, last error at most X: "... error 0.0291"
falls_below() { tee "$place/said" | tail -n 1 | awk -v x="$1" '{ exit !($NF > 0 && $NF < x) }' && cat "$place/said"; }
ex_first() { example first | says '^node 0 of 1: row 7 begins with 100; 0.0 % of accesses left the node$' 1 && examples_on_two first | says '^node [01] of 2: row 7 begins with 200; [0-9.]* % of accesses left the node$' 2; }
ex_calls() { (cd "$place" && example calls | says '^worker 0: the first floats add up to [0-9.]+$' 1 && examples_on_two calls | says ' add up to [0-9.]+$' 2); }
ex_loader() { example loader | says ' (9[5-9]|100)\.[0-9] % right at last' 1 && examples_on_two loader | says ' (9[0-9]|100)\.[0-9] % right' 2; }
ex_sampling() { example sampling | says ' make (29|30|31)\.[0-9] % of' 1 && examples_on_two sampling | says ' make (28|29|30|31)\.[0-9] % of' 2; }
ex_adam() { example adam | falls_below 0.2 && examples_on_two adam | falls_below 0.25; }
ex_mf() {
    example mf | falls_below 0.1 && examples_on_two mf "$place/mf" | falls_below 0.2 &&
        example mf "$place/mf" | says '^goes on after epoch 8$' 1
}
# Alone nothing is remote. On two nodes half is, before, and next to nothing when it is ported: less than half of that even
# where the machine is busy.
ex_port() {
    example port 0 | says ', 0\.00 % of pulls' 1 && examples_on_two port 0 | says ', (49|50|51)\.[0-9]+ % of pulls' 2 &&
        examples_on_two port 256 | says ', (1?[0-9]|2[0-4])\.[0-9]+ % of pulls' 2
}
ex_several() { free_port; example several "127.0.0.1:$port" 4 | says '^node [0-3] of 4: all updates are there$' 4; }
as_in_readme() { diff <(awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' README.md) examples/first.c; }

try "programs from any folder" elsewhere
try "README.md shows examples/first.c" as_in_readme
if build_examples > "$log" 2>&1; then
    good "examples: all compile"
    for e in examples/*.c; do
        name=$(basename "$e" .c)
        try "examples: $name" "ex_$name"
    done
else
    bad "examples: all compile"
fi

mkdir "$place/moved" && mv "$place/stage/opt/locus" "$place/moved/here"
prefix=$place/moved/here
all_ways "moved"

try "LIBDIR may be deeper" make install PREFIX=/usr LIBDIR=/usr/lib/triplet DESTDIR="$place/deep"
prefix=$place/deep/usr
deep() { [ -e "$(PKG_CONFIG_PATH=$prefix/lib/triplet/pkgconfig pkg-config --variable=libdir locus)/liblocus.so" ]; }
try "locus.pc finds it there" deep

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
