# What looks at the sources without running them, and the packages that all of this needs.

ALL_SOURCES := $(sort $(LIB_SOURCES) $(UNIT_SOURCES) $(TEST_SUPPORT) test/runner/criterion.c \
                 $(wildcard apps/*.c apps/*/*.c examples/*.c bench/*.c bench/*/*.c lab/*.c lab/*/*.c test/*/*.c test/*/*/*.c))
ALL_HEADERS := $(sort $(wildcard include/*.h src/*.h src/*/*.h apps/*.h apps/*/*.h bench/*.h bench/*/*.h lab/*/*.h \
                 test/*/*.h test/*/*/*.h))
# The shadows of the ck headers make sense only where SAN=thread puts them.
LONE_HEADERS := $(filter-out test/tsan/%,$(ALL_HEADERS))

deps: ## install the Debian packages that are missing, for check and all the rest
	@scripts/deps.sh all

deps-build: ## the same, only for all, demo, results and install
	@scripts/deps.sh build

# $(call header_alone,<compiler>): every header compiles when nothing comes before it.
define header_alone
	@for h in $(LONE_HEADERS); do \
	    case $$h in apps/locus/*) flags='$(FOLDER_apps) -Isrc';; apps/*) flags='$(FOLDER_apps)';; bench/*) flags='$(FOLDER_bench)';; lab/*) flags='$(FOLDER_lab)';; test/*) flags='$(FOLDER_test)';; \
	        *) flags='$(FOLDER_src)';; esac; \
	    printf '#include "%s"\ntypedef int alone;\n' $$h | \
	        $1 $(BASE_CFLAGS) $(CPPFLAGS) $$flags -I. -Wno-unused-function -x c -fsyntax-only - || exit 1; \
	done; echo '  OK    $1: $(words $(LONE_HEADERS)) headers'
endef
# $(call header_in_cpp,<compiler>)
define header_in_cpp
	@printf '#include "locus_schedule.h"\nint main() { return 0; }\n' | \
	    $1 -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude -x c++ -fsyntax-only - && echo '  OK    $1: locus.h, locus_schedule.h'
endef

headers: ## every header compiles alone with gcc and clang, and the public ones as C++
	$(call header_alone,gcc)
	$(call header_alone,clang)
	$(call header_in_cpp,g++)
	$(call header_in_cpp,clang++)

format: ## write all sources in the style of .clang-format
	@clang-format -i $(ALL_SOURCES) $(ALL_HEADERS)

format-check: ## is there anything that `make format` would change?
	@clang-format --dry-run --Werror $(ALL_SOURCES) $(ALL_HEADERS)

# What is shipped: all of it, the tests too, takes minutes more.
tidy: compile_commands.json ## clang-tidy over library and programs
	@scripts/tidy.sh $(LIB_SOURCES) $(wildcard apps/*/*.c)

# It does not look into system headers; these macros would stop it.
CPPCHECK_MACROS := '-DCK_EPOCH_CONTAINER(T,M,N)=' '-DCK_STACK_CONTAINER(T,M,N)='
cppcheck: ## cppcheck over all sources
	@mkdir -p build/cppcheck
	@cppcheck --quiet --std=c11 -j "$$(nproc)" --cppcheck-build-dir=build/cppcheck --error-exitcode=1 \
	    --enable=warning,performance,portability --inline-suppr --suppressions-list=.cppcheck \
	    $(CPPCHECK_MACROS) -D__x86_64__ -D__GNUC__=12 -Iinclude -Isrc -Iapps/common -Ibench -Ibench/common -Ilab -Itest -Itest/unit $(ALL_SOURCES)

# Those of gcc are seen where everything is compiled.
clang-warnings: compile_commands.json ## has clang anything to warn of?
	@sed -E 's/^[^ ]+ [^ ]+ /clang -fsyntax-only -Werror /' build/compile_commands | xargs -d "\n" -n 1 -P "$$(nproc)" sh -c

# "fro" is a word in "to and fro"; a letter after \\ begins no word.
CODESPELL := --quiet-level 3 --ignore-words-list fro,te,nd,outout --ignore-regex '\\[ntr][a-z]*'
documents: programs ## do the documents say what is there, and is it spelled right?
	@scripts/documents.py $(B)/bin
	@git ls-files -z -- ':!test/fuzz/seeds' ':!*.svg' ':!LICENSE' | xargs -0 codespell $(CODESPELL) && echo '  OK    spelling'

shellcheck: ## shellcheck over all scripts
	@shellcheck .ci/run $(wildcard scripts/*.sh findings/*.sh lab/*.sh test/*.sh test/*/*.sh)

# $(call compile_entry,<source>): as it is compiled, with the flavor of its folder.
compile_entry = $1 $(CC) $(call flags_of,$1) $(if $(filter test/sim/% lab/% $(foreach b,$(BENCH_ON_FIBERS),bench/$b.c bench/$b/%),$1),$(FLAVOR_fibers)) \
                $(if $(filter %/criterion.c,$1),-DTEST_WITH_CRITERION) -c $1
compile_commands.json: FORCE | build ## for editors and clang-tidy
	$(file >build/compile_commands)$(foreach s,$(ALL_SOURCES),$(file >>build/compile_commands,$(call compile_entry,$s)))
	@awk -v folder="$(CURDIR)" 'BEGIN { print "[" } { file = $$1; sub(/^[^ ]+ /, ""); gsub(/"/, "\\\""); \
	    printf "%s{ \"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\" }", (NR > 1 ? ",\n" : ""), folder, file, $$0 } \
	    END { print "\n]" }' build/compile_commands > $@

# A rule of its own: the lists above are written before a recipe's first line runs.
build:
	@mkdir -p $@

.PHONY: deps deps-build headers format format-check tidy cppcheck clang-warnings documents shellcheck
