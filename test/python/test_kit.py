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

    def test_figures_that_no_run_has_are_left_out_and_those_of_one_alone_are_dashes(self):
        runs = {"a": [{"seconds": [2, 4], "rmse": [0.5]}, {"seconds": [3], "rmse": [0.7]}], "b": [{"seconds": [1], "sent": [8]}]}
        self.assertEqual(report.table_of_runs("mf", runs).strip().splitlines(), [
            "| run | seconds an epoch | test RMSE | MB an epoch, sent by all |", "|---|---|---|---|",
            "| a | 3.000 (2.000 to 4.000) | 0.6000 (0.5000 to 0.7000) | - |", "| b | 1.000 | - | 8.0 |"])

    def test_data_that_are_missing_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "here").touch()
            self.assertEqual(report.with_data("mf", "--data DATA/here --rank 3", folder), ["--data", f"{folder}/here", "--rank", "3"])
            with self.assertRaisesRegex(report.Missing, f"there is no {folder}/gone"):
                report.with_data("mf", "--data DATA/here --test DATA/gone", folder)

    def test_writes_a_page_and_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*CLUSTER, folder], capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads((Path(folder) / "cluster.json").read_text())
            by_socket = 3 if result["machine"]["sockets"] > 1 else 0
            self.assertEqual(len(result["cells"]), 30 + by_socket, result["left_out"])
            self.assertTrue(all(what.startswith("bench/") and "No such file" in what for what in result["left_out"]))
            page = (Path(folder) / "cluster.md").read_text()
            for what in ("## kge", "## wv", "## mf", "| adaptive, TCP | 2 x 1 |", "| relocate | 2 x 1 |", result["machine"]["kernel"]):
                self.assertIn(what, page)

    def test_what_does_not_fit_into_the_time_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*CLUSTER, folder, "--minutes", "0.01"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("- kge adaptive nodes=1 workers=1: no time is left", (Path(folder) / "cluster.md").read_text())
