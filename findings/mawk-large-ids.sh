#!/usr/bin/env bash
# Ids above 2^31, and words that look like numbers, in Debian's awk.
#
# Package   mawk 1.3.4.20200120-3.1 (Debian 12; the awk of a fresh system)
# Guess     Numbers of awk are doubles, so whole ones are exact and printed in full up to 2^53, and text is never hexadecimal.
# In truth  A number above 2^31 - 1 is printed with six digits (2147483648 + 0 is 2.14748e+09), and printf "%d" makes
#           2147483647 of all of them. And `0x10` and `16` are equal, in $1 == $2, and 0x10 + 0 is 16.
# Matters   in jobs that shift or divide ids, or number rows: large ids become one and the same, with no
#           error, where awk is mawk; gawk 5.2.1 does the same line right. "%.0f" prints all digits in both.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
apt-get download -qq -o APT::Sandbox::User=root mawk=1.3.4.20200120-3.1
dpkg -x mawk_*.deb tree
awk() { tree/usr/bin/mawk "$@"; }
awk -W version 2>&1 | head -n 1

for id in 2147483647 2147483648 3000000000 9007199254740991; do
    awk -v id="$id" 'BEGIN { printf "%s: print %s, %%d %d, %%.0f %.0f\n", id, "" (id + 0), id, id }'
done | tee ids
same=$(echo 0x10 16 | awk '{ print ($1 == $2), $1 + 0 }')
echo "0x10 == 16, and 0x10 + 0: $same"
[ "$(cat ids)" = "2147483647: print 2147483647, %d 2147483647, %.0f 2147483647
2147483648: print 2.14748e+09, %d 2147483647, %.0f 2147483648
3000000000: print 3e+09, %d 2147483647, %.0f 3000000000
9007199254740991: print 9.0072e+15, %d 2147483647, %.0f 9007199254740991" ] && [ "$same" = '1 16' ]
