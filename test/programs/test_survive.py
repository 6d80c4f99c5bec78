"""`locus run --survives`: a node is killed, the others train on and end well, and all who look see that it was lost."""
import json
import os
import re
from pathlib import Path
from signal import SIGKILL, SIGTERM

import nodes
import support
from support import ENDLESS, HANG_S, LOCUS, MEMBER
from test_report import REPORT
from test_restart import name_of
from test_run import read

RUN = f"{LOCUS} run --survives"


class Programs(support.TestCase):
    def test_failure_of_another_node_than_rank_0_ends_nobody(self):
        for script, status, told in (
                ("exit 0", 0, []),
                ("test $LOCUS_RANK != 1 || exit 5; until test -e told; do sleep 0.1; done", 0,
                 ["node 1 failed with status 5; the others go on", "node 1 was lost, and the others have ended without it"]),
                ("test $LOCUS_RANK != 1 || kill -KILL $$; until test -e told; do sleep 0.1; done; exit 3", 3,
                 ["node 1 was ended by signal 9, Killed (status 137); the others go on", "failed with status 3; "]),
                ("test $LOCUS_RANK != 0 || exit 5; sleep 60", 5, ["node 0 failed with status 5; ending the others"]),
                ("exit 2", 2, ["failed with status 2; ending the others"])):
            with self.subTest(script=script):
                job = self.start(f"cd {self.folder()} && {RUN} -n 3 -- sh -c '{script}'")
                if "told" in script:
                    job.await_text(told[0], stream="err")
                    self.must(f"touch /proc/{job.pid}/cwd/told")
                self.assertEqual(job.wait(), status, job)
                self.assertEqual(len(job.err.splitlines()), len(told), job)
                self.contains(job.err, *told)
                self.assertEqual(job.left(HANG_S), 0)

    def test_variable_is_as_good_as_the_option(self):
        for command, env in ((f"{LOCUS} run", {"LOCUS_SURVIVES": "1"}), (RUN, {})):
            ended = self.run_command(f"{command} -n 2 -- sh -c 'echo $LOCUS_SURVIVES; exit $LOCUS_RANK'", 0, env=env)
            self.assertEqual(ended.out, "1\n1\n")
            self.assertRegex(ended.err, "node 1 failed with status 1(; the others go on)?\n")

    def test_lost_node_alone_is_started_again(self):
        job = self.start(f"cd {self.folder()} && {RUN} -n 3 --restarts 3 -- sh -c '"
                         "echo $LOCUS_RANK ${LOCUS_RESTART:-0} ${LOCUS_LOST:+lost} $LOCUS_SECRET $LOCUS_RENDEZVOUS; "
                         "test $LOCUS_RANK$LOCUS_RESTART != 1 || exit 4; test $LOCUS_RANK$LOCUS_RESTART != 11 || exit 5; "
                         "test $LOCUS_RANK != 1 || touch came; until test -e came; do sleep 0.1; done'")
        self.assertEqual(job.wait(), 0, job)
        self.assertEqual(sorted(line.rsplit(" ", 2)[0] for line in job.out.splitlines()),
                         ["0 0", "1 0", "1 1 lost", "1 2 lost", "2 0"])
        self.assertEqual(len({tuple(line.rsplit(" ", 2)[1:]) for line in job.out.splitlines()}), 1)  # secret and rendezvous
        self.assertEqual(job.err.splitlines(), [f"locus run: {line}" for line in (
            "node 1 failed with status 4; the others go on", "restart 1 of 3, of node 1 alone, begins in 0.5 s",
            "node 1 failed with status 5; the others go on", "restart 2 of 3, of node 1 alone, begins in 1.0 s")])
        self.assertEqual(job.left(HANG_S), 0)

    def test_node_that_never_comes_back_ends_nobody(self):
        """Restarts are counted over all: no more than one is left for the loss of rank 0."""
        job = self.start(f"cd {self.folder()} && {RUN} -n 2 --restarts 2 -- sh -c 'echo run $LOCUS_RANK; "
                         "test $LOCUS_RANK != 1 || exit 4; until test -e told; do sleep 0.1; done; exit 7'")
        job.await_text("node 1 failed with status 4; the others go on", 3, stream="err")
        self.assertEqual(job.err.count("of node 1 alone, begins in "), 2)
        job.await_text("node 1 is not started again: restart 2 of 2 was the last", stream="err")
        self.must(f"touch /proc/{job.pid}/cwd/told")
        self.assertEqual(job.wait(), 7, job)
        self.assertEqual([job.out.count(f"run {rank}\n") for rank in (0, 1)], [1, 3])
        self.assertEqual(job.left(HANG_S), 0)

    def test_stopped_node_is_ended_when_the_others_have_ended(self):
        job = self.start(f"cd {self.folder()} && {RUN} -n 3 -- sh -c 'test $LOCUS_RANK = 0 || "
                         "{ touch at$LOCUS_RANK; test $LOCUS_RANK = 2 || kill -STOP $$; }; until test -e at1 -a -e at2; do sleep 0.1; done'")
        self.assertEqual(job.wait(), 0, job)
        self.assertEqual(job.err.splitlines(), [f"locus run: {line}" for line in (
            "node 0 ended 10 s ago; node 1 runs on", "node 1 was stopped, and did not answer the others",
            "node 1 was ended by signal 15, Terminated (status 143)",
            "node 1 was lost, and the others have ended without it")])
        self.assertEqual(job.left(HANG_S), 0)

    def test_node_that_was_started_again_works_on_when_the_others_have_ended(self):
        job = self.start(f"cd {self.folder()} && {RUN} -n 2 --restarts 3 -- sh -c 'case $LOCUS_RANK$LOCUS_RESTART in 1) exit 4;; "
                         "11) touch again; until test -e go; do sleep 0.1; done; echo done;; *) until test -e again; do sleep 0.1; done; esac'")
        job.await_text("node 0 ended 10 s ago; node 1 runs on\n", stream="err")
        self.must(f"touch /proc/{job.pid}/cwd/go")
        self.assertEqual(job.wait(), 0, job)
        self.assertEqual(job.out, "done\n")
        self.assertEqual(len(job.err.splitlines()), 3, job)

    def test_node_that_comes_when_all_is_over_fails_after_its_time_for_joining(self):
        job = self.start(f"cd {self.folder()} && {RUN} -n 2 --restarts 3 -- sh -c 'case $LOCUS_RANK$LOCUS_RESTART in 1) exit 4;; "
                         f"11) touch again; exec {MEMBER};; esac; until test -e again; do sleep 0.1; done'", env={"LOCUS_JOIN_TIMEOUT": "2"})
        self.assertEqual(job.wait(), 0, job)
        self.assertEqual(job.err.splitlines()[-2:], [f"locus run: {line}" for line in (
            "node 1 failed with status 1", "node 1 was lost, and the others have ended without it")])
        self.assertEqual(job.left(HANG_S), 0)

    def test_node_that_ends_before_all_have_joined_is_not_waited_for(self):
        ended = self.run_command(f"{RUN} -n 3 -- sh -c 'test $LOCUS_RANK != 2 || exit 7; test $LOCUS_RANK != 0 || sleep 2; "
                                 f"exec {MEMBER}'", 7, env={"LOCUS_JOIN_TIMEOUT": f"{2 * HANG_S}"})
        self.contains(ended.err, "locus run: node 2 failed with status 7; the others go on\n",
                      "locus run: node 2 has ended before all had joined; ending the others\n")

    def test_loss_of_rank_0_starts_all_again(self):
        job = self.start(f"{RUN} -n 2 --restarts 2 -- sh -c 'echo run $LOCUS_RANK; "
                         "test $LOCUS_RANK != 0 || exit ${LOCUS_RESTART:-9}; sleep 60'")
        self.assertEqual(job.wait(), 2, job)
        self.assertEqual([job.out.count(f"run {rank}\n") for rank in (0, 1)], [3, 3])
        self.contains(job.err, "node 0 failed with status 9; ending the others", "restart 2 of 2, with 2 nodes")

    def test_node_that_is_to_be_started_again_is_not_when_all_are_ended(self):
        job = self.start(f"exec {RUN} -n 2 --restarts 9 -- sh -c 'test $LOCUS_RANK = 0 || exit 4; sleep 60'")
        job.await_text("restart 3 of 9, of node 1 alone", stream="err")
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM, job)
        self.assertNotIn("restart 4", job.err)
        self.assertEqual(job.left(HANG_S), 0)

    def test_is_refused_with_a_technique_that_cannot(self):
        self.refuses(f"{RUN} -n 2 -- {MEMBER} --technique static", 1, "survives is 1, and technique LOCUS_STATIC")
        self.refuses(f"LOCUS_SURVIVES=yes {LOCUS} run -n 1 -- {MEMBER}", 1, 'LOCUS_SURVIVES is "yes": must be 0 to 1')


