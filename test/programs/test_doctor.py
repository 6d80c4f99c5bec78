"""`locus doctor`: failures that docs/reference/errors.md explains are provoked, and it names each like the node that
fails. Limits are lowered, system calls refused and files of the system replaced for the doctor alone."""
import ctypes
import errno
import json
import os
import platform
import socket
import struct
import sys
from pathlib import Path

import support
from support import LOCUS, PYTHON

PAIR = "LOCUS_RANK=0 LOCUS_SIZE=2"
MPI = "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2"
TORCH = "RANK=0 WORLD_SIZE=2"
SECOND = "LOCUS_SECRET=s LOCUS_RANK=1 LOCUS_SIZE=2 "  # with a rendezvous behind it


class Doctor(support.TestCase):
    under_sanitizers = False

    def doctor(self, before="", command=f"{LOCUS} doctor", status=None):
        """Behind variables and commands of a shell. What launchers may have set around the test is not meant for it."""
        bare = 'exec env -i PATH="$PATH" LOCUS_TEST_MARK="$LOCUS_TEST_MARK"'
        return self.run_command(f"{bare} {before} {command}", status)

    def names(self, *cases, verdict="fail", status=1, **more):
        """Of each (before, about, sentence) the line of that verdict has the sentence."""
        for before, about, sentence in cases:
            with self.subTest(before=before):
                ended = self.doctor(before, status=status, **more)
                lines = [line for line in ended.out.splitlines() if line.startswith(f"{verdict:5} {about:12} ")]
                self.assertTrue(any(sentence in line for line in lines), f"no {verdict} {about} {sentence}: {ended}")

    def warns(self, *cases, status=0):
        self.names(*cases, verdict="warn", status=status)


