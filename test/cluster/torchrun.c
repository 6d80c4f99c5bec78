/* Clusters that torchrun starts, of programs that are not Python's. */
#include "member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Debian's first: another Python in the path may have no torch. That of Debian 12 (1.13 with Python
 * 3.11) fails unless it redirects something, hence --redirects and --tee. */
static const char *torchrun(void)
{
    static char path[256];
    struct command c;
    unsetenv("LOCUS_RENDEZVOUS"); /* nobody else's cluster */
    if (command_run(&c, "PATH=/usr/bin:$PATH command -v torchrun") != 0)
        SKIP("there is no torchrun here (python3-torch)");
    CHECK_EQ(sscanf(c.out.text, "%255s", path), 1);
    if (command_run(&c, "%s --help", path) != 0) SKIP("torchrun does not run here");
    return path;
}

TEST(torchrun, starts_a_cluster)
{
    struct command c;
    char store[ADDRESS_BYTES]; /* --standalone takes one port for all who test here */
    address_new(store);
    int status = command_run(
        &c,
        "%s --rdzv_backend c10d --rdzv_endpoint %s --redirects 1 --tee 1 --nproc_per_node 3 --no_python %s once",
        torchrun(), store, role_command("member"));
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.err.text);
    member_all_joined(&c, 3);
}

/* Two agents, as on two hosts. Each learns from the other where rank 0 is. */
TEST(torchrun, starts_a_cluster_of_two_agents)
{
    static struct command agent[2];
    static char out[2 * COMMAND_TEXT_MAX];
    const char *path = torchrun();
    char store[ADDRESS_BYTES];
    address_new(store);
    for (int i = 0; i < 2; i++)
        command_start(
            &agent[i], COMMAND_FILES,
            "exec %s --nnodes 2 --redirects 1 --tee 1 --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint %s --rdzv_id locus --no_python "
            "%s once",
            path, store, role_command("member"));
    for (int i = 0; i < 2; i++) {
        int status = command_wait(&agent[i]);
        if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, agent[i].err.text);
        strncat(out, agent[i].out.text, sizeof out - strlen(out) - 1);
    }
    memcpy(agent[0].out.text, out, sizeof agent[0].out.text - 1);
    member_all_joined(&agent[0], 4);
}
