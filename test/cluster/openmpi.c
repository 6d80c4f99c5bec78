/* Clusters that Open MPI's mpirun starts. The variables of launchers that are not here are in
 * unit/environment_test.c. */
#include "member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As root it asks whether that is meant, and it counts cores. Its folder of sessions is one for all
 * of a user: an mpirun that ends removes it while another one begins. So each gets its own. */
static const char mpirun[] = "folder=$(mktemp -d) && trap 'rm -rf \"$folder\"' EXIT && "
                             "TMPDIR=$folder mpirun --allow-run-as-root --oversubscribe";

static void need_mpirun(void)
{
    struct command c;
    /* Not what is tested, but what surrounds the test: nobody else's cluster. */
    unsetenv("LOCUS_RENDEZVOUS");
    if (command_run(&c, "command -v mpirun") != 0) SKIP("there is no mpirun here");
    if (command_run(&c, "%s --version", mpirun) != 0 || !strstr(c.out.text, "Open MPI"))
        SKIP("mpirun is not that of Open MPI");
    if (command_run(&c, "%s -n 2 true", mpirun) != 0) SKIP("mpirun starts nothing here");
}

TEST(openmpi, mpirun_starts_a_cluster)
{
    struct command c;
    need_mpirun();
    int status = command_run(&c, "%s -n 3 %s once", mpirun, role_command("member"));
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.err.text);
    member_all_joined(&c, 3);
    command_must(&c, "%s -n 1 %s once", mpirun, role_command("member"));
    member_all_joined(&c, 1);
}

TEST(openmpi, mpirun_starts_clusters_beside_each_other)
{
    enum { CLUSTERS = 3 };
    static struct command c[CLUSTERS];
    need_mpirun();
    for (int i = 0; i < CLUSTERS; i++)
        command_start(&c[i], COMMAND_FILES, "%s -n 2 %s once", mpirun, role_command("member"));
    for (int i = 0; i < CLUSTERS; i++) {
        int status = command_wait(&c[i]);
        if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c[i].err.text);
        member_all_joined(&c[i], 2);
    }
}

TEST(openmpi, mpirun_passes_a_rendezvous)
{
    struct command c;
    char address[ADDRESS_BYTES];
    need_mpirun();
    address_new(address);
    command_must(&c, "export LOCUS_RENDEZVOUS=%s; %s -x LOCUS_RENDEZVOUS -n 2 %s once", address,
                 mpirun, role_command("member"));
    member_all_joined(&c, 2);
    CHECK(command_run(&c, "%s -x LOCUS_RENDEZVOUS=%s -n 2 %s once", mpirun, "nowhere",
                      role_command("member")) != 0);
    CHECK_STR(c.err.text, "the rendezvous \"nowhere\"");
}

TEST(openmpi, locus_run_inside_mpirun_is_a_cluster_of_its_own)
{
    struct command c;
    need_mpirun();
    command_must(&c, "%s -n 2 %s run -n 3 -- %s once", mpirun, locus_path(),
                 role_command("member"));
    member_all_joined(&c, 3);
}
