/*
 * run_page.h - a run on one page: curves of loss, throughput, where accesses were served,
 * staleness, bytes and load over time, by node, and the settings. HTML that is XML as well, stands
 * alone, and has no script; its drawings are chart.h's.
 *
 * Callers   one thread
 * Memory    the parts', and a few arrays
 * Waiting   for the file
 * Life      none
 */
#ifndef APPS_RUN_PAGE_H
#define APPS_RUN_PAGE_H

#include "run_parts.h"

#include <stdio.h>

void run_page_put(const struct run_parts *, FILE *);

#endif
