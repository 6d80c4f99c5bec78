"""`locus run` on this host."""
import os
import signal
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM

import support
from support import ENDLESS, HANG_S, LOCUS, MEMBER, PYTHON

RUN = f"{LOCUS} run"
ALWAYS = f"{RUN} -n 2 --prefix always --"
CTRL_C = "\003"


class CommandLine(support.TestCase):
    def test_help_and_version(self):
        for arguments, part in (("", "locus run -n 4"), ("", "locus predict MODEL FILE"), ("", "locus export MODEL "), ("run -n1 echo x", "x"),
                                ("", "locus prepare mf "), ("run --help", "--restarts N"), ("--version", "locus ")):
            self.assertIn(part, self.must(f"{LOCUS} {arguments}"))

    def test_wrong_arguments_are_refused(self):
        self.refuses_all(LOCUS, [
            ("fly", 2, 'no command "fly"; locus --help lists them'),
            ("docter", 2, 'no command "docter": is it meant to be doctor?'),
            ("preprare", 2, 'no command "preprare": is it meant to be prepare?'),
            ("train", 2, 'no command "train"; locus --help lists them'),
            ("run -n 2 --nodes 2 true", 2, "--nodes is given twice, and has one value"),
            ("run -n2x true", 2, 'from 1 to 4096, not "2x"'),
            ("run", 2, "which program?"),
            ("run true", 2, "how many nodes?"),
            ("run -n", 2, "-n needs a value"),
            ("run -n 0 true", 2, 'from 1 to 4096, not "0"'),
            ("run -n 4097 true", 2, 'from 1 to 4096, not "4097"'),
            ("run -n two true", 2, 'from 1 to 4096, not "two"'),
            ("run -n 2 --workers 5000 true", 2, 'from 1 to 1024, not "5000"'),
            ("run -n 2 --port 70000 true", 2, 'from 1 to 65535, not "70000"'),
            ("run -n 2 --grace=x true", 2, 'takes a number from 0 to 3600, not "x"'),
            ("run -n 2 --prefix=maybe true", 2, 'auto, always, never, not "maybe"'),
            ("run -n 2 --hots x true", 2, 'no option "--hots"'),
            ("run --hosts list true", 2, 'no option "--hosts"'),
            ("keep 1 0", 2, "keep is for locus run alone"),
            ("run -n 2 --directory /no/such true", 2, 'directory "/no/such"'),
            ("run -n 2 no-such-program", 127,
             'no program "no-such-program", nor locus-no-such-program, in the folders of PATH'),
            ("run -n 2 ./no-such-program", 127, 'no program "./no-such-program"'),
            ("run -n 2 /etc/passwd", 126, '"/etc/passwd" is not a program'),
            ("run -n 2 /tmp", 126, "it is a folder"),
        ])

    def test_a_program_is_found_by_its_name_in_documents(self):
        """`locus run kge` is the program that comes with locus, whatever stands in the folder."""
        folder = Path(self.folder())
        for name in ("bin", "path"):
            (folder / name).mkdir()
        (folder / "bin" / "locus").write_bytes(Path(LOCUS).read_bytes())
        (folder / "bin" / "locus").chmod(0o755)
        for name, says in (("bin/locus-kge", "locus-kge beside"), ("path/kge", "kge in path"), ("kge", "kge here"),
                           ("path/other", "other in path"), ("path/locus-other", "never"), ("mine", "never"),
                           ("path/locus-third", "locus-third in path")):
            (folder / name).write_text(f"#!/bin/sh\necho {says}\n")
            (folder / name).chmod(0o755)
        for path, name, says in (("$PATH", "kge", "locus-kge beside"), ("$PATH", "locus-kge", "locus-kge beside"),
                                 (".:$PATH", "kge", "locus-kge beside"), ("path:$PATH", "kge", "locus-kge beside"),
                                 ("path:$PATH", "other", "other in path"), ("$PATH", "./kge", "kge here"),
                                 ("path:$PATH", "third", "locus-third in path")):
            with self.subTest(path=path, name=name):
                self.assertEqual(self.must(f"cd {folder} && PATH={path} bin/locus run -n 1 {name}"), says + "\n")
        self.refuses(f"cd {folder} && bin/locus run -n 1 mine", 127, "for the one in this folder write ./mine")

    def test_other_commands_are_programs_of_the_path(self):
        folder = Path(self.folder())
        for name in ("fly", "run", "docter"):
            (folder / f"locus-{name}").write_text(f"#!/bin/sh\nprintf '<%s>' {name} \"$@\"; exit 3\n")
            (folder / f"locus-{name}").chmod(0o755)
        (folder / "locus-docter").chmod(0o644)
        path = f"PATH={folder}:$PATH"
        self.assertEqual(self.run_command(f"{path} {LOCUS} fly a\\ b --help", 3).out, "<fly><a b><--help>")
        self.assertEqual(self.run_command(f"{path} {LOCUS} run --bogus", 2).out, "")  # its own come first
        self.refuses(f"{path} {LOCUS} docter", 2, "is it meant to be doctor?")
        self.assertIn("usage: locus prepare", self.run_command(f"env -i {LOCUS} prepare --help").out)  # beside it
        self.refuses(f"cd {folder} && {path} {LOCUS} ../fly", 2, 'no command "../fly"')

    def test_port_that_is_taken_is_refused(self):
        port = support.free_port()
        first = self.start(f"exec {RUN} -n 2 --port {port} -- {ENDLESS}")
        first.await_text("epoch ")
        self.refuses(f"{RUN} -n 2 --port {port} true", 1, "is taken")
        first.send(SIGTERM)
        self.assertEqual(first.wait(), 128 + SIGTERM)


