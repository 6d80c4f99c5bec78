#include "commands.h"

#include "args.h"
#include "fail.h"
#include "run_page.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: locus report [options] PREFIX > page.html\n"
    "\n"
    "Makes one page of a run: curves of loss, throughput, where accesses were served, age of replicas, bytes and load over\n"
    "time, by node, and the settings. Nodes write what it is made of when they run with\n"
    "\n"
    "  LOCUS_REPORT=PREFIX        to PREFIX.RANK.report.jsonl, all the time\n"
    "\n"
    "and our programs add their loss and their options. While a run goes on, or after it failed, the page shows it so far.\n"
    "\n"
    "  -h, --help  this text\n"
    "\n"
    "for example: LOCUS_REPORT=/var/tmp/run locus run -n 4 -- trainer; locus report /var/tmp/run > page.html\n";

static int put_page(const char *prefix)
{
    struct run_parts parts;
    char why[RUN_TEXT_MAX];
    int status = 0;
    if (!run_parts_read(&parts, prefix, why)) {
        status = say_and(STATUS_FAILED, "%s", why);
    } else {
        run_page_put(&parts, stdout);
        if (fflush(stdout) || ferror(stdout))
            status = say_and(STATUS_FAILED, "stdout cannot be written");
    }
    run_parts_free(&parts);
    return status;
}

int report_main(int argc, char **argv)
{
    say_as("locus report");
    fail_set_program("locus report");
    char **words;
    args_parse(&(struct args_program){.help = usage, .words = &words}, argc, argv);
    if (words + 1 != argv + argc)
        return say_and(STATUS_USAGE, "which run? locus report PREFIX, as LOCUS_REPORT was");
    return put_page(words[0]);
}
