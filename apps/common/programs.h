/*
 * programs.h - the training programs, for who runs one: its main(), and a simulation of a cluster.
 *
 * Memory    static
 */
#ifndef APPS_PROGRAMS_H
#define APPS_PROGRAMS_H

#include "training.h"

extern const struct training_kind ctr_training, gnn_training, kge_training, lasso_training,
    lda_training, mf_training, wv_training;

#endif
