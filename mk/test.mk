# Tests, benchmarks, and what runs them. Everything that `make check` does is in scripts/check.sh.

SOAK_SECONDS ?= 300
T            ?=
# Criterion aborts under ThreadSanitizer, takes no notice of leaks, and its processes are large: slow with any sanitizer.
RUNNER       ?= $(if $(SAN),plain,criterion)

export TSAN_OPTIONS  ?= halt_on_error=1 second_deadlock_stack=1 suppressions=$(CURDIR)/test/tsan/suppressions
export ASAN_OPTIONS  ?= detect_stack_use_after_return=1 strict_string_checks=1
export UBSAN_OPTIONS ?= print_stacktrace=1

simulations: $(SIM_TESTS)

# Builds whatever there is in this variant, and runs nothing.
UNIT_RUNNER := $(B)/test/unit-$(RUNNER)
everything: lib programs benches $(UNIT_RUNNER) $(SIM_TESTS) $(CLUSTER)

test: $(UNIT_RUNNER) ## the unit tests (T=, SAN=, CC=, RUNNER=criterion|plain)
	@TESTS_AT_ONCE=$${TESTS_AT_ONCE:-$$(nproc)} $< $(T)

# Some of them start programs: the launcher.
cluster: $(PROGRAMS_BUILT) $(CLUSTER) ## the tests with several processes (T=, SAN=, CC=)
	@TESTS_AT_ONCE=$${TESTS_AT_ONCE:-$$(nproc)} $(CLUSTER) $(T)

programs-test: lib programs ## the tests that start programs, in Python (T=, SAN=, CC=, AT_ONCE=)
	@LOCUS_BUILD=$(B) /usr/bin/python3 test/python/run.py --folder test/programs --at-once $(or $(AT_ONCE),4) $(T)

sim: $(SIM_TESTS) ## the simulations: fibers and seeds (SAN=, CC=; SEEDS= NODES= of the protocol's alone)
	$(if $(SEEDS)$(NODES),$(B)-fibers/test/sim/protocol $(addprefix --seeds ,$(SEEDS)) $(addprefix --nodes ,$(NODES)),\
	    @scripts/run-programs.sh $^)

fuzz: ## the fuzzers, LOCUS_TEST_SECONDS each (needs clang)
	@$(MAKE) CC=clang SAN=fuzzer fuzz-targets
	@scripts/run-fuzzers.sh $(call names,test/fuzz)

fuzz-targets: $(FUZZ_TARGETS)

selftest: ## do the test runners and ThreadSanitizer still see a fault?
	@test/selftest.sh

soak: deps ## the long tests, SOAK_SECONDS each, under every sanitizer
	@LOCUS_TEST_SECONDS=$(SOAK_SECONDS) scripts/check.sh --soak $(STAGES)

# small_steps is a trainer that price.py runs.
MEASURING := $(filter-out %/small_steps,$(BENCHES)) bench/price.py bench/local.py

bench: deps ## all benchmarks in full; results in build/bench-results/
	@$(MAKE) programs benches
	@scripts/bench.sh $(MEASURING)

bench-quick: programs benches ## do all benchmarks run? their figures say nothing
	@scripts/bench.sh --quick $(MEASURING) $(LAB)

bench-local: deps-build ## what local accesses cost: a table and a picture, in two minutes (BESIDE=another build or prefix, OUT=folder)
	@$(MAKE) $(B)/bench/local_access
	@bench/local.py --build '$(B)' $(if $(BESIDE),--beside '$(BESIDE)') $(if $(OUT),--out '$(OUT)')

papers: deps ## the papers' results on modelled machines: lab/papers.md, ctr.md, gnn.md (DATA=folder; what is there already stays)
	@$(MAKE) $(B)/lab/papers
	@lab/report.py papers $(B)/lab/papers '$(DATA)' build/papers

.PHONY: papers simulations everything test cluster programs-test sim fuzz fuzz-targets selftest soak bench bench-quick bench-local
