# Builds locus. `make help` lists the targets; the parts are in mk/.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

help: ## this list
	@awk -F ':.*## ' '/^[a-z_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' Makefile mk/*.mk
	@echo
	@echo "  V=1                    show the whole commands"
	@echo "  CC=gcc|clang           the compiler; each has its own folder under build/"
	@echo "  SAN=address|thread|undefined"
	@echo "                         with a sanitizer (address includes undefined)"
	@echo "  CFLAGS= LDFLAGS=       yours; the default CFLAGS are -O2 -g"
	@echo "  WERROR=-Werror         warnings are errors: make quick and make check have it"
	@echo "  T=text                 only the tests whose suite/name contains it, of test and cluster"
	@echo "  PREFIX= DESTDIR=       where install puts things (PREFIX: $(PREFIX))"
	@echo "  SOAK_SECONDS=          how long each long test lasts in soak ($(SOAK_SECONDS))"

include mk/config.mk
include mk/build.mk
include mk/test.mk
include mk/manuals.mk
include mk/install.mk
include mk/package.mk
include mk/tools.mk

all: lib programs ## the library and the programs (default)
	$(call link_programs)

demo: deps-build ## trains embeddings of WordNet on a cluster of four nodes here
	@$(MAKE) all $(DISTANCE)
	@scripts/demo.sh $(B)

quick: ## after a change: what it touches is built and tested, in a minute
	@scripts/quick.sh

check: deps ## does it build and work here? the last line is the sum of all tests (STAGES=)
	@scripts/check.sh $(STAGES)

check-rest: deps ## after check, what continuous integration runs besides: of the long sets the commit's part (STAGES=)
	@scripts/check.sh --rest $(STAGES)

check-all: deps ## everything, whole: for nights and releases
	@scripts/check.sh --all

DATA ?= data
results: deps-build ## the tables of lab/kge.md, wv.md, mf.md, ctr.md and gnn.md (DATA=folder; what is not there is passed over)
	@$(MAKE) all $(DISTANCE)
	@lab/report.py results $(B)/bin '$(DATA)' build/results

findings: ## runs what other tools do that a good guess would not: needs the network (T=text)
	@scripts/findings.sh $(T)

clean: ## remove everything that was built
	rm -rf build bin compile_commands.json

.PHONY: help all demo quick check check-rest check-all results findings clean FORCE
FORCE:
