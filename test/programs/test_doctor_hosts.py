"""`locus doctor --hosts`: hosts are network namespaces on a bridge of this machine, to which commands go instead of
through ssh."""
import itertools
import os
from pathlib import Path

import support
from support import HANG_S, IS_SANITIZED, LOCUS

# The last two words are the host and the command. Each host has an environment of its own.
SSH = """\
for word; do host=$command command=$word; done
unset LOCUS_SECRET LOCUS_SECRET_FILE
case $host in *-1) {} ;; *-2) {} ;; esac
exec ip netns exec $host $FAKE sh -c "$command"
"""
SESAME, BARLEY = "export LOCUS_SECRET=sesame", "export LOCUS_SECRET=barley"


class Doctor(support.TestCase):
    def setUp(self):
        self.at = Path(self.folder())
        self.give()

    def lay(self, count):
        """Hosts with the addresses 10.77.0.1 and so on. test/cluster/cables.c removes those of killed tests."""
        bridge, *self.hosts = (f"locus-{os.getpid()}-{self.at.name}-{i}" for i in range(count + 1))
        self.addCleanup(self.run_command, "; ".join(f"ip netns del {name}" for name in (bridge, *self.hosts)))
        commands = [f"ip netns add {bridge}", f"ip -n {bridge} link add br0 up type bridge"]
        for i, host in enumerate(self.hosts, 1):
            commands += [f"ip netns add {host}",
                         f"ip -n {bridge} link add v{i} up master br0 type veth peer name eth0 netns {host}",
                         f"ip -n {host} addr add 10.77.0.{i}/24 dev eth0",
                         f"ip -n {host} link set eth0 up", f"ip -n {host} link set lo up"]
        if not self.can(" && ".join(commands)):
            self.skipTest("network namespaces on a bridge need root, ip (iproute2) and a kernel that has them")
        self.write_list(range(1, count + 1))

    def write_list(self, numbers):
        (self.at / "hosts").write_text("".join(f"{host} 10.77.0.{i}\n" for host, i in zip(self.hosts, numbers)))

    def give(self, first=":", second=":"):
        """What a shell does on the first two hosts before their commands."""
        (self.at / "ssh").write_text(SSH.format(first, second))

    def doctor(self, status, options="", **env):
        return self.run_command(f"{LOCUS} doctor --hosts {self.at}/hosts --ssh 'sh {self.at}/ssh' {options}", status,
                                env=dict(env, LOCUS_CARRIER="tcp"))  # hosts share no memory

    def fails(self, part, options=""):
        with self.subTest(options):
            self.assertIn(part, self.doctor(1, options).out)


class Hosts(Doctor):
    def test_list_that_makes_no_sense_is_refused(self):
        (self.at / "hosts").write_text("alpha 10.0.0.1 2 more\n")
        self.contains(self.doctor(2).err, ":1: ", "a line is: host [address] [slots]")

    def test_each_pair_is_tried_both_ways(self):
        self.lay(3)
        job = self.doctor(0)
        for a, b in itertools.product(self.hosts, self.hosts):
            self.assertEqual(f"{a} to {b}: round trip" in job.out, a != b, job)
        self.assertIn(" 0 failures", job.out)
        self.assertEqual(job.left(HANG_S), 0)

    def test_pair_behind_a_firewall(self):
        """Packets of one pair are lost in one direction: so both directions fail, and no other pair."""
        self.lay(3)
        self.must(f"ip -n {self.hosts[2]} neigh replace 10.77.0.2 lladdr 02:00:00:00:00:99 dev eth0 nud permanent")
        out = self.doctor(1).out
        self.assertEqual(out.count("\nfail  pair "), 2, out)
        self.contains(out, "does not reach 10.77.0.2", "does not reach 10.77.0.3", "let the ports through the firewall")

    def test_address_of_another_host(self):
        self.lay(2)
        self.write_list((1, 9))
        self.fails("cannot listen at 10.77.0.9")

    def test_host_without_the_command_or_without_ssh(self):
        self.lay(2)
        self.fails("not found there: /nowhere/locus, of which --keeper gives the path", "--keeper /nowhere/locus")
        self.fails("ssh failed or its connection ended (status 255)", "--ssh 'sh -c \"exit 255\"'")
        self.fails("install the same release of locus on all hosts", "--ssh 'echo hello 0.0.1 #'")

    def test_clocks_that_differ_are_a_warning(self):
        if IS_SANITIZED:
            self.skipTest("a sanitizer and libfaketime want to be loaded first")
        if not self.can("faketime -f +1h true"):
            self.skipTest("there is no faketime here")
        self.lay(2)
        out = self.doctor(0, FAKE="faketime -f +1h").out
        self.assertIn("s ahead of ours: what hosts log does not fit together", out)


class Secret(Doctor):
    def test_hosts_whose_secrets_differ(self):
        """Under locus run a file of that name is read on each host. Nothing that is said shows a secret."""
        path = self.at / "secret"
        path.write_text("sesame\n")
        other_file = fr'command="f=\$(mktemp) && echo barley > \$f && mount --bind \$f {path} && rm \$f && $command"'
        ours, file = {"LOCUS_SECRET": "sesame"}, {"LOCUS_SECRET_FILE": str(path)}
        along = "locus run takes ours along"
        self.lay(2)
        first = self.hosts[0]
        for here, before, status, *said in (
                ({}, (SESAME, BARLEY), 1, "ok there is one",
                 f"fail another one than on {first}: set LOCUS_SECRET to the same on all nodes"),
                ({}, (SESAME,), 1, "ok there is one", f"fail there is none, and there is one on {first}"),
                ({}, (":", "export LOCUS_SECRET="), 1, "ok none: locus run makes one for each run",
                 "fail LOCUS_SECRET is empty"),
                ({}, (SESAME, "export LOCUS_SECRET=' sesame'"), 0, "ok there is one", f"ok the same as on {first}"),
                (ours, (), 0, f"ok none of its own: {along}", f"ok none of its own: {along}"),
                (ours, (BARLEY,), 0, f"warn another one than here: {along}", f"ok none of its own: {along}"),
                (file, (), 0, "ok the same as here", "ok the same as here"),
                (file, (":", other_file), 1, "ok the same as here", "fail another one than here")):
            with self.subTest(here=here, before=before):
                self.give(*before)
                out = self.doctor(status, **here).out
                for host, (verdict, sentence) in zip(self.hosts, (each.split(" ", 1) for each in said)):
                    self.assertIn(f"{verdict:5} {'secret':12} {host}: {sentence}", out)
                self.assertNotRegex(out, "sesame|barley")
        self.assertIn("which cannot be read", self.doctor(1, LOCUS_SECRET_FILE="/nowhere/secret").out)
