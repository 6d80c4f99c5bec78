/*
 * `locus doctor`: failures that docs/reference/errors.md explains are provoked, and it names each of them in
 * the words of the node that would fail. Here are those of the environment; those of a machine are
 * in doctor_machine.c, those of several hosts in doctor_hosts.c.
 */
#include "illness.h"
#include "process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct command c;

/* ---- the launcher ---- */

TEST(doctor, names_what_launchers_leave_out)
{
    static const struct illness list[] = {
        {"LOCUS_SIZE=2", "launcher", "LOCUS_SIZE is set but LOCUS_RANK is not"},
        {"LOCUS_RANK=one LOCUS_SIZE=2", "launcher", "LOCUS_RANK is \"one\": must be a number"},
        {"LOCUS_RANK=2 LOCUS_SIZE=2", "launcher", "must be below LOCUS_SIZE, which is 2"},
        {"LOCUS_RANK=0 LOCUS_SIZE=0", "launcher", "LOCUS_SIZE is 0: must be the number of nodes"},
        {"LOCUS_RANK=0 LOCUS_SIZE=5000", "launcher", "size is 5000: must be the number of nodes"},
        {PAIR, "launcher", "a cluster of 2 nodes needs a rendezvous"},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", "launcher",
         "OMPI_COMM_WORLD_LOCAL_SIZE is not set"},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=1", "launcher",
         "say where rank 0 listens with mpirun -x LOCUS_RENDEZVOUS=host:port"},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2", "launcher",
         "neither PMIX_NAMESPACE nor OMPI_MCA_ess_base_jobid is set"},
        {"RANK=0 WORLD_SIZE=2", "launcher", "RANK and WORLD_SIZE are set but MASTER_ADDR is not"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=alpha", "launcher", "MASTER_PORT is not set"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=alpha MASTER_PORT=65536", "launcher",
         "MASTER_PORT is 65536: must be 1 to 65535"},
        {"SLURM_STEP_ID=0", "launcher", "SLURM_STEP_ID is set but SLURM_PROCID is not"},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", "launcher",
         "SLURM_JOB_ID is not: set LOCUS_RENDEZVOUS"},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=4", "launcher",
         "SLURM_STEP_NODELIST is not: set LOCUS_RENDEZVOUS"},
        {"RANK=0 WORLD_SIZE=2 MASTER_PORT=7000 MASTER_ADDR=$(printf %0300d 0)", "launcher",
         "of rank 0 is too long: set LOCUS_RENDEZVOUS"},
    };
    ARE_NAMED(list);
}

/* ---- the rendezvous ---- */

TEST(doctor, names_what_is_wrong_with_the_rendezvous)
{
    static const struct illness list[] = {
        {PAIR "LOCUS_RENDEZVOUS=alpha", "rendezvous", "has no port: write host:port"},
        {PAIR "LOCUS_RENDEZVOUS=:7777", "rendezvous", "has no host"},
        {PAIR "LOCUS_RENDEZVOUS=127.0.0.1:70000", "rendezvous", "has no port from 1 to 65535"},
        {PAIR "LOCUS_RENDEZVOUS=::1:7777", "rendezvous",
         "is ambiguous: write an IPv6 address in brackets"},
        {PAIR "LOCUS_SECRET=s LOCUS_RENDEZVOUS=192.0.2.77:7777 LOCUS_LISTEN=127.0.0.1",
         "rendezvous", "this machine has no such address"},
        {PAIR "LOCUS_RENDEZVOUS=8.8.8.8:7777", "listen",
         "is not on loopback, and the cluster has no secret"},
        {PAIR "LOCUS_SECRET=s LOCUS_LISTEN=127.0.0.1 LOCUS_RENDEZVOUS=no-such-host.invalid:7777",
         "rendezvous", "is not known"},
    };
    ARE_NAMED(list);
}

TEST(doctor, names_a_port_that_is_taken)
{
    char address[ADDRESS_BYTES], before[128];
    struct command holder;
    address_new(address);
    const struct illness taken = {before, "rendezvous", "the port is taken, by another program"};
    const struct illness metrics = {before, "metrics", "this node cannot listen there"};
    const struct illness peers = {before, "listen", "is taken: choose another with LOCUS_LISTEN"};
    command_start(&holder, COMMAND_FILES,
                  "exec python3 -uc 'import socket,time; s=socket.socket(); "
                  "s.bind((\"127.0.0.1\",%s)); s.listen(); print(\"ready\"); time.sleep(600)'",
                  strchr(address, ':') + 1);
    command_await(&holder, &holder.out, "ready");
    snprintf(before, sizeof before, PAIR "LOCUS_RENDEZVOUS=%s", address);
    CHECK_EQ(command_run(&c, BARE "%s %s doctor", before, locus_path()), 1);
    is_named(&c, "fail", &taken);
    snprintf(before, sizeof before, "LOCUS_RANK=0 LOCUS_SIZE=1 LOCUS_LISTEN=%s", address);
    CHECK_EQ(command_run(&c, BARE "%s %s doctor", before, locus_path()), 1);
    is_named(&c, "fail", &peers);
    snprintf(before, sizeof before, "LOCUS_METRICS=%s", address);
    CHECK_EQ(command_run(&c, BARE "%s %s doctor", before, locus_path()), 1);
    is_named(&c, "fail", &metrics);
    command_signal(&holder, SIGKILL);
    command_wait(&holder);
}

