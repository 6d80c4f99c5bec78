#!/usr/bin/env bash
# Sums that Redis keeps: INCRBYFLOAT and HINCRBYFLOAT beside ZINCRBY.
#
# Packages  redis-server, redis-tools 5:7.0.15-1~deb12u10 (Debian 12; a newer security update where that is gone)
# Guess     A number is a double, or its 17 digits as a text: a step of 3e-18 onto 0 gives 3e-18, and all commands add alike.
# In truth  INCRBYFLOAT and HINCRBYFLOAT write the sum with 17 places behind the point, not 17 digits: a thousand steps of 3e-18
#           leave 0, one of 6e-18 becomes 1e-17. And they add in long double, so 0.1 + 0.2 is 0.3; ZINCRBY adds
#           doubles, loses none of these, and says 0.30000000000000004.
# Matters   where gradients, squared gradients or counters of loss are summed up in Redis: what is small is lost for good, and
#           a hash and a sorted set that got the same steps are not equal.
set -eu
place=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; wait; rm -rf "$place"' EXIT
cd "$place"
version=5:7.0.15-1~deb12u10
download() { apt-get download -qq -o APT::Sandbox::User=root "$@"; }
download redis-server=$version redis-tools=$version || download redis-server redis-tools
download libjemalloc2 liblzf1 libatomic1 libssl3 libsystemd0
for package in *.deb; do dpkg -x "$package" tree; done
LD_LIBRARY_PATH=$(echo "$place"/tree/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
tree/usr/bin/redis-server --port 0 --unixsocket "$place/socket" --save '' > log 2>&1 &
server=$!
redis() { tree/usr/bin/redis-cli -s socket "$@"; }
until redis ping > pong 2>&1; do kill -0 "$server" && sleep 0.1; done
tree/usr/bin/redis-server --version | cut -d ' ' -f 1-3

for ((i = 0; i < 1000; i++)); do
    printf '%s\n' 'incrbyfloat text 3e-18' 'hincrbyfloat hash row 3e-18' 'zincrby set 3e-18 row'
done | redis > sums
text=$(redis get text) hash=$(redis hget hash row) set=$(redis zscore set row) once=$(redis incrbyfloat once 6e-18)
echo "1000 steps of 3e-18: INCRBYFLOAT $text, HINCRBYFLOAT $hash, ZINCRBY $set; one of 6e-18: INCRBYFLOAT $once"
redis incrbyfloat tenths 0.1 > pong
redis zincrby tenth 0.1 row > pong
long=$(redis incrbyfloat tenths 0.2) double=$(redis zincrby tenth 0.2 row)
echo "0.1 + 0.2: INCRBYFLOAT $long, ZINCRBY $double"
[ "$text" = 0 ] && [ "$hash" = 0 ] && [[ $set == [23]*e-15 ]] && [ "$once" = 0.00000000000000001 ] &&
    [ "$long" = 0.3 ] && [ "$double" = 0.30000000000000004 ]
