/*
 * program.h - one program, started as a child of this process in a process group of its own.
 *
 * Callers   keeper.c; main.c puts our folder on PATH; program_find also run.c, before it starts
 *           anything
 * Memory    none
 * Waiting   until the program runs or could not be started
 */
#ifndef LOCUS_RUN_PROGRAM_H
#define LOCUS_RUN_PROGRAM_H

#include <sys/types.h>

/* Appends the folder of this command to PATH, so that the programs installed beside it are found
 * from anywhere; those that PATH has go before. */
void program_look_beside(void);

/* Is there such a program, as a shell would look for it? 0, or STATUS_NOT_FOUND or
 * STATUS_NOT_EXECUTABLE with a sentence. */
int program_find(const char *name);

/* Starts argv[0] with `input` as its stdin, or our own when it is -1. The program is killed when we
 * die. 0, or a status as above with a sentence. */
int program_start(char **argv, int input, pid_t *pid);

#endif
