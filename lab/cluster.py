#!/usr/bin/python3
"""What a host with many cores, or several hosts, do with locus: one page and one JSON file, in twenty minutes.

    lab/cluster.py                    this host
    lab/cluster.py --brief            the cells that matter most, first: two to nine minutes
    salloc -N 4 lab/cluster.py --nodes 2 --nodes 4 --launch 'srun -n {nodes} --ntasks-per-node=1'

Programs train on data that is made up here, in build/made, and a text, which all hosts must see. Raw speedup is that of an
epoch's time; effective speedup that of the time to the loss that one worker has after four epochs. Run it on an idle
machine, after `make` and `make benches`. What does not fit into the time is named and left out."""
import argparse
import datetime
import json
import os
import platform
import random
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import made

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "gcc"
TARGET_EPOCH = 4
SIZES = {  # of the task, full and quick; what takes longest last
    "mf": (["--reg", "0.02", "--rank", "100"], ["--reg", "0.02", "--rank", "8"]),
    "kge": (["--dim", "100", "--batch", "1", "--negatives", "1"], ["--dim", "8", "--batch", "1", "--negatives", "1"]),
    "wv": (["--dim", "100"], ["--dim", "8", "--min-count", "1"]),
}
MADE = {"mf": ("100000x10000x5000000", "500x100x5000"), "kge": ("15000x200x250000", "300x5x2000")}
WORDS = (2_000_000, 5_000)
# Nanoseconds that an example takes the papers' programs longer than ours (lab/papers.md); wv counts pairs.
PAPERS_STEP = {"kge": 49_600, "wv": 3_700, "mf": 1_530}
# Of nodes: AdaPM and NuPS train so, and README's figures are of these.
AMONG_NODES = {"kge": ["--sampling", "non-conform"], "wv": ["--sampling", "bounded"], "mf": []}


def machine():
    def first(path, key):
        try:
            with open(path, encoding="utf-8") as f:
                return next((line.split(":", 1)[1].strip() for line in f if line.startswith(key)), "")
        except OSError:
            return ""

    def said(*command):
        try:
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
        except OSError:
            return ""
    return {"processor": first("/proc/cpuinfo", "model name"), "processors": len(os.sched_getaffinity(0)),
            "sockets": len(set(said("lscpu", "-p=SOCKET").split("\n")[4:])) or 1, "memory": first("/proc/meminfo", "MemTotal"),
            "kernel": platform.release(), "commit": said("git", "describe", "--always", "--dirty"),
            "load": os.getloadavg()[0], "date": datetime.date.today().isoformat()}


