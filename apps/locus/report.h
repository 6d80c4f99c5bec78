/*
 * report.h - `locus report`: makes one page of what the nodes of a run, and its program, have
 * written (docs/guides/observe.md).
 *
 * Memory    run_parts.h
 * Waiting   for files
 */
#ifndef LOCUS_REPORT_H
#define LOCUS_REPORT_H

/* argv: "report", prefix. The page goes to stdout. Returns the exit status. */
int report_main(int argc, char **argv);

#endif
