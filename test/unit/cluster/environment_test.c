/* What launchers say in environment variables: each with the variables that its documentation
 * names. */
#include "test.h"

#include "cluster/environment.h"
#include "locus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only what the test sets is there: it may run under a launcher itself. "NAME=VALUE", a blank,
 * "NAME=VALUE", ... */
static void environment_is(const char *variables)
{
    static char text[2048];
    clearenv();
    CHECK(snprintf(text, sizeof text, "%s", variables) < (int)sizeof text);
    for (char *v = strtok(text, " "); v; v = strtok(NULL, " ")) CHECK_EQ(putenv(v), 0);
}

static void says(const char *variables, int rank, int size, const char *rendezvous)
{
    struct environment e;
    environment_is(variables);
    int rc = environment_read(&e);
    if (rc) test_fail(__FILE__, __LINE__, "%s: %s", variables, locus_error());
    CHECK_EQ(e.size, size);
    CHECK_EQ(e.rank, rank);
    if (!rendezvous) {
        CHECK(!e.rendezvous);
        return;
    }
    CHECK(e.rendezvous != NULL);
    if (strcmp(e.rendezvous, rendezvous) != 0)
        test_fail(__FILE__, __LINE__, "%s: the rendezvous is %s, not %s", variables, e.rendezvous,
                  rendezvous);
}

/* The sentence contains both parts. */
static void is_wrong(const char *variables, const char *part, const char *other_part)
{
    struct environment e;
    environment_is(variables);
    REFUSED(environment_read(&e), -EINVAL, part);
    CHECK_STR(locus_error(), other_part);
}

static void derive(const char *variables, char rendezvous[ENVIRONMENT_RENDEZVOUS_MAX])
{
    struct environment e;
    environment_is(variables);
    CHECK_EQ(environment_read(&e), 0);
    CHECK(e.rendezvous == e.derived);
    strcpy(rendezvous, e.rendezvous);
    const char *colon = strrchr(rendezvous, ':');
    CHECK(colon != NULL);
    int port = atoi(colon + 1);
    CHECK(port >= ENVIRONMENT_PORT_MIN && port < ENVIRONMENT_PORT_MIN + ENVIRONMENT_PORT_COUNT);
}

/* The port of the derived rendezvous on `host`. */
static int port_on(const char *host, const char *variables)
{
    char rendezvous[ENVIRONMENT_RENDEZVOUS_MAX];
    derive(variables, rendezvous);
    CHECK(strncmp(rendezvous, host, strlen(host)) == 0);
    CHECK_EQ(rendezvous[strlen(host)], ':');
    return atoi(rendezvous + strlen(host) + 1);
}

/* Do both jobs derive the same rendezvous, on loopback? */
static bool meet(const char *variables, const char *other_variables)
{
    char one[ENVIRONMENT_RENDEZVOUS_MAX], other[ENVIRONMENT_RENDEZVOUS_MAX];
    derive(variables, one);
    derive(other_variables, other);
    CHECK(strncmp(one, "127.", 4) == 0 && strncmp(other, "127.", 4) == 0);
    return strcmp(one, other) == 0;
}

/* ---- Open MPI ---- */

#define OPENMPI "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_RANK=1 "

