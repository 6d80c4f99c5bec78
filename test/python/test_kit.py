"""lab/report.py: what it computes of runs, and that `cluster` runs."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT

sys.path.append(str(ROOT / "lab"))
import report  # noqa: E402

CLUSTER = [sys.executable, str(ROOT / "lab" / "report.py"), "cluster", "--quick", "--out"]


class Kit(unittest.TestCase):
    def test_effective_speedup_is_that_of_the_time_to_a_loss(self):
        base = {"label": "adaptive", "nodes": 1, "workers": 1, "seconds": [2, 2, 2, 2, 2, 2], "loss": [10, 8, 6, 4, 3, 2],
                "remote_share": 0.0, "staleness_s": None}
        other = {**base, "nodes": 4, "seconds": [1] * 6, "loss": [10, 9, 7, 5, 3, 2], "remote_share": 0.015}
        self.assertEqual(report.reached(report.curve_of(base), -4), 8)
        self.assertEqual(report.reached(report.curve_of(other), -4), 4.5)  # half of the fifth epoch
        self.assertIsNone(report.reached(report.curve_of(other), -1))
        self.assertEqual(report.row(other, base), ("adaptive", "4 x 1", "1.000", "2.00", "1.78", "2.0000", "1.50", "-"))

    def test_counts_of_modelled_machines_are_those_of_the_whole_run(self):
        with tempfile.TemporaryDirectory() as folder:
            stats = {f"{how}_{where}": 1 for how in ("pulled", "pushed") for where in ("local", "replica", "remote")}
            ones = dict.fromkeys(("relocated_in", "replicas_created", "owned_now", "bytes_sent", "seconds", "computed_s", "starved_s",
                                  "pull_s", "sample_s", "update_s", "settle_s", "busiest_shard_s", "wire_bytes", "epoch"), 1)
            whole = {"whole_pulled_remote": 5, "whole_replicas_created": 63}
            events = ({"event": "epoch", **ones}, {"event": "stats", **ones, **stats, **whole}, {"event": "machine", **ones})
            (Path(folder) / "mf-nups.json").write_text("\n".join(map(json.dumps, events)))
            m = report.Modelled(report.SimpleNamespace(papers="", data="", results=folder), report.cells_of_techniques())
            self.assertIn("| a | 9 | 60.00 % |", m.compare("", ("hot keys", report.ELSEWHERE), [("a", "mf-nups")]))

    def test_writes_a_page_and_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*CLUSTER, folder], capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads((Path(folder) / "cluster.json").read_text())
            self.assertEqual(len(result["cells"]), 30 + 3 * (result["machine"]["sockets"] > 1), result["left_out"])
            self.assertTrue(all(what.startswith("bench/") and "No such file" in what for what in result["left_out"]))
            page = (Path(folder) / "cluster.md").read_text()
            for what in ("## kge", "## wv", "## mf", "| adaptive, TCP | 2 x 1 |", "| relocate | 2 x 1 |", result["machine"]["kernel"]):
                self.assertIn(what, page)

    def test_what_does_not_fit_into_the_time_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*CLUSTER, folder, "--minutes", "0.01"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("- kge adaptive nodes=1 workers=1: no time is left", (Path(folder) / "cluster.md").read_text())
