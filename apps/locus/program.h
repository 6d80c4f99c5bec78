/*
 * program.h - one program, started as a child of this process in a process group of its own.
 *
 * Memory    none
 * Waiting   until the program runs or could not be started
 */
#ifndef LOCUS_RUN_PROGRAM_H
#define LOCUS_RUN_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Where it is: locus-NAME beside this command, else NAME as a shell would look for it, else
 * locus-NAME in PATH, else NAME beside this command. A name with a slash is a path. 0, or
 * STATUS_NOT_FOUND or STATUS_NOT_EXECUTABLE with a sentence. */
int program_find(const char *name, char path[PATH_MAX]);

/* Where locus-NAME is: beside this command, else in PATH. */
bool program_find_ours(const char *name, char path[PATH_MAX]);

/* Starts argv[0], found so. The program is killed when we die. 0, or a status as above with a
 * sentence. */
int program_start(char **argv, pid_t *pid);

#endif
