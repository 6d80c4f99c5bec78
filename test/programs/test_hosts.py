"""`locus run --hosts`: nodes over ssh, by an sshd of the tests' own on loopback, which has several names. What is so on
this host, too, is in test_run.py; hosts that are lost are in test_restart.py."""
import os
import select
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from signal import SIGKILL, SIGTERM

import support
from support import HANG_S, LOCUS, MEMBER
from test_run import STUBBORN, read

SSHD_CONFIG = """\
ListenAddress 127.0.0.1:{port}
HostKey {place}/host
AuthorizedKeysFile {place}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
SSH_CONFIG = """\
Host alpha beta
HostName 127.0.0.1
Port {port}
IdentityFile {place}/user
IdentitiesOnly yes
UserKnownHostsFile {place}/known
GlobalKnownHostsFile none
Host gone
ProxyCommand false
"""


class List(support.TestCase):
    def test_list_that_makes_no_sense_is_refused_with_its_line(self):
        path = Path(self.folder()) / "hosts"
        for lines, part, *options in (
                ("", "names none"),
                ("# only a comment\n\n", "names none"),
                ("alpha 10.0.0.1 0\n", 'hosts:1: slots must be a number from 1 to 4096: "0"; a line is: host ['),
                ("alpha\nbeta slots=many\n", 'hosts:2: slots must be a number from 1 to 4096: "many"'),
                ("alpha 10.0.0.1 10.0.0.2\n", 'hosts:1: a third word that is no number of slots: "10.0.0.2"'),
                ("alpha 10.0.0.1 2 3\n", 'hosts:1: a word behind the slots: "3"'),
                ("alpha:2\n", 'hosts:1: a host has no colon: slots stand behind a blank: "alpha:2"'),
                ("alpha 10.0.0.1:7777\n", "hosts:1: an address has no port"),
                ("-oProxyCommand=x\n", "hosts:1: a host does not begin with a dash"),
                ("a 4096\nb 1\n", "hosts:2: more than 4096 nodes"),
                ("alpha 2\nbeta\n", "have 3 slots", "-n 4"),
                ("alpha\n", "cannot be opened", "--hosts /nowhere/hosts")):
            with self.subTest(lines=lines):
                path.write_text(lines)
                self.refuses(f"{LOCUS} run --hosts {path} {''.join(options)} true", 2, part)


class OverSsh(support.TestCase):
    @classmethod
    def setUpClass(cls):
        sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if not sshd or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
            raise unittest.SkipTest("there is no ssh, or no sshd, here")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # Debian's sshd wants it; it stays, for other tests
        temporary = tempfile.TemporaryDirectory(prefix="locus-hosts-")
        cls.addClassCleanup(temporary.cleanup)
        cls.place, port = Path(temporary.name), support.free_port()
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", cls.place / key], check=True)
        (cls.place / "known").write_text("* " + (cls.place / "host.pub").read_text())
        for name, text in (("sshd_config", SSHD_CONFIG), ("ssh_config", SSH_CONFIG)):
            (cls.place / name).write_text(text.format(place=cls.place, port=port))
        server = support.Started(f"exec {sshd} -D -e -f {cls.place}/sshd_config")
        cls.addClassCleanup(server.close)
        server.await_text("Server listening", stream="err")
        cls.ssh = f"ssh -F {cls.place}/ssh_config"
        if subprocess.run(f"{cls.ssh} -o BatchMode=yes alpha true", shell=True).returncode:
            raise unittest.SkipTest("sshd on loopback does not let this user in (a locked account?)")

    def on(self, lines, ssh=None):
        """The beginning of a command for these hosts."""
        (self.place / "hosts").write_text(lines, encoding="utf-8")
        return f"{LOCUS} run --hosts {self.place}/hosts --ssh {ssh or repr(self.ssh)}"


class Surroundings(OverSsh):
    """What the nodes find."""

    def test_ranks_follow_the_list(self):
        run = self.on("\ufeffalpha 10.0.0.1 slots=2 # two\n\nbeta\tfd00::2\n")
        out = self.must(f"{run} --directory / --export OTHER -w 3 --port 4711 -- sh -c 'echo $LOCUS_RANK $LOCUS_SIZE "
                        "$LOCUS_RENDEZVOUS $LOCUS_LISTEN $LOCUS_WORKERS $LOCUS_MINE $OTHER $(pwd)'",
                        env={"LOCUS_MINE": "mine", "OTHER": "a.b"})
        self.assertEqual(sorted(out.splitlines()), [f"{rank} 3 10.0.0.1:4711 {listen} 3 mine a.b /" for rank, listen in
                                                    enumerate(("10.0.0.1", "10.0.0.1", "fd00::2"))])

    def test_first_slots_are_used_and_addresses_are_the_lists(self):
        for lines, expected in (("beta fd00::2\nalpha\n", "[fd00::2]:7777, fd00::2"), ("alpha 2\n", "alpha:7777,")):
            out = self.must(f"{self.on(lines)} -n 1 -- sh -c 'echo $LOCUS_SIZE $LOCUS_RENDEZVOUS, $LOCUS_LISTEN; pwd'",
                            env={"LOCUS_LISTEN": "x"})
            self.assertEqual(out, f"1 {expected}\n{os.getcwd()}\n")

    def test_arguments_are_passed_as_they_are(self):
        out = self.must(self.on("alpha") + " -- printf '<%s>' 'a  b' '' \"it's\" '$HOME `x` \\ !' '\n' '*' -n")
        self.assertEqual(out, "<a  b><><it's><$HOME `x` \\ !><\n><*><-n>")

    def test_keeper_and_options_of_ssh_may_be_quoted(self):
        at = Path(self.folder()) / "it's here"
        at.mkdir()
        (at / "locus").symlink_to(LOCUS)
        self.assertEqual(self.must(f"{self.on('alpha')} --keeper \"{at}/locus\" -- echo it runs"), "it runs\n")
        shutil.copy(self.place / "ssh_config", self.place / "a config")
        for ssh in (f"\"ssh -F '{self.place}/a config'\"", fr"'ssh \-F {self.place}/a\ config'"):
            with self.subTest(ssh):
                self.assertEqual(self.must(f"{self.on('alpha', ssh)} -- echo it runs"), "it runs\n")
        self.refuses(self.on("alpha", "\"ssh -F 'a\"") + " true", 2, "--ssh has a quote that does not end")

    def test_secret_is_on_no_command_line(self):
        job = self.start(f"exec {self.on('alpha')} -- sh -c 'echo ${{#LOCUS_SECRET}}; sleep 60'",
                         env={"LOCUS_SECRET": "swordfish"})
        job.await_text("9\n")
        lines = [read(pid, "cmdline") for pid in job.marked()]
        self.assertGreaterEqual(len(lines), 3)
        self.assertFalse([line for line in lines if b"swordfish" in line])
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM)

    def test_keepers_hear_that_the_launcher_lives_while_nobody_takes_its_output(self):
        """As behind Ctrl-S. The keeper is asked through a pipe that counts: beats go on."""
        at = Path(self.folder())
        (at / "counting").write_text(f"#!/bin/sh\ntee {at}/orders | exec {LOCUS} keep\n")
        (at / "counting").chmod(0o755)
        os.mkfifo(at / "output")
        output = os.open(at / "output", os.O_RDWR)
        self.addCleanup(os.close, output)
        job = self.start(f"exec {self.on('alpha')} --keeper {at}/counting --prefix always -- yes > {at}/output")
        support.wait_until(lambda: not select.select([], [output], [], 0)[1], job)
        before = (at / "orders").stat().st_size
        support.wait_until(lambda: (at / "orders").stat().st_size > before, job)
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM)

    def test_cluster_starts(self):
        run = self.on("alpha 127.0.0.1\nbeta 127.0.0.1 2\n")
        self.contains(self.must(f"{run} --port {support.free_port()} -- {MEMBER}"), support.joined(3))


class Ends(OverSsh):
    def ends(self, job, status, *parts):
        self.assertEqual(job.wait(), status, job)
        self.contains(job.err, *parts)
        self.assertEqual(job.left(HANG_S), 0)

    def start_stubborn(self):
        run = self.on("alpha\nbeta\n")
        job = self.start(f"exec {run} --grace 0.3 -- sh -c '{STUBBORN}'")
        job.await_text("ready", 2)
        return job

    def test_first_failure_ends_all_and_is_named_with_its_host(self):
        run = self.on("alpha\nbeta 2\n")
        for script, status, named in (
                ("test $LOCUS_RANK != 1 || exit 6", 6, "node 1 (beta) failed with status 6; ending the others"),
                ("test $LOCUS_RANK != 2 || kill -KILL $$", 137, "node 2 (beta) was ended by signal 9")):
            with self.subTest(script):
                self.ends(self.start(f"{run} -- sh -c '{script}; sleep 60'"), status, named)

    def test_what_cannot_be_started_is_explained(self):
        self.ends(self.start(self.on("alpha\ngone\n") + " -- sleep 60"), 255,
                  "node 1 (gone): ssh failed", "-oBatchMode=yes gone true")
        self.refuses_all(self.on("alpha"), [
            ("-- no-such-program", 127, 'there is no program "no-such-program", nor locus-no-such-program'),
            ("--keeper /no/such/locus -- true", 127, "/no/such/locus, of which --keeper gives the path"),
            ("--directory /no/such -- true", 1, 'cannot go to the directory "/no/such"'),
            ("--ssh no-such-ssh true", 1, "no-such-ssh cannot be started")])

    def test_nothing_is_left_when_the_launcher_is_killed(self):
        job = self.start_stubborn()
        job.send(SIGKILL)
        self.ends(job, 128 + SIGKILL)

    def test_nothing_is_left_when_connections_break(self):
        job = self.start_stubborn()
        connections = [pid for pid in job.marked() if read(pid, "comm") == b"ssh\n"]
        self.assertEqual(len(connections), 2)
        for pid in connections:
            os.kill(pid, SIGKILL)
        self.ends(job, 128 + SIGKILL)

    def test_node_that_does_not_read_its_input_is_ended(self):
        """All that is on the way to it is full: no more is read here."""
        with tempfile.TemporaryFile() as much:
            much.truncate(1 << 30)
            job = self.start(f"exec {self.on('alpha')} --grace 0.3 -- sh -c 'echo ready; sleep 600'", stdin=much)
            job.await_text("ready")
            taken, f = [0], much.fileno()
            support.wait_until(lambda: taken.append(os.lseek(f, 0, os.SEEK_CUR)) or 0 < taken[-1] == taken[-2], job, .3)
            job.send(SIGTERM)
            self.ends(job, 128 + SIGTERM)
