#include "net/address.h"

#include "test.h"
#include "locus.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static struct address address_of(const char *text)
{
    struct addrinfo *all;
    CHECK_EQ(address_resolve("the address", text, AI_NUMERICHOST, AF_UNSPEC, &all), 0);
    const struct address a = address_from(all->ai_addr);
    freeaddrinfo(all);
    return a;
}

TEST(address, has_a_host_a_port_or_both)
{
    static const struct {
        const char *text;
        bool has_host;
        int port; /* -1: it is refused */
    } cases[] = {
        {"alpha", true, 0},           {"alpha:", true, 0},       {"alpha:7777", true, 7777},
        {"alpha:65535", true, 65535}, {"fd00::1", true, 0},      {"[fd00::1]:80", true, 80},
        {":80", false, 80},           {":", false, 0},           {"", false, 0},
        {"alpha:65536", true, -1},    {"alpha:-1", true, -1},    {"alpha:http", true, -1},
        {"[fd00::1", true, -1},       {"[fd00::1]80", true, -1}, {"alpha:+1", true, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char host[ADDRESS_HOST_MAX];
        unsigned port = 1;
        int rc = address_split("the address", cases[i].text, host, &port);
        if (rc != (cases[i].port < 0 ? -EINVAL : 0) || (rc == 0 && (int)port != cases[i].port) ||
            address_has_host(cases[i].text) != cases[i].has_host)
            test_fail(__FILE__, __LINE__, "\"%s\": %d, port %u", cases[i].text, rc, port);
        if (rc == 0) continue;
        CHECK_STR(locus_error(), "the address \"");
        CHECK_STR(locus_error(), "is not of the form host:port, with a port up to 65535");
    }
}

TEST(address, text_is_what_was_resolved)
{
    static const char *const texts[] = {"10.0.0.1:7777", "[fd00::1]:7777", "0.0.0.0:1", "[::]:1"};
    char text[ADDRESS_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct address a = address_of(texts[i]);
        CHECK_EQ(address_text(&a, address_port(&a), text), 0);
        CHECK_EQ(strcmp(text, texts[i]), 0);
        address_set_port(&a, 65535);
        CHECK_EQ(address_port(&a), 65535);
    }
}

TEST(address, is_loopback_or_not)
{
    static const struct {
        const char *text;
        bool is_loopback;
    } all[] = {
        {"0.0.0.0:1", false},    {"[::]:1", false},      {"127.0.0.1:1", true},
        {"127.200.3.4:1", true}, {"[::1]:1", true},      {"[::ffff:127.0.0.1]:1", true},
        {"10.0.0.1:1", false},   {"128.0.0.1:1", false}, {"[::ffff:10.0.0.1]:1", false},
        {"[fd00::1]:1", false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct address a = address_of(all[i].text);
        CHECK_EQ(address_is_loopback((struct sockaddr *)&a.as), all[i].is_loopback);
    }
}

/* Debian's list of hosts has a machine's own name on 127.0.1.1. */
TEST(address, is_own_name_of_a_name_on_loopback_that_does_not_say_so)
{
    CHECK(address_is_own_name("alpha", true));
    CHECK(!address_is_own_name("alpha", false));
    CHECK(!address_is_own_name("localhost", true));
    CHECK(!address_is_own_name("LOCALHOST4", true));
    CHECK(!address_is_own_name("ip6-localhost", true));
    CHECK(!address_is_own_name("127.0.1.1", true));
    CHECK(!address_is_own_name("::1", true));
}

TEST(address, route_has_no_port)
{
    struct address a;
    CHECK_EQ(address_route("127.0.0.1:7777", AF_UNSPEC, false, 0, &a), 0);
    CHECK(address_is_loopback((struct sockaddr *)&a.as));
    CHECK_EQ(address_port(&a), 0);
    CHECK_EQ(address_route("192.0.2.1:7777", AF_UNSPEC, true, 0, &a), -EACCES);
    CHECK_STR(locus_error(), "is not on loopback, and the cluster has no secret");
}