/* Rank 0 may start later: no failure. */
TEST(doctor, warns_where_nobody_answers)
{
    char address[ADDRESS_BYTES], before[128];
    address_new(address);
    const struct illness nobody = {before, "rendezvous", "nobody answers at"};
    snprintf(before, sizeof before, "LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=%s", address);
    command_must(&c, BARE "%s %s doctor", before, locus_path());
    is_named(&c, "warn", &nobody);
}

/* Where `locus run` works, and nodes with metrics do. */
TEST(doctor, finds_nothing_wrong_with_ipv6_alone)
{
    static const char begin[] =
        "unshare -rn sh -c 'ip link set lo up && ip addr del 127.0.0.1/8 dev lo && ";
    if (command_run(&c, "%s true'", begin)) SKIP("network namespaces cannot be made here");
    command_must(&c, "%s exec env LOCUS_METRICS=9400 %s doctor'", begin, locus_path());
    CHECK_STR(c.out.text, "peers would be told [::1]:");
    CHECK_STR(c.out.text, "ok    metrics      9400, and 0 ports further");
}

TEST(doctor, names_a_wrong_address_for_peers)
{
    static const struct illness list[] = {
        {"LOCUS_LISTEN=127.0.0.1:port", "listen", "is not of the form host:port"},
        {"LOCUS_LISTEN=no-such-host.invalid", "listen", "is not known"},
        {"LOCUS_LISTEN=192.0.2.77", "listen", "belongs to no interface of this machine"},
    };
    ARE_NAMED(list);
}

TEST(doctor, names_a_wrong_address_for_metrics)
{
    static const struct illness list[] = {
        {"LOCUS_METRICS=127.0.0.1:http", "metrics", "is not of the form host:port"},
        {"LOCUS_METRICS=192.0.2.77:9400", "metrics", "this node cannot listen there"},
        {"LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=127.0.0.1:7777 LOCUS_METRICS=65535", "metrics",
         "above 65535"},
    };
    ARE_NAMED(list);
}

TEST(doctor, names_a_variable_that_is_misspelt)
{
    static const struct illness list[] = {
        {"LOCUS_METRIC=127.0.0.1:9400", "variables",
         "nobody reads LOCUS_METRIC: is it meant to be LOCUS_METRICS?"},
    };
    ARE_WARNED_OF(list);
    command_must(&c, BARE "LOCUS_OF_MINE=1 %s doctor", locus_path());
    CHECK_STR(c.out.text, "none that begins with LOCUS_ seems misspelt");
}

/* ---- the secret ---- */

TEST(doctor, names_what_is_wrong_with_the_secret)
{
    static const struct illness list[] = {
        {"LOCUS_SECRET=", "secret", "LOCUS_SECRET is empty"},
        {"LOCUS_SECRET=a LOCUS_SECRET_FILE=/dev/null", "secret", "are both set: unset one"},
        {"LOCUS_SECRET_FILE=/nowhere/secret", "secret", "which cannot be read"},
        {"LOCUS_SECRET_FILE=/usr", "secret", "which is no file"},
        {"LOCUS_SECRET=$(printf %05000d 0)", "secret", "a secret has at most 4096"},
    };
    ARE_NAMED(list);
}

TEST(doctor, warns_of_a_secret_that_all_may_read)
{
    char path[] = "/tmp/locus-doctor-XXXXXX";
    const struct illness open = {"", "secret", "chmod o= it"};
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "sesame\n", 7), 7);
    close(fd);
    command_must(&c, "chmod 644 %s && " BARE "LOCUS_SECRET_FILE=%s %s doctor", path, path,
                 locus_path());
    is_named(&c, "warn", &open);
    command_must(&c, "chmod 600 %s && " BARE "LOCUS_SECRET_FILE=%s %s doctor", path, path,
                 locus_path());
    CHECK_STR(c.out.text, "0 warnings");
    const struct illness empty = {"", "secret", "is empty: must hold the cluster's secret"};
    CHECK_EQ(
        command_run(&c, ": > %s; " BARE "LOCUS_SECRET_FILE=%s %s doctor", path, path, locus_path()),
        1);
    is_named(&c, "fail", &empty);
    unlink(path);
}

/* ---- how it says it ---- */

TEST(doctor, says_it_in_json)
{
    CHECK_EQ(
        command_run(&c,
                    BARE
                    "LOCUS_SECRET= %s doctor --json > /tmp/locus-doctor-$$.json; s=$?; "
                    "python3 -c 'import json,sys; rows=[json.loads(l) for l in open(sys.argv[1])]; "
                    "print([r[\"text\"] for r in rows if r.get(\"verdict\") == \"fail\"], "
                    "rows[-1][\"fail\"], rows[-1][\"event\"])' /tmp/locus-doctor-$$.json; "
                    "rm /tmp/locus-doctor-$$.json; exit $s",
                    locus_path()),
        1);
    CHECK_STR(c.out.text, "[\"LOCUS_SECRET is empty: must hold");
    CHECK_STR(c.out.text, " 1 doctor");
}

TEST(doctor, refuses_wrong_options)
{
    CHECK_EQ(command_run(&c, "%s doctor --nodes 0", locus_path()), 2);
    CHECK_EQ(command_run(&c, "%s doctor --hosts /nowhere/hosts", locus_path()), 2);
    CHECK_STR(c.err.text, "locus doctor: the list of hosts \"/nowhere/hosts\" cannot be opened");
}
