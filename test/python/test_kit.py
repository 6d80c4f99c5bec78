"""lab/cluster.py: what it computes, and that it runs."""
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT

sys.path.append(str(ROOT / "lab"))

KIT = ROOT / "lab" / "cluster.py"


def module():
    spec = importlib.util.spec_from_file_location("cluster_kit", KIT)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Kit(unittest.TestCase):
    def test_effective_speedup_is_that_of_the_time_to_a_loss(self):
        kit = module()
        base = {"label": "adaptive", "nodes": 1, "workers": 1, "seconds": [2, 2, 2, 2, 2, 2], "loss": [10, 8, 6, 4, 3, 2],
                "remote_share": 0.0, "staleness_s": None}
        other = {**base, "nodes": 4, "seconds": [1] * 6, "loss": [10, 9, 7, 5, 3, 2], "remote_share": 0.015}
        self.assertEqual(kit.time_to(base, 4), 8)
        self.assertEqual(kit.time_to(other, 4), 4.5)  # half of the fifth epoch
        self.assertIsNone(kit.time_to(other, 1))
        self.assertEqual(kit.row(other, base), "| adaptive | 4 x 1 | 1.000 | 2.00 | 1.78 | 2.0000 | 1.50 | - |")

    def test_writes_a_page_and_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, str(KIT), "--quick", "--out", folder], capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads((Path(folder) / "cluster.json").read_text())
            by_socket = 3 if result["machine"]["sockets"] > 1 else 0
            self.assertEqual(len(result["cells"]), 30 + by_socket, result["left_out"])
            self.assertTrue(all(what.startswith("bench/") and "not built" in what for what in result["left_out"]))
            page = (Path(folder) / "cluster.md").read_text()
            for what in ("## kge", "## wv", "## mf", "| adaptive, TCP | 2 x 1 |", "| relocate | 2 x 1 |", result["machine"]["kernel"]):
                self.assertIn(what, page)

    def test_what_does_not_fit_into_the_time_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, str(KIT), "--quick", "--out", folder, "--minutes", "0.01"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("- kge adaptive nodes=1 workers=1: no time is left", (Path(folder) / "cluster.md").read_text())