TEST(environment, open_mpi_on_one_host_meets_on_loopback)
{
    static const char job[] = OPENMPI "OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_NAMESPACE=2142830593";
    CHECK(meet(job, OPENMPI "OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_NAMESPACE=2142830593 PMIX_RANK=1"));
    CHECK(meet(job, OPENMPI "OMPI_COMM_WORLD_LOCAL_SIZE=3 OMPI_MCA_ess_base_jobid=2142830593"));
    CHECK(!meet(job, OPENMPI "OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_NAMESPACE=2142830594"));
    says("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_SIZE=1", 0, 1, NULL);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* As many as there are ports: were the port all that tells them apart, a third of them would meet
 * another. */
TEST(environment, jobs_of_one_host_do_not_meet)
{
    enum { JOBS = ENVIRONMENT_PORT_COUNT };
    static char all[JOBS][ENVIRONMENT_RENDEZVOUS_MAX];
    for (unsigned i = 0; i < JOBS; i++) {
        char job[160];
        snprintf(job, sizeof job, OPENMPI "OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_NAMESPACE=%u",
                 i * 65536 + 1);
        derive(job, all[i]);
    }
    qsort(all, JOBS, sizeof *all, by_text);
    for (unsigned i = 1; i < JOBS; i++) CHECK(strcmp(all[i - 1], all[i]) != 0);
}

/* ---- torchrun ---- */

#define TORCH "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 "
#define TORCHRUN TORCH "TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0 "

TEST(environment, torchrun_leaves_its_port_to_torch)
{
    says(TORCHRUN "LOCAL_WORLD_SIZE=4 MASTER_ADDR=node1 MASTER_PORT=29500", 5, 8, "node1:29501");
    says(TORCHRUN "LOCAL_WORLD_SIZE=4 MASTER_ADDR=fd00::1 MASTER_PORT=29500", 5, 8,
         "[fd00::1]:29501");
    says(TORCHRUN "LOCAL_WORLD_SIZE=4 MASTER_ADDR=node1 MASTER_PORT=29500 LOCUS_RENDEZVOUS=a:1", 5,
         8, "a:1");
    says("RANK=0 WORLD_SIZE=1 MASTER_ADDR=node1 MASTER_PORT=29500", 0, 1, NULL);
}

TEST(environment, torchrun_on_one_host_meets_on_loopback)
{
    static const char same[] = TORCHRUN "LOCAL_WORLD_SIZE=8 MASTER_ADDR=node1 MASTER_PORT=29500";
    CHECK(
        meet(same, TORCHRUN "LOCAL_WORLD_SIZE=8 MASTER_ADDR=alias MASTER_PORT=29500 LOCAL_RANK=2"));
    CHECK(!meet(same, TORCHRUN "LOCAL_WORLD_SIZE=8 MASTER_ADDR=node1 MASTER_PORT=29501"));
    CHECK(!meet(same, TORCHRUN "LOCAL_WORLD_SIZE=8 MASTER_ADDR=node1 MASTER_PORT=29500 "
                               "TORCHELASTIC_RUN_ID=second"));
    CHECK(!meet(same, TORCHRUN "LOCAL_WORLD_SIZE=8 MASTER_ADDR=node1 MASTER_PORT=29500 "
                               "TORCHELASTIC_RESTART_COUNT=1"));
}

/* The neighbour of a port that the launcher drew may be anybody's. */
TEST(environment, torchrun_drawn_master_port_has_no_neighbour)
{
    says(TORCHRUN "LOCAL_WORLD_SIZE=4 MASTER_ADDR=node1 MASTER_PORT=32767", 5, 8, "node1:32768");
    says(TORCHRUN "LOCAL_WORLD_SIZE=4 MASTER_ADDR=node1 MASTER_PORT=32768", 5, 8, "node1:22768");
    says(TORCHRUN "LOCAL_WORLD_SIZE=4 MASTER_ADDR=node1 MASTER_PORT=65535", 5, 8, "node1:15535");
}

/* ---- Slurm ---- */

#define STEP \
    "SLURM_JOB_ID=901593 SLURM_JOBID=901593 SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_LOCALID=0 SLURM_NTASKS=4 "
#define SEVERAL "SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=2 SLURM_NNODES=2 "

TEST(environment, slurm_meets_at_the_first_host_of_the_step)
{
    int port = port_on("gnode10", STEP SEVERAL "SLURM_STEP_NODELIST=gnode[10,20,25,37]");
    CHECK_EQ(port_on("gnode10", STEP SEVERAL "SLURM_STEP_NODELIST=gnode[10-20]"), port);
    CHECK_EQ(
        port_on("gpu-node001", STEP SEVERAL "SLURM_STEP_NODELIST=gpu-node[001-004,007],other-1"),
        port);
    CHECK_EQ(port_on("rack0n00", STEP SEVERAL "SLURM_STEP_NODELIST=rack[0-1]n[00-15]"), port);
    CHECK_EQ(port_on("t-cn0117", STEP SEVERAL "SLURM_STEP_NODELIST=t-cn0117,t-cn0118"), port);
    CHECK_EQ(port_on("n1-3", STEP SEVERAL "SLURM_STEP_NODELIST=n1-[3,5-6]"), port);
    CHECK(port_on("a", STEP SEVERAL "SLURM_STEP_NODELIST=a,b SLURM_STEP_ID=1") != port);
    CHECK(port_on("a", STEP SEVERAL "SLURM_STEP_NODELIST=a,b SLURM_JOB_ID=901594") != port);
}

TEST(environment, slurm_on_one_host_meets_on_loopback)
{
    static const char step[] = STEP
        "SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1 SLURM_STEP_NODELIST=gnode10";
    CHECK(meet(step,
               STEP "SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1 SLURM_STEP_NODELIST=gnode11"));
    CHECK(!meet(step, STEP "SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1 SLURM_STEP_ID=1"));
    says(STEP SEVERAL "LOCUS_RENDEZVOUS=a:7777", 2, 4, "a:7777");
}

TEST(environment, slurm_batch_script_is_no_task)
{
    says("SLURM_JOB_ID=2 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_NODELIST=n[10,20] SLURM_LOCALID=0", 0,
         0, NULL);
    says("SLURM_JOB_ID=5 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=4294967291", 0, 0, NULL);
    says("SLURM_JOB_ID=5 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=batch", 0, 0, NULL);
    says("SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1", 0, 0,
         NULL);
    says("SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1", 0, 1, NULL);
}

TEST(environment, reads_rank_size_and_rendezvous_of_each_launcher)
{
    says("HOME=/", 0, 0, NULL);
    says("LOCUS_SIZE= LOCUS_RANK=", 0, 0, NULL);
    says("RANK=7", 0, 0, NULL);
    says("WORLD_SIZE=7", 0, 0, NULL);
    says("MASTER_ADDR=a MASTER_PORT=1", 0, 0, NULL);
    says("LOCUS_RANK=3 LOCUS_SIZE=4 LOCUS_RENDEZVOUS=10.0.0.1:7777", 3, 4, "10.0.0.1:7777");
    says("LOCUS_SIZE=1", 0, 1, NULL);
    says(OPENMPI "OMPI_COMM_WORLD_LOCAL_SIZE=2 LOCUS_RENDEZVOUS=a:7777", 1, 3, "a:7777");
    says(TORCH "MASTER_ADDR=job-master-0 MASTER_PORT=23456", 5, 8, "job-master-0:23457");
    says(TORCH "LOCUS_RENDEZVOUS=a:1", 5, 8, "a:1");
    says(STEP "SLURM_STEP_NUM_TASKS=3 LOCUS_RENDEZVOUS=a:1", 2, 3, "a:1");
    says(STEP "LOCUS_RENDEZVOUS=a:1", 2, 4, "a:1");
    says("PMI_RANK=1 PMI_SIZE=4 LOCUS_RENDEZVOUS=a:1", 1, 4, "a:1");
    says("PALS_RANKID=1 PMI_SIZE=4 LOCUS_RENDEZVOUS=a:1", 1, 4, "a:1");
    says("MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=4 LOCUS_RENDEZVOUS=a:1", 1, 4, "a:1");
    says("PMI_RANK=0 PMI_SIZE=1", 0, 1, NULL);
    says("PMI_RANK=1 PMI_SIZE=4 LOCUS_SIZE=1", 0, 1, NULL);
}

/* ---- what is wrong ---- */

TEST(environment, read_refuses_what_is_half_said_or_no_number)
{
    static const struct {
        const char *variables, *part, *other_part;
    } wrong[] = {
        {"LOCUS_SIZE=4", "LOCUS_SIZE is set but LOCUS_RANK is not", "set both"},
        {"LOCUS_RANK=0", "LOCUS_RANK is set but LOCUS_SIZE is not", "set both"},
        {"LOCUS_RANK=one LOCUS_SIZE=4", "LOCUS_RANK is \"one\"", "must be a number"},
        {"LOCUS_RANK=-1 LOCUS_SIZE=4", "LOCUS_RANK is \"-1\"", "must be a number"},
        {"LOCUS_RANK=0 LOCUS_SIZE=4x", "LOCUS_SIZE is \"4x\"", "must be a number"},
        {"LOCUS_RANK=0 LOCUS_SIZE=99999999999", "is \"99999999999\"", "must be a number"},
        {"LOCUS_RANK=4 LOCUS_SIZE=4", "LOCUS_RANK is 4", "below LOCUS_SIZE, which is 4"},
        {"LOCUS_RANK=1 LOCUS_SIZE=1", "LOCUS_RANK is 1", "below LOCUS_SIZE, which is 1"},
        {"LOCUS_RANK=0 LOCUS_SIZE=0", "LOCUS_SIZE is 0", "number of nodes"},
        {"OMPI_COMM_WORLD_RANK=x OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK is \"x\"",
         "must be a number"},
        {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE is not", "OMPI_COMM_WORLD_RANK is set"},
        {"OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK is not", "OMPI_COMM_WORLD_SIZE is set"},
        {"RANK=0 WORLD_SIZE=two", "WORLD_SIZE is \"two\"", "must be a number"},
        {"RANK=0 MASTER_ADDR=a MASTER_PORT=1", "RANK is set", "WORLD_SIZE is not"},
        {"WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1", "WORLD_SIZE is set", "RANK is not"},
        {TORCH "MASTER_PORT=1", "MASTER_ADDR is not", "LOCUS_RENDEZVOUS"},
        {TORCH "MASTER_ADDR=a", "MASTER_PORT", "is not set"},
        {TORCH "MASTER_ADDR=a MASTER_PORT=65536", "MASTER_PORT is 65536", "65535"},
        {TORCH "MASTER_ADDR=a MASTER_PORT=0", "MASTER_PORT is 0", "65535"},
        {"SLURM_STEP_ID=0 SLURM_PROCID=? SLURM_NTASKS=2", "SLURM_PROCID is \"?\"",
         "must be a number"},
        {"SLURM_STEP_ID=0 SLURM_JOB_ID=1", "SLURM_PROCID is not", "srun"},
        {"SLURM_STEP_ID=0 SLURM_JOB_ID=1 SLURM_NTASKS=4", "SLURM_PROCID is not",
         "SLURM_NTASKS is set"},
        {"SLURM_STEP_ID=0 SLURM_JOB_ID=1 SLURM_PROCID=0", "SLURM_NTASKS is not",
         "SLURM_PROCID is set"},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=4", "SLURM_JOB_ID is not",
         "LOCUS_RENDEZVOUS"},
        {STEP SEVERAL, "SLURM_STEP_NODELIST is not", "LOCUS_RENDEZVOUS"},
        {STEP "SLURM_STEP_NUM_NODES=few", "SLURM_STEP_NUM_NODES is \"few\"", "must be a number"},
        {OPENMPI "OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=7", "2 of 3 processes",
         "mpirun -x LOCUS_RENDEZVOUS=host:port"},
        {OPENMPI "OMPI_COMM_WORLD_LOCAL_SIZE=3", "PMIX_NAMESPACE",
         "mpirun -x LOCUS_RENDEZVOUS=host:port"},
        {OPENMPI, "OMPI_COMM_WORLD_LOCAL_SIZE", "is not set"},
        {"LOCUS_RENDEZVOUS=h:1", "LOCUS_RENDEZVOUS is set but LOCUS_RANK", "LOCUS_SIZE=1 is"},
        {"LOCUS_RANK= LOCUS_SIZE= LOCUS_RENDEZVOUS=h:1", "LOCUS_RENDEZVOUS is set", "set both"},
        {"PMI_RANK=1 PMI_SIZE=4", "PMI_SIZE is 4: set LOCUS_RENDEZVOUS=host:port", "LOCUS_SIZE=1"},
        {"PALS_RANKID=1", "PALS_RANKID is set but PMI_SIZE is not", "set both"},
        {"PMI_RANK=0", "PMI_RANK is set but PMI_SIZE is not", "set both"},
        {"MV2_COMM_WORLD_RANK=0", "MV2_COMM_WORLD_SIZE is not", "set both"},
        {"MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=4", "MV2_COMM_WORLD_SIZE is 4", "LOCUS_SIZE=1"},
        /* started by mpiexec's proxies, which srun has started */
        {STEP SEVERAL "SLURM_STEP_NODELIST=a,b PMI_RANK=3 PMI_SIZE=8", "PMI_SIZE is 8",
         "LOCUS_RENDEZVOUS"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        is_wrong(wrong[i].variables, wrong[i].part, wrong[i].other_part);
}

/* ---- one launcher inside another ---- */

TEST(environment, the_innermost_launcher_is_believed)
{
    const char *all = STEP SEVERAL
        "SLURM_STEP_NODELIST=a,b RANK=1 WORLD_SIZE=6 MASTER_ADDR=m MASTER_PORT=1000 "
        "OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=5 OMPI_COMM_WORLD_LOCAL_SIZE=2 ";
    char text[1024];
    snprintf(text, sizeof text, "%sLOCUS_RANK=1 LOCUS_SIZE=2", all);
    says(text, 1, 2, NULL);
    snprintf(text, sizeof text, "%sTORCHELASTIC_RUN_ID=x", all);
    says(text, 1, 6, "m:1001");
    snprintf(text, sizeof text, "%sLOCUS_RENDEZVOUS=r:1", all);
    says(text, 4, 5, "r:1");
    says(STEP SEVERAL "SLURM_STEP_NODELIST=a,b " TORCH "MASTER_ADDR=m MASTER_PORT=1000", 5, 8,
         "m:1001");
    says(STEP SEVERAL "SLURM_STEP_NODELIST=a,b " OPENMPI "LOCUS_RENDEZVOUS=r:1", 1, 3, "r:1");
    /* srun --mpi=pmi2 */
    CHECK_EQ(port_on("a", STEP SEVERAL "SLURM_STEP_NODELIST=a,b PMI_RANK=2 PMI_SIZE=4"),
             port_on("a", STEP SEVERAL "SLURM_STEP_NODELIST=a,b"));
}

TEST(environment, rendezvous_serves_a_configured_rank_and_size)
{
    const struct locus_table table = {.rows = 1, .length = 1};
    struct locus_config c;
    locus *n;
    environment_is("LOCUS_RENDEZVOUS=[::1");
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.technique = LOCUS_STATIC;
    c.size = 2;
    REFUSED(locus_open(&c, &n), -EINVAL, "the rendezvous \"[::1\"");
}