class Surroundings(Doctor):
    def test_variables_of_launchers(self):
        """More of them are in unit/cluster/environment_test.c."""
        self.names(
            ("LOCUS_SIZE=2", "launcher", "LOCUS_SIZE is set but LOCUS_RANK is not"),
            ("LOCUS_RANK=2 LOCUS_SIZE=2", "launcher", "must be below LOCUS_SIZE, which is 2"),
            ("LOCUS_RANK=0 LOCUS_SIZE=5000", "launcher", "size is 5000: must be the number of nodes"),
            (PAIR, "launcher", "a cluster of 2 nodes needs a rendezvous"),
            (MPI, "launcher", "OMPI_COMM_WORLD_LOCAL_SIZE is not set"),
            (f"{MPI} OMPI_COMM_WORLD_LOCAL_SIZE=1", "launcher",
             "say where rank 0 listens with mpirun -x LOCUS_RENDEZVOUS=host:port"),
            (f"{MPI} OMPI_COMM_WORLD_LOCAL_SIZE=2", "launcher",
             "neither PMIX_NAMESPACE nor OMPI_MCA_ess_base_jobid is set"),
            (f"{TORCH} MASTER_ADDR=alpha", "launcher", "MASTER_PORT is not set"),
            (f"{TORCH} MASTER_PORT=7000 MASTER_ADDR={300 * '0'}", "launcher",
             "of rank 0 is too long: set LOCUS_RENDEZVOUS"),
            ("PMI_RANK=1 PMI_SIZE=4", "launcher", "PMI_SIZE is 4: set LOCUS_RENDEZVOUS=host:port"),
            ("SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", "launcher",
             "SLURM_JOB_ID is not: set LOCUS_RENDEZVOUS"))

    def test_surviving_losses(self):
        ended = self.doctor("LOCUS_SURVIVES=1 LOCUS_PEER_TIMEOUT=3", status=0)  # and two nodes that would are tried
        self.assertRegex(ended.out, r"\nok +survives .* silent after 3 s \(LOCUS_PEER_TIMEOUT\)\n")
        self.assertNotIn("survives", self.doctor("LOCUS_SURVIVES=0").out)
        self.names(("LOCUS_SURVIVES=yes", "survives", 'LOCUS_SURVIVES is "yes": must be 0 to 1'))
        self.warns((f"LOCUS_SURVIVES=1 TORCHELASTIC_RUN_ID=1 RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=7000", "survives",
                    "torchrun ends all nodes when one fails"))

    def test_addresses(self):
        local = "LOCUS_SECRET=s LOCUS_LISTEN=127.0.0.1"
        self.names(
            (f"{PAIR} LOCUS_RENDEZVOUS=alpha", "rendezvous", "has no port: write host:port"),
            (f"{PAIR} LOCUS_RENDEZVOUS=:7777", "rendezvous", "has no host"),
            (f"{PAIR} LOCUS_RENDEZVOUS=127.0.0.1:70000", "rendezvous", "has no port from 1 to 65535"),
            (f"{PAIR} LOCUS_RENDEZVOUS=::1:7777", "rendezvous", "is ambiguous: write an IPv6 address in brackets"),
            (f"{PAIR} {local} LOCUS_RENDEZVOUS=192.0.2.77:7777", "rendezvous", "this machine has no such address"),
            (f"{PAIR} {local} LOCUS_RENDEZVOUS=no-such-host.invalid:7777", "rendezvous", "is not known"),
            (f"{PAIR} LOCUS_RENDEZVOUS=8.8.8.8:7777", "listen", "is not on loopback, and the cluster has no secret"),
            ("LOCUS_LISTEN=127.0.0.1:port", "listen", "is not of the form host:port"),
            ("LOCUS_LISTEN=no-such-host.invalid", "listen", "is not known"),
            ("LOCUS_LISTEN=192.0.2.77", "listen", "belongs to no interface of this machine"),
            ("LOCUS_METRICS=127.0.0.1:http", "metrics", "is not of the form host:port"),
            ("LOCUS_METRICS=192.0.2.77:9400", "metrics", "this node cannot listen there"),
            ("LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=127.0.0.1:7777 LOCUS_METRICS=65535", "metrics", "above 65535"))

    def test_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", support.free_port())) as holder:
            address = "127.0.0.1:%d" % holder.getsockname()[1]
            self.names(
                (f"{PAIR} LOCUS_RENDEZVOUS={address}", "rendezvous", "the port is taken, by another program"),
                (f"LOCUS_RANK=0 LOCUS_SIZE=1 LOCUS_LISTEN={address}", "listen",
                 "is taken: choose another with LOCUS_LISTEN"),
                (f"LOCUS_METRICS={address}", "metrics", "this node cannot listen there"))

    def test_rendezvous_that_does_not_answer_is_a_warning(self):
        """Rank 0 may start later: no failure."""
        self.warns((f"LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=127.0.0.1:{support.free_port()}", "rendezvous",
                    "nobody answers at"))

    def test_each_rank_of_a_job_finds_the_others(self):
        """As mpirun starts it: whoever comes first waits for rank 0, and rank 0 for all."""
        place = f"OMPI_COMM_WORLD_SIZE=3 LOCUS_RENDEZVOUS=127.0.0.1:{support.free_port()}"
        for order in (2, 0, 1), (0, 1, 2):
            with self.subTest(order=order):
                doctors = [self.start(f"{place} OMPI_COMM_WORLD_RANK={rank} exec {LOCUS} doctor") for rank in order]
                for rank, doctor in zip(order, doctors):
                    self.assertEqual(doctor.wait(), 0, doctor)
                    self.assertIn(" takes connections" if rank else "rank 0 can listen at", doctor.out)

    def test_ipv6_alone_is_well(self):
        """Where `locus run` works, and nodes with metrics do."""
        alone = "unshare -rn sh -c 'ip link set lo up && ip addr del 127.0.0.1/8 dev lo && exec env \"$@\"' --"
        if not self.can(f"{alone} true"):
            self.skipTest("network namespaces cannot be made here")
        self.contains(self.doctor(f"{alone} LOCUS_METRICS=9400", status=0).out, "peers would be told [::1]:",
                      "ok    metrics      9400, and 0 ports further")

    def test_variable_that_is_misspelt(self):
        self.warns(("LOCUS_METRIC=127.0.0.1:9400", "variables",
                    "nobody reads LOCUS_METRIC: is it meant to be LOCUS_METRICS?"))
        for name, meant in (("RENDEZ_VOUS", "RENDEZVOUS"), ("SECRETFILE", "SECRET_FILE"),
                            ("SECRETS", "SECRET"), ("REPORTS", "REPORT"), ("RANKS", "RANK"), ("TRACE_KEY", "TRACE_KEYS")):
            self.warns((f"LOCUS_{name}=", "variables", f"nobody reads LOCUS_{name}: is it meant to be LOCUS_{meant}?"), status=None)
        others = " ".join(f"LOCUS_{name}=" for name in ("TEST_SECONDS", "MODEL", "LOG", "HOST", "PORT", "", "LOST", "LIBRARY"))
        self.assertIn("none that begins with LOCUS_ seems misspelt", self.doctor(others).out)
        self.contains(self.run_command(f"LOCUS_METRIC=9400 {LOCUS} run -n 2 -- true", 0).err,
                      "locus run: nobody reads the variable LOCUS_METRIC: is it meant to be LOCUS_METRICS?")

    def test_secret(self):
        """More that is wrong with one is in unit/net/secret_test.c."""
        path = Path(self.folder()) / "secret"
        path.write_text("")
        self.names(
            ("LOCUS_SECRET=a LOCUS_SECRET_FILE=/dev/null", "secret", "are both set: unset one"),
            (f"LOCUS_SECRET_FILE={path}", "secret", "is empty: must hold the cluster's secret"))
        path.write_text("sesame\n")
        path.chmod(0o644)
        self.warns((f"LOCUS_SECRET_FILE={path}", "secret", "chmod o= it"))
        path.chmod(0o600)
        self.assertIn("0 warnings", self.doctor(f"LOCUS_SECRET_FILE={path}", status=0).out)

    def test_json(self):
        rows = [json.loads(line) for line in
                self.doctor("LOCUS_SECRET=", f"{LOCUS} doctor --json", status=1).out.splitlines()]
        fails = [row["text"] for row in rows if row.get("verdict") == "fail"]
        self.assertRegex(fails[0], "^LOCUS_SECRET is empty: must hold")
        self.assertEqual([len(fails), rows[-1]["fail"], rows[-1]["event"]], [1, 1, "doctor"])

    def test_wrong_options_are_refused(self):
        self.refuses(f"{LOCUS} doctor --nodes 0", 2, "--nodes")


