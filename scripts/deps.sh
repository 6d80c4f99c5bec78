#!/usr/bin/env bash
# Installs what is missing of the Debian packages that locus needs, and says so. Fast, without root and without the
# network when nothing is missing.
#
#     scripts/deps.sh build             what `make`, `make demo` and `make install` need
#     scripts/deps.sh all               the same and what `make check` and `make bench` need
#     scripts/deps.sh headers COMPILER  installs nothing: are the headers there that the library is made from?
set -u

# a|b: either will do; the first that the distribution knows is installed.
build=(
    gcc make libc6-dev 'pkg-config|pkgconf'
    libck-dev       # lock-free structures and epochs
    liburing-dev    # the links between nodes
    libnng-dev libmbedtls-dev # rendezvous; the second for linking it statically
    libhwloc-dev    # where threads are pinned
    libsodium-dev   # the cluster's secret, the digests of checkpoints
    libjansson-dev  # the manifests of checkpoints
    libmicrohttpd-dev # metrics
    libncurses-dev  # locus top
    python3         # the commands in Python, and their manual pages
    wordnet-base    # what `make demo` trains on
)
check=(
    git g++ clang 'libclang-rt-dev|libclang-rt-14-dev' # the second compiler, its sanitizers and libFuzzer
    llvm            # its symbolizer: a sanitizer's report without names matches no suppression, and no test's expectation
    libcriterion-dev # the runner of the unit tests
    clang-tidy clang-format cppcheck shellcheck
    codespell       # the spelling of sources and documents
    ccache          # what was compiled before is not compiled again
    reuse           # every file's licence
    gnuplot-nox     # the curves of lab/papers.md
    python3-numpy   # reads checkpoints
    iproute2        # networks whose cables a test pulls
    prometheus      # which takes the metrics
    python3-markdown # make docs
    mandoc          # which reads the manual pages
    debhelper dpkg-dev fakeroot lintian # make deb
    openmpi-bin     # mpirun, under which a test starts a cluster
    slurm-wlm munge # a Slurm of one host, which a test starts for itself
    python3-torch   # torchrun, likewise, and locus.torch
    python3-numpy mypy # the Python package, and its types
    pdsh            # likewise, without ssh
    python3-pandas python3-scipy python3-networkx # which write what locus prepare reads
)

# Headers of packages of Debian. A compiler of several words is one with options.
headers='libck-dev ck_epoch.h
liburing-dev liburing.h
libnng-dev nng/nng.h
libhwloc-dev hwloc.h
libsodium-dev sodium.h
libjansson-dev jansson.h
libmicrohttpd-dev microhttpd.h
libncurses-dev ncurses.h'
look_for_headers() {
    local package header missing=()
    while read -r package header; do
        # shellcheck disable=SC2086
        echo "#include <$header>" | $1 -E -x c - > /dev/null 2>&1 || missing+=("$package ($header)")
    done <<< "$headers"
    [ ${#missing[@]} -eq 0 ] && exit 0
    printf 'locus needs the header of each of these Debian packages, which %s does not find:\n' "$1" >&2
    printf '    %s\n' "${missing[@]}" >&2
    echo "\`make deps-build\` installs what is missing (as root, or by sudo)." >&2
    exit 1
}

case "${1:-}" in
    headers)
        command -v "${2%% *}" > /dev/null || { echo "There is no compiler \"$2\" (CC=): \`make deps-build\` installs gcc." >&2; exit 1; }
        look_for_headers "$2" ;;
    build) wanted=("${build[@]}") ;;
    all) wanted=("${build[@]}" "${check[@]}") ;;
    *) echo "usage: $0 build|all|headers COMPILER" >&2; exit 2 ;;
esac

if ! command -v dpkg-query > /dev/null; then
    echo "This is not Debian or a relative of it. Please see to it that you have the like of: ${wanted[*]}"
    exit 0
fi

mapfile -t installed < <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2> /dev/null | sed -n 's/^installed //p')
# Not every distribution has clang's runtime in a package of its own.
compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*' > /dev/null && installed+=(libclang-rt-dev)
has() { printf '%s\n' "${installed[@]}" | grep -qxE "$1"; }

missing=()
for package in "${wanted[@]}"; do
    has "${package//+/\\+}" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

give_up() {
    echo "$1 Missing are: ${missing[*]}" >&2
    exit 1
}
command -v apt-get > /dev/null || give_up "There is no apt-get to install packages with."
root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || give_up "Installing packages needs root, and there is no sudo."
    root=(sudo)
fi
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -q "$@"; }

echo "Packages to install: ${missing[*]}"
apt update || give_up "The list of packages could not be fetched (apt-get update)."

# The first alternative that the distribution has.
first_known() {
    local name
    for name in ${1//|/ }; do
        if apt-cache show "$name" > /dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
    echo "${1%%|*}"
}
names=()
for package in "${missing[@]}"; do names+=("$(first_known "$package")"); done

# The tests start the daemons that they need themselves: installing them starts none.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '"${root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" > /dev/null
    "${root[@]}" chmod 755 "$policy"
fi
apt install -y --no-install-recommends "${names[@]}" < /dev/null || give_up "apt-get install failed."
echo "Installed: ${names[*]}"