class Surroundings(support.TestCase):
    """What the nodes find: variables, arguments, stdin."""

    def test_misspelt_variable_is_named_once(self):
        ended = self.run_command(f"{RUN} -n 1 -- {MEMBER}", 0, env={"LOCUS_SECRETFILE": "x", "LOCUS_OF_MINE": "1"})
        self.assertEqual(ended.err, "locus run: nobody reads the variable LOCUS_SECRETFILE: is it meant to be "
                                    "LOCUS_SECRET_FILE?\n")

    def test_rank_size_rendezvous_and_workers_are_set(self):
        prints = "sh -c 'echo $LOCUS_RANK of $LOCUS_SIZE at $LOCUS_RENDEZVOUS, workers: $LOCUS_WORKERS.'"
        out = self.must(f"{RUN} -n 3 -w 5 -- {prints}")
        self.contains(out, *(f"{rank} of 3 at 127.0.0.1:" for rank in range(3)))
        self.assertEqual(out.count(", workers: 5.\n"), 3)
        self.contains(self.must(f"{RUN} -n 1 -- {prints}"), "0 of 1 at 127.0.0.1:", ", workers: .\n")

    def test_nodes_are_bound_to_sockets_of_their_own(self):
        """Of a machine that is made up of this one's first two processors."""
        if not {0, 1} <= os.sched_getaffinity(0):
            self.skipTest("the first two processors are not ours: nobody is bound")
        out = self.must(f"{ALWAYS} grep Cpus_allowed_list: /proc/self/status",
                        env={"HWLOC_SYNTHETIC": "package:2 core:1 pu:1"})
        self.contains(out, "[0] Cpus_allowed_list:\t0\n", "[1] Cpus_allowed_list:\t1\n")

    def test_every_cluster_has_a_secret_of_its_own(self):
        def secrets(nodes, **env):
            return self.must(f"{RUN} -n {nodes} -- sh -c 'echo $LOCUS_SECRET'", env=env).splitlines()
        first, second = secrets(2), secrets(2)
        self.assertEqual([len(first[0]), first[0]], [64, first[1]])
        self.assertNotEqual(first[0], second[0])
        self.assertEqual(secrets(1, LOCUS_SECRET="mine"), ["mine"])
        self.assertEqual(secrets(1, LOCUS_SECRET_FILE="f"), [""])

    def test_arguments_and_directory_are_passed_as_they_are(self):
        self.assertEqual(self.must(f"{RUN} -n 1 -- printf '<%s>' 'a b' '' \"it's\" '$HOME' '-n'"),
                         "<a b><><it's><$HOME><-n>")
        self.assertEqual(self.must(f"{RUN} -n 1 --directory / pwd"), "/\n")

    def test_stdin_is_for_rank_0_only(self):
        """Who reads last."""
        out = self.must(f"cd {self.folder()} && echo hello | {RUN} -n 2 -- sh -c 'if test $LOCUS_RANK = 0; then "
                        "until test -e read; do sleep 0.01; done; fi; echo $LOCUS_RANK got \"$(cat)\"; touch read'")
        self.assertEqual(out, "1 got \n0 got hello\n")

    def test_stdin_that_rank_0_leaves_is_not_eaten(self):
        self.assertEqual(self.must(f"printf 'a\\nb\\n' | while read x; do echo $x; {RUN} -n 2 true; done"), "a\nb\n")


