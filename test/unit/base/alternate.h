/*
 * alternate.h - two threads that do something in turn, without an order that the thread sanitizer
 * would see: what one has done and the other does next is ordered by what is tested, or not at all.
 *
 * Waiting   for the threads
 */
#ifndef TEST_BASE_ALTERNATE_H
#define TEST_BASE_ALTERNATE_H

void alternate(unsigned turns, void (*first)(void), void (*second)(void));

#endif
