#!/usr/bin/env bash
# How many wake-ups of one byte fit into a socket that nobody reads: a pair of local sockets, TCP, a pipe.
#
# Tool      Linux (seen with 6.18), python3
# Guess     The buffer of a socket pair has 208 KiB, so some 200,000 bytes; a pipe has 64 KiB, so it is full first.
# In truth  The buffer counts what the kernel spends on a message, 768 bytes for each of these: the socket pair is full after 278
#           bytes. One write of 64 KiB after the other, it takes 200 KiB. A pipe takes all of its 65,536 bytes, and TCP hundreds
#           of thousands, as both append to what is there.
# Matters   where threads or processes wake each other by a byte: a sender that may not wait loses wake-ups after 278, or waits
#           for a reader that waits for it. A pipe or an eventfd is no worse, though its buffer looks smaller.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
uname -sr | cut -d . -f 1,2
dpkg-query -W python3 2> /dev/null || apt-get install -qq -y --no-install-recommends python3 > /dev/null

/usr/bin/python3 - << 'PYTHON'
import os, socket, sys


def fits(file, piece):
    os.set_blocking(file, False)
    count = 0
    try:
        while True:
            count += os.write(file, piece)
    except BlockingIOError:
        return count


def pair():
    ends = socket.socketpair()
    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 106496)  # which the kernel doubles: the default of Debian
    return ends


single, large = pair(), pair()
pipe = os.pipe()
with socket.create_server(("127.0.0.1", 0)) as server:
    client = socket.create_connection(server.getsockname())
    peer = server.accept()[0]
by_pair, by_pipe, by_tcp = fits(single[0].fileno(), b"x"), fits(pipe[1], b"x"), fits(client.fileno(), b"x")
in_pieces = fits(large[0].fileno(), bytes(65536))
print(f"buffer of the pair {single[0].getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)}")
print(f"bytes one by one: socket pair {by_pair}, pipe {by_pipe}, TCP {by_tcp}; socket pair by 64 KiB {in_pieces}")
sys.exit(not (by_pair < 1000 and by_pipe >= 4096 and by_tcp > 100 * by_pair and in_pieces > 100 * by_pair))
PYTHON
