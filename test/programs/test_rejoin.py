"""Nodes of a training are killed: the others divide all among them, and one that is started again trains with them."""
import os
import re
from pathlib import Path
from signal import SIGKILL, SIGTERM

import support
from support import HANG_S, IS_SANITIZED, LOCUS, PYTHON, made
from test_restart import name_of
from test_run import read

RUN = f"{LOCUS} run --survives --restarts 9"
OUTSIDER = """
import glob, json, os, time, locus
found = json.load(open(max(glob.glob("model/checkpoint-*/manifest.json"))))["tables"]
tables = [locus.Table(t["name"], t["rows"], t["length"], **({"optimizer": "adagrad", "rule": {"rate": .2}} if "optimizer" in t else {}))
          for t in found]
node = locus.open(tables, fingerprint=int(os.environ["PRINT"], 16))
print("opened", flush=True)
time.sleep(1000)
"""


class Nodes(support.TestCase):
    limit_s = 1200

    def setUp(self):
        self.at = self.folder()
        support.write_data(self.at)

    def lose(self, job, name, rank, signal=SIGKILL):
        [node] = [pid for pid in job.marked() if name_of(pid) in (name, f"locus-{name}")
                  and b"\0LOCUS_RANK=%d\0" % rank in read(pid, "environ")]
        os.kill(node, signal)

    def train(self, name, options, nodes=3):
        return self.start(f"cd {self.at} && exec {RUN} -n {nodes} --grace 1 -- {support.program(name)} {options}")


class Rejoining(Nodes):
    def loses_and_has_again(self, name, options, good, least):
        """Two of three, one after the other. It does not end by itself, and gets as good as if it had lost nobody."""
        job = self.train(name, f"{options} --epochs 1000000 --eval-every 1")
        job.await_text("epoch   1")
        for times, rank in enumerate((1, 2), 1):
            self.lose(job, name, rank)
            job.await_text("nodes     3 of 3 divide all after epoch ", times)
        begin = job.out.rfind("nodes ")
        support.wait_until(lambda: any(float(found) * (1 if least > 0 else -1) >= least for found in re.findall(
            rf"\n.*{good} +([0-9.]+)", job.out[begin:])) or job.process.poll() is not None, job)
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM, job)
        self.assertEqual(job.err.count("; the others go on\n"), 2, job)
        self.assertEqual(job.err.count(" has joined; node 0 goes on after "), 2, job)
        self.assertEqual(job.left(HANG_S), 0)

    def test_all_programs_that_can(self):
        data = {
            "kge": ("--data graph --dim 32 --batch 16 --negatives 20 --lr 0.2 --reg 0.001 --checkpoint model", "MRR", .8),
            "mf": (f"{made('mf', '300x100x8000', rank=3)} --rank 6", "RMSE", -.5),
            "ctr": (f"{made('ctr', '6x100x3000')} --dim 4 --hidden 8,4", "epoch.*log loss", -.5),
            "gnn": (f"{made('gnn', '400x12x4', same=.8)} --dim 8 --hidden 16", "test", .6)}
        for name, (options, good, least) in data.items():
            if name == "kge" or not IS_SANITIZED:
                with self.subTest(program=name):
                    self.loses_and_has_again(name, options, good, least)

    def test_without_another_one_the_others_do_its_share_from_the_next_epoch_on(self):
        for name, options in (("mf", f"{made('mf', '300x100x8000', rank=3)} --rank 6 --visit blocks --technique relocate"),
                              ("wv", "--data text --min-count 1 --dim 8")):
            with self.subTest(program=name):
                job = self.start(f"cd {self.at} && exec {LOCUS} run --survives -n 3 -- {support.program(name)} {options} "
                                 "--epochs 1000000 --json")
                job.await_text('"event":"epoch"')
                self.lose(job, name, 1)
                job.await_text('{"event":"nodes","nodes":2,"of":3,"epoch":')
                self.assertRegex(job.out, r'{"event":"nodes","nodes":2,"of":3,"epoch":\d+,"whole":[01]}\n')
                behind = job.out.split('{"event":"nodes"')[1].count('"event":"epoch"')
                job.await_text('"event":"epoch"', job.out.count('"event":"epoch"') + behind + 2)
                job.send(SIGTERM)
                self.assertEqual(job.wait(), 128 + SIGTERM, job)

    def test_one_that_is_told_to_leaves_and_the_others_go_on(self):
        programs = {"kge": "--data graph --dim 32 --batch 16 --negatives 20 --lr 0.2 --eval-every 1",
                    "wv": "--data text --min-count 1 --dim 8",
                    "mf": f"{made('mf', '300x100x8000', rank=3)} --rank 6 --visit blocks --technique relocate"}
        for name, options in programs.items():
            with self.subTest(program=name):
                job = self.start(f"cd {self.at} && exec {LOCUS} run --survives -n 3 -- {support.program(name)} {options} "
                                 "--epochs 1000000")
                job.await_text("epoch   1")
                self.lose(job, name, 2, SIGTERM)
                job.await_text("nodes     2 of 3 divide all after epoch ")
                support.wait_until(lambda: job.err.count(") has left; node ") == 2 and
                                   "node 2 has left, as SIGTERM told it to: " in job.err, job)
                begin = job.out.count("\nepoch ")
                support.wait_until(lambda: job.out.count("\nepoch ") > begin + 2 or job.process.poll() is not None, job)
                job.send(SIGTERM)
                self.assertEqual(job.wait(), 128 + SIGTERM, job)
                self.assertEqual(job.left(HANG_S), 0)

    def test_all_end_well_whether_it_comes_in_time_or_not(self):
        for epochs in (3, 150):
            with self.subTest(epochs=epochs):
                job = self.train("kge", f"--data graph --dim 32 --batch 16 --negatives 20 --lr 0.2 --epochs {epochs}")
                job.await_text("epoch   1")
                if "\ntest " not in job.out:
                    self.lose(job, "kge", 2)
                self.assertEqual(job.wait(), 0, job)
                self.assertIn("\ntest ", job.out)
                self.assertEqual(job.left(HANG_S), 0)

    def test_what_cannot_says_so_and_begins_anew(self):
        """A node of lda has topics that no other one knows."""
        job = self.start(f"cd {self.at} && exec {RUN} -n 2 --grace 1 -- {support.program('lda')} "
                         f"{made('lda', '60x90x40x5')} --topics 6 --epochs 1000000 --checkpoint model")
        job.await_text("checkpoint after epoch ")
        self.assertIn("locus-lda: the loss of a node ends this training", job.err)
        self.lose(job, "lda", 1)
        job.await_text("goes on after epoch ")
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM, job)
        self.assertIn("; restart ", job.out)
        self.assertEqual(job.left(HANG_S), 0)


