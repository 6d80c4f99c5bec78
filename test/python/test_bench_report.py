"""What bench/report.py makes of a benchmark's lines: ratios within a repetition, and verdicts."""
import json
import subprocess
import sys
import unittest

from support import ROOT


def report(lines):
    text = "".join(json.dumps({"benchmark": "two_nodes", **line}) + "\n" for line in lines)
    return subprocess.run([sys.executable, str(ROOT / "bench/report.py")], input=text, capture_output=True, text=True,
                          check=True, timeout=60).stdout


def cell(name, step, **figures):
    return {"cell": f"{name} length=128 keys=1", "step": step, "length": 128, "row_bytes": 512, "keys_per_call": 1, "calls": 9000,
            "node0_relocated_in": 0, "node1_relocated_in": 0, **figures}


class BenchReport(unittest.TestCase):
    def lines(self, quick):
        # A noisy second repetition slows both sides; the better of two floors counts in each.
        return [{"machine": "M", "quick": quick, "repetitions": 3},
                cell("pingpong spinning", "pingpong spinning", p50_ns=[1000, 9000, 1500]),
                cell("pingpong spinning pinned", "pingpong spinning pinned", p50_ns=[2000, 8000, 1000]),
                cell("pull flight=1", "pull flight=1", p50_ns=[2900, 25600, 2800], p99_ns=[7000, 90000, 5900],
                     p999_ns=[9000, 90000, 9000], shortest_ns=900, rows_per_second=[1000, 1000, 1000], node0_cpu_ns=18000)]

    def line_of(self, text, begin):
        return next(line for line in text.splitlines() if line.startswith(begin)).split()

    def test_ratios_are_taken_within_a_repetition(self):
        line = self.line_of(report(self.lines(0)), "pull flight=1 length=128 keys=1  ")
        self.assertEqual(line[4:7], ["0.9", "2.9", "7.0"])  # us: the shortest, and medians
        self.assertIn("2.90x", line)  # of 2.9, 3.2 and 2.8

    def test_aims_are_judged_but_not_in_a_quick_run(self):
        text = report(self.lines(0))
        self.assertEqual(self.line_of(text, "pull flight=1 length=128 keys=1, p50")[-1], "met")  # 2.9 of 3
        self.assertEqual(self.line_of(text, "pull flight=1 length=128 keys=1, p99")[-1], "met")  # the best: 5.9 of 6
        worse = self.lines(0)
        worse[3]["p50_ns"] = [3100, 25600, 3200]
        self.assertEqual(self.line_of(report(worse), "pull flight=1 length=128 keys=1, p50")[-2:], ["not", "met"])
        self.assertEqual(self.line_of(report(self.lines(1)), "pull flight=1 length=128 keys=1, p50")[-1], "quick")
