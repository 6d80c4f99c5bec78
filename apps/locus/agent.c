#include "agent.h"

#include "findings.h"
#include "hosts.h"
#include "machine.h"
#include "probe.h"
#include "say.h"
#include "secrets.h"
#include "trial.h"
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct order {
    char host[HOST_NAME_BYTES], token[PROBE_TOKEN_BYTES + 1];
    unsigned port;
};

static bool read_order(const char *line, const char *verb, struct order *o)
{
    size_t n = strlen(verb);
    return strncmp(line, verb, n) == 0 &&
           sscanf(line + n, " %255s %u %32s", o->host, &o->port, o->token) == 3 &&
           strlen(o->token) == PROBE_TOKEN_BYTES;
}

static void say_error(int rc)
{
    printf("error %s\n", rc == -ENOENT ? "the name is not known here" : strerror(-rc));
}

static void tell_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("clock %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
}

static void listen_once(struct order *o)
{
    int fd = -1, rc = probe_listen(o->host, &o->port, &fd);
    if (rc) {
        say_error(rc);
        return;
    }
    printf("listening %u\n", o->port);
    fflush(stdout);
    rc = probe_serve(fd, o->token);
    if (rc)
        say_error(rc);
    else
        puts("served");
}

static void measure_once(const struct order *o)
{
    struct probe_result r = {0};
    int rc = probe_measure(o->host, o->port, o->token, &r);
    if (rc)
        say_error(rc);
    else
        printf("measured %.9f %.0f\n", r.round_trip_s, r.bytes_a_second);
}

static void introduce(void)
{
    struct findings all;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const struct machine_plan plan = {
        .nodes = 2, .here = 1, .workers = processors > 1 ? (unsigned)processors - 1 : 1};
    printf("hello %s\n", LOCUS_VERSION_TEXT);
    findings_init(&all, FINDINGS_PARTS);
    machine_check(&all, &plan);
    machine_check_rings(&all, &plan);
    if (all.count[FIND_FAIL] == 0) trial_check(&all);
    puts("ready");
    fflush(stdout);
}

int agent_main(int argc, char **argv)
{
    char line[AGENT_LINE_MAX];
    struct order o;
    (void)argv;
    if (argc > 1) return say_and(STATUS_USAGE, AGENT_COMMAND " is for locus doctor --hosts alone");
    introduce();
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "clock\n") == 0)
            tell_clock();
        else if (read_order(line, "listen", &o))
            listen_once(&o);
        else if (read_order(line, "measure", &o))
            measure_once(&o);
        else if (!secrets_tell(line))
            puts("error no such order");
        fflush(stdout);
    }
    return 0;
}