class Output(support.TestCase):
    def test_output_to_files_is_left_as_it_is(self):
        ended = self.run_command(f"{RUN} -n 2 -- sh -c 'printf out; printf err >&2; test -f /dev/stdout'", 0)
        self.assertEqual([ended.out, ended.err], ["outout", "errerr"])

    def test_prefix_always(self):
        ended = self.run_command(f"{ALWAYS} sh -c 'echo out; printf err >&2'", 0)
        self.assertEqual(sorted(ended.out.splitlines(True)), ["[0] out\n", "[1] out\n"])
        self.assertEqual(sorted(ended.err.splitlines(True)), ["[0] err\n", "[1] err\n"])
        self.contains(self.must(f"{RUN} -n 11 --prefix always -- echo x"), "[ 3] x\n", "[10] x\n")

    def test_output_that_cannot_be_written_ends_all(self):
        """What nobody gets is no success, and nobody goes on for a reader that has left."""
        full = "stdout cannot be written: No space left on device"
        self.refuses(f"{ALWAYS} sh -c 'echo out; sleep 60' > /dev/full", 1, f"{full}; ending all nodes")
        self.refuses(f"{ALWAYS} echo out > /dev/full", 1, full)
        ended = self.run_command(f"({ALWAYS} yes; echo status $? >&2) | head -n 1", 0)
        self.assertIn("status 141", ended.err)

    def test_prefixes_on_a_terminal(self):
        def shows(arguments, **env):
            job = self.start(f"exec {RUN} -n 2 {arguments}", terminal=True, env=env)
            self.assertEqual(job.wait(), 0, job)
            return job.out
        self.contains(shows("-- sh -c 'echo out; echo err >&2'"),
                      *(f"\033[{31 + n}m[{n}]\033[0m {text}\r\n" for n in (0, 1) for text in ("out", "err")))
        plain = shows("-- echo out", NO_COLOR="1")
        self.assertIn("[1] out\r\n", plain)
        self.assertNotIn("\033[", plain)
        self.assertEqual(shows("--prefix never -- echo out"), "out\r\n" * 2)

    def test_lines_are_shown_whole(self):
        out = self.must(ALWAYS + r" sh -c 'for i in 1 2 3 4 5 6 7 8 9; do printf begin; sleep 0.01; "
                        r"printf -- -end\\n; done; printf a\\rb\\r\\nc'")
        self.assertEqual([out.count(f"] {line}\n") for line in ("begin-end", "a", "b", "c")], [18, 2, 2, 2], out)

    def test_all_of_much_output_is_shown(self):
        three = f"{RUN} -n 3 --prefix always --"
        self.assertEqual(self.must(f"{three} seq 100000 | wc -l").strip(), "300000")
        # The nodes end while we wait for the reader.
        self.assertEqual(self.must(f"{three} sh -c 'seq 12000; sleep 0.5' | (sleep 1.5; wc -l)").strip(), "36000")
        # Longer than what is kept of one line.
        self.assertEqual(self.must(f"{RUN} -n 1 --prefix always -- head -c 20000 /dev/zero | wc -cl").split(),
                         ["3", "20015"])

    def test_output_that_nobody_takes_does_not_keep_it(self):
        self.assertEqual(self.must(f"cd {self.folder()} && mkfifo f; exec 3<>f; {ALWAYS} yes > f & p=$!; "
                                   "sleep 1; kill $p; wait $p; echo status $?"), "status 143\n")

    def test_lines_on_a_terminal_are_shown_as_they_are_printed(self):
        """By the rules of C a program keeps its lines back when it does not write to a terminal."""
        says = "import time; print(\"said\"); time.sleep(600)"
        job = self.start(f"exec {RUN} -n 2 -- {PYTHON} -c '{says}'", terminal=True)
        job.await_text("said", 2)
        job.type(CTRL_C)
        self.assertEqual(job.wait(), 128 + SIGINT)

    def test_what_is_typed_is_for_rank_0(self):
        job = self.start(f"exec {RUN} -n 2 -- sh -c 'while read x; do echo $LOCUS_RANK got $x; done'", terminal=True)
        job.type("one\n")
        job.await_text("0 got one\r\n")
        job.type("two\n\004")
        self.assertEqual(job.wait(), 0)
        self.assertIn("0 got two\r\n", job.out)
        self.assertNotIn("1 got", job.out)


