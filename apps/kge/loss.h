/*
 * loss.h - what a training step minimizes, for one question: its true answer should score higher
 * than the sampled ones.
 *
 *     LOSS_LOGISTIC  log(1 + exp(-true)) + sum of log(1 + exp(sampled))
 *                    (Trouillon et al., 2016, Section 3)
 *     LOSS_SOFTMAX   -log(exp(true) / (exp(true) + w sum of exp(sampled)))
 *
 * With the weight w, how many answers a sampled one stands for, the softmax over few samples is an
 * estimate of that over all answers. (In place of w = 1 it raised the MRR in every setting that was
 * tried, most with few samples.)
 *
 * Callers   any thread
 * Memory    the caller's
 * Waiting   never
 */
#ifndef KGE_LOSS_H
#define KGE_LOSS_H

#include <stddef.h>

enum loss_kind { LOSS_LOGISTIC, LOSS_SOFTMAX };

/* Replaces the `n` sampled scores by the derivatives of the loss, and sets that of the true one.
 * Returns the loss. */
float loss_of(enum loss_kind, float true_score, float *true_derivative, float *sampled, size_t n,
              float weight);

#endif
