"""`locus run --survives`: a node is killed, the others train on and end well, and all who look see that it was lost."""
import json
import os
from pathlib import Path
from signal import SIGKILL, SIGTERM

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
            self.assertIn("node 1 failed with status 1; the others go on", ended.err)

    def test_is_refused_with_a_technique_that_cannot(self):
        self.refuses(f"{RUN} -n 2 -- {MEMBER} --technique static", 1, "survives is 1, and technique LOCUS_STATIC")
        self.refuses(f"LOCUS_SURVIVES=yes {LOCUS} run -n 1 -- {MEMBER}", 1, 'LOCUS_SURVIVES is "yes": must be 0 to 1')


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
        self.contains(self.must(f"curl -s http://127.0.0.1:{port}/metrics"), "\nlocus_members 2\n",
                      '\nlocus_member_changes_total{change="lost"} 1\n', '\nlocus_lost_rows_total{from="save"} ')
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM, job)
        self.must(f"{REPORT} {at}/run --out {at}/page.html")
        page = Path(f"{at}/page.html").read_text()
        self.assertRegex(page, "<p>after [0-9.]+ seconds: node 2 lost; the others went on</p>")
        self.assertGreater(page.count("<title>node 2 lost</title>"), 5)
        self.assertEqual(job.left(HANG_S), 0)
