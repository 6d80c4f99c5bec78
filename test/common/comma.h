/*
 * comma.h - a locale with a decimal comma, as a program may have chosen it. It needs none that is
 * installed: its file is written here.
 */
#ifndef TEST_COMMON_COMMA_H
#define TEST_COMMON_COMMA_H

/* For this process, until it ends. Skips the test where the C library knows no such file. */
void comma_choose(void);

#endif