def write_text(path, words):
    """Zipf's law, with topics, so that there is something to learn."""
    draw = random.Random(1)
    weights = [1 / (i + 1) for i in range(2000)]
    with open(path, "w", encoding="ascii") as f:
        for _ in range(words // 20):
            topic = draw.randrange(50)
            f.write(" ".join(f"t{topic}w{w}" if w % 2 else f"w{w}" for w in draw.choices(range(2000), weights, k=20)) + "\n")


class Kit:
    def __init__(self, options):
        self.options = options
        self.end_s = time.monotonic() + 60 * options.minutes
        self.out = options.out
        self.result = {"machine": machine(), "cells": [], "left_out": []}

    def command(self, nodes):
        if nodes == 0:
            return []
        if self.options.launch:
            return shlex.split(self.options.launch.format(nodes=nodes))
        return [str(BUILD / "bin" / "locus"), "run", "-n", str(nodes), "--"]

    def run(self, name, command, environment=None):
        left_s = self.end_s - time.monotonic()
        if left_s < 5:
            self.result["left_out"].append(f"{name}: no time is left")
            return None
        print(f"{left_s / 60:5.1f} min left  {name}", file=sys.stderr, flush=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=left_s, check=False,
                                  env={**os.environ, **(environment or {})})
        except subprocess.TimeoutExpired:
            self.result["left_out"].append(f"{name}: not done when the time was over")
            return None
        except OSError as error:
            self.result["left_out"].append(f"{name}: {error}")
            return None
        if done.returncode:
            said = done.stderr.strip().split("\n")[-1]
            self.result["left_out"].append(f"{name}: status {done.returncode}: {said}")
            return None
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def train(self, program, nodes, workers, more=(), environment=None, label="adaptive"):
        """nodes 0: plain arrays."""
        data = ["--data", str(self.out / "text")] if program == "wv" else \
            made.options(program, MADE[program][self.options.quick]).split()
        size = [*SIZES[program][self.options.quick], *data]
        among = AMONG_NODES[program] if nodes > 1 else []
        epochs = TARGET_EPOCH + 2
        lines = self.run(f"{program} {label} nodes={nodes} workers={workers}",
                         [*self.command(nodes), str(BUILD / "bin" / f"locus-{program}"), *size, "--workers", str(workers),
                          "--epochs", str(epochs), "--json", *among, *more, *([] if nodes else ["--baseline"])], environment)
        if lines is None:
            return
        passed = [line for line in lines if line["event"] == "epoch"]
        stats = next((line for line in lines if line["event"] == "stats"), {})
        keys = [sum(stats.get(f"{what}_{where}", 0) for what in ("pulled", "pushed")) for where in ("local", "replica", "remote")]
        self.result["cells"].append({
            "program": program, "label": label, "nodes": nodes, "workers": workers,
            "seconds": [line["seconds"] for line in passed], "loss": [line["loss"] for line in passed],
            "remote_share": keys[2] / sum(keys) if sum(keys) else None, "staleness_s": stats.get("replica_staleness_mean_s")})

    def bench(self, name, *arguments):
        program = BUILD / "bench" / name
        if not program.exists():
            self.result["left_out"].append(f"bench/{name}: not built, make benches")
            return
        lines = self.run(f"bench/{name} {' '.join(arguments)}", [str(program), *arguments, *(["--quick"] if self.options.quick else [])])
        if lines:
            self.result.setdefault("bench", {}).setdefault(name, []).extend(lines)

    def hot_rows(self, threads):
        """Pushes of Zipf-distributed keys, and the racing array of the same run."""
        repetitions = () if self.options.quick else ("--repetitions", "1")
        self.bench("local_access", "--only", "push,length=16,keys=64,zipf-1.1", "--threads", str(threads), *repetitions)

    def measure_brief(self):
        """Each node has a shard, so that four of one worker need eight processors."""
        cores = self.result["machine"]["processors"]
        most = 2 if self.options.quick else max(2, cores - cores // 8)
        write_text(self.out / "text", WORDS[self.options.quick])
        for n in sorted({1, 2, 4, 8, most}):
            if n <= most:
                self.hot_rows(n)
        for program in SIZES:
            for n in (1, most):
                self.train(program, 1, n)
            for n in self.options.nodes or [2 if self.options.quick else 4]:
                self.train(program, n, 1)
        for program in SIZES:
            self.train(program, 0, most, label="plain arrays")

    def measure(self):
        cores = self.result["machine"]["processors"]
        counts = [n for n in (1, 2, 4, 8, 14, 16, 30, 32, 62, 64, 128) if n <= max(cores, 2)]
        nodes = [n for n in (2, 4, 8, 16) if 2 * n <= max(cores, 4)] if not self.options.nodes else self.options.nodes
        if self.options.quick:
            counts, nodes = counts[:2], [2]
        write_text(self.out / "text", WORDS[self.options.quick])  # one that is there may be of --quick
        for program in SIZES:
            for n in counts:
                self.train(program, 0, n, label="plain arrays")
                self.train(program, 1, n)
        for program in SIZES:
            for n in nodes:
                self.train(program, n, 1)
            self.train(program, nodes[-1], 1, ["--technique", "static"], label="static")
            if not self.options.launch:
                self.train(program, nodes[-1], 1, environment={"LOCUS_CARRIER": "tcp"}, label="adaptive, TCP")
            sockets = self.result["machine"]["sockets"]
            if sockets > 1:  # as HogWild++ has it
                self.train(program, sockets, max(1, cores // sockets - 1), label="a node a socket")
        for n in counts:
            self.hot_rows(n)
        repetitions = () if self.options.quick else ("--repetitions", "1")
        self.bench("two_nodes", "--only", "length=128", *repetitions)
        self.bench("steps", *repetitions)
        for program in SIZES:
            for n in (1, nodes[-1]):
                self.train(program, n, 1, environment={"LOCUS_STEP_TIME": str(PAPERS_STEP[program])}, label="step of the papers")
        for technique in ("relocate",) if self.options.quick else ("relocate", "replicate", "full"):
            for program in SIZES:
                self.train(program, nodes[-1], 1, ["--technique", technique], label=technique)

    # ---- the page ----

    def page(self):
        m = self.result["machine"]
        lines = [f"# locus on {m['processors']} processors", "",
                 f"{m['processor']}, {m['sockets']} socket(s), {m['memory']}, Linux {m['kernel']}; commit {m['commit']}, {m['date']}; "
                 f"load before {m['load']:.2f}. Seconds are medians of epochs 2 to {TARGET_EPOCH + 2}; effective: by the time to the "
                 f"loss of one worker after {TARGET_EPOCH} epochs.", ""]
        if self.options.quick:
            lines += ["**Quick: it runs, and says nothing of how fast.**", ""]
        for program in SIZES:
            cells = [c for c in self.result["cells"] if c["program"] == program]
            bases = [c for c in cells if c["nodes"] == 1 and c["workers"] == 1]
            lines += [f"## {program}", "", f"`locus-{program} {' '.join(SIZES[program][self.options.quick])}`, {MADE.get(program, WORDS)[self.options.quick]}", "",
                      "| | nodes x workers | s an epoch | raw speedup | effective | loss | remote % | age of replicas, ms |",
                      "|---|---|---|---|---|---|---|---|"]
            for c in cells:  # of a slow step: that on one node
                same = [b for b in bases if b["label"] == c["label"]]
                lines.append(row(c, (same or bases or [None])[0]))
            lines.append("")
        lines += ["## Beside these", "",
                  "AdaPM (Figure 6, Table 2): near-linear raw speedup, 6.5 to 7.0 times one node's speed to 90 % of its best quality on "
                  "8 nodes of 32 workers and 100 Gbit/s, less than 0.0001 % remote. A step of its programs takes 17 to 60 times as long "
                  "as one of ours (lab/papers.md), so that the network weighs as much less.", ""]
        if "bench" in self.result:
            lines += ["## Accesses", "", "```", self.tables(), "```", ""]
        if self.result["left_out"]:
            lines += ["## Left out", "", *(f"- {what}" for what in self.result["left_out"]), ""]
        return "\n".join(lines)

    def tables(self):
        text = "\n".join(json.dumps(line) for part in self.result["bench"].values() for line in part)
        return subprocess.run([sys.executable, str(ROOT / "bench" / "report.py")], input=text, capture_output=True, text=True,
                              check=False).stdout.strip()


def seconds_of(cell):
    return statistics.median(cell["seconds"][1:] or cell["seconds"])


def time_to(cell, loss):
    """Until that loss, between two epochs by a straight line."""
    before_s, before = 0.0, None
    for seconds, now in zip(cell["seconds"], cell["loss"]):
        if now <= loss:
            share = 1 if before is None or before == now else (before - loss) / (before - now)
            return before_s + share * seconds
        before_s, before = before_s + seconds, now
    return None


def row(cell, base):
    what = "plain arrays" if cell["nodes"] == 0 else cell["label"]
    raw = effective = None
    if base:
        raw = seconds_of(base) / seconds_of(cell)
        target = base["loss"][TARGET_EPOCH - 1]
        reached = time_to(cell, target)
        effective = time_to(base, target) / reached if reached else None

    def text(value, digits=2, scale=1):
        return "-" if value is None else f"{scale * value:.{digits}f}"
    return (f"| {what} | {max(cell['nodes'], 1)} x {cell['workers']} | {text(seconds_of(cell), 3)} | {text(raw)} | {text(effective)} | "
            f"{text(cell['loss'][-1], 4)} | {text(cell['remote_share'], 2, 100)} | {text(cell['staleness_s'], 2, 1000)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launch", metavar="COMMAND", help="what starts {nodes} processes of the program that follows it")
    parser.add_argument("--nodes", type=int, action="append", metavar="N", help="how many nodes, several times (default: by the processors)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "cluster", metavar="FOLDER", help="default build/cluster")
    parser.add_argument("--minutes", type=float, default=20, help="what is not done then is left out (default 20)")
    parser.add_argument("--brief", action="store_true", help="only hot rows, and 1 and most workers, and 4 nodes of one")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    options = parser.parse_args()
    if not (BUILD / "bin" / "locus").exists():
        sys.exit(f"{Path(__file__).name}: {BUILD / 'bin' / 'locus'} is not there: run make first")
    options.out.mkdir(parents=True, exist_ok=True)
    kit = Kit(options)
    try:
        (kit.measure_brief if options.brief else kit.measure)()
    except KeyboardInterrupt:
        kit.result["left_out"].append("what was to come: interrupted")
    (options.out / "cluster.json").write_text(json.dumps(kit.result, indent=1) + "\n", encoding="utf-8")
    (options.out / "cluster.md").write_text(kit.page(), encoding="utf-8")
    print(f"{options.out / 'cluster.md'} and cluster.json are written", file=sys.stderr)
    sys.exit(0 if kit.result["cells"] else 1)


if __name__ == "__main__":
    main()
