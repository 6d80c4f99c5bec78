#include "net/mesh_address.h"

#include "test.h"
#include "locus.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static struct mesh_address address_of(const char *text)
{
    struct addrinfo *all;
    struct mesh_address a = {.bytes = 0};
    CHECK_EQ(mesh_address_resolve("the address", text, AI_NUMERICHOST, AF_UNSPEC, &all), 0);
    memcpy(&a.as, all->ai_addr, all->ai_addrlen);
    a.bytes = all->ai_addrlen;
    freeaddrinfo(all);
    return a;
}

TEST(mesh_address, has_a_host_or_a_port_only)
{
    CHECK(mesh_address_has_host("alpha"));
    CHECK(mesh_address_has_host("alpha:7777"));
    CHECK(mesh_address_has_host("fd00::1"));
    CHECK(mesh_address_has_host("[fd00::1]:7777"));
    CHECK(!mesh_address_has_host(":7777"));
    CHECK(!mesh_address_has_host(":"));
    CHECK(!mesh_address_has_host(""));
}

static void has_port(const char *text, unsigned expected)
{
    unsigned port = 1;
    CHECK_EQ(mesh_address_port_of("the address", text, &port), 0);
    CHECK_EQ(port, expected);
}

static void has_no_port(const char *text)
{
    unsigned port;
    CHECK_EQ(mesh_address_port_of("the address", text, &port), -EINVAL);
    CHECK_STR(locus_error(), "the address \"");
    CHECK_STR(locus_error(), "is not of the form host:port, with a port up to 65535");
}

TEST(mesh_address, ports_are_numbers_up_to_65535)
{
    has_port("alpha:7777", 7777);
    has_port("alpha:65535", 65535);
    has_port("alpha:", 0);
    has_port("alpha", 0);
    has_port(":80", 80);
    has_port("[fd00::1]:80", 80);
    has_port("fd00::1", 0);
    has_no_port("alpha:65536");
    has_no_port("alpha:-1");
    has_no_port("alpha:http");
    has_no_port("[fd00::1");
    has_no_port("[fd00::1]80");
}

TEST(mesh_address, comes_out_as_it_was_put_in)
{
    static const char *const texts[] = {"10.0.0.1:7777", "[fd00::1]:7777", "0.0.0.0:1", "[::]:1"};
    char text[MESH_ADDRESS_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mesh_address a = address_of(texts[i]);
        CHECK_EQ(mesh_address_text(&a, mesh_address_port(&a), text), 0);
        CHECK_EQ(strcmp(text, texts[i]), 0);
        mesh_address_set_port(&a, 65535);
        CHECK_EQ(mesh_address_port(&a), 65535);
    }
}

TEST(mesh_address, is_any_or_loopback_or_neither)
{
    static const struct {
        const char *text;
        bool is_any, is_loopback;
    } all[] = {
        {"0.0.0.0:1", true, false},
        {"[::]:1", true, false},
        {"127.0.0.1:1", false, true},
        {"127.200.3.4:1", false, true},
        {"[::1]:1", false, true},
        {"[::ffff:127.0.0.1]:1", false, true},
        {"10.0.0.1:1", false, false},
        {"128.0.0.1:1", false, false},
        {"[::ffff:10.0.0.1]:1", false, false},
        {"[fd00::1]:1", false, false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct mesh_address a = address_of(all[i].text);
        CHECK_EQ(mesh_address_is_any(&a), all[i].is_any);
        CHECK_EQ(mesh_address_is_loopback((struct sockaddr *)&a.as), all[i].is_loopback);
    }
}

/* Debian's list of hosts has a machine's own name on 127.0.1.1. */
TEST(mesh_address, a_name_on_loopback_that_is_no_name_of_loopback_is_the_machines_own)
{
    CHECK(mesh_address_is_own_name("alpha", true));
    CHECK(!mesh_address_is_own_name("alpha", false));
    CHECK(!mesh_address_is_own_name("localhost", true));
    CHECK(!mesh_address_is_own_name("LOCALHOST4", true));
    CHECK(!mesh_address_is_own_name("ip6-localhost", true));
    CHECK(!mesh_address_is_own_name("127.0.1.1", true));
    CHECK(!mesh_address_is_own_name("::1", true));
}

TEST(mesh_address, of_an_interface)
{
    struct mesh_address a;
    char list[256];
    CHECK_EQ(mesh_address_of_interface("lo:4711", AF_INET, &a), 0);
    CHECK(mesh_address_is_loopback((struct sockaddr *)&a.as));
    CHECK_EQ(mesh_address_port(&a), 4711);
    CHECK_EQ(mesh_address_of_interface("no-such-link", AF_INET, &a), -ENOENT);
    CHECK_EQ(mesh_address_of_interface(":4711", AF_INET, &a), -ENOENT);
    CHECK_EQ(mesh_address_of_interface("lo:x", AF_INET, &a), -EINVAL);
    mesh_address_list_interfaces(list, sizeof list);
    CHECK_STR(list, "lo");
}

TEST(mesh_address, a_list_of_interfaces_fits_where_it_goes)
{
    char list[4] = "abc";
    mesh_address_list_interfaces(list, 3);
    CHECK_EQ(strlen(list), 2);
}

TEST(mesh_address, by_route_has_no_port)
{
    struct mesh_address a;
    CHECK_EQ(mesh_address_route("127.0.0.1:7777", AF_UNSPEC, false, 0, &a), 0);
    CHECK(mesh_address_is_loopback((struct sockaddr *)&a.as));
    CHECK_EQ(mesh_address_port(&a), 0);
    CHECK_EQ(mesh_address_route("192.0.2.1:7777", AF_UNSPEC, true, 0, &a), -EACCES);
    CHECK_STR(locus_error(), "is not on loopback, and the cluster has no secret");
}

TEST(mesh_address, no_descriptor_says_how_many_there_may_be)
{
    CHECK_EQ(mesh_address_no_descriptor(-EMFILE), -EMFILE);
    CHECK_STR(locus_error(), "raise `ulimit -n`, which is ");
}
