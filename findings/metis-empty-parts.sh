#!/usr/bin/env bash
# The parts that gpmetis makes of small, well connected graphs.
#
# Packages  metis, libmetis5 5.1.0.dfsg-7 (Debian 12)
# Guess     gpmetis keeps parts within 3 % of each other, as its report says by default, so each of k parts gets vertices
#           whenever there are more vertices than k.
# In truth  Of 20 vertices that are all linked to each other it puts all 20 into one of 10 parts; of 200 vertices with 800 random
#           edges it leaves parts of 64 empty. The status is 0, and the file is of the right length.
# Matters   to whoever spreads parameters or a graph over servers by these parts: a server gets nothing, and code that divides
#           by a part's size, or expects numbers 0 to k-1 in the file, meets a part that is not there.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
apt-get download -qq -o APT::Sandbox::User=root metis=5.1.0.dfsg-7 libmetis5=5.1.0.dfsg-7
for package in *.deb; do dpkg -x "$package" tree; done
LD_LIBRARY_PATH=$(echo "$place"/tree/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH

# A line a vertex with its neighbours, each edge in both: from the lines "a b" of edges
graph() {
    awk -v n="$1" '!seen[$1, $2]++ { seen[$2, $1] = 1; near[$1] = near[$1] " " $2; near[$2] = near[$2] " " $1; edges++ }
        END { print n, edges; for (v = 1; v <= n; v++) print near[v] }'
}
for ((i = 1; i <= 20; i++)); do for ((j = 1; j < i; j++)); do echo "$i $j"; done; done | graph 20 > complete.graph
awk 'BEGIN { for (s = 1; k < 800; ) { s = s * 16807 % 2147483647; a = s % 200 + 1
    s = s * 16807 % 2147483647; b = s % 200 + 1; if (a != b) { print a, b; k++ } } }' | graph 200 > random.graph

# parts GRAPH K: how many of K parts have vertices
parts() {
    tree/usr/bin/graphchk "$1.graph" | grep -o 'The format of the graph is correct'
    tree/usr/bin/gpmetis "$1.graph" "$2" > log
    echo "$1: of $2 parts, $(sort -u "$1.graph.part.$2" | wc -l) have vertices; the largest" \
        "$(sort "$1.graph.part.$2" | uniq -c | sort -n | awk 'END { print $1 }') of $(wc -l < "$1.graph.part.$2")"
}
parts complete 10
parts random 64
[ "$(sort -u complete.graph.part.10 | wc -l)" -eq 1 ] && [ "$(sort -u random.graph.part.64 | wc -l)" -lt 64 ]
