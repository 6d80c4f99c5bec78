/*
 * trace.h - `locus trace`: makes one page, or a picture, of what nodes have traced (docs/reference/run-files.md).
 *
 * Memory    a line at a time; of a picture, 40 bytes a line
 * Waiting   for files
 */
#ifndef LOCUS_RUN_TRACE_H
#define LOCUS_RUN_TRACE_H

/* argv: "trace", options, files. The page goes to stdout. Returns the exit status. */
int trace_main(int argc, char **argv);

#endif