class Status(support.TestCase):
    def test_status_is_that_of_the_first_failure_which_is_named(self):
        for script, status, named in (
                ("exit 0", 0, ""), ("exit 7", 7, ""),
                ("test $LOCUS_RANK != 1 || exit 5; sleep 60", 5, "node 1 failed with status 5; ending the others\n"),
                ("test $LOCUS_RANK != 2 || exit 255; sleep 60", 255, "node 2 failed with status 255"),
                ("test $LOCUS_RANK != 2 || kill -KILL $$; sleep 60", 137,
                 "node 2 was ended by signal 9, Killed (status 137); ending the others\n"),
                ("test $LOCUS_RANK != 0 || kill -ABRT $$; sleep 60", 128 + signal.SIGABRT, "node 0 was ended by")):
            with self.subTest(script=script):
                job = self.start(f"{RUN} -n 3 -- sh -c '{script}'")
                self.assertEqual(job.wait(), status)
                self.assertIn(f"locus run: {named}" if named else "", job.err)
                self.assertEqual(job.left(HANG_S), 0)

    def strike(self, rank, number, **more):
        """Three nodes, of which one gets the signal."""
        job = self.start(f"exec {RUN} -n 3 -- {ENDLESS}", **more)
        job.await_text("epoch ")
        [node] = [pid for pid in job.marked() if read(pid, "comm") == b"locus-mf\n"
                  and b"\0LOCUS_RANK=%d\0" % rank in read(pid, "environ")]
        os.kill(node, number)
        return job

    def test_node_that_is_stopped_is_named_behind_those_that_lost_it(self):
        job = self.strike(1, signal.SIGSTOP, env={"LOCUS_PEER_TIMEOUT": "2"})
        self.assertEqual(job.wait(), 1, job)
        self.assertEqual(job.err.splitlines()[-1], "locus run: node 1 was stopped, and did not answer the others")
        self.assertEqual(job.left(), 0)

    def test_node_that_is_killed_ends_its_cluster(self):
        """It is named, though the others notice, and fail, too."""
        for rank in (2, 0):
            with self.subTest(rank=rank):
                job = self.strike(rank, SIGKILL)
                self.assertEqual(job.wait(), 128 + SIGKILL, job)
                self.assertIn(f"node {rank} was ended by signal 9", job.err)
                self.assertEqual(job.left(), 0)


# Everything that makes a process hard to end: deaf, in a session of its own, without a parent, stopped.
STUBBORN = (r'trap "" TERM INT HUP; sleep 600 & setsid sleep 601 & (setsid sleep 602 &); '
            r'(sh -c "kill -STOP \$\$; sleep 603" &); echo ready; sleep 604; sleep 605')
# Ends in order when it is asked to, and says so.
ORDERLY = 'trap "sleep 0.2; echo in order; exit 0" TERM; echo ready; while :; do sleep 0.1; done'


