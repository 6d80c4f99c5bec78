/*
 * checkpoint.h - `locus checkpoint`: lists, verifies, shows and exports checkpoints
 * (docs/guides/checkpoints.md).
 *
 * Memory    a manifest, and what contents.h says
 * Waiting   for files
 */
#ifndef LOCUS_RUN_CHECKPOINT_H
#define LOCUS_RUN_CHECKPOINT_H

/* argv: "checkpoint", what to do, the folder. Returns the exit status. */
int checkpoint_main(int argc, char **argv);

#endif
