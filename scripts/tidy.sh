#!/usr/bin/env bash
# clang-tidy over the named sources, as compile_commands.json says that they are compiled. What it found nothing in is not
# looked at again while nothing that it reads changes: the text behind the preprocessor, comments included, .clang-tidy, and
# its own version. A source costs seconds, nearly all of them the analyzer's.
#
#     scripts/tidy.sh SOURCE...
set -u
cd "$(dirname "$0")/.." || exit 2
kept=${XDG_CACHE_HOME:-$HOME/.cache}/locus-tidy

if [ "${1:-}" = --one ]; then
    # A line of compile_commands.json; compile commands of ours have no blanks within words.
    read -ra words < <(grep -F "\"file\": \"$2\"" compile_commands.json | sed 's/.*"command": "//; s/" }.*//; s/\\"/"/g')
    [ ${#words[@]} -gt 0 ] || { echo "$2 is not in compile_commands.json"; exit 1; }
    name=$(set -o pipefail
        { cat .clang-tidy; clang-tidy --version; clang "${words[@]:1}" -D__clang_analyzer__ -w -E -C -P -o -; } 2> /dev/null |
            sha256sum) || name=
    name=${name%% *}
    if [ "$name" ] && [ -e "$kept/$name" ]; then
        touch "$kept/$name"
    elif clang-tidy -p . --quiet --warnings-as-errors='*' "$2" 2> "build/tidy/$$"; then
        rm -f "build/tidy/$$"
        [ -z "$name" ] || : > "$kept/$name"
        echo "  TIDY  $2"
    else
        cat "build/tidy/$$" && rm -f "build/tidy/$$"
        exit 1
    fi
    exit 0
fi

mkdir -p "$kept" build/tidy
find "$kept" -type f -mtime +60 -delete
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" "$0" --one
