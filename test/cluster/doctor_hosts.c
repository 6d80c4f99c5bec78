/*
 * `locus doctor --hosts`: hosts are network namespaces on a bridge of this machine.
 */
#include "cables.h"
#include "illness.h"
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct command c;
static struct cables cables;

/* ---- hosts ---- */

/* Commands go to a network namespace instead of through ssh; the last two words are the host and
 * the command. */
static char ssh[] = "/tmp/locus-ssh-XXXXXX", list[] = "/tmp/locus-list-XXXXXX";

static void write_text(char *path, const char *text)
{
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void lay(int hosts)
{
    char text[512];
    size_t n = 0;
    cables_need();
    cables_lay(&cables, hosts);
    write_text(ssh, "for word; do host=$command command=$word; done\n"
                    "exec ip netns exec $host $FAKE sh -c \"$command\"\n");
    for (int i = 0; i < hosts; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s 10.77.0.%d\n", cables_host(&cables, i),
                              i + 1);
    write_text(list, text);
}

static void end(void)
{
    unlink(ssh);
    unlink(list);
    cables_remove(&cables);
}

static int doctor_of_hosts(const char *options)
{
    return command_run(&c, "%s doctor --hosts %s --ssh 'sh %s' %s", locus_path(), list, ssh,
                       options);
}

TEST(doctor_hosts, finds_hosts_well)
{
    char both[160];
    lay(3);
    int status = doctor_of_hosts("");
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.out.text);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            int n = snprintf(both, sizeof both, "%s to ", cables_host(&cables, a));
            snprintf(both + n, sizeof both - (size_t)n, "%s: round trip", cables_host(&cables, b));
            CHECK_EQ(strstr(c.out.text, both) != NULL, a != b);
        }
    CHECK_STR(c.out.text, " 0 failures");
    CHECK_EQ(command_left(&c, HANG_S), 0);
    end();
}

/* Packets of one pair are lost in one direction: so both directions fail, and no other pair. */
TEST(doctor_hosts, names_a_pair_behind_a_firewall)
{
    int failed = 0;
    lay(3);
    cables_lose(&cables, 2, 1, true);
    CHECK_EQ(doctor_of_hosts(""), 1);
    for (const char *line = c.out.text; (line = strstr(line, "\nfail  pair ")); line++) failed++;
    CHECK_EQ(failed, 2);
    CHECK_STR(c.out.text, "does not reach 10.77.0.2");
    CHECK_STR(c.out.text, "does not reach 10.77.0.3");
    CHECK_STR(c.out.text, "let the ports through the firewall");
    end();
}

TEST(doctor_hosts, names_an_address_of_another_host)
{
    char text[256];
    lay(2);
    unlink(list);
    int n = snprintf(text, sizeof text, "%s 10.77.0.1\n", cables_host(&cables, 0));
    snprintf(text + n, sizeof text - (size_t)n, "%s 10.77.0.9\n", cables_host(&cables, 1));
    write_text(list, text);
    CHECK_EQ(doctor_of_hosts(""), 1);
    CHECK_STR(c.out.text, "cannot listen at 10.77.0.9");
    end();
}

TEST(doctor_hosts, names_a_host_without_the_command_or_without_ssh)
{
    lay(2);
    CHECK_EQ(doctor_of_hosts("--keeper /nowhere/locus"), 1);
    CHECK_STR(c.out.text, "not found there: /nowhere/locus, of which --keeper gives the path");
    CHECK_EQ(command_run(&c, "%s doctor --hosts %s --ssh 'sh -c \"exit 255\"'", locus_path(), list),
             1);
    CHECK_STR(c.out.text, "ssh failed or its connection ended (status 255)");
    CHECK_EQ(command_run(&c, "%s doctor --hosts %s --ssh 'echo hello 0.0.1 #'", locus_path(), list),
             1);
    CHECK_STR(c.out.text, "install the same release of locus on all hosts");
    end();
}

/* ---- the secret ---- */

/* Each host has an environment of its own: a shell's text before its command. */
static void give_secrets(const char *first, const char *second)
{
    char text[1024];
    unlink(ssh);
    int n = snprintf(text, sizeof text,
                     "for word; do host=$command command=$word; done\n"
                     "unset LOCUS_SECRET LOCUS_SECRET_FILE\n"
                     "if test $host = %s; then %s; fi\n",
                     cables_host(&cables, 0), first);
    snprintf(text + n, sizeof text - (size_t)n,
             "if test $host = %s; then %s; fi\n"
             "exec ip netns exec $host sh -c \"$command\"\n",
             cables_host(&cables, 1), second);
    write_text(ssh, text);
}

