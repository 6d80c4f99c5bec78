/* Where a node of a mesh listens. */
#include "test.h"

#include "membership/late_name.h"
#include "meshes.h"
#include "net/mesh_listener.h"
#include "locus.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_listens(const char *listen, const char *rendezvous, const char *host)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    if (listen_at(listen, rendezvous, &listener, address))
        test_fail(__FILE__, __LINE__, "%s", locus_error());
    CHECK_STR(address, host);
    CHECK(atoi(strrchr(address, ':') + 1) > 0);
    close(listener);
}

TEST(mesh_listener, listens_where_it_is_told_or_where_the_rendezvous_is)
{
    check_listens("127.0.0.1:0", NULL, "127.0.0.1:");
    check_listens("127.0.0.3", NULL, "127.0.0.3:");
    check_listens("localhost:0", NULL, ":");
    check_listens(NULL, "127.0.0.1:7777", "127.0.0.1:");
    check_listens("", "127.0.0.1:7777", "127.0.0.1:");
    check_listens(":0", "127.0.0.1:7777", "127.0.0.1:");
    check_listens("0.0.0.0:0", "127.0.0.1:7777", "127.0.0.1:");
}

TEST(mesh_listener, listens_at_an_interface_that_is_named)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    check_listens("lo", "127.0.0.1:7777", "127.0.0.1:");
    check_listens("lo:0", NULL, "127.0.0.1:");
    CHECK_EQ(listen_at("lo:http", NULL, &listener, address), -EINVAL);
    CHECK_STR(locus_error(), "\"lo:http\" is not of the form host:port");
    if (listen_at("::1", NULL, &listener, address)) SKIP("no IPv6 here");
    close(listener);
    check_listens("lo", "[::1]:7777", "[::1]:");
}

/* A port of its own that nobody else has just now. */
static unsigned free_port(void)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    CHECK_EQ(listen_at("127.0.0.1", NULL, &listener, address), 0);
    close(listener);
    return (unsigned)atoi(strrchr(address, ':') + 1);
}

/* A port alone says nothing about where: the route does, and not all interfaces are meant. */
TEST(mesh_listener, listens_by_route_at_a_port_that_is_named)
{
    char text[16], host[64];
    snprintf(text, sizeof text, ":%u", free_port());
    snprintf(host, sizeof host, "127.0.0.1%s", text);
    check_listens(text, RENDEZVOUS, host);
    CHECK(!mesh_is_told_where(text));
    CHECK(!mesh_is_told_where(NULL));
    CHECK(!mesh_is_told_where(""));
    CHECK(mesh_is_told_where("0.0.0.0"));
    CHECK(mesh_is_told_where("[::1]:7777"));
}

static void check_loopback_only(const char *listen, const char *rendezvous, bool may)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    const struct mesh_place p = {.listen = listen, .rendezvous = rendezvous, .loopback_only = true};
    int rc = mesh_listen(&p, &listener, address);
    if (may && rc) test_fail(__FILE__, __LINE__, "%s", locus_error());
    if (may) {
        close(listener);
        return;
    }
    CHECK_EQ(rc, -EACCES);
    CHECK_EQ(listener, -1);
    CHECK_STR(locus_error(), rendezvous);
    CHECK_STR(
        locus_error(),
        "is not on loopback, and the cluster has no secret: set LOCUS_SECRET to the same on all nodes, "
        "or, where the whole network is trusted, name the address to listen at with LOCUS_LISTEN");
}

TEST(mesh_listener, without_a_secret_stays_on_loopback)
{
    check_loopback_only(NULL, "127.0.0.1:7777", true);
    check_loopback_only(NULL, "127.9.8.7:7777", true);
    check_loopback_only(":0", "localhost:7777", true);
    check_loopback_only("0.0.0.0", "127.0.0.1:7777", true); /* somebody wants it so */
    check_loopback_only(NULL, "192.0.2.1:7777", false);
    check_loopback_only(":0", "192.0.2.1:7777", false);
    check_loopback_only(NULL, "[fd00::1]:7777", false);
    check_loopback_only(NULL, "0.0.0.0:7777", false);
}

TEST(mesh_listener, waits_for_a_name_that_is_not_known_yet)
{
    late_name_fails(2, EAI_AGAIN);
    char address[MESH_ADDRESS_MAX];
    int listener;
    struct mesh_place p = {.rendezvous = LATE_NAME ":7777",
                           .deadline_ns = now_ns() + UINT64_C(60000000000)};
    CHECK_EQ(mesh_listen(&p, &listener, address), 0);
    close(listener);
    CHECK_EQ(late_name_questions(), 3);
    late_name_fails(2, EAI_NONAME); /* as a launcher's that is not published yet */
    CHECK_EQ(mesh_listen(&p, &listener, address), 0);
    close(listener);
    CHECK_EQ(late_name_questions(), 3);
    late_name_fails(1000, EAI_AGAIN);
    p.deadline_ns = now_ns() + 300000000;
    CHECK_EQ(mesh_listen(&p, &listener, address), -EINVAL);
    CHECK_STR(locus_error(), "the rendezvous \"late.invalid:7777\" is not known: ");
}

static void check_does_not_listen(const char *listen, const char *rendezvous, int rc,
                                  const char *sentence)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    CHECK_EQ(listen_at(listen, rendezvous, &listener, address), rc);
    CHECK_EQ(listener, -1);
    CHECK_STR(locus_error(), sentence);
    if (listen) CHECK_STR(locus_error(), listen);
}

TEST(mesh_listener, says_why_it_cannot_listen)
{
    char address[MESH_ADDRESS_MAX];
    int listener;
    CHECK_EQ(listen_at("127.0.0.1", NULL, &listener, address), 0);
    check_does_not_listen(address, NULL, -EADDRINUSE, "is taken: choose another with LOCUS_LISTEN");
    check_does_not_listen(strrchr(address, ':'), RENDEZVOUS, -EADDRINUSE,
                          "is taken: choose another with LOCUS_LISTEN");
    close(listener);
    check_does_not_listen(
        "203.0.113.7:0", NULL, -EADDRNOTAVAIL,
        "no interface of this machine: set LOCUS_LISTEN to one that does, or to an interface (lo");
    check_does_not_listen("[::1", NULL, -EINVAL, "not of the form host:port");
    check_does_not_listen("[::1]x", NULL, -EINVAL, "not of the form host:port");
    check_does_not_listen("127.0.0.1:http", NULL, -EINVAL,
                          "not of the form host:port, with a port up to 65535");
    check_does_not_listen("127.0.0.1:65536", NULL, -EINVAL, "not of the form host:port");
    check_does_not_listen(":http", RENDEZVOUS, -EINVAL, "not of the form host:port");
    check_does_not_listen("no-such-host.invalid:1", NULL, -EINVAL, "is not known");
    check_does_not_listen("eth77", NULL, -EINVAL,
                          "; set LOCUS_LISTEN to an address of this machine or an interface (lo");
    check_does_not_listen(NULL, "no-such-host.invalid:1", -EINVAL, "is not known");
    check_does_not_listen(NULL, NULL, -EINVAL, "not of the form host:port");
}
