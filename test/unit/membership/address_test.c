#include "membership/address.h"

#include "test.h"
#include "locus.h"

#include <errno.h>
#include <string.h>

TEST(address, is_a_host_and_a_port)
{
    struct rendezvous_address a = {0};
    CHECK_EQ(rendezvous_address_parse(&a, "host.example:7777"), 0);
    CHECK_EQ(strcmp(a.host, "host.example"), 0);
    CHECK_EQ(strcmp(a.port, "7777"), 0);
    CHECK_EQ(rendezvous_address_parse(&a, "[::1]:80"), 0);
    CHECK_EQ(strcmp(a.host, "::1"), 0);
    CHECK_EQ(strcmp(a.port, "80"), 0);
}

TEST(address, that_cannot_be_is_refused_with_a_sentence)
{
    static const char *const wrong[] = {
        "", "host", ":7777", "host:", "host:0x10", "host:65536", "[::1:80"};
    struct rendezvous_address a;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(&a, 0, sizeof a);
        if (rendezvous_address_parse(&a, wrong[i]) == 0)
            test_fail(__FILE__, __LINE__, "\"%s\" is taken for an address", wrong[i]);
        CHECK_STR(locus_error(), wrong[i]);
    }
}

TEST(address, on_loopback_is_known_as_such)
{
    struct rendezvous_address a = {0};
    CHECK_EQ(rendezvous_address_parse(&a, "127.0.0.1:7777"), 0);
    CHECK_EQ(rendezvous_address_resolve(&a, 0), 0);
    CHECK_EQ(a.urls, 1);
    CHECK_STR(a.url[0], "tcp://127.0.0.1:7777");
    CHECK(a.is_loopback[0]);
    CHECK(rendezvous_address_keep_loopback(&a));
    CHECK_EQ(a.urls, 1);
}

/* 192.0.2.0/24 is for documents: an address that nobody has. */
TEST(address, elsewhere_leaves_nothing_on_loopback)
{
    struct rendezvous_address a = {0};
    CHECK_EQ(rendezvous_address_parse(&a, "192.0.2.1:7777"), 0);
    CHECK_EQ(rendezvous_address_resolve(&a, 0), 0);
    CHECK(!a.is_loopback[0]);
    CHECK(!rendezvous_address_keep_loopback(&a));
}
