/*
 * environment.h - rank, size and rendezvous from the launcher's environment variables.
 *
 * The first launcher in this list whose variables are set is used; inner launchers come before
 * outer ones:
 *
 *     launcher            rank, size                               rendezvous, when
 *                                                                  LOCUS_RENDEZVOUS is not set
 *     locus run, by hand  LOCUS_RANK, LOCUS_SIZE                   none: it must be set
 *     torchrun            RANK, WORLD_SIZE; TORCHELASTIC_RUN_ID    MASTER_ADDR, (*); one host: (**)
 *     Open MPI            OMPI_COMM_WORLD_RANK, ..._SIZE           (**) of PMIX_NAMESPACE; none for
 *                                                                  several hosts
 *     torch's variables   RANK, WORLD_SIZE                         as for torchrun
 *     MPICH, Intel MPI,   PMI_RANK or PALS_RANKID, PMI_SIZE        none, unless srun has set them
 *     Flux, PALS
 *     MVAPICH2            MV2_COMM_WORLD_RANK, ..._SIZE            none
 *     Slurm (srun)        SLURM_PROCID, SLURM_STEP_NUM_TASKS       the first host of
 *                                                                  SLURM_STEP_NODELIST, port from
 *                                                                  SLURM_JOB_ID and SLURM_STEP_ID;
 *                                                                  one host: (**)
 *     (*) MASTER_PORT + 1; a port of our own where MASTER_PORT is an ephemeral one
 *     (**) an address on loopback and a port of the job's own, both from its name
 *
 * RANK and WORLD_SIZE are common words: they are used only together, or if MASTER_ADDR or
 * MASTER_PORT is set, too. A batch script of Slurm also has SLURM_PROCID and SLURM_NTASKS without
 * being one of several tasks: only SLURM_STEP_ID says that srun started us. If a launcher has set
 * only one of its two variables, or none of them beside LOCUS_RENDEZVOUS, that is an error, which
 * names what is missing.
 *
 * Memory    the caller's; LOCUS_RENDEZVOUS is the environment's own string
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_CLUSTER_ENVIRONMENT_H
#define LOCUS_CLUSTER_ENVIRONMENT_H

enum {
    ENVIRONMENT_RENDEZVOUS_MAX = 300, /* a host's name of 255 characters and a port */
    /* Derived ports are below the ephemeral ones, which the system gives to connecting sockets. */
    ENVIRONMENT_PORT_MIN = 10000,
    ENVIRONMENT_PORT_COUNT = 20000,
    ENVIRONMENT_PORT_DRAWN = 32768, /* the first ephemeral one, by Linux's default */
};

struct environment {
    int rank, size;         /* size 0: there is no launcher */
    const char *rendezvous; /* NULL: none is known. May point to `derived` */
    char derived[ENVIRONMENT_RENDEZVOUS_MAX];
};

/* 0, or -EINVAL with the sentence that names variable and value. */
int environment_read(struct environment *);
/* There is a rendezvous, which this names, without rank and size: -EINVAL, and the sentence. */
int environment_no_place(const char *rendezvous);

#endif