static void is_said(int host, const char *verdict, const char *sentence)
{
    char line[200];
    snprintf(line, sizeof line, "%-5s %-12s %s: %s", verdict, "secret", cables_host(&cables, host),
             sentence);
    CHECK_STR(c.out.text, line);
}

/* Hosts that do not have what the others have; none of what is said, or sent, shows a secret. */
TEST(doctor_hosts, names_a_host_with_another_secret)
{
    lay(2);
    give_secrets("export LOCUS_SECRET=sesame", "export LOCUS_SECRET=barley");
    CHECK_EQ(doctor_of_hosts(""), 1);
    is_said(0, "ok", "there is one");
    is_said(1, "fail", "another one than on ");
    CHECK_STR(c.out.text, "set LOCUS_SECRET to the same on all nodes");
    CHECK(!strstr(c.out.text, "sesame") && !strstr(c.out.text, "barley"));
    give_secrets("export LOCUS_SECRET=sesame", ":");
    CHECK_EQ(doctor_of_hosts(""), 1);
    is_said(1, "fail", "there is none, and there is one on ");
    give_secrets(":", "export LOCUS_SECRET=");
    CHECK_EQ(doctor_of_hosts(""), 1);
    is_said(0, "ok", "none: locus run makes one for each run");
    is_said(1, "fail", "LOCUS_SECRET is empty");
    give_secrets("export LOCUS_SECRET=sesame", "export LOCUS_SECRET=' sesame'");
    CHECK_EQ(doctor_of_hosts(""), 0);
    is_said(1, "ok", "the same as on ");
    end();
}

static int doctor_with(const char *name, const char *value)
{
    return command_run(&c, "%s=%s %s doctor --hosts %s --ssh 'sh %s'", name, value, locus_path(),
                       list, ssh);
}

/* Under locus run a file of that name is read on each host. */
TEST(doctor_hosts, names_a_host_whose_file_has_another_secret)
{
    char path[] = "/tmp/locus-secret-XXXXXX", other[256];
    write_text(path, "sesame\n");
    snprintf(other, sizeof other,
             "command=\"f=\\$(mktemp) && echo barley > \\$f && mount --bind \\$f %s && "
             "rm \\$f && $command\"",
             path);
    lay(2);
    give_secrets(":", ":");
    CHECK_EQ(doctor_with("LOCUS_SECRET", "sesame"), 0);
    is_said(0, "ok", "none of its own: locus run takes ours along");
    CHECK_EQ(doctor_with("LOCUS_SECRET_FILE", path), 0);
    is_said(1, "ok", "the same as here");
    give_secrets("export LOCUS_SECRET=barley", ":");
    CHECK_EQ(doctor_with("LOCUS_SECRET", "sesame"), 0);
    is_said(0, "warn", "another one than here: locus run takes ours along");
    CHECK_EQ(doctor_with("LOCUS_SECRET_FILE", "/nowhere/secret"), 1);
    CHECK_STR(c.out.text, "which cannot be read");
    give_secrets(":", other);
    CHECK_EQ(doctor_with("LOCUS_SECRET_FILE", path), 1);
    is_said(0, "ok", "the same as here");
    is_said(1, "fail", "another one than here");
    unlink(path);
    end();
}

TEST(doctor_hosts, refuses_a_list_that_makes_no_sense)
{
    write_text(list, "alpha 10.0.0.1 2 more\n");
    CHECK_EQ(command_run(&c, "%s doctor --hosts %s", locus_path(), list), 2);
    CHECK_STR(c.err.text, ":1: ");
    CHECK_STR(c.err.text, "a line is: host [address] [slots]");
    unlink(list);
}

/* One of the hosts has the clock of an hour from now. */
TEST(doctor_hosts, warns_of_clocks_that_differ)
{
    if (IS_SANITIZED) SKIP("a sanitizer and libfaketime want to be loaded first");
    if (command_run(&c, "faketime -f +1h true")) SKIP("there is no faketime here");
    lay(2);
    command_must(&c, "FAKE='faketime -f +1h' %s doctor --hosts %s --ssh 'sh %s'", locus_path(),
                 list, ssh);
    CHECK_STR(c.out.text, "s ahead of ours: what hosts log does not fit together");
    end();
}