def limited(option, value):
    return f"bash -c 'ulimit -{option} {value}; exec \"$@\"' --"


def instead(path, text):
    """A file of the system has another text, for the command that follows."""
    return (f"unshare -m sh -c 'f=$(mktemp) && echo \"{text}\" > $f && mount --bind $f {path} && rm $f && "
            "exec env \"$@\"' --")


OVERCOMMIT = instead("/proc/sys/vm/overcommit_memory", "2")
OLD = "setarch $(uname -m) --uname-2.6"
SOCKET, IO_URING_SETUP, CLONE3 = 41 if platform.machine() == "x86_64" else 198, 425, 435


def become_sealed(call, error, first):
    """The doctor, which is refused one system call, as by a container's profile; or only with that first argument."""
    def op(code, k, yes=0, no=0):
        return struct.pack("HBBI", code, yes, no, k)
    program = b"".join([op(0x20, 0), op(0x15, call, 0, 3),  # the call's number
                        op(0x20, 16), op(0x15, max(first, 0), 0, 0 if first < 0 else 1),  # its first argument
                        op(0x06, 0x50000 | error), op(0x06, 0x7fff0000)])
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program)
    fprog = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, fprog):  # no new privileges; a filter
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execl(LOCUS, "locus", "doctor")


class Machine(Doctor):
    def names_sealed(self, call, error, *case, first=-1):
        self.names(case, command=f"LOCUS_BUILD={support.BUILD} {PYTHON} {__file__} {call} {error} {first}")

    def need_other_files(self):
        if not self.can(f"{OVERCOMMIT} true"):
            self.skipTest("this test cannot mount files")

    def test_limits(self):
        self.names((limited("n", 24), "descriptors", "raise ulimit -n"),
                   (limited("u", 3), "threads", "raise ulimit -u"),
                   ("LOCUS_CHECKPOINTS=many", "trial", 'LOCUS_CHECKPOINTS is "many": must be how many checkpoints to keep'))

    def test_what_is_slower_or_ignored_is_a_warning(self):
        self.warns(("LOCUS_WORKERS=1000", "cores", "too few for 1 node of 1000 workers"),
                   (limited("v", 8000000), "address space", "a node reserves more"), status=None)

    def test_io_uring_that_is_refused(self):
        for error, sentence in ((errno.ENOSYS, "this kernel has no io_uring, or a seccomp profile hides it"),
                                (errno.EPERM, "set kernel.io_uring_disabled to 0"),
                                (errno.EINVAL, "locus needs Linux 5.7 or newer"),
                                (errno.ENOMEM, "raise `ulimit -l`"), (errno.EMFILE, "raise `ulimit -n`")):
            self.names_sealed(IO_URING_SETUP, error, "", "io_uring", sentence)

    def test_rings_that_a_job_cannot_have_together(self):
        """Where the kernel counts rings as locked memory, the job fails; elsewhere both are well."""
        # The kernel gives the memory up later than rings are closed: root is another user each time.
        def few(user):
            return ("" if os.geteuid() else f"setpriv --reuid={user} --clear-groups ") + limited("l", 40)  # five
        if not self.can(f"{few(30001)} {LOCUS} --version"):
            self.skipTest("this test cannot be another user")
        ran = self.run_command(f"{few(30002)} {LOCUS} run -n 6 -- {support.MEMBER}")
        if ran.status == 0:
            self.assertIn(" rings can be had together", self.doctor(few(30003), f"{LOCUS} doctor --nodes 6").out)
            return
        self.assertIn("no memory for an io_uring: raise `ulimit -l`, which is 40 KiB", ran.err)
        self.names((few(30003), "rings", "rings of 6 nodes together, of which each has "), command=f"{LOCUS} doctor --nodes 6")

    def test_io_uring_that_was_disabled(self):
        self.need_other_files()
        self.names_sealed(IO_URING_SETUP, errno.EPERM, instead("/proc/sys/kernel/io_uring_disabled", "2"), "io_uring",
                          "(kernel.io_uring_disabled is 2)")

    def test_old_kernel(self):
        """No rings are needed for that: the kernel says that it is an older one."""
        if not self.can(f"{OLD} uname -r | grep -q ^2.6"):
            self.skipTest("this kernel has one version only")
        self.names((OLD, "kernel", "locus needs Linux 5.7 or newer"))
        self.warns((f"{OLD} {limited('l', 64)}", "memlock", "kernels before 5.12 count io_uring as locked memory"),
                   status=1)

    def test_settings_of_memory(self):
        self.need_other_files()
        self.warns((OVERCOMMIT, "overcommit", "large tables are refused; set it to 0 with sysctl"),
                   (limited("f", 64), "carrier", "each link between two of them needs up to 516 KiB of shared memory"))

    def test_container_that_may_start_few_threads(self):
        """Of a cgroup that stands elsewhere."""
        self.need_other_files()
        self.names(("unshare -m sh -c 'd=$(mktemp -d) && echo 20 > $d/pids.max && echo 17 > $d/pids.current && "
                    "echo 0::/../../..$d > $d/cgroup && mount --bind $d/cgroup /proc/$$/cgroup && exec env \"$@\"' --",
                    "threads", "this container may start 3 more threads"))

    def test_threads_that_cannot_be_started(self):
        self.names_sealed(CLONE3, errno.EAGAIN, "", "trial", "(ulimit -u)")  # the doctor's second node is a thread

    def test_family_that_the_machine_does_not_have(self):
        """A kernel without IPv6 makes no such sockets."""
        for before, sentence in ((f"{SECOND} LOCUS_RENDEZVOUS=[fd00::1]:7777",
                                  "and this machine has no IPv6: give it as IPv4"),
                                 ("LOCUS_LISTEN=[::1]", "is of a family that this machine does not have")):
            self.names_sealed(SOCKET, errno.EAFNOSUPPORT, before, "listen", sentence, first=socket.AF_INET6)

    def test_port_that_is_not_permitted(self):
        """Who may have such a port is asked as somebody who may not."""
        nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups env"
        if not self.can(f"{nobody} {LOCUS} --version"):
            self.skipTest("this test cannot be somebody else, or nobody else may read the program")
        if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 80:
            self.skipTest("everybody may have every port here")
        self.names((f"{nobody} LOCUS_LISTEN=127.0.0.1:80", "listen", "is reserved: use one above 1023"),
                   (f"{nobody} {PAIR} LOCUS_RENDEZVOUS=127.0.0.1:80", "rendezvous",
                    "it is not permitted: choose a port above 1023"),
                   (f"{nobody} LOCUS_METRICS=127.0.0.1:80", "metrics", "this node cannot listen there"))


