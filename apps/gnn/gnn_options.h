/*
 * gnn_options.h - the command line of gnn.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never
 */
#ifndef GNN_GNN_OPTIONS_H
#define GNN_GNN_OPTIONS_H

#include "gnn.h"

/* Ends the process when it is wrong, and after --help. */
void gnn_options(struct gnn_options *, int argc, char **argv);

#endif
