#!/usr/bin/env bash
# Do the arrows go one way, and is every room small? Reads what the sources of a tree include, and names each arrow that does
# not lead to the same folder or one on an earlier line of its LAYERS, each circle within a folder, each folder that stands on
# no line, and each line that is no folder; each file of more than 600 lines, and each function whose body has more than 60.
# Beside src it also looks how large the folders of the whole tree are: who needs more lines than CEILINGS says it by editing it.
#
#     scripts/layers.sh [FOLDER]    src
set -u
root=${1:-src}
# Lines of .c, .h, .cpp, .py and .sh
CEILINGS='src 37570 include 985 apps 29020 python 7290 test 67100 bench 6995 lab 2445'
[ -f "$root/LAYERS" ] || { echo "$root/LAYERS is missing" >&2; exit 2; }

over=
read -ra ceilings <<< "$CEILINGS"
for ((i = 0; i < ${#ceilings[@]}; i += 2)); do
    folder=$root/../${ceilings[i]}
    [ -d "$folder" ] || continue
    lines=$(find "$folder" -regextype egrep -regex '.*\.(c|h|cpp|py|sh)' -exec cat {} + | wc -l)
    [ "$lines" -le "${ceilings[i + 1]}" ] || over+="${ceilings[i]} has $lines lines: at most ${ceilings[i + 1]}"$'\n'
done
[ -z "$over" ] || echo -n "$over"
cd "$root" || exit 2

# One line an arrow: who includes, whom.
arrows() { find . -name '*.[ch]' | sort | xargs grep -oHE '^#include "[^"]+"' | sed -E 's/^(\.\/)?([^:]+):#include "(.*)"/\2 \3/'; }
files() { find . -name '*.[ch]' | sed 's/^\.\///' | sort; }

# The style puts a function's braces alone into the first column; those of types and values open at the end of a line.
large() {
    # shellcheck disable=SC2016
    files | xargs awk '
        FNR == 1 { begin = 0; text = "" }
        { lines[FILENAME] = FNR }
        /^[A-Za-z_].*\(/ { text = $0; sub(/ *\(.*/, "", text); sub(/.*[ *]/, "", text) }
        /^\{/ { begin = FNR }
        /^\}/ {
            if (begin && FNR - begin - 1 > 60) print FILENAME ": " text "() has " FNR - begin - 1 " lines: at most 60"
            begin = 0
        }
        END { for (name in lines) if (lines[name] > 600) print name " has " lines[name] " lines: at most 600" }' | sort
}
sizes=$(large)
[ -z "$sizes" ] || echo "$sizes"

{ sed 's/^/L /' LAYERS; files | sed 's/^/F /'; arrows | sed 's/^/A /'; } | awk '
    function folder(file) { sub(/\/?[^\/]*$/, "", file); return file == "" ? "." : file }
    function wrong(text) { print text; faults++ }
    $1 == "L" && NF > 1 && $2 !~ /^#/ {
        if ($2 in layer) wrong($2 " stands on two lines of LAYERS")
        layer[$2] = ++line
    }
    $1 == "F" { exists[folder($2)] = 1 }
    $1 == "A" {
        from = folder($2); to = folder($3)
        if ($3 ~ /^locus(_schedule|_train)?\.h$/) next
        seen++
        if (from != to && layer[to] >= layer[from]) wrong($2 " includes " $3 ", which does not stand on an earlier line")
    }
    END {
        for (name in exists) if (!(name in layer)) wrong(name " stands on no line of LAYERS")
        for (name in layer) if (!(name in exists)) wrong(name " is on a line of LAYERS, and there is no such folder")
        if (!seen) wrong("no source includes anything: this is not the tree")
        if (faults) exit 1
        printf "  OK    %d folders, %d arrows\n", line, seen
    }'
arrows_right=${PIPESTATUS[1]}
# tsort names those that are in a circle.
circles=$(arrows | sed -E 's/(_private)?\.[ch]( |$)/ /g' | awk '$1 != $2' | tsort 2>&1 > /dev/null |
    sed -n 's/^tsort: \([^-].*\)/\1 is in a circle of includes/p')
[ -z "$circles" ] || echo "$circles"
# Whatever is wrong, all of it was said.
[ "$arrows_right" -eq 0 ] && [ -z "$circles" ] && [ -z "$sizes" ] && [ -z "$over" ]
