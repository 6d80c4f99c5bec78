/*
 * trainer.h - the training programs as a user would start them: what they print, and
 * how they refuse what is wrong.
 *
 * Callers   the tests of one program, on their thread
 * Memory    static: one program a process
 * Waiting   for the command
 */
#ifndef LOCUS_TEST_TRAINER_H
#define LOCUS_TEST_TRAINER_H

#include "command.h"
#include "program.h"

/* What stands before a program that is to run on so many nodes. Valid until the next call but one. */
const char *trainer_nodes(int nodes);
/* A script of test/python. Valid until it is called again. */
const char *trainer_script(const char *name);
/* Skips the test where there is no python3. */
void trainer_needs_python(struct command *);

/* The number behind `part` in what was printed; the test fails where there is none. */
double trainer_number(const char *printed, const char *part);

/* The program ends with this status, nothing on stdout, and a sentence that begins with its name
 * and has `part`. */
void trainer_refuses(struct command *, const char *name, int status, const char *arguments,
                     const char *part);
/* The same with status 1, for --data that is a file of this text; `more` are further arguments. */
void trainer_refuses_text(struct command *, const char *name, const char *text, const char *more,
                          const char *part);

#endif
