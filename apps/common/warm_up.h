/*
 * warm_up.h - the first steps of many workers at once. Each knows its own gradients only, and
 * AdaGrad's first step is a whole learning rate, whatever the gradient: all workers' first steps
 * together would be as many rates. So the first ones are shorter: all together no longer than one.
 *
 * Callers   any thread
 */
#ifndef APPS_WARM_UP_H
#define APPS_WARM_UP_H

/* The share of the rate that a worker takes, one of `workers` of the cluster, after so many steps:
 * from 1 / workers to 1, in as many steps as there are workers. One alone begins with 1. */
static inline double warm_up(double steps, unsigned workers)
{
    return steps + 1 < workers ? (steps + 1) / workers : 1;
}

#endif
