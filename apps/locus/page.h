/*
 * page.h - the page of `locus trace`: HTML before and behind the traced lines. It needs nothing
 * from anywhere else.
 *
 * Memory    constant
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_RUN_PAGE_H
#define LOCUS_RUN_PAGE_H

/* Lines, NULL at the end. Between them stand the elements of a JavaScript array. */
extern const char *const page_head[];
extern const char *const page_tail[];

#endif