def read(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


class Left(support.TestCase):
    """Nothing is left behind, not even for a moment, whatever ends the cluster."""

    def start_nodes(self, script=STUBBORN, options="--grace 0.3", terminal=False, nodes=2, before="", ready=None):
        job = self.start(f"{before}exec {RUN} -n {nodes} {options} -- sh -c '{script}'", terminal=terminal)
        job.await_text("ready", ready or nodes)
        if script == STUBBORN and not ready:
            self.assertGreater(job.left(), 8)
        return job

    def ends(self, job, *statuses, seconds=0):
        self.assertIn(job.wait(), statuses, job)
        self.assertEqual(job.left(seconds), 0)

    def test_signal(self):
        for number in (SIGTERM, SIGINT, SIGHUP):
            with self.subTest(number):
                job = self.start_nodes()
                job.send(number)
                self.ends(job, 128 + number)
                self.assertIn("ending all nodes", job.err)

    def test_ctrl_c(self):
        job = self.start_nodes(terminal=True)
        job.type(CTRL_C)
        self.ends(job, 128 + SIGINT)

    def test_second_ctrl_c_does_not_wait_whatever_the_nodes_are_at(self):
        for _ in range(10):  # the first has started, the last maybe not
            job = self.start_nodes(options="--grace 600", terminal=True, nodes=4, ready=1)
            job.type(CTRL_C)
            job.await_text("ending all nodes")
            job.type(CTRL_C)
            self.ends(job, 128 + SIGINT)

    def test_second_ctrl_c_counts_where_its_signals_are_ignored(self):
        job = self.start_nodes(options="--grace 600", nodes=24, before='trap "" USR1 USR2; ', ready=1)
        job.send(SIGINT)
        job.await_text("ending all nodes", stream="err")
        job.send(SIGINT)
        self.ends(job, 128 + SIGINT)

    def test_request_that_comes_twice_is_one(self):
        """As from timeout(1), or from the kernel and a shell whose terminal goes."""
        job = self.start_nodes(ORDERLY, "--grace 600")
        job.send(SIGHUP)
        job.send(SIGTERM)
        self.ends(job, 128 + SIGHUP, 128 + SIGTERM)  # of two that wait the kernel chooses
        self.assertEqual(job.out.count("in order"), 2)

    def test_request_to_launcher_and_keepers_is_one(self):
        """As when everything in a control group is asked to end."""
        job = self.start_nodes(ORDERLY, "--grace 600")
        job.send(SIGTERM)
        job.await_text("ending all nodes", stream="err")
        for pid in job.marked():
            if read(pid, "comm") == b"locus\n" and pid != job.pid:
                os.kill(pid, SIGTERM)
        self.ends(job, 128 + SIGTERM)
        self.assertEqual(job.out.count("in order"), 2)

    def test_terminal_that_is_closed(self):
        job = self.start_nodes(terminal=True)
        job.hang_up()
        self.ends(job, 128 + SIGHUP)

    def test_node_that_fails(self):
        job = self.start(f"exec {RUN} -n 3 --grace 0.3 -- sh -c 'test $LOCUS_RANK != 1 || exit 4; {STUBBORN}'")
        self.ends(job, 4)

    def test_what_a_node_leaves_that_is_done(self):
        self.ends(self.start(f"exec {RUN} -n 2 -- sh -c 'sleep 600 & setsid sleep 601 & exit 0'"), 0)

    def test_launcher_that_is_killed(self):
        job = self.start_nodes()
        job.send(SIGKILL)
        self.ends(job, 128 + SIGKILL, seconds=HANG_S)

    def test_keeper_that_is_killed(self):
        job = self.start_nodes()
        keepers = [pid for pid in job.marked() if b"\0keep\0" in read(pid, "cmdline")]
        self.assertEqual(len(keepers), 2)
        os.kill(keepers[0], SIGKILL)
        self.ends(job, 128 + SIGKILL)

    def test_what_is_not_the_launchers_own_is_left_alone(self):
        """A script that had a child, and then became the launcher."""
        job = self.start(f"sleep 600 & exec {RUN} -n 2 true")
        self.assertEqual(job.wait(), 0)
        self.assertEqual(job.left(), 1)

    def test_signal_that_is_ignored(self):
        job = self.start(f"trap '' HUP; exec {RUN} -n 2 -- sh -c 'echo ready; sleep 0.3'")
        job.await_text("ready")
        job.send(SIGHUP)
        self.assertEqual(job.wait(), 0)


class Clusters(support.TestCase):
    def cluster(self, nodes):
        self.contains(self.must(f"{RUN} -n {nodes} -- {MEMBER}"), support.joined(nodes))

    def test_again_and_again(self):
        for i in range(12):
            self.cluster(1 + i % 4)

    def test_beside_each_other(self):
        for _ in range(3):
            jobs = [self.start(f"exec {RUN} -n 3 -- {MEMBER}") for _ in range(4)]
            for job in jobs:
                self.assertEqual(job.wait(), 0, job)
                self.contains(job.out, support.joined(3))