def alone_with(commands=""):
    """In a network of its own: loopback, and an interface that has no address."""
    return ("unshare -n sh -c 'ip link set lo up; ip link add d0 type veth peer name d1; ip link set d0 up; "
            f"{commands}exec env \"$@\"' --")


class Network(Doctor):
    def setUp(self):
        if not self.can(f"{alone_with()} true"):
            self.skipTest("this system makes no networks for tests")

    def test_machine_without_a_network(self):
        self.names((f"{alone_with()} {SECOND} LOCUS_RENDEZVOUS=192.0.2.7:7777", "listen",
                    "Network is unreachable; connect this machine to that network"),
                   (f"{alone_with()} LOCUS_LISTEN=d0", "listen", 'the interface "d0" has no address'),
                   (f"{alone_with()} LOCUS_LISTEN=[fd00::7]", "listen", "belongs to no interface of this machine"),
                   ("unshare -n", "interface", "no interface is up, not even lo: ip link set lo up"))

    def test_rendezvous_behind_a_firewall(self):
        """Whoever has the other address is not heard."""
        silent = alone_with("ip address add 10.77.0.1/24 dev d0; ip link set d1 up; "
                            "ip neigh add 10.77.0.2 lladdr 02:00:00:00:00:99 dev d0 nud permanent; ")
        self.names((f"{silent} {SECOND} LOCUS_RENDEZVOUS=10.77.0.2:7777", "rendezvous",
                    "let the port through its firewall"))


if __name__ == "__main__":
    become_sealed(*map(int, sys.argv[1:]))
