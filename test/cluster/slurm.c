/* Clusters that Slurm's srun starts: a Slurm of the test's own, of this host alone, with its three
 * daemons. */
#include "member.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static struct command munged, controller, daemon_of_nodes;

static void end_slurm(void)
{
    struct command c;
    struct command *all[] = {&daemon_of_nodes, &controller, &munged};
    for (int i = 0; i < 3; i++) {
        if (all[i]->pid <= 0) continue;
        kill(all[i]->pid, SIGTERM);
        command_wait(all[i]);
    }
    command_run(&c, "rm -rf %s", folder);
}

static const char *port(char address[ADDRESS_BYTES])
{
    address_new(address);
    return strchr(address, ':') + 1;
}

/* More processors than there are, so that tasks fit; tasks are neither bound nor in control
 * groups. */
static void configure(void)
{
    char host[64], one[ADDRESS_BYTES], other[ADDRESS_BYTES], path[128];
    snprintf(path, sizeof path, "%s/slurm.conf", folder);
    CHECK_EQ(gethostname(host, sizeof host), 0);
    host[strcspn(host, ".")] = '\0';
    FILE *f = fopen(path, "we");
    CHECK(f != NULL);
    fprintf(f, "ClusterName=locus\nSlurmctldHost=%s(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n",
            host);
    fprintf(f, "AuthType=auth/munge\nAuthInfo=socket=%s/munge.socket\n", folder);
    fprintf(f, "SlurmctldPort=%s\nSlurmdPort=%s\n", port(one), port(other));
    fprintf(
        f,
        "StateSaveLocation=%s\nSlurmdSpoolDir=%s\nSlurmctldPidFile=%s/ctld.pid\nSlurmdPidFile=%s/slurmd.pid\n",
        folder, folder, folder, folder);
    fprintf(
        f,
        "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\nReturnToService=2\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\n");
    fprintf(
        f,
        "NodeName=%s NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN\nPartitionName=test Nodes=ALL Default=YES State=UP\n",
        host);
    CHECK_EQ(fclose(f), 0);
    CHECK_EQ(setenv("SLURM_CONF", path, 1), 0);
}

static void start_daemons(void)
{
    command_start(
        &munged, COMMAND_FILES,
        "cd %s && umask 077 && head -c 1024 /dev/urandom > key && umask 022 && "
        "exec munged --foreground --force --key-file=%s/key --socket=%s/munge.socket --pid-file=%s/munged.pid "
        "--log-file=%s/munged.log --seed-file=%s/seed",
        folder, folder, folder, folder, folder, folder);
    struct command c;
    for (double end = now_s() + HANG_S; command_run(&c, "test -S %s/munge.socket", folder);
         sleep_s(0.05))
        if (now_s() > end) SKIP("munged does not start here");
    command_start(&controller, COMMAND_FILES, "exec slurmctld -D -i -c");
    command_start(&daemon_of_nodes, COMMAND_FILES, "exec slurmd -D");
    for (double end = now_s() + HANG_S; command_run(&c, "sinfo -h -o %%t | grep -q idle");
         sleep_s(0.1))
        if (now_s() > end) SKIP("slurmctld or slurmd does not start here");
}

static void need_slurm(void)
{
    struct command c;
    unsetenv("LOCUS_RENDEZVOUS"); /* nobody else's cluster */
    if (geteuid() != 0) SKIP("Slurm's daemons need root");
    const char *path = getenv("PATH");
    char with_sbin[4096];
    snprintf(with_sbin, sizeof with_sbin, "%s:/usr/sbin:/sbin", path ? path : "/usr/bin:/bin");
    CHECK_EQ(setenv("PATH", with_sbin, 1), 0);
    if (command_run(
            &c,
            "command -v munged && command -v slurmctld && command -v slurmd && command -v srun") !=
        0)
        SKIP("there is no Slurm here (slurm-wlm, munge)");
    strcpy(folder, "/tmp/locus-slurm-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    command_must(&c, "chmod 755 %s", folder);
    atexit(end_slurm);
    configure();
    start_daemons();
}

TEST(slurm, srun_starts_clusters_also_beside_each_other)
{
    enum { CLUSTERS = 3 };
    static struct command c[CLUSTERS];
    need_slurm();
    for (int i = 0; i < CLUSTERS; i++)
        command_start(&c[i], COMMAND_FILES, "exec srun -N 1 -n 3 %s once", role_command("member"));
    for (int i = 0; i < CLUSTERS; i++) {
        int status = command_wait(&c[i]);
        if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c[i].err.text);
        member_all_joined(&c[i], 3);
    }
    command_must(&c[0], "srun -N 1 -n 1 %s once", role_command("member"));
    member_all_joined(&c[0], 1);
}

/* In the script itself a program is a cluster of one; each step is a cluster of its own. */
TEST(slurm, steps_of_a_batch_job_are_clusters)
{
    struct command c;
    need_slurm();
    const char *member = role_command("member");
    int status =
        command_run(&c,
                    "cd %s && printf '#!/bin/sh\n%%s once\nsrun --exact -n 2 %%s once & "
                    "srun --exact -n 3 %%s once\nwait\necho ended\n' '%s' '%s' '%s' > job && "
                    "sbatch -N 1 -n 5 -o out job",
                    folder, member, member, member);
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.err.text);
    for (double end = now_s() + HANG_S; command_run(&c, "cd %s && grep -qx ended out", folder);
         sleep_s(0.1))
        CHECK(now_s() < end);
    command_must(&c, "cat %s/out", folder);
    member_all_joined(&c, 1);
    member_all_joined(&c, 2);
    member_all_joined(&c, 3);
}

TEST(slurm, a_node_that_fails_ends_the_step)
{
    struct command c;
    need_slurm();
    CHECK(command_run(&c, "srun -N 1 -n 3 --kill-on-bad-exit=1 %s 'stays fails-at=1'",
                      role_command("member")) != 0);
    CHECK_STR(c.err.text, "exit code 3");
}