class Outsiders(Nodes):
    """Processes that are nodes of a training, and never meet the others."""
    under_sanitizers = False

    def setUp(self):
        super().setUp()
        options = "--data graph --dim 32 --batch 16 --lr 0.2 --epochs 1000000 --checkpoint model --checkpoint-every 0.001s --resume"
        self.kge, self.env = f"exec {support.program('kge')} {options}", dict(support.with_library(), PRINT="1")
        (Path(self.at) / "outsider.py").write_text(OUTSIDER)
        job = self.start_with("none", 1)
        job.await_text("checkpoint after epoch")
        self.end(job)
        job = self.start_with("2*", 1)
        job.await_text("joining the cluster: rank 2 has ", stream="err")
        self.env["PRINT"] = re.search(" of fingerprint 0*1, rank 0 has ([0-9a-f]+):", job.err)[1]
        job.send(SIGTERM)
        job.wait()

    def start_with(self, outsiders, restarts):
        """These are none of the trainer: a pattern of the rank and LOCUS_RESTART."""
        return self.start(f"cd {self.at} && exec {LOCUS} run --survives --restarts {restarts} -n 3 --grace 1 -- sh -c '"
                          f"case $LOCUS_RANK$LOCUS_RESTART in {outsiders}) exec {PYTHON} outsider.py;; *) {self.kge};; esac'",
                          env=self.env)

    def end(self, job):
        job.send(SIGTERM)
        self.assertEqual(job.wait(), 128 + SIGTERM, job)
        self.assertEqual(job.left(HANG_S), 0)

    def test_newcomer_is_let_in_before_the_others_go_on_from_a_checkpoint(self):
        job = self.start_with("1*|2", 1)
        job.await_text("opened", 2)
        self.lose(job, "python3", 2)
        job.await_text(") has joined; node ", 3, stream="err")
        self.lose(job, "python3", 1)
        job.await_text("goes on after epoch ")
        job.await_text("nodes     2 of 3 divide all after epoch ")
        job.await_text("checkpoint after epoch ")
        job.await_text("locus run: node 1 is not started again: restart 1 of 1 was the last\n", stream="err")
        self.end(job)

    def test_newcomer_that_meets_nobody_keeps_no_checkpoint_waiting(self):
        job = self.start_with("21", 2)
        job.await_text("checkpoint after epoch ")
        self.lose(job, "kge", 2)
        why = "node 2 takes no part in locus_checkpoint: it has joined this job"
        job.await_text(f"locus-kge: writing a checkpoint is left out: {why}", stream="err")
        job.await_text("\nepoch ", job.out.count("\nepoch ") + 3)
        self.assertEqual(job.err.count(f"locus-kge: a checkpoint within the epoch is left out: {why}"), 1)
        self.lose(job, "python3", 2)
        job.await_text("nodes     3 of 3 divide all after epoch ")
        job.await_text("checkpoint after epoch ", job.out.count("checkpoint after epoch ") + 1)
        self.end(job)
