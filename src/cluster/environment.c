#include "cluster/environment.h"

#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is set to nothing counts as not set. */
static const char *text_of(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static bool is_set(const char *name)
{
    return text_of(name) != NULL;
}

static int read_number(const char *name, int *out)
{
    const char *text = text_of(name);
    char *end;
    *out = 0;
    if (!text) return error_set(-EINVAL, "%s is not set", name);
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9' || value > INT_MAX)
        return error_set(-EINVAL, "%s is \"%.40s\": must be a number", name, text);
    *out = (int)value;
    return 0;
}

struct launcher {
    const char *rank, *size;
    const char *or_size; /* NULL, or what has the size where `size` is not set */
    bool (*speaks)(const struct launcher *);
    /* NULL, or where rank 0 listens, if nothing says so: 0, or -EINVAL with the sentence */
    int (*derive)(struct environment *);
};
enum { SLURM = 7, LAUNCHERS };
static const struct launcher launchers[LAUNCHERS];

static int read_place(struct environment *e, const struct launcher *l)
{
    const char *rank = l->rank, *size = l->or_size && !is_set(l->size) ? l->or_size : l->size;
    const char *missing = !is_set(rank) ? rank : !is_set(size) ? size : NULL;
    int rc = read_number(size, &e->size);
    /* by hand, a cluster of one has no ranks to tell apart */
    if (missing == rank && !l->derive && rc == 0 && e->size == 1) return 0;
    if (missing == rank && !is_set(size))
        return error_set(
            -EINVAL, "SLURM_STEP_ID is set but SLURM_PROCID is not: start the program with srun");
    if (missing)
        return error_set(-EINVAL, "%s is set but %s is not: set both for every process, or neither",
                         missing == rank ? size : rank, missing);
    if (rc == 0) rc = read_number(rank, &e->rank);
    if (rc) return rc;
    if (e->size == 0) return error_set(-EINVAL, "%s is 0: must be the number of nodes", size);
    if (e->rank >= e->size)
        return error_set(-EINVAL, "%s is %d: must be below %s, which is %d", rank, e->rank, size,
                         e->size);
    return 0;
}

static int read_launcher(struct environment *e, const struct launcher *l)
{
    int rc = read_place(e, l);
    return rc || e->size == 1 || e->rendezvous || !l->derive ? rc : l->derive(e);
}

/* ---- the rendezvous, derived ---- */

static int derive(struct environment *e, const char *host, unsigned port)
{
    bool is_ipv6 = strchr(host, ':') && *host != '[';
    int n = snprintf(e->derived, sizeof e->derived, is_ipv6 ? "[%s]:%u" : "%s:%u", host, port);
    if (n >= (int)sizeof e->derived)
        return error_set(-EINVAL,
                         "the host \"%.40s...\" of rank 0 is too long: set LOCUS_RENDEZVOUS", host);
    e->rendezvous = e->derived;
    return 0;
}

/* The same on all processes of a job, and most likely another for another job. FNV-1a. */
static uint64_t hash_of(const char *job)
{
    uint64_t hash = 14695981039346656037u;
    for (; *job; job++) hash = (hash ^ (unsigned char)*job) * 1099511628211u;
    return hash ^ hash >> 32;
}

static unsigned port_of(const char *job)
{
    return ENVIRONMENT_PORT_MIN + (unsigned)(hash_of(job) % ENVIRONMENT_PORT_COUNT);
}

/* A host has 16 million addresses on loopback, so concurrent jobs do not collide with each other,
 * nor with programs that listen at 127.0.0.1. */
static int derive_on_loopback(struct environment *e, const char *job)
{
    char host[INET_ADDRSTRLEN];
    uint64_t hash = hash_of(job) / ENVIRONMENT_PORT_COUNT;
    unsigned octet[3];
    for (int i = 0; i < 3; i++, hash /= 254) octet[i] = 1 + (unsigned)(hash % 254);
    snprintf(host, sizeof host, "127.%u.%u.%u", octet[0], octet[1], octet[2]);
    return derive(e, host, port_of(job));
}

/* ---- launchers ---- */

static bool either_is_set(const struct launcher *l)
{
    return is_set(l->rank) || is_set(l->size);
}

static bool rank_is_set(const struct launcher *l)
{
    return is_set(l->rank);
}

static int derive_openmpi(struct environment *e)
{
    int here;
    const char *job = text_of("PMIX_NAMESPACE");
    if (!job) job = text_of("OMPI_MCA_ess_base_jobid");
    int rc = read_number("OMPI_COMM_WORLD_LOCAL_SIZE", &here);
    if (rc) return rc;
    if (here < e->size)
        return error_set(
            -EINVAL,
            "OMPI_COMM_WORLD_LOCAL_SIZE is %d of %d processes: on several hosts, say where rank 0 listens "
            "with mpirun -x LOCUS_RENDEZVOUS=host:port",
            here, e->size);
    if (!job)
        return error_set(
            -EINVAL,
            "neither PMIX_NAMESPACE nor OMPI_MCA_ess_base_jobid is set: say where rank 0 listens "
            "with mpirun -x LOCUS_RENDEZVOUS=host:port");
    return derive_on_loopback(e, job);
}

/* RANK and WORLD_SIZE are common words. */
static bool torch_speaks(const struct launcher *l)
{
    return (is_set(l->rank) && is_set(l->size)) ||
           (either_is_set(l) && (is_set("MASTER_ADDR") || is_set("MASTER_PORT")));
}

static bool torchrun_speaks(const struct launcher *l)
{
    return is_set("TORCHELASTIC_RUN_ID") && torch_speaks(l);
}

/* Either MASTER_PORT is an ephemeral port that the launcher drew; then the next port may be in use.
 * Or a user has chosen a lower port, and opened it and the next one in the firewall. */
static unsigned port_beside(unsigned port)
{
    return port < ENVIRONMENT_PORT_DRAWN ? port + 1
                                         : ENVIRONMENT_PORT_MIN + port % ENVIRONMENT_PORT_COUNT;
}

static int derive_torch(struct environment *e)
{
    int port, here = 0;
    char job[ENVIRONMENT_RENDEZVOUS_MAX];
    const char *host = text_of("MASTER_ADDR"), *id = text_of("TORCHELASTIC_RUN_ID");
    const char *start = text_of("TORCHELASTIC_RESTART_COUNT");
    if (!host)
        return error_set(
            -EINVAL,
            "RANK and WORLD_SIZE are set but MASTER_ADDR is not: set it, or LOCUS_RENDEZVOUS");
    int rc = read_number("MASTER_PORT", &port);
    if (rc) return rc;
    if (port < 1 || port > 65535)
        return error_set(-EINVAL, "MASTER_PORT is %d: must be 1 to 65535: or set LOCUS_RENDEZVOUS",
                         port);
    if (is_set("LOCAL_WORLD_SIZE")) rc = read_number("LOCAL_WORLD_SIZE", &here);
    if (rc) return rc;
    if (here != e->size) return derive(e, host, port_beside((unsigned)port));
    snprintf(job, sizeof job, "torch %d %s %s", port, start ? start : "", id ? id : "");
    return derive_on_loopback(e, job);
}

/* Batch scripts and interactive shells are steps, too, of one task that is not ours. They are
 * recognized by the numbers that Slurm reserves for them, or by name. */
static bool slurm_speaks(const struct launcher *l)
{
    static const unsigned long normal_step_max = 0xfffffff0;
    const char *step = text_of("SLURM_STEP_ID");
    (void)l;
    return step && *step >= '0' && *step <= '9' && strtoul(step, NULL, 10) <= normal_step_max;
}

/* "rack[0-1]n[00-15],other" -> "rack0n00" */
static void first_host(const char *list, char *host, size_t bytes)
{
    size_t n = 0;
    bool in_brackets = false, is_first = false;
    for (; *list && (in_brackets || *list != ','); list++) {
        if (*list == '[' || *list == ']')
            in_brackets = is_first = *list == '[';
        else if (in_brackets && (*list == '-' || *list == ','))
            is_first = false;
        else if ((is_first || !in_brackets) && n + 1 < bytes)
            host[n++] = *list;
    }
    host[n] = '\0';
}

static int derive_slurm(struct environment *e)
{
    char job[64], host[256];
    int hosts = 0;
    if (!is_set("SLURM_JOB_ID"))
        return error_set(-EINVAL,
                         "SLURM_STEP_ID is set but SLURM_JOB_ID is not: set LOCUS_RENDEZVOUS");
    snprintf(job, sizeof job, "%s.%s", text_of("SLURM_JOB_ID"), text_of("SLURM_STEP_ID"));
    int rc = is_set("SLURM_STEP_NUM_NODES") ? read_number("SLURM_STEP_NUM_NODES", &hosts) : 0;
    if (rc) return rc;
    if (hosts == 1) return derive_on_loopback(e, job);
    const char *list = text_of("SLURM_STEP_NODELIST");
    if (!list)
        return error_set(
            -EINVAL, "SLURM_STEP_ID is set but SLURM_STEP_NODELIST is not: set LOCUS_RENDEZVOUS");
    first_host(list, host, sizeof host);
    return derive(e, host, port_of(job));
}

/* The variables of other launchers of MPI name neither the job nor a host. But srun sets them, too,
 * and its own. */
static int derive_pmi(struct environment *e)
{
    const int rank = e->rank, size = e->size;
    if (slurm_speaks(&launchers[SLURM]) && read_launcher(e, &launchers[SLURM]) == 0 &&
        e->rank == rank && e->size == size)
        return 0;
    return error_set(
        -EINVAL,
        "%s is %d: set LOCUS_RENDEZVOUS=host:port for all of these processes, where rank 0 listens; "
        "or LOCUS_SIZE=1, if each is to train alone",
        is_set("MV2_COMM_WORLD_RANK") ? "MV2_COMM_WORLD_SIZE" : "PMI_SIZE", size);
}

/* ---- all of them ---- */

/* Several processes would train alone, each as the only one. */
int environment_no_place(const char *rendezvous)
{
    return error_set(-EINVAL,
                     "%s is set but LOCUS_RANK and LOCUS_SIZE are not: set both for every process; "
                     "LOCUS_SIZE=1 is a cluster of one",
                     rendezvous);
}

static const struct launcher launchers[LAUNCHERS] = {
    {"LOCUS_RANK", "LOCUS_SIZE", NULL, either_is_set, NULL},
    {"RANK", "WORLD_SIZE", NULL, torchrun_speaks, derive_torch},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, either_is_set, derive_openmpi},
    {"RANK", "WORLD_SIZE", NULL, torch_speaks, derive_torch},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL, rank_is_set, derive_pmi},
    {"PALS_RANKID", "PMI_SIZE", NULL, rank_is_set, derive_pmi}, /* which has no size of its own */
    {"PMI_RANK", "PMI_SIZE", NULL, rank_is_set, derive_pmi},
    /* the second may still be that of the whole job */
    [SLURM] = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", slurm_speaks, derive_slurm},
};

int environment_read(struct environment *e)
{
    *e = (struct environment){.rendezvous = text_of("LOCUS_RENDEZVOUS")};
    for (size_t i = 0; i < LAUNCHERS; i++)
        if (launchers[i].speaks(&launchers[i])) return read_launcher(e, &launchers[i]);
    return e->rendezvous ? environment_no_place("LOCUS_RENDEZVOUS") : 0;
}
