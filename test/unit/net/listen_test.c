/* Where a node of a mesh listens. */
#include "test.h"

#include "cluster/late_name.h"
#include "net/address.h"
#include "locus.h"
#include "meshes.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where it listens, or the sentence and the error. */
struct listening {
    const char *listen, *rendezvous, *what;
    int rc;
};

static void check_listening(const struct listening *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char address[ADDRESS_MAX];
        int listener, rc = listen_at(all[i].listen, all[i].rendezvous, &listener, address);
        const char *what = rc ? locus_error() : address;
        if (rc != all[i].rc || !strstr(what, all[i].what))
            test_fail(__FILE__, __LINE__, "listening at \"%s\", rendezvous \"%s\": %d: %s",
                      all[i].listen ? all[i].listen : "", all[i].rendezvous, rc, what);
        if (rc && all[i].listen) CHECK_STR(what, all[i].listen);
        if (rc)
            CHECK_EQ(listener, -1);
        else
            CHECK(atoi(strrchr(address, ':') + 1) > 0 && close(listener) == 0);
    }
}
#define CHECK_LISTENING(...) \
    check_listening((const struct listening[]){__VA_ARGS__}, \
                    sizeof((const struct listening[]){__VA_ARGS__}) / sizeof(struct listening))

TEST(listen, listens_where_it_is_told_or_where_the_rendezvous_is)
{
    CHECK_LISTENING({"127.0.0.1:0", NULL, "127.0.0.1:", 0}, {"127.0.0.3", NULL, "127.0.0.3:", 0},
                    {"localhost:0", NULL, ":", 0}, {NULL, RENDEZVOUS, "127.0.0.1:", 0},
                    {"", RENDEZVOUS, "127.0.0.1:", 0}, {":0", RENDEZVOUS, "127.0.0.1:", 0},
                    {"0.0.0.0:0", RENDEZVOUS, "127.0.0.1:", 0}, {"lo", RENDEZVOUS, "127.0.0.1:", 0},
                    {"lo:0", NULL, "127.0.0.1:", 0});
    char address[ADDRESS_MAX];
    int listener;
    if (listen_at("::1", NULL, &listener, address)) SKIP("no IPv6 here");
    close(listener);
    CHECK_LISTENING({"lo", "[::1]:7777", "[::1]:", 0});
}

/* A port alone says nothing about where: the route does, and not all interfaces are meant. */
TEST(listen, listens_by_route_at_a_port_that_is_named)
{
    char text[16], host[64];
    int fd = loopback_listen(NULL);
    snprintf(text, sizeof text, ":%u", loopback_port(fd));
    snprintf(host, sizeof host, "127.0.0.1%s", text);
    CHECK_LISTENING({host, NULL, "is taken: choose another with LOCUS_LISTEN", -EADDRINUSE},
                    {text, RENDEZVOUS, "is taken: choose another with LOCUS_LISTEN", -EADDRINUSE});
    close(fd);
    CHECK_LISTENING({text, RENDEZVOUS, host, 0});
    CHECK(!address_has_host(NULL));
}

TEST(listen, says_why_it_cannot_listen)
{
#define FORM "not of the form host:port"
    CHECK_LISTENING(
        {"203.0.113.7:0", NULL,
         "no interface of this machine: set LOCUS_LISTEN to one that does, or to an interface (lo",
         -EADDRNOTAVAIL},
        {"[::1", NULL, FORM, -EINVAL}, {"[::1]x", NULL, FORM, -EINVAL},
        {"lo:http", NULL, FORM, -EINVAL},
        {"127.0.0.1:http", NULL, FORM ", with a port up to 65535", -EINVAL},
        {"127.0.0.1:65536", NULL, FORM, -EINVAL}, {":http", RENDEZVOUS, FORM, -EINVAL},
        {"no-such-host.invalid:1", NULL, "is not known", -EINVAL},
        {"eth77", NULL, "; set LOCUS_LISTEN to an address of this machine or an interface (lo",
         -EINVAL},
        {NULL, "no-such-host.invalid:1", "is not known", -EINVAL}, {NULL, NULL, FORM, -EINVAL});
}

TEST(listen, without_a_secret_stays_on_loopback)
{
    static const struct {
        const char *listen, *rendezvous;
        bool may;
    } cases[] = {
        {NULL, "127.0.0.1:7777", true},
        {NULL, "127.9.8.7:7777", true},
        {":0", "localhost:7777", true},
        {"0.0.0.0", "127.0.0.1:7777", true}, /* somebody wants it so */
        {NULL, "192.0.2.1:7777", false},
        {":0", "192.0.2.1:7777", false},
        {NULL, "[fd00::1]:7777", false},
        {NULL, "0.0.0.0:7777", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char address[ADDRESS_MAX];
        int listener, rc = address_listen(&(struct address_place){.listen = cases[i].listen,
                                                                  .rendezvous = cases[i].rendezvous,
                                                                  .loopback_only = true},
                                          &listener, address);
        if (rc != (cases[i].may ? 0 : -EACCES))
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].rendezvous, locus_error());
        if (rc == 0) close(listener);
        if (rc == 0) continue;
        CHECK_EQ(listener, -1);
        CHECK_STR(locus_error(), cases[i].rendezvous);
        CHECK_STR(
            locus_error(),
            "is not on loopback, and the cluster has no secret: set LOCUS_SECRET to the same "
            "on all nodes, or, where the whole network is trusted, name the address to listen "
            "at with LOCUS_LISTEN");
    }
}

TEST(listen, waits_for_a_name_that_is_not_known_yet)
{
    late_name_fails(2, EAI_AGAIN);
    char address[ADDRESS_MAX];
    int listener;
    struct address_place p = {.rendezvous = LATE_NAME ":7777",
                              .deadline_ns = now_ns() + 60 * SECOND};
    CHECK_EQ(address_listen(&p, &listener, address), 0);
    close(listener);
    CHECK_EQ(late_name_questions(), 3);
    late_name_fails(2, EAI_NONAME); /* as a launcher's that is not published yet */
    CHECK_EQ(address_listen(&p, &listener, address), 0);
    close(listener);
    CHECK_EQ(late_name_questions(), 3);
    late_name_fails(1000, EAI_AGAIN);
    p.deadline_ns = now_ns() + 300000000;
    CHECK_EQ(address_listen(&p, &listener, address), -EINVAL);
    CHECK_STR(locus_error(), "the rendezvous \"late.invalid:7777\" is not known: ");
}
