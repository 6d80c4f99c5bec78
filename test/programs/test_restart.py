"""`locus run --restarts`: when a node fails, all start again; a training goes on from its newest checkpoint, and ends
with the quality of one that lost nobody."""
import os
import re
import time
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM

import support
from support import HANG_S, IS_SANITIZED, LOCUS

RUN = f"{LOCUS} run"
KGE = support.program("kge")


class Programs(support.TestCase):
    def test_all_start_again_and_know_it(self):
        job = self.start(f"{RUN} -n 2 --restarts 3 -- sh -c 'echo $LOCUS_RANK: ${{LOCUS_RESTART:-none}} "
                         "${LOCUS_LOST:+lost}; test \"${LOCUS_RESTART:-0}\" -ge 2'")
        self.assertEqual(job.wait(), 0, job)
        self.assertEqual([job.out.count(f"{rank}: 2 lost\n") for rank in (0, 1)], [1, 1])
        self.contains(job.out, ": none", ": 1 lost")
        self.assertEqual(job.err.count("failed with status 1; ending the others"), 2)
        self.assertIn("restart 2 of 3, with 2 nodes", job.err)
        self.assertNotIn("restart 3", job.err)
        self.assertEqual(job.left(HANG_S), 0)

    def test_so_often_and_no_more(self):
        ended = self.run_command(f"{RUN} -n 1 --restarts 2 -- sh -c 'echo run; exit 7'", 7)
        self.assertEqual([ended.out, ended.err.count("failed with status 7")], ["run\n" * 3, 3])
        self.assertIn("node 0 is not started again: restart 2 of 2 was the last\n", ended.err)

    def test_pause_before_each_grows_and_a_signal_ends_it(self):
        """20 restarts were used up within a second."""
        began = time.monotonic()
        job = self.start(f"exec {RUN} -n 1 --restarts 1000 -- false")
        job.await_text("the next begins in 4 s", stream="err")
        self.assertGreater(time.monotonic() - began, 0.5 + 1 + 2)
        self.contains(job.err, "the next begins in 1 s", "the next begins in 2 s")
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM)
        self.assertNotIn("the next begins in 8 s", job.err)

    def test_what_would_fail_again_is_not_tried_again(self):
        self.assertEqual(self.run_command(f"{RUN} -n 1 --restarts 2 -- sh -c 'echo run; exit 2'", 2).out, "run\n")
        self.assertNotIn("restart", self.run_command(f"{RUN} -n 1 --restarts 2 -- no-such-program", 127).err)

    def ends_without_restart(self, job, status):
        self.assertEqual(job.wait(), status, job)
        self.assertNotIn("restart", job.err)
        self.assertEqual(job.left(HANG_S), 0)

    def test_who_is_asked_to_end_is_not_started_again(self):
        job = self.start(f"exec {RUN} -n 2 --restarts 2 -- sh -c 'echo run; sleep 60'")
        job.await_text("run\n", 2)
        job.send(SIGTERM)
        self.ends_without_restart(job, 128 + SIGTERM)
        # Likewise while the nodes are ended: one of them takes its time.
        job = self.start(f"cd {self.folder()} && exec {RUN} -n 2 --restarts 2 --grace 30 -- sh -c "
                         "'if test $LOCUS_RANK = 1; then until test -e trapped; do sleep 0.1; done; exit 7; fi; "
                         "trap \"echo asked\" TERM; touch trapped; while :; do sleep 0.1; done'")
        job.await_text("asked")
        job.send(SIGINT)
        self.ends_without_restart(job, 7)

    def test_options_that_make_no_sense_are_refused(self):
        self.refuses(f"{RUN} -n 1 --restarts 0 -- true", 2, "--restarts takes a whole number from 1 to 1000")


class Training(support.TestCase):
    training = f"{KGE} --data graph --dim 32 --batch 16 --negatives 20 --lr 0.2 --reg 0.001 --checkpoint model"

    def setUp(self):
        self.at = self.folder()
        support.write_data(self.at)

    def lose_a_node(self, job, number):
        """Behind a checkpoint of this run."""
        begin = f"; restart {number} repeats " if number else ""
        job.await_text(begin)
        support.wait_until(lambda: "checkpoint after" in job.out[job.out.find(begin):], job)
        nodes = [pid for pid in sorted(job.marked()) if name_of(pid) == "locus-kge"]
        os.kill(nodes[(1, 0, 2)[number]], SIGKILL)

    def test_that_loses_nodes_again_and_again_ends_as_one_that_loses_none(self):
        losses, epochs, least = (1, 25, .2) if IS_SANITIZED else (3, 240, .8)
        # It does not end by itself, so that there always is a node to lose.
        job = self.start(f"cd {self.at} && exec {RUN} -n 3 --restarts 5 --grace 1 -- {self.training} --epochs 1000000")
        for number in range(losses):
            self.lose_a_node(job, number)
        job.await_text(f"; restart {losses} repeats ")
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM, job)
        self.assertEqual(job.err.count("; ending the others"), losses)
        self.assertEqual(job.out.count("goes on after epoch "), losses)
        self.assertEqual(job.left(HANG_S), 0)
        out = self.must(f"cd {self.at} && {RUN} -n 3 -- {self.training} --checkpoint-every 1000 --epochs {epochs} "
                        "--resume")
        self.assertGreater(float(re.search(r"\ntest +MRR ([0-9.]+)", out)[1]), least)

    def test_damaged_checkpoint_is_passed_over(self):
        self.must(f"cd {self.at} && {self.training} --epochs 3 && truncate -s -1 model/checkpoint-000003/0-*")
        ended = self.run_command(f"cd {self.at} && {RUN} -n 2 -- {self.training} --epochs 4", 0,
                                 env={"LOCUS_RESTART": "1"})
        self.contains(ended.err, "checkpoint-000003", "going on from the one before, model/checkpoint-000002\n")
        self.assertEqual(ended.err.count("going on from"), 1)
        self.assertIn("goes on after epoch 2 (", ended.out)

    def test_without_checkpoint_to_go_on_from_is_not_started_again(self):
        """Others' checkpoints, and damaged ones, are the same the next time."""
        self.must(f"cd {self.at} && {self.training} --epochs 3")
        all_damaged = "; all older ones are damaged, too; to begin again gi"
        for damage, options, part, passed_over in (
                ("true", "--seed 7", "is of --seed 1, not 7", 0),
                ("truncate -s -1 model/checkpoint-*/manifest.json", "", all_damaged, 2),
                ("truncate -s -1 model/checkpoint-*/0-*", "", all_damaged, 2)):
            with self.subTest(damage=damage):
                ended = self.run_command(f"cd {self.at} && {damage} && {RUN} -n 2 --restarts 3 -- {self.training} "
                                         f"--resume {options}", 2)
                self.assertIn(part, ended.err)
                self.assertEqual(ended.err.count("going on from the one before"), passed_over)
                self.assertNotIn("restart", ended.err)
                self.assertNotIn("epoch", ended.out)


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
