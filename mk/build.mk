# How things are made. Nothing is listed: what stands in a folder is built, and a folder may be absent.
#
#   src/*.c src/*/*.c            -> <variant>/lib/liblocus.{a,so}
#   apps/NAME/*.c                -> <variant>/bin/locus-NAME, and bin/locus-NAME as a link to it; apps/locus: locus
#   apps/common/*.c              -> <variant>/lib/libapps.a, of which each program takes what it needs
#   bench/NAME.c bench/NAME/*.c  -> <variant>/bench/NAME             those of BENCH_ON_FIBERS as test/sim is
#   lab/papers.c lab/papers/*.c  -> <variant>/lab/papers             the training programs, simulated
#   test/unit/*.c, .../*/*.c     -> <variant>/test/unit-criterion and unit-plain
#   test/cluster/*.c             -> <variant>/test/cluster           under the plain runner; distance.c also alone
#   test/tsan/NAME.c             -> <variant>/test/tsan/NAME
#   test/sim/NAME.c              -> <variant>-fibers/test/sim/NAME   with that flavor of the library
#   test/fuzz/NAME.c             -> <variant>/test/fuzz/NAME         SAN=fuzzer only
#
# NAME may also be a folder of sources. What the programs of a folder share is linked into each of them: common/*.c, and
# every X.c that has an X.h beside it. Unit tests see all parts of the training programs: everything but main.c.

LIB_SOURCES  := $(wildcard src/*.c src/*/*.c)
UNIT_SOURCES := $(wildcard test/unit/*.c test/unit/*/*.c)
APPS_SOURCES := $(wildcard apps/common/*.c)
APPS_PARTS   := $(filter-out apps/common/% apps/locus/% %/main.c,$(wildcard apps/*/*.c))
TEST_SUPPORT := test/runner/check.c test/runner/plain.c $(wildcard test/common/*.c)

# $(call shared,<folder>): the sources of all its programs
shared = $(filter-out $(APPS_SOURCES),$(wildcard $1/common/*.c $(patsubst %.h,%.c,$(wildcard $1/*.h))))
# $(call names,<folder>): the programs in it
names = $(sort $(patsubst $1/%.c,%,$(filter-out $(call shared,$1),$(wildcard $1/*.c))) \
               $(filter-out common,$(patsubst $1/%/,%,$(dir $(wildcard $1/*/*.c)))))
# $(call objects,<root>,<sources>)
objects = $(patsubst %.c,$1/obj/%.o,$2)

# ---- objects -----------------------------------------------------------------------------------------------------

# Everything that a compile depends on beside its source; rewritten only when it changes. Two makes may run at once.
FLAG_NAMES := $(sort $(filter FLAGS_% FOLDER_% FLAVOR_%,$(.VARIABLES)))
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@new=$@.$$$$; \
	echo '$(CC) $(filter-out -Werror,$(BASE_CFLAGS)) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(foreach f,$(FLAG_NAMES),$f=$($f))' > $$new; \
	if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

# What the library is made from besides this tree is looked for once, and named by its package if it is not there.
FOUND := build/found
$(FOUND):
	@scripts/deps.sh headers '$(CC)'
	@mkdir -p $(@D) && touch $@

# $(call OBJECTS,<root>,<further flags>)
define OBJECTS
$1/obj/%.o: %.c $(B)/flags | $(FOUND)
	$$(call say,CC,$$(patsubst src/%,%,$$*).o)
	@mkdir -p $$(@D)
	$$(Q)$$(CCACHE) $$(CC) $$(call flags_of,$$<) $2 -MMD -MP -c $$< -o $$@
endef

# $(call ARCHIVE,<root>)
define ARCHIVE
$1/lib/liblocus.a: $$(call objects,$1,$$(LIB_SOURCES))
	$$(call say,AR,liblocus.a)
	@mkdir -p $$(@D) && rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef

FLAVOR_ROOTS := $(foreach f,$(FLAVORS),$(B)-$f)

$(eval $(call OBJECTS,$(B)))
$(eval $(call ARCHIVE,$(B)))
$(foreach f,$(FLAVORS),$(eval $(call OBJECTS,$(B)-$f,$(FLAVOR_$f)))$(eval $(call ARCHIVE,$(B)-$f)))
$(eval $(call OBJECTS,$(B)/criterion,-DTEST_WITH_CRITERION))

# ---- the library -------------------------------------------------------------------------------------------------

