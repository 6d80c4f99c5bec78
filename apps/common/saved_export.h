/*
 * saved_export.h - rows of a saved model on stdout, as other tools read them: "predict --export".
 *
 * tsv: a name and its numbers a line, with tabs between; text and binary: word2vec.h's.
 *
 * Callers   predict.h, one thread
 * Memory    a row's
 * Waiting   for stdout
 */
#ifndef APPS_SAVED_EXPORT_H
#define APPS_SAVED_EXPORT_H

#include "saved.h"

/* Of saved_export(): words for an option; the first is nothing. */
extern const char *const saved_formats[];

/* A tensor of floats or doubles; NULL: the first one whose rows may have names. A name that comes
 * again has a number behind it in word2vec's files; without names a row has its number, from 0. */
void saved_export(const struct saved *, int format, const char *tensor);

#endif
