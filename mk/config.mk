# The compiler, its flags, and where the results go.

# The header is the one place where the version stands.
VERSION   := $(shell awk '/define LOCUS_VERSION_(MAJOR|MINOR|PATCH)/ { v = v dot $$3; dot = "." } END { print v }' \
               include/locus.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

ifeq ($(origin CC),default)
CC := gcc
endif
SAN    ?=
# Developers and continuous integration set -Werror: `make quick` and `make check` do. Another compiler may warn of what ours
# do not, and whoever builds a release is not to fail on it.
WERROR ?=
# Where there is a ccache, what was compiled before is not compiled again.
CCACHE ?= $(shell command -v ccache)

# `fuzzer` is for `make fuzz` alone: the fuzz targets bring main() from clang's libFuzzer.
ifneq ($(filter-out address thread undefined fuzzer,$(SAN)),)
$(error SAN=$(SAN) is unknown: choose address, thread or undefined)
endif

# A variant is a compiler and a sanitizer, a flavor the whole library with further definitions. Every combination has
# a folder of its own, so that objects never mix: build/gcc, build/clang-thread, build/gcc-fibers, ...
VARIANT := $(notdir $(lastword $(filter-out -%,$(CC))))$(addprefix -,$(SAN))
B       := build/$(VARIANT)

FLAVORS      := fibers
FLAVOR_fibers := -DLOCUS_FIBERS

# Benchmarks that simulate.
BENCH_ON_FIBERS := scale

SAN_CFLAGS_address   := -fsanitize=address,undefined -fno-sanitize-recover=all -DLOCUS_ASAN
SAN_CFLAGS_undefined := -fsanitize=undefined -fno-sanitize-recover=all
SAN_CFLAGS_fuzzer    := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -DLOCUS_ASAN
# test/tsan shadows the ck headers whose inline assembly ThreadSanitizer cannot see through.
SAN_CFLAGS_thread    := -fsanitize=thread -isystem test/tsan -DCK_USE_CC_BUILTINS=1 -DLOCUS_TSAN

ifeq ($(SAN),)
CFLAGS ?= -O2 -g
else
CFLAGS ?= -O1 -g1 -fno-omit-frame-pointer
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
            -Wpointer-arith -Wwrite-strings

# All objects are position independent: one set serves liblocus.a, which our programs link, and liblocus.so. Only what
# LOCUS_API marks is visible outside. No -march: what needs newer instructions asks the processor when it runs. No object
# depends on where the tree stands: a cache of objects serves every clone.
BASE_CFLAGS  := -std=gnu11 -D_GNU_SOURCE -Iinclude $(WARNINGS) $(WERROR) -pthread -fPIC -fvisibility=hidden \
                -ffile-prefix-map=$(CURDIR)=. $(SAN_CFLAGS_$(SAN))
BASE_LDFLAGS := -pthread -Wl,--as-needed $(filter -fsanitize=%,$(SAN_CFLAGS_$(SAN)))

# What the library may need of others; --as-needed drops what it does not use (yet).
PKGS := liburing ck libsodium jansson
LIBS := -lmicrohttpd -lnng -lmbedtls -lmbedx509 -lmbedcrypto -lhwloc -lm
PKG_LIBS := $(or $(shell pkg-config --libs $(PKGS) 2>/dev/null),-luring -lck -lsodium -ljansson)

# Flags by folder. Applications see the public header only.
FOLDER_src   := -Isrc
FOLDER_apps  := -Iapps -Iapps/common
FOLDER_examples :=
FOLDER_bench := -Isrc -Ibench -Ibench/common -Itest -Iapps
FOLDER_lab   := -Isrc -Ilab -Ibench -Itest -Iapps
FOLDER_test  := -Isrc -Itest -Itest/unit -Iapps -Iapps/common

# Flags of one file: FLAGS_<path without .c>. The command reads checkpoints as the library does.
FLAGS_apps/locus/checkpoint := -Isrc
FLAGS_bench/common/floors := -O3 -fno-math-errno -fno-trapping-math

# The doctor asks the library's own parts, so that it says what a node would say; the launcher asks them for sockets.
FLAGS_apps/locus/machine      := -Isrc
FLAGS_apps/locus/node         := -Isrc
FLAGS_apps/locus/port         := -Isrc
FLAGS_apps/locus/run          := -Isrc
FLAGS_apps/locus/variables    := -Isrc
FLAGS_apps/locus/surroundings := -Isrc

# What a simulated program calls is counted on its way to the library.
LINK_lab/papers := $(foreach f,open pull pull_sample wait wait_all push_async localize quiesce scheduler_open feed_open feed_next,-Wl,--wrap=locus_$f)
LINK_lab/papers += -Wl,--wrap=mail_nap -Wl,--wrap=mail_now
# Flags for linking one program: LINK_<folder>/<name>. That one keeps all memory in an arena of its own.
LINK_apps/locus := -lncurses -ltinfo
LINK_test/sim/exhaustive := $(foreach f,malloc calloc realloc aligned_alloc free,-Wl,--wrap=$f)
# A reading that is refused lets go what it took.
LINK_test/fuzz/readers := $(foreach f,malloc calloc realloc free mmap munmap,-Wl,--wrap=$f)
# Where memory is to lie is noted on its way, for numa.c; memory is refused, for reopen.c.
LINK_test/cluster := $(foreach f,hwloc_set_area_membind malloc calloc realloc aligned_alloc mmap,-Wl,--wrap=$f)
# vec.c asks the processor which of them it has.
FLAGS_apps/common/vec_16 := -O3 -ffast-math -falign-functions=64 -falign-loops=64
FLAGS_apps/common/vec_32 := -O3 -ffast-math -falign-functions=64 -falign-loops=64
FLAGS_apps/common/vec_64 := -O3 -ffast-math -falign-functions=64 -falign-loops=64
ifeq ($(shell uname -m),x86_64)
FLAGS_apps/common/vec_32 += -mavx2 -mfma
FLAGS_apps/common/vec_64 += -mavx512f -mavx512vl -mavx512dq -mavx512bw -mavx2 -mfma -mprefer-vector-width=256
endif

# Loops that become vectors, square roots among them; the same to the bit on all processors. With a sanitizer they do not.
FLAGS_src/store/row_steps := -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -Wno-pass-failed
FLAGS_src/base/bf16 := $(FLAGS_src/store/row_steps)
FLAGS_apps/common/params := $(FLAGS_src/store/row_steps)

# $(call flags_of,<source>)
flags_of = $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(FOLDER_$(firstword $(subst /, ,$1))) $(FLAGS_$(basename $1))

V ?= 0
ifeq ($(V),1)
Q   :=
say  =
else
Q   := @
say  = @printf '  %-5s %s\n' '$1' '$2'
endif
