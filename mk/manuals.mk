# Manual pages: those of functions from headers, those of commands and programs from what they print for --help. So each has one
# source.

MAN          := $(B)/man
MAN_COMMANDS := $(addprefix $(MAN)/man1/,locus.1 locus-run.1 locus-doctor.1 locus-top.1 locus-explain.1 locus-trace.1 locus-checkpoint.1)
MAN_PROGRAMS := $(patsubst %,$(MAN)/man1/%.1,$(filter-out locus,$(notdir $(PROGRAMS_BUILT))))
MAN_PYTHON   := $(patsubst %,$(MAN)/man1/%.1,$(notdir $(COMMANDS_PYTHON)))
MAN_OF_HELP  := scripts/manual-command.awk

# $(call manual,<command>,<others>): of what it prints for --help
manual = $(Q)mkdir -p $(@D) && $1 --help > $@.help && \
         awk -v name='$(basename $(@F))' -v version='$(VERSION)' -v also='$2' -f $(MAN_OF_HELP) $@.help > $@ && rm $@.help

manuals: $(MAN)/man3/locus_open.3 $(MAN_COMMANDS) $(MAN_PROGRAMS) $(MAN_PYTHON) ## the manual pages, in build/VARIANT/man

docs: manuals ## the documents and manual pages as a site, build/docs/index.html; every link is followed
	$(Q)scripts/site.py build/docs $(MAN)

# One of many that it writes.
$(MAN)/man3/locus_open.3: include/locus.h examples/calls.c scripts/manual-functions.awk
	$(call say,MAN,man3)
	@rm -rf $(@D) && mkdir -p $(@D)
	$(Q)awk -v folder=$(@D) -v version='$(VERSION)' -f scripts/manual-functions.awk examples/calls.c $(filter include/%,$^)

$(MAN)/man1/locus.1: $(B)/bin/locus $(MAN_OF_HELP)
	$(call say,MAN,$(@F))
	$(call manual,$<,locus-run(1) locus-doctor(1) locus-top(1) locus-explain(1) locus-trace(1) locus-checkpoint(1) $(patsubst %.1,%(1),$(notdir $(MAN_PYTHON))) locus_open(3))
$(MAN)/man1/locus-%.1: $(B)/bin/locus $(MAN_OF_HELP)
	$(call say,MAN,$(@F))
	$(call manual,$< $*,locus(1) locus_open(3))
$(MAN_PROGRAMS): $(MAN)/man1/%.1: $(B)/bin/% $(MAN_OF_HELP)
	$(call say,MAN,$(@F))
	$(call manual,$<,locus-predict(1) locus-run(1) locus(1))
$(MAN_PYTHON): $(MAN)/man1/%.1: $(B)/bin/% $(wildcard python/locus/*.py python/locus/*/*.py) $(MAN_OF_HELP)
	$(call say,MAN,$(@F))
	$(call manual,$<,locus(1))

.PHONY: docs manuals
