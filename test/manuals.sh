#!/usr/bin/env bash
# Has every public name a manual page, every option of every program a line in one, and does a formatter understand them?
set -u
cd "$(dirname "$0")/.." || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0 skipped=0
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
good() { passed=$((passed + 1)); echo "ok      $*"; }
bad() { failed=$((failed + 1)); echo "failed: $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped: $1: $2"; }
# judge NAME LIST: nothing may be on the list
judge() { if [ -z "$2" ]; then good "$1"; else bad "$1: $2"; fi; }

make -j"$(nproc)" CC=gcc manuals > "$place/log" 2>&1 || { cat "$place/log"; bad "make manuals"; }
man=build/gcc/man

# Functions, macros that look like them, and types.
missing=''
headers=(include/locus.h)
mapfile -t names < <(grep -ohE '\blocus_[a-z0-9_]+' "${headers[@]}" | sort -u)
for name in "${names[@]}"; do
    grep -qE "^(LOCUS_API .*[ *]|typedef .*[ *]|#define |struct |enum )$name( \{|;|\()|^ +$name\(" "${headers[@]}" || continue
    [ -s "$man/man3/$name.3" ] || missing+=" $name"
done
judge "every public name has a page" "$missing"

# Constants: what the compiler sees of them. A macro's page is found by its name; an enumerator's is its enumeration's.
missing=''
mapfile -t names < <({ gcc -E -P -Iinclude include/locus.h; gcc -E -dM -Iinclude include/locus.h | grep '^#define LOCUS_'; } |
    grep -oE '\bLOCUS_[A-Z0-9_]+' | grep -vxE 'LOCUS_(H|API)' | sort -u)
[ "${#names[@]}" -gt 20 ] || missing=' hardly any'
for name in "${names[@]}"; do
    [ -s "$man/man3/$name.3" ] || missing+=" $name"
done
judge "every constant has a page" "$missing"

# The commands that `locus --help` lists.
missing=''
for command in $(build/gcc/bin/locus --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    [ -s "$man/man1/locus-$command.1" ] || missing+=" locus-$command"
done
judge "every command has a page" "$missing"

missing=''
mapfile -t names < <(sed -n 's/^LOCUS_API .*[ *]\(locus_[a-z0-9_]*\)(.*/\1/p' "${headers[@]}")
for name in "${names[@]}"; do
    page=$man/man3/$name.3
    link=$(sed -n 's/^\.so man3\///p' "$page")
    [ -z "$link" ] || page=$man/man3/$link
    awk '/^\.SH SYNOPSIS/ { on = 1 } /^\.SH DESCRIPTION/ { on = 0 } on' "$page" | grep -q "$name(" || missing+=" $name"
done
judge "every function's page declares it" "$missing"
missing=''
for page in "$man"/man3/*.3; do
    grep -qE '^(int|bool|void|const|size_t|uint).*\(' "$page" || continue
    for section in 'RETURN VALUE' EXAMPLE; do grep -q "^.SH $section" "$page" || missing+=" $(basename "$page"): $section"; done
    ! grep -q 'value of errno' "$page" || grep -q '^.SH ERRORS' "$page" || missing+=" $(basename "$page"): ERRORS"
done
judge "every function's page has its sections" "$missing"
missing=''
awk '/^\.nf/ { on = 1 } /^\.fi/ { on = 0 } !on && /^  / { exit 1 }' "$man"/man3/*.3 || missing+=' code is filled'
page=$man/man3/locus_read_rows.3
[ "$(grep -c '^\.B [01]$' "$page")" = 2 ] && ! grep -q 'returns 0' "$page" && grep -q '^\.SH ERRORS' "$page" || missing+=' locus_read_rows'
! grep -A 1 '^\.BR locus_intent ():' "$man/man3/locus_intent.3" | grep -q 'it never ends' && grep -q '^\.BR LOCUS_FOREVER:' "$man/man3/locus_intent.3" || missing+=' LOCUS_FOREVER'
judge "lists, code and constants stand apart" "$missing"

# What `whatis` and `apropos` show: what the page is about, in a line, without the page before it.
missing=''
for page in "$man"/man[13]/*.[13]; do
    name=$(basename "$page")
    ! grep -q '^\.so ' "$page" || continue
    about=$(sed -n '/^\.SH NAME/ { n; s/^.* \\- //p }' "$page")
    [[ $about =~ ^[a-z].*\ .*\  && ${#about} -le 90 ]] || missing+=" $name: \"$about\""
    first=$(sed -n '/^\.SH DESCRIPTION/ { n; p }' "$page")
    [[ ! $first =~ ^(The\ same|As\ above|Likewise) ]] && ! grep -q 'as above' "$page" || missing+=" $name leans on others"
done
grep -q '^\.SH PAGES' "$man/man3/locus.3" || missing+=' locus: PAGES'
judge "every page says what it is about" "$missing"

# options COMMAND...: what its help speaks of
options() { "$@" --help | grep -oE '(^|[ ,[(])--?[a-z][a-z-]*' | grep -oE -- '--?[a-z][a-z-]*' | sort -u; }
# The page as it is read: with its dashes.
shown() { mandoc -T utf8 "$1" | sed 's/.\x08//g'; }

if ! command -v mandoc > "$place/which"; then
    skip "pages are understood" "there is no mandoc here"
else
    mapfile -t programs < <(cd apps && for f in */main.c; do [ "$f" = locus/main.c ] || echo "locus-$(dirname "$f")"; done)
    mapfile -t in_python < <(sed -n 's/^\(locus-[a-z]*\) = .*/\1/p' python/pyproject.toml)
    for command in 'locus' 'locus run' 'locus doctor' 'locus top' 'locus explain' 'locus trace' 'locus checkpoint' \
        "${programs[@]}" "${in_python[@]}"; do
        page=$man/man1/${command/ /-}.1 missing=''
        shown "$page" > "$place/shown"
        read -ra words <<< "$command"
        for option in $(options "build/gcc/bin/${words[0]}" "${words[@]:1}"); do
            grep -q -- "$option" "$place/shown" || missing+=" $option"
        done
        judge "$command: every option is in its page" "$missing"
    done
    judge "mandoc understands every page" "$(cd "$man" && mandoc -T lint -W error man1/*.1 man3/*.3 2>&1 | head -n 5)"
    missing=''
    shown "$man/man3/locus_pull.3" | tr -s ' \n' ' ' | grep -q 'ERRORS .*-ECONNRESET a node was lost.* EXAMPLE .*locus_pull(worker, keys' ||
        missing=ECONNRESET
    judge "man locus_pull speaks of its errors, and has an example" "$missing"
fi

if ! /usr/bin/python3 -c 'import markdown' 2> "$place/which" || ! command -v mandoc > "$place/which"; then
    skip "make docs" "python3-markdown or mandoc is missing"
else
    # They are made from the tree as it is; what leads nowhere is printed.
    if scripts/site.py "$place/site" "$man" > "$place/faults"; then
        judge "every link of the site leads somewhere" ""
    else
        judge "every link of the site leads somewhere" "$(head -n 3 "$place/faults")"
    fi
    missing=''
    grep -q '<table>' "$place/site/docs/reference/metrics.html" || missing+=' tables'
    grep -q '<h2 id="the-rendezvous">' "$place/site/docs/reference/errors.html" || missing+=' headings'
    grep -q 'locus_pull' "$place/site/man/locus_pull.3.html" || missing+=' manuals'
    # A line is a line, and as wide as a page has room for.
    tr -d '\n' < "$place/site/man/locus_pull.3.html" | grep -qE '<pre>[^/]*<br' && missing+=' lines without others between'
    # A link that is planted to lead nowhere is seen.
    sed -i 's/href="docs\/README.html"/href="docs\/nowhere.html"/' "$place/site/README.html"
    scripts/site.py --check "$place/site" > "$place/faults" && missing+=' who follows links'
    judge "the site has what documents have" "$missing"
fi

# says_what_is_missing WORD COMMAND...: one sentence, no traceback
says_what_is_missing() {
    "${@:2}" > "$place/said" 2>&1 && return 1
    grep -q "$1" "$place/said" && [ "$(wc -l < "$place/said")" -eq 1 ]
}
missing=''
says_what_is_missing python3-markdown /usr/bin/python3 -S scripts/site.py "$place/none" || missing+=' markdown'
if /usr/bin/python3 -c 'import markdown' 2> "$place/which"; then
    says_what_is_missing mandoc env PATH=/nowhere /usr/bin/python3 scripts/site.py "$place/none" "$man" || missing+=' mandoc'
fi
judge "make docs says which tool is missing" "$missing"

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
