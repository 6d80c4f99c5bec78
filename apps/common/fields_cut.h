/*
 * fields_cut.h - one row of separated fields, as a form says; for fields.c and fields_look.c.
 *
 * Memory    that of struct fields
 * Waiting   never
 */
#ifndef APPS_FIELDS_CUT_H
#define APPS_FIELDS_CUT_H

#include "fields.h"

/* What is wrong with a row: NULL or a sentence's end. */
typedef const char *fields_trouble;

/* Goes to the next line that is no comment, of which the next row begins. */
bool fields_next_line(struct fields *);
/* The fields of the row that begins with the current line: f->all, f->count, hidden ones too. */
fields_trouble fields_cut(struct fields *);
/* Complains of a row that has not as many fields as form.columns and the others say. */
void fields_check(const struct fields *);

/* fields_look.c: sets form, kinds and names; the lines are where they were before. */
void fields_look(struct fields *, const struct fields_wanted *);

#endif
