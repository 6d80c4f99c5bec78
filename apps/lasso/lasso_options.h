/*
 * lasso_options.h - the command line of lasso.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never. Ends the process when something is wrong
 */
#ifndef LASSO_LASSO_OPTIONS_H
#define LASSO_LASSO_OPTIONS_H

#include "lasso.h"

void lasso_options(struct lasso_options *, int argc, char **argv);
const char *lasso_order_name(int order);
const char *lasso_loss_name(int loss);

#endif
