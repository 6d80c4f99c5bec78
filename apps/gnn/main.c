/*
 * gnn - finds the classes of a graph's nodes: graph convolution with sampled neighbours, on
 * embeddings of the nodes that are learned, as in AdaPM's experiments (Appendix C), or on given
 * features.
 *
 * Read gnn.h first (what all share), then gnn.c (the program), convolution.c (a training step)
 * and neighbourhood.c (what a step depends on).
 */
#include "programs.h"

int main(int argc, char **argv)
{
    return training_run(&gnn_training, argc, argv);
}