SO := $(B)/lib/liblocus.so
lib: $(B)/lib/liblocus.a $(SO) ## liblocus.a and liblocus.so

$(SO).$(VERSION): $(call objects,$(B),$(LIB_SOURCES))
	$(call say,LINK,$(@F))
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,liblocus.so.$(SOVERSION) $(BASE_LDFLAGS) $(LDFLAGS) $^ $(PKG_LIBS) $(LIBS) -o $@
$(SO): $(SO).$(VERSION)
	@ln -sf $(<F) $@.$(SOVERSION) && ln -sf liblocus.so.$(SOVERSION) $@

# ---- programs ----------------------------------------------------------------------------------------------------

LINK = $(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $1 $(PKG_LIBS) $(LIBS) -o $@

# $(call PROGRAM,<folder>,<name>,<result>,<root>,<archives>,<libraries and flags>)
define PROGRAM
$3: $$(call objects,$4,$$(wildcard $1/$2.c $1/$2/*.c) $$(call shared,$1)) $5 $$(if $$(filter test/tsan bench/local_access,$1 $1/$2),,$4/lib/liblocus.a)
	$$(call say,LINK,$$(@:build/%=%))
	@mkdir -p $$(@D)
	$$(call LINK,$6 $$(LINK_$1/$2))
endef

# $(call PROGRAMS,<folder>,<folder of the results>,<root>,<archives>,<libraries and flags>)
PROGRAMS = $(foreach n,$(call names,$1),$(eval $(call PROGRAM,$1,$n,$2/$n,$3,$4,$5)))
# $(call results,<folder>,<folder of the results>)
results = $(addprefix $2/,$(call names,$1))

# Each flavor has one of its own, so that two makes may build it and its variant at once.
# $(call TEST_ARCHIVE,<root>)
define TEST_ARCHIVE
$1/lib/libtest.a: $$(call objects,$1,$$(TEST_SUPPORT))
	$$(call say,AR,libtest.a)
	@mkdir -p $$(@D) && rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
$(foreach r,$(B) $(FLAVOR_ROOTS),$(eval $(call TEST_ARCHIVE,$r)))
TEST_LIB := $(B)/lib/libtest.a

# $(call APPS_ARCHIVE,<name>,<sources>)
define APPS_ARCHIVE
$(B)/lib/$1: $$(call objects,$(B),$2)
	$$(call say,AR,$$(@F))
	@mkdir -p $$(@D) && rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
$(eval $(call APPS_ARCHIVE,libapps.a,$(APPS_SOURCES)))
$(eval $(call APPS_ARCHIVE,libparts.a,$(APPS_PARTS)))
APPS_LIB := $(B)/lib/libapps.a

# Their names take nobody else's: locus-kge, locus-mf. The command is locus itself.
program_name = $(if $(filter locus,$1),locus,locus-$1)
$(foreach n,$(call names,apps),$(eval $(call PROGRAM,apps,$n,$(B)/bin/$(call program_name,$n),$(B),$(APPS_LIB))))
PLATFORM_PARTS := $(addprefix bench/scale/,platform.c virtual.c model.c)
# Some simulate: on the fibers of the tests, with that flavor of the library.
SIM_PARTS := test/sim/fibers.c test/sim/protocol/joined.c
$(foreach n,$(filter-out $(BENCH_ON_FIBERS),$(call names,bench)),$(eval $(call PROGRAM,bench,$n,$(B)/bench/$n,$(B),$(APPS_LIB))))
# On the shared library: LD_LIBRARY_PATH gives it another build's, to compare them.
LINK_bench/local_access = -L$(B)/lib -llocus -Wl,-rpath,'$$ORIGIN/../lib'
$(B)/bench/local_access: $(SO)
$(foreach n,$(BENCH_ON_FIBERS),$(eval $(call PROGRAM,bench,$n,$(B)/bench/$n,$(B)-fibers,$(call objects,$(B)-fibers,$(SIM_PARTS)) $(APPS_LIB))))
$(B)/lab/papers: $(call objects,$(B)-fibers,$(wildcard lab/*.c lab/papers/*.c) $(SIM_PARTS) $(PLATFORM_PARTS)) \
                   $(B)/lib/libparts.a $(APPS_LIB) $(B)-fibers/lib/liblocus.a
	$(call say,LINK,$(@:build/%=%))
	@mkdir -p $(@D)
	$(call LINK,$(LINK_lab/papers))
$(call PROGRAMS,test/tsan,$(B)/test/tsan,$(B),$(TEST_LIB))
$(call PROGRAMS,test/sim,$(B)-fibers/test/sim,$(B)-fibers,$(B)-fibers/lib/libtest.a)
# On the platform of the protocol's simulation.
$(B)-fibers/test/sim/checkpoint: $(call objects,$(B)-fibers,$(addprefix test/sim/protocol/,joined.c platform.c platform_changes.c platform_links.c))
$(call PROGRAMS,test/fuzz,$(B)/test/fuzz,$(B),,-fsanitize=fuzzer)
$(B)/test/fuzz/readers: $(B)/lib/libparts.a $(APPS_LIB)

PROGRAMS_BUILT := $(foreach n,$(call names,apps),$(B)/bin/$(call program_name,$n))
BENCHES        := $(call results,bench,$(B)/bench)
LAB            := $(call results,lab,$(B)/lab)
TSAN_TESTS     := $(call results,test/tsan,$(B)/test/tsan)
SIM_TESTS      := $(call results,test/sim,$(B)-fibers/test/sim)
FUZZ_TARGETS   := $(call results,test/fuzz,$(B)/test/fuzz)

# Commands in Python: locus-NAME is the module locus.NAME. python/pyproject.toml lists them.
PYTHON          ?= /usr/bin/python3
COMMANDS_PYTHON := $(addprefix $(B)/bin/,$(shell sed -n 's/^\(locus-[a-z]*\) = .*/\1/p' python/pyproject.toml))
# $(call command_python,<where it is to be>,<where the package is to be>)
command_python = sed -e '1s|.*|\#!$(PYTHON)|' -e "s|@PACKAGE@|$$(realpath -m -s --relative-to='$1' '$2')|" python/command.py
$(COMMANDS_PYTHON): python/command.py python/pyproject.toml mk/build.mk
	$(Q)mkdir -p $(@D) && $(call command_python,$(@D),python) > $@ && chmod 755 $@

programs: $(PROGRAMS_BUILT) $(COMMANDS_PYTHON)
benches: $(BENCHES) $(LAB)
# bin/ shows the programs of the variant that was built last.
link_programs = $(if $(PROGRAMS_BUILT),@mkdir -p bin && ln -sf $(addprefix ../,$(PROGRAMS_BUILT) $(COMMANDS_PYTHON)) bin/)

# ---- the tests with several processes: one program, whose suites are named by their files -------------------------

CLUSTER := $(B)/test/cluster
$(shell [ ! -d $(CLUSTER) ] || rm -r $(CLUSTER)) # it was a folder of programs
$(CLUSTER): $(call objects,$(B),$(wildcard test/cluster/*.c)) $(TEST_LIB) $(B)/lib/liblocus.a
	$(call say,LINK,$(@:build/%=%))
	@mkdir -p $(@D)
	$(call LINK,$(LINK_test/cluster))

# Programs on far nodes, for who needs that alone: the same file.
DISTANCE := $(B)/test/distance
$(DISTANCE): $(call objects,$(B),test/cluster/distance.c $(call shared,test/cluster)) $(TEST_LIB) $(B)/lib/liblocus.a
	$(call say,LINK,$(@:build/%=%))
	@mkdir -p $(@D)
	$(call LINK,)

# ---- the unit tests, under either runner --------------------------------------------------------------------------

# $(call UNIT,<name>,<sources>,<archives>): the same bodies under both runners. The plain one is in libtest.a.
define UNIT
$(B)/test/$1-plain: $$(call objects,$(B),$2) $(TEST_LIB) $3
	$$(call say,LINK,$$(@:build/%=%))
	@mkdir -p $$(@D)
	$$(call LINK,)
$(B)/test/$1-criterion: $$(call objects,$(B)/criterion,$2 test/runner/criterion.c) $(TEST_LIB) $3
	$$(call say,LINK,$$(@:build/%=%))
	@mkdir -p $$(@D)
	$$(call LINK,-lcriterion)
endef
$(eval $(call UNIT,unit,$(UNIT_SOURCES),$(B)/lib/libparts.a $(APPS_LIB) $(B)/lib/liblocus.a))
$(eval $(call UNIT,planted,test/selftest/planted.c))

# Only this variant's: another make may be writing those of another.
-include $(shell find $(wildcard $(B) $(FLAVOR_ROOTS)) /dev/null -name '*.d' 2>/dev/null)

.PHONY: lib programs benches
.SECONDARY:
