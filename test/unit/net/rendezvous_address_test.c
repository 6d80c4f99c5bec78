#include "net/address.h"

#include "locus.h"
#include "test.h"

#include <errno.h>
#include <string.h>

TEST(rendezvous_address, parse_takes_a_host_and_a_port)
{
    struct rendezvous_address a = {0};
    CHECK_EQ(rendezvous_address_parse(&a, "host.example:7777"), 0);
    CHECK_EQ(strcmp(a.host, "host.example"), 0);
    CHECK_EQ(a.port, 7777);
    CHECK_EQ(rendezvous_address_parse(&a, "[::1]:80"), 0);
    CHECK_EQ(strcmp(a.host, "::1"), 0);
    CHECK_EQ(a.port, 80);
}

TEST(rendezvous_address, parse_refuses_what_is_no_address)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"host", "\"host\" has no port"},
        {":7777", "\":7777\" has no host"},
        {"host:", "\"host:\""},
        {"host:0x10", "\"host:0x10\" has no port from 1 to 65535"},
        {"host:http", "\"host:http\" has no port from 1 to 65535"},
        {"host:65536", "\"host:65536\" has no port from 1 to 65535"},
        {"[::1:80", "\"[::1:80\""},
        {"::1:7777", "write an IPv6 address in brackets"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rendezvous_address a = {0};
        if (rendezvous_address_parse(&a, cases[i][0]) == 0)
            test_fail(__FILE__, __LINE__, "\"%s\" is taken for an address", cases[i][0]);
        CHECK_STR(locus_error(), cases[i][1]);
    }
}

/* 192.0.2.0/24 is for documents: an address that nobody has. */
TEST(rendezvous_address, resolve_knows_loopback)
{
    struct rendezvous_address a = {0}, other = {0};
    CHECK_EQ(rendezvous_address_parse(&a, "127.0.0.1:7777"), 0);
    CHECK_EQ(rendezvous_address_resolve(&a, 0), 0);
    CHECK_EQ(a.urls, 1);
    CHECK_STR(a.url[0], "tcp://127.0.0.1:7777");
    CHECK(a.is_loopback[0]);
    CHECK_EQ(rendezvous_address_parse(&other, "192.0.2.1:7777"), 0);
    CHECK_EQ(rendezvous_address_resolve(&other, 0), 0);
    CHECK(!other.is_loopback[0]);
}
