#include "report.h"

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
    "and our programs add their loss and their options. Of a run that goes on, or has failed, it is the page so far.\n"
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
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return fputs(usage, stdout) < 0 || fflush(stdout) ? STATUS_FAILED : 0;
    if (argc > 1 && argv[1][0] == '-')
        return say_and(STATUS_USAGE, "there is no option %s; --help lists them", argv[1]);
    if (argc != 2)
        return say_and(STATUS_USAGE, "which run? locus report PREFIX, as LOCUS_REPORT was");
    return put_page(argv[1]);
}