class Newcomers(nodes.TestCase):
    def test_one_that_is_not_let_in_says_for_whom_it_waits(self):
        table, at = 'locus.Table("rows", 64, 4)', self.folder()
        job = self.start_nodes(3, table, "survives=True")
        job.do("w.pop().close(); nodes.pop().leave()")
        job.do(f"import sys; saved = pool.submit(w[0].checkpoint, {at!r}); again = pool.submit("
               f"lambda: locus.open([{table}], rank=2, size=3, rendezvous=sys.argv[2], survives=True))")
        job.await_text("locus: node 2 has waited 10 s to become a member of the running job: ", stream="err")
        job.do(f"w[1].checkpoint({at!r}); saved.result(); nodes.append(again.result())")
        job.do("w.append(nodes[2].worker()); met = pool.submit(w[2].meet)")
        job.await_text("locus: locus_meet has waited 10 s for ranks 0, 1 to call it, too\n", stream="err")
        job.do("list(pool.map(lambda worker: worker.meet(), w[:2])); met.result()")
        job.end()


class Training(support.TestCase):
    def lose(self, job, rank):
        [node] = [pid for pid in job.marked() if name_of(pid) == "locus-mf" and b"\0LOCUS_RANK=%d\0" % rank in read(pid, "environ")]
        os.kill(node, SIGKILL)
        job.await_text(f"locus: node {rank} (", 2, stream="err")

    def test_goes_on_and_who_looks_sees_it(self):
        at, port = self.folder(), support.free_port(3)
        job = self.start(f"exec {RUN} -n 3 -- {ENDLESS}",
                         env={"LOCUS_METRICS": f"127.0.0.1:{port}", "LOCUS_REPORT": f"{at}/run"})
        job.await_text("epoch ")
        self.lose(job, 2)
        epochs = job.out.count("epoch ")
        job.await_text("epoch ", epochs + 3)
        job.await_text("node 2 was ended by signal 9, Killed (status 137); the others go on", stream="err")
        [said] = [line for line in job.err.splitlines() if "node 0 goes on after " in line]
        self.assertRegex(said, r"locus: node 2 \(127.0.0.1:\d+\) .*; node 0 goes on after \d\.\d+ s, .* \d+ have the values of a "
                               r"replica, \d+ those of a save at most about [0-9.e-]+ s old, and \d+ are zeros")
        ended = self.run_command(f"{LOCUS} top --once --interval 0.1 127.0.0.1:{port}", 0)
        self.assertIn("\n2 of 3 nodes are members: 1 lost, 0 left, 0 joined\n", ended.out)
        shown = self.must(f"{LOCUS} top --json --interval 0.1 127.0.0.1:{port}").splitlines()
        self.assertEqual([(row["rank"], row["members"], row["lost_nodes"]) for row in map(json.loads, shown)], [(0, 2, 1), (1, 2, 1)])
        metrics, manual = self.must(f"curl -s http://127.0.0.1:{port}/metrics"), (support.ROOT / "docs/reference/metrics.md").read_text()
        self.contains(manual, *(f"`{name}`" for name in re.findall("# TYPE ([^ ]+)", metrics)))
        self.contains(metrics, "\nlocus_members 2\n",
                      '\nlocus_member_changes_total{change="lost"} 1\n', '\nlocus_lost_rows_total{from="save"} ')
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM, job)
        self.must(f"{REPORT} {at}/run --out {at}/page.html")
        page = Path(f"{at}/page.html").read_text()
        self.assertRegex(page, "<p>after [0-9.]+ [a-z]+: node 2 lost; the others went on</p>")
        self.assertGreater(page.count("<title>node 2 lost</title>"), 5)
        self.assertEqual(job.left(HANG_S), 0)
