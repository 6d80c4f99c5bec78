/*
 * wv_options.h - the command line of wv.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never
 */
#ifndef WV_WV_OPTIONS_H
#define WV_WV_OPTIONS_H

#include "wv.h"

/* Ends the process when it is wrong, and after --help. */
void wv_options(struct wv_options *, int argc, char **argv);

#endif
