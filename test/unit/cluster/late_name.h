/*
 * late_name.h - a host name that the resolver does not know at first: "late.invalid", which then is
 * 127.0.0.1.
 *
 * It stands before the system's getaddrinfo(), which answers for all other names.
 */
#ifndef LOCUS_TEST_LATE_NAME_H
#define LOCUS_TEST_LATE_NAME_H

#define LATE_NAME "late.invalid"

/* The next `times` questions for it are answered with `code`, EAI_AGAIN say. */
void late_name_fails(int times, int code);
/* Questions since then. */
int late_name_questions(void);

#endif
