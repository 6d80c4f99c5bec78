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

/* Both variables of a launcher of which one is set. */
static int read_place(struct environment *e, const char *rank, const char *size)
{
    const char *missing = !is_set(rank) ? rank : !is_set(size) ? size : NULL;
    if (missing)
        return error_set(-EINVAL, "%s is set but %s is not: set both for every process, or neither",
                         missing == rank ? size : rank, missing);
    int rc = read_number(size, &e->size);
    if (rc == 0) rc = read_number(rank, &e->rank);
    if (rc) return rc;
    if (e->size == 0) return error_set(-EINVAL, "%s is 0: must be the number of nodes", size);
    if (e->rank >= e->size)
        return error_set(-EINVAL, "%s is %d: must be below %s, which is %d", rank, e->rank, size,
                         e->size);
    return 0;
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

/* ---- locus run, and by hand ---- */

static bool locus_speaks(void)
{
    return is_set("LOCUS_SIZE") || is_set("LOCUS_RANK");
}

static int read_locus(struct environment *e)
{
    /* A cluster of one has no ranks to tell apart. */
    const char *size = text_of("LOCUS_SIZE");
    if (size && strcmp(size, "1") == 0 && !is_set("LOCUS_RANK")) {
        e->size = 1;
        return 0;
    }
    return read_place(e, "LOCUS_RANK", "LOCUS_SIZE");
}

/* ---- Open MPI ---- */

static bool openmpi_speaks(void)
{
    return is_set("OMPI_COMM_WORLD_SIZE") || is_set("OMPI_COMM_WORLD_RANK");
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

static int read_openmpi(struct environment *e)
{
    int rc = read_place(e, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    return rc || e->size == 1 || e->rendezvous ? rc : derive_openmpi(e);
}

/* ---- torchrun, and whoever sets torch's variables ---- */

static bool torch_speaks(void)
{
    bool rank = is_set("RANK"), size = is_set("WORLD_SIZE");
    return (rank && size) || ((rank || size) && (is_set("MASTER_ADDR") || is_set("MASTER_PORT")));
}

static bool torchrun_speaks(void)
{
    return is_set("TORCHELASTIC_RUN_ID") && torch_speaks();
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

static int read_torch(struct environment *e)
{
    int rc = read_place(e, "RANK", "WORLD_SIZE");
    return rc || e->size == 1 || e->rendezvous ? rc : derive_torch(e);
}

/* ---- Slurm ---- */

/* Batch scripts and interactive shells are steps, too, of one task that is not ours. They are
 * recognized by the numbers that Slurm reserves for them, or by name. */
static bool slurm_speaks(void)
{
    static const unsigned long normal_step_max = 0xfffffff0;
    const char *step = text_of("SLURM_STEP_ID");
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

static int read_slurm(struct environment *e)
{
    /* The second may still be that of the whole job. */
    const char *size = is_set("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    if (!is_set("SLURM_PROCID") && !is_set(size))
        return error_set(
            -EINVAL, "SLURM_STEP_ID is set but SLURM_PROCID is not: start the program with srun");
    int rc = read_place(e, "SLURM_PROCID", size);
    return rc || e->size == 1 || e->rendezvous ? rc : derive_slurm(e);
}

/* ---- other launchers of MPI ---- */

/* PALS has no size of its own. */
static const struct {
    const char *rank, *size;
} pmi[] = {{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
           {"PALS_RANKID", "PMI_SIZE"},
           {"PMI_RANK", "PMI_SIZE"}};
enum { PMI_ROWS = sizeof pmi / sizeof *pmi };

static size_t pmi_row(void)
{
    size_t i = 0;
    while (i < PMI_ROWS && !is_set(pmi[i].rank)) i++;
    return i;
}

static bool pmi_speaks(void)
{
    return pmi_row() < PMI_ROWS;
}

/* Their variables name neither the job nor a host. But srun sets them, too, and its own. */
static int read_pmi(struct environment *e)
{
    const char *size_name = pmi[pmi_row()].size;
    int rc = read_place(e, pmi[pmi_row()].rank, size_name);
    if (rc || e->size == 1 || e->rendezvous) return rc;
    const int rank = e->rank, size = e->size;
    if (slurm_speaks() && read_slurm(e) == 0 && e->rank == rank && e->size == size) return 0;
    return error_set(
        -EINVAL,
        "%s is %d: set LOCUS_RENDEZVOUS=host:port for all of these processes, where rank 0 listens; "
        "or LOCUS_SIZE=1, if each is to train alone",
        size_name, size);
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

static const struct launcher {
    bool (*speaks)(void);
    int (*read)(struct environment *);
} launchers[] = {
    {locus_speaks, read_locus}, {torchrun_speaks, read_torch}, {openmpi_speaks, read_openmpi},
    {torch_speaks, read_torch}, {pmi_speaks, read_pmi},        {slurm_speaks, read_slurm},
};

int environment_read(struct environment *e)
{
    *e = (struct environment){.rendezvous = text_of("LOCUS_RENDEZVOUS")};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (launchers[i].speaks()) return launchers[i].read(e);
    return e->rendezvous ? environment_no_place("LOCUS_RENDEZVOUS") : 0;
}
