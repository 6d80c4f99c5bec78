#!/usr/bin/python3
"""Measures again what the documents of lab/ say, a command for each kind of figures.

    lab/report.py papers PAPERS DATA RESULTS [CELL...]        lab/papers.md, ctr.md, gnn.md: tables and drawings
    lab/report.py techniques PAPERS DATA RESULTS [CELL...]    prints the tables of lab/techniques.md: NuPS' Figures 6, 8 and 11,
                                                              Table 3 and Section 5.7, AdaPM's Section 5.3
    lab/report.py results PROGRAMS DATA OUT [SECTION...]      the tables of lab/kge.md, wv.md, mf.md, ctr.md and gnn.md
    lab/report.py cluster                                     this host, or several: build/cluster/cluster.md
    lab/report.py gain > docs/start/gain.svg                  README's figure, from its table "What it brings"
    lab/report.py quick PAPERS                                is lab/papers repeatable?

A command's --help says what it needs. bench/report.py has what benchmarks measure."""
import argparse
import datetime
import itertools
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import made

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "gcc"
TECHNIQUES = ("adaptive", "full", "replicate", "relocate", "static")
LEVELS = ("conform", "bounded", "long-term", "non-conform")


def table(headings, rows):
    """Markdown; nothing where there are no rows."""
    if not rows:
        return ""
    lines = ["|" + "|".join(f" {h} " if h else " " for h in headings) + "|", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n\n"


def events_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def whole(stats):
    """With first values and evaluations, which the tables have always counted."""
    return {**stats, **{name[len("whole_"):]: count for name, count in stats.items() if name.startswith("whole_")}}


def accesses_of(stats):
    return {where: stats["pulled_" + where] + stats["pushed_" + where] for where in ("local", "replica", "remote")}


class Missing(Exception):
    pass


def with_data(program, options, folder=None):
    """made:SIZES becomes data of these sizes; what is named in DATA has to be there."""
    options = re.sub(r"made:(\S+)", lambda found: made.options(program, found[1]), options).replace("DATA", str(folder))
    missing = [word for word in options.split() if word.startswith(f"{folder}/") and not os.path.exists(word)]
    if missing:
        raise Missing(f"there is no {missing[0]}")
    return options.split()


def run_to(path, seconds, command):
    """Its output becomes path.json when it is whole; what it says beside, path.log. Returns why it failed, or nothing."""
    with open(path + ".new", "w", encoding="utf-8") as to, open(path + ".log", "w", encoding="utf-8") as log:
        status = subprocess.run(["timeout", "--kill-after=10", str(seconds), *command], stdin=subprocess.DEVNULL, stdout=to,
                                stderr=log, check=False).returncode
    if status == 0:
        os.rename(path + ".new", path + ".json")
        return ""
    said = Path(path + ".log").read_text(encoding="utf-8").strip()
    return "took too long" if status in (124, 137) else said.split("\n")[-1] or f"status {status}"


# ---- papers, techniques: the cells ----

# Negatives of kge and wv are drawn from what is at the node (AdaPM, Appendix C: "local sampling"; "independent sampling" with
# static partitioning). One fact a step and 6 + 6 negatives, as AdaPM's own program has it on this graph.
LOCAL = "--sampling non-conform"
KGE = "--data DATA/fb15k-237 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --eval-every 1 --epochs "
MF = "made:20000x2000x1000000 --reg 0.02 --rank 100 --adagrad coordinate --eval-every 1 --epochs "
WV = "--data DATA/text.txt --subsample 0.001 --epochs "
OPTIONS = {
    "kge": f"{KGE}3 {LOCAL}", "kge-ahead": f"{KGE}1 {LOCAL}", "kge-ten": f"{KGE}10 {LOCAL}",
    "kge-large": "made:100000x50x1000000 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0.01 --init 0.1 "
                 f"--eval-every 1 --epochs 4 {LOCAL}",
    "mf": MF + "6", "mf-ahead": MF + "1 --batch 1",
    "mf-large": "made:100000x10000x10000000 --reg 0.02 --rank 100 --eval-every 1 --epochs 5",
    "wv": f"{WV}2 {LOCAL}", "wv-ahead": f"{WV}1 --batch 8 {LOCAL}",
    "wv-large": f"--data DATA/novels.txt --subsample 0.001 --epochs 2 {LOCAL}",
    "ctr-large": "made:26x100000x4000000 --hold-back 0.02 --validate 0 --epochs 1 --lr 0.02 --reg 0",
    "gnn-large": "made:100000x16x32 --train 0.9 --validate 0.05 --eval-every 1 --epochs 2",
    "kge-one": KGE + "1", "mf-one": MF + "3", "wv-one": WV + "1",  # of techniques.md
}
# A step's time, and a batch's to prepare. `their`: what AdaPM's programs take on the machine where ours were measured, by the
# seconds of an epoch; of ctr and gnn, which were PyTorch's there, what PyTorch takes for our model (lab/python/tasks.py).
# `our`: our programs' --baseline there.
STEPS = {"their": {"ctr": (28000, 1000), "gnn": (75000, 6000), "kge": (49600, 2000), "mf": (1530, 60), "wv": (3700, 100)},
         "our": {"ctr": (1000, 1000), "gnn": (10000, 6000), "kge": (840, 150), "mf": (88, 20), "wv": (220, 40)}}
MACHINES = {"nups": SimpleNamespace(shards=4, gb_per_s=12.5), "lapse": SimpleNamespace(shards=2, gb_per_s=1.25)}
# AdaPM, Section 5.8: signals so many clocks ahead, with our timing of action and without. A clock is a fact, a cell, or
# eight words in the middle.
OFFSETS, SEEDS, THREE = (1, 4, 16, 64, 256, 1000, 4000), (1, 2, 3), ("kge", "mf", "wv")
# NuPS' threshold, and the number of keys that it chooses, times these, from the lowest threshold up to the first at which no key
# is hot: all above are the same to the byte. RATES: what NuPS has in a second, in a thousandth of one, for epochs are as much
# shorter.
TIMES = ("1/64", "1/16", "1/4", "1", "4", "16", "64", "256")
CHOSEN, BEST = {"kge": 18, "wv": 22, "mf": 9}, {"wv": 66, "kge": 1152}
RATES = (200, 1000, 5000, 25000, 125000)
NUPS = "--technique nups --hot"


class Cells(dict):
    """By name: of each program, number of nodes and value the same."""

    def add(self, programs, name, nodes, more="", values=("",), kind="", before="", machine="nups", steps="their", changes="",
            workers=8):
        for p, n, v in itertools.product(programs, nodes, values):
            self[f"{p}-{name.format(n=n, v=v)}"] = SimpleNamespace(
                kind=p + kind, nodes=n, more=more.format(v=v), before=before.format(v=v), machine=machine, steps=steps,
                changes=changes.format(v=v), workers=workers)


def cells_of_papers():
    cells, large = Cells(), ("ctr-large", "gnn-large")
    cells.add((*THREE, *large), "adaptive-{n}", (1, 2, 4, 8))
    cells.add(("kge-large", "mf-large", "wv-large"), "adaptive-{n}", (1, 8))
    cells.add(("kge", "mf", "mf-large", *large), "adaptive-{n}", (16,))
    cells.add(("wv", "wv-large"), "adaptive-{n}", (16,), "--lr 0.0125")
    cells.add((*THREE, *large), "{v}-8", (8,), "--technique {v}", ("full", "replicate"))
    cells.add(("mf-large",), "replicate-8", (8,), "--technique replicate")
    cells.add(THREE, "relocate-8", (8,), "--technique relocate")
    cells.add(("kge", "wv"), "{v}-8", (8,), "--sampling {v}", LEVELS[:3])
    cells.add(("wv-large",), "conform-8", (8,), "--sampling conform")
    cells.add(THREE, "shared-8", (8,), changes="own_core=0")
    cells.add(THREE, "cores-1", (1,), steps="our", workers=2)
    cells.add(THREE, "cores-4", (4,), steps="our", workers=1)
    cells.add(THREE, "immediate-8", (8,), before="--immediate")
    for p in THREE:
        seldom, conform = "--eval-every 100" * (p != "wv"), " --sampling conform" * (p != "mf")
        cells.add([p], "static-8", (8,), "--technique static" + conform)
        cells.add([p], "our-{n}", (1, 8), seldom, steps="our")
        cells.add([p], "lapse-static-{n}", (2, 4, 8) if p == "mf" else (8,), "--technique static" + conform, machine="lapse")
        cells.add([p], "narrow-8", (8,), seldom, machine="lapse")
        cells.add([p], "bound-8", (8,), seldom, machine="lapse", steps="our")
    cells.add(THREE, "lapse-relocate-{n}", (1, 2, 4, 8), "--technique relocate", machine="lapse")
    cells.add(("mf",), "lapse-blocks-{n}", (1, 2, 4, 8), "--technique relocate --visit blocks", machine="lapse")
    cells.add(THREE, "lapse-adaptive-8", (8,), machine="lapse")
    cells.add(THREE, "ahead-{v}", (8,), values=OFFSETS, kind="-ahead", before="--ahead {v}")
    cells.add(THREE, "ahead-{v}-immediate", (8,), values=OFFSETS, kind="-ahead", before="--ahead {v} --immediate")
    cells.add(("kge",), "ten-{n}-seed-{v}", (1, 8), "--seed {v}", SEEDS, kind="-ten")  # what the draw makes of it
    return cells


def cells_of_techniques():
    cells = Cells()

    def add(programs, name, more, values=("",), nodes=(8,), before="", changes=""):
        cells.add(programs, name, nodes, more, values, "-one", before, changes=changes)

    add(THREE, "one", "--technique adaptive", nodes=(1,))
    add(THREE, "{v}", "--technique {v}", ("adaptive", "relocate", "static"))
    add(THREE, "{v}", "--technique {v} --staleness 1", ("essp", "ssp"))
    add(THREE, "nups", NUPS + " auto")
    for times in TIMES:
        add(THREE, f"hot-{times.replace('/', '_')}", f"{NUPS} {100 * float(Fraction(times)):g}x")
    add(("kge", "wv"), "nups-{v}", NUPS + " auto --sampling {v}", LEVELS[2:])
    add(THREE, "rate-{v}", NUPS + " auto", RATES, changes="rounds={v}")
    add(THREE, "rate-never", NUPS + " auto", before="--unsynchronized")
    add(("kge", "wv"), "local-{v}", LOCAL + " --technique {v}", ("relocate", "adaptive"))
    for p in THREE:
        local = LOCAL if p != "mf" else ""
        for times in TIMES[1:]:
            keys = int(CHOSEN[p] * Fraction(times) + Fraction(1, 2))
            if keys > 0:
                add([p], f"local-keys-{times.replace('/', '_')}", f"{NUPS} {keys} {local}")
        add([p], "nodes-relocate-{n}", local + " --technique relocate", nodes=(2, 4, 16))
        add([p], "nodes-nups-{n}", f"{local} {NUPS} auto", nodes=(2, 4, 16))
    add(("mf",), "nodes-essp-{n}", "--technique essp --staleness 1", nodes=(2, 4, 16))
    for p, keys in BEST.items():  # at equal time
        add([p], "two-adaptive-{v}", f"--technique adaptive {LOCAL} --epochs 2 --seed {{v}}", SEEDS)
        add([p], "two-nups-{v}", f"{NUPS} {keys} {LOCAL} --epochs 2 --seed {{v}}", SEEDS)
    add(("kge",), "adaptive-6", "--technique adaptive --epochs 6")  # in the time that NuPS takes for an epoch
    add(("wv",), "adaptive-3", "--technique adaptive --epochs 3")
    return cells


# ---- papers, techniques: running them ----

class Modelled:
    """Cells of modelled machines, and those of them that have results. Of an option that comes again the last is told."""

    def __init__(self, options, cells):
        self.papers, self.data, self.results, self.cells = options.papers, options.data, options.results, cells

    def run(self, name):
        c, out = self.cells[name], f"{self.results}/{name}"
        program = c.kind.split("-")[0]
        step, prepare = STEPS[c.steps][program]
        model = f"step={step},prepare={prepare}" + f",{c.changes}" * bool(c.changes)
        sweep = program + "-hot-"
        if self.have(name) or name.startswith(sweep) and any(n.startswith(sweep) and self.read(n).copies == 0
                                                             for n in self.cells if self.have(n)):
            return
        told = " ".join([f"--nodes {c.nodes} --machine {c.machine} --model {model} {c.before} {program}",
                         *with_data(program, OPTIONS[c.kind], self.data), f"--workers {c.workers} --json", c.more])
        command = [self.papers, *re.sub(r" (--[a-z-]+)(?![\w=-])(?: (?!--)\S+)?(?=.* \1(?: |$))", "", told).split()]
        print(f"== {name}", file=sys.stderr, flush=True)
        Path(out + ".command").write_text(" ".join(command) + "\n", encoding="utf-8")
        why = run_to(out, os.environ.get("LIMIT", "1800"), command)
        if why:
            print(f"{name} failed: {why}", file=sys.stderr)

    def have(self, name):
        return os.path.exists(f"{self.results}/{name}.json")

    def command(self, name, label):
        """As a user types it, without this machine's paths."""
        if not self.have(name):
            return ""
        text = Path(f"{self.results}/{name}.command").read_text(encoding="utf-8").strip()
        for path, shown in ((self.papers, "build/gcc/lab/papers"), (self.data, "DATA"), (f"{made.FOLDER}/", "")):
            text = text.replace(path, shown)
        return f"Command of the cell `{label}`:\n\n    {text}\n\n"

    def read(self, name):
        """A cell's result: times and counts are an epoch's; curve: seconds and quality of each evaluation."""
        c, r = self.cells[name], SimpleNamespace(curve=[], epochs=0)
        seconds = evaluated = 0
        for e in events_of(Path(f"{self.results}/{name}.json").read_text(encoding="utf-8")):
            if e["event"] == "epoch" and e["epoch"] > 0:
                r.epochs += 1
                seconds += e["seconds"]
                if "pairs_per_second" in e:
                    r.curve.append((seconds, 1 / e["loss"]))
            elif e["event"] == "eval" and r.epochs > evaluated and quality_of(e) is not None:
                evaluated = r.epochs
                r.curve.append((seconds, quality_of(e)))
            elif e["event"] == "stats":
                stats = whole(e)
            elif e["event"] == "machine":
                machine = e
        n, count = r.epochs, accesses_of(stats)
        r.seconds, r.best = seconds / n, max((q for _, q in r.curve), default=0)
        r.gb, r.stale_ms = stats["bytes_sent"] / c.nodes / n * 1e-9, 1e3 * stats.get("replica_staleness_mean_s", 0)
        r.relocated, r.replicas = stats["relocated_in"] / n, stats["replicas_created"] / n
        r.remote, r.copied = count["remote"] / (sum(count.values()) or 1), count["replica"] / (sum(count.values()) or 1)
        r.owned, r.copies = stats["owned_now"], stats["replicas_created"]
        r.computing = machine["computed_s"] / n / (c.nodes * c.workers)  # a worker's seconds
        parts = [machine["computed_s"], machine["starved_s"], machine["pull_s"] + machine["sample_s"], machine["update_s"],
                 machine["settle_s"]]
        r.parts = [part / (seconds * c.nodes * c.workers) for part in parts]
        r.parts.append(1 - sum(r.parts))
        r.busy = machine["busiest_shard_s"] / machine["seconds"] / MACHINES[c.machine].shards
        r.sending = machine["wire_bytes"] * 1e-9 / c.nodes / n / MACHINES[c.machine].gb_per_s
        return r

    def compare(self, first, columns, names, one_of=lambda name: name):
        """A row of each of the (label, name) that there are, beside one node's of its program."""
        rows = [(label, self.read(name), self.read(one_of(name))) for label, name in names
                if self.have(name) and self.have(one_of(name))]
        return table((first, *columns), [(label, *(COLUMNS[c](r, one) for c in columns)) for label, r, one in rows])


def quality_of(e):
    """Higher is better: MRR and accuracy; of errors and losses 1/x; 2 AUC - 1, which is 0 for who knows nothing."""
    if e.get("split") == "valid" and "mrr" in e:
        return e["mrr"]
    if "rmse" in e:
        return 1 / e["rmse"]
    if e.get("split") == "test" and "auc" in e:
        return 2 * e["auc"] - 1
    return e.get("accuracy")


def reached(curve, goal):
    """The seconds to a quality, which rises evenly between two evaluations; None: it was not reached."""
    before, last = 0, None
    for at, quality in curve:
        if quality >= goal:
            return at if last is None else before + (at - before) * (goal - last) / (quality - last)
        before, last = at, quality
    return None


def sooner(curve, one, goal):
    """How many times sooner than one node."""
    at = reached(curve, goal)
    return reached(one, goal) / at if at else None


def effective(r, one):
    factor = sooner(r.curve, one.curve, 0.9 * one.best) if one.best > 0 else None
    return f"{factor:.1f}" if factor else "-"


# ---- papers, techniques: tables and drawings ----

PARTS = ("computes", "waits for batches", "waits for rows", "waits for updates", "end of the epoch", "the rest")
ELSEWHERE = "accesses elsewhere, evaluations included"
COLUMNS = {
    "seconds an epoch": lambda r, one: f"{r.seconds:.4f}",
    "one node's seconds an epoch": lambda r, one: f"{one.seconds:.4f}",
    "raw speedup": lambda r, one: f"{one.seconds / r.seconds:.1f}",
    "of twice the speed": lambda r, one: f"{100 * one.seconds / r.seconds / 2:.0f} %",
    "effective speedup": effective,
    "quality, best": lambda r, one: f"{r.best:.3f}",
    "its part of one node's": lambda r, one: f"{100 * r.best / one.best:.0f} %",
    "GB sent a node and epoch": lambda r, one: f"{r.gb:.3f}",
    "replicas an epoch": lambda r, one: f"{r.replicas:.0f}",
    "relocations": lambda r, one: f"{r.relocated:.0f}",
    "rows moved a second": lambda r, one: f"{r.relocated / r.seconds:.0f}",
    ELSEWHERE: lambda r, one: f"{100 * r.remote:.2f} %",
    **{part: lambda r, one, i=i: f"{100 * r.parts[i]:.1f} %" for i, part in enumerate(PARTS)},
    "busiest node's shards": lambda r, one: f"{100 * r.busy:.0f} %",
    "its card": lambda r, one: f"{100 * r.sending / r.seconds:.0f} %",
    "replicas' owners heard of, ms ago": lambda r, one: f"{r.stale_ms:.3f}" if r.stale_ms else "-",
    "computing alone": lambda r, one: f"{r.computing:.4f}",
    "what is sent / bandwidth": lambda r, one: f"{r.sending:.4f}",
    "times the longer of the two": lambda r, one: f"{r.seconds / max(r.computing, r.sending):.2f}",
    # Of eight nodes; one that has the row itself counts no replica.
    "hot keys": lambda r, one: f"{r.copies // 7}",
    "of all": lambda r, one: f"{100 * r.copies / 7 / r.owned:.3f} %",
    "accesses to them": lambda r, one: f"{100 * r.copied * 8 / 7:.1f} %",
}
SPEED = ("seconds an epoch", "raw speedup", "quality, best", "its part of one node's", "effective speedup",
         "GB sent a node and epoch", "replicas an epoch", "relocations", ELSEWHERE)
COST = ("seconds an epoch", "quality, best", "GB sent a node and epoch", "replicas an epoch", "relocations", ELSEWHERE)


def speedups(m, p, title):
    names = [(", ".join(name.rsplit("-", 1)), f"{p}-{name}") for name in (
        *(f"adaptive-{nodes}" for nodes in (1, 2, 4, 8, 16)), *(f"{t}-8" for t in (*TECHNIQUES[1:], "immediate", *LEVELS)))]
    text = m.compare("technique, nodes", SPEED, names, lambda _: p + "-adaptive-1")
    return f"### {title}\n\n" + text + m.command(p + "-adaptive-8", "adaptive, 8") if text else ""


def seeds_of_kge(m):
    rows = []
    for epochs, seed in itertools.product((3, 10), SEEDS):
        names = [f"kge-ten-{nodes}-seed-{seed}" for nodes in (1, 8)]
        if all(map(m.have, names)):
            one, eight = map(m.read, names)
            for r in (one, eight):
                r.curve = r.curve[:epochs]
                r.best = max(quality for _, quality in r.curve)
            rows.append((str(seed), str(epochs), f"{one.best:.3f}", *(COLUMNS[c](eight, one) for c in SPEED[2:5])))
    return table(("seed", "epochs", "MRR, one node", "eight nodes", "its part of one node's", "effective speedup"), rows)


def parts_of_time(m, programs):
    return m.compare("", (*PARTS, "busiest node's shards", "its card", "replicas' owners heard of, ms ago"),
                     [(f"{p}, {t}", f"{p}-{t}-8") for p in programs for t in TECHNIQUES])


def tables_of_papers(m):
    def of(name):
        return name.split("-")[0]

    text = "".join(speedups(m, *each) for each in (
        ("kge", "Knowledge graph embeddings: FB15k-237, quality is the MRR"),
        ("kge-large", "Knowledge graph embeddings: a planted graph of 100,000 entities and 1,000,000 facts"),
        ("mf", "Matrix factorization: 20,000 x 2,000, 1,000,000 cells of Zipf 1.1, quality is 1 / RMSE"),
        ("mf-large", "Matrix factorization: 100,000 x 10,000, 10,000,000 cells of Zipf 1.1, a rate for each factor"),
        ("wv", "Word vectors: the first 440,000 tokens of WikiText-2, quality is 1 / loss of an epoch"),
        ("wv-large", "Word vectors: 2,000,000 tokens of novels")))
    network = ("computing alone", "what is sent / bandwidth", "seconds an epoch", "times the longer of the two", "raw speedup",
               "its part of one node's", "busiest node's shards")
    kinds = (("our", "our steps, 100 Gbit/s"), ("bound", "our steps, 10 Gbit/s"), ("narrow", "their steps, 10 Gbit/s"))
    for title, tables in (
            ("Knowledge graph embeddings, ten epochs, three seeds", seeds_of_kge(m)),
            ("What a core of its own brings", m.compare(
                "8 nodes", ("seconds an epoch", "raw speedup", "its part of one node's", "GB sent a node and epoch",
                            "busiest node's shards"),
                [(f"{p}, {what}", f"{p}-{name}-8") for p in THREE for name, what in (
                    ("shared", "pace of shared cores"), ("adaptive", "with cores of their own"))],
                lambda name: of(name) + "-adaptive-1")),
            ("Four nodes with a core for each thread, our own steps, beside one node of two workers", m.compare(
                "", ("one node's seconds an epoch", "seconds an epoch", "of twice the speed", "its part of one node's"),
                [(p, p + "-cores-4") for p in THREE], lambda name: of(name) + "-cores-1")),
            ("Lapse's machines, their steps", m.compare(  # Lapse, Section 4: with relocation and without
                "", ("seconds an epoch", "raw speedup", "its part of one node's", ELSEWHERE, "rows moved a second",
                     "waits for rows"),
                [(f"{p}, {t}, {nodes}", f"{p}-lapse-{t}-{nodes}") for p in ("mf", "kge", "wv") for t in
                 ("relocate", "blocks", "static", "adaptive") for nodes in (1, 2, 4, 8)],
                lambda name: of(name) + "-lapse-relocate-1")),
            ("Where the network is the bound", m.compare(
                "8 nodes", network, [(f"{p}, {what}", f"{p}-{name}-8") for name, what in kinds for p in THREE],
                lambda name: of(name) + ("-adaptive-1" if "narrow" in name else "-our-1"))),
            ("What the workers' time goes into, on 8 nodes", parts_of_time(m, THREE))):
        text += f"### {title}\n\n{tables}"
    return text


def tables_of_offsets(m):
    text = ""
    for p, title in (("kge", "Knowledge graph embeddings: FB15k-237, a clock is a fact, quality is the MRR"),
                     ("mf", "Matrix factorization: 20,000 x 2,000, 1,000,000 cells, a clock is a cell, quality is 1 / RMSE"),
                     ("wv", "Word vectors: 440,000 tokens of WikiText-2, a clock is eight words, quality is 1 / loss")):
        names = [(f"{offset}{how}", f"{p}-ahead-{offset}{how.replace(', ', '-')}") for offset in OFFSETS
                 for how in ("", ", immediate")]
        columns = ("seconds an epoch", "quality, best", "GB sent a node and epoch", "replicas' owners heard of, ms ago",
                   "replicas an epoch")
        rows = m.compare("clocks ahead", columns, names)
        text += f"### {title}\n\n{rows}" * bool(rows) + m.command(p + "-ahead-64-immediate", "64, immediate")
    return text


def insert(m, document, mark, tables, first):
    """The tables come between the two marks, if there is a result whose name begins so."""
    if not any(name.startswith(first) and m.have(name) for name in m.cells):
        return
    path = ROOT / "lab" / f"{document}.md"
    head, rest = path.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n")
    path.write_text(f"{head}<!-- {mark} -->\n{tables.rstrip()}\n<!-- end of {mark} -->" + rest.split(f"<!-- end of {mark} -->")[1],
                    encoding="utf-8")


def draw(m, p, quality):
    """Quality over time, a line a technique, in colours that are dark enough on white, and differ without colour, too."""
    names = [n for n in ("adaptive-1", *(t + "-8" for t in TECHNIQUES)) if m.have(f"{p}-{n}")]
    if not names:
        return
    script = f"set terminal svg size 640,360 font 'sans,11' noenhanced\nset output '{ROOT}/lab/papers_{p}.svg'\nset grid\n"
    colours = ("#202020", "#1a7a3c", "#2a6fb0", "#b8860b", "#b03030", "#7a3fa0")
    for i, (name, colour, point) in enumerate(zip(names, colours, (1, 2, 4, 6, 8, 10))):
        script += f"set linetype {i + 1} lc rgb '{colour}' lw 1.6 pt {point}\n$d{i} << end\n"
        script += "".join(f"{at} {value}\n" for at, value in m.read(f"{p}-{name}").curve) + "end\n"
    script += ("set logscale x; set autoscale xfix; set offsets graph 0.04, graph 0.04, 0, 0\n"
               "set xtics (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)\nset key outside right; set yrange [0:*]\n"
               f"set xlabel 'seconds of training (virtual), each mark the end of an epoch'; set ylabel '{quality}'\nplot ")
    script += ", ".join(f"$d{i} using 1:2 with linespoints title '{n.replace('-', ', ')}'" for i, n in enumerate(names))
    subprocess.run(["gnuplot"], input=script + "\n", text=True, check=True)


def write_papers(m):
    def of_large(p, title):
        return speedups(m, p, title) + parts_of_time(m, [p])
    if shutil.which("gnuplot"):
        for p, quality in (("kge", "MRR"), ("mf", "1 / RMSE"), ("wv", "1 / loss")):
            draw(m, p, quality)
    insert(m, "papers", "tables", tables_of_papers(m), tuple(p + "-adaptive" for p in OPTIONS))
    insert(m, "papers", "offsets", tables_of_offsets(m), ("kge-ahead", "mf-ahead"))
    insert(m, "ctr", "tables", of_large("ctr-large", "4,000,000 planted examples, quality is 2 AUC - 1"), "ctr-large")
    insert(m, "gnn", "tables", of_large("gnn-large", "100,000 planted nodes, quality is the accuracy"), "gnn-large")


def write_techniques(m):
    text = ""
    for p in ("mf", "wv", "kge"):
        text += m.compare(p, COST, [("one node", p + "-one")] + [
            (t, f"{p}-{t}") for t in ("static", "ssp", "essp", "relocate", "nups", "adaptive")] + [
            (f"nups, threshold x {t}", f"{p}-hot-{t.replace('/', '_')}") for t in TIMES] + [
            (f"nups, sampling {level}", f"{p}-nups-{level}") for level in ("long-term", "non-conform")] + [
            ("nups, hot keys never synchronized", p + "-rate-never")] + [
            (f"nups, at most {r} synchronizations a second", f"{p}-rate-{r}") for r in RATES])
    text += m.compare("times as many hot keys", ("hot keys", "of all", "accesses to them", *COST[:3], ELSEWHERE), [
        (f"{p} x {factor}", f"{p}-local-keys-{factor.replace('/', '_')}") for p in ("kge", "wv", "mf") for factor in TIMES[1:]])
    text += m.compare("local samples", COST, [line for p in ("kge", "wv") for line in (
        *((f"{p}, {n}", f"{p}-local-{n}") for n in ("relocate", "adaptive")),
        *((f"{p}, {n}, two epochs, seed {i}", f"{p}-two-{n}-{i}") for n in ("adaptive", "nups") for i in SEEDS))])
    by_nodes = []
    for p in ("mf", "kge", "wv"):
        eight = {"essp": "essp", "relocate": "relocate" if p == "mf" else "local-relocate",
                 "nups": "nups" if p == "mf" else "local-keys-1"}
        by_nodes += [(f"{p}, {t}, {n} nodes", f"{p}-{eight[t]}" if n == 8 else f"{p}-nodes-{t}-{n}")
                     for t in ("relocate", "nups", "essp") for n in (2, 4, 8, 16)]
    print(text + m.compare("", ("seconds an epoch", "raw speedup", "quality, best", ELSEWHERE), by_nodes,
                           lambda name: name.split("-")[0] + "-one"))


def modelled(options):
    is_papers = options.command == "papers"
    m = Modelled(options, cells_of_papers() if is_papers else cells_of_techniques())
    os.makedirs(m.results, exist_ok=True)
    for name in m.cells:
        if name.startswith(tuple(options.wanted or [""])):
            try:
                m.run(name)
            except Missing as e:
                print(f"passed over: {name}: {e}", file=sys.stderr)
    (write_papers if is_papers else write_techniques)(m)


# ---- results: the sections ----

Run = namedtuple("Run", "label nodes options is_far", defaults=(False,))
Section = namedtuple("Section", "program data runs once", defaults=(False,))


def each(nodes, name, values, options=""):
    return [Run(f"{nodes} node{'s' * (nodes > 1)}, {v}", nodes, f"{options} --{name} {v}") for v in values]


def one_two_four(options=""):
    return [Run("plain arrays", 1, options + " --baseline"), Run("1 node", 1, options), Run("2 nodes", 2, options),
            Run("4 nodes", 4, options)]


def sizes(options):
    plain, one, *several = one_two_four(options)
    return [plain, Run("plain arrays, 2 workers", 1, options + " --workers 2 --baseline"), one,
            Run("1 node, 2 workers", 1, options + " --workers 2"), *several]


def sections_of_kge():
    steps = {"single": "--dim 100 --batch 1 --negatives 6 --loss logistic --reg 0",
             "batches": "--dim 100 --batch 512 --negatives 500",
             "good": "--dim 200 --reciprocal --reg 0.05 --init 0.1 --negatives 1000 --batch 512"}
    sections = {}
    for step, o in steps.items():
        o += " --epochs 1000"
        kinds = {"worker": one_two_four(o)[:2], "sizes": sizes(o)[1:] + each(4, "sampling", ["non-conform"], o)}
        if step in ("single", "batches"):
            kinds["techniques"], kinds["2-techniques"] = (each(n, "technique", TECHNIQUES, o) for n in (4, 2))
            kinds["levels"] = each(4, "sampling", LEVELS, o)
            kinds["far"] = [Run(f"4 far nodes, {t}, {level}", 4, f"{o} --technique {t} --sampling {level}", True)
                            for t in ("adaptive", "static") for level in ("conform", "non-conform")]
        for kind, runs in kinds.items():
            sections[f"kge-{step}-{kind}"] = Section("kge", "--data DATA/fb15k-237-short", runs)
    for graph, options in (("wn18rr", steps["good"].replace("200", "128", 1) + " --epochs 40"),
                           ("fb15k-237", steps["good"] + " --epochs 30")):
        options += " --eval-every 1000"
        runs = one_two_four(options)[:2] + each(4, "sampling", LEVELS, options)
        # Quality does not depend on what else the machine does: one run of each.
        sections[f"kge-quality-{graph}"] = Section("kge", f"--data DATA/{graph}", runs, True)
    return sections


ZIPF = "--hold-back 0.02 --rank 100 --reg 0.02 --adagrad coordinate"
REAL = "--rank 10 --bias --lr 0.02 --reg 0.05 --init 0.1 --epochs 20 --adagrad coordinate"
WIKITEXT = "--data DATA/wikitext.txt --epochs 1"
NOVELS = "--data DATA/novels.txt --analogies DATA/questions-words.txt --similarity DATA/similarity.tsv"
CENSUS = "--data DATA/census_148d_train.libsvm --test DATA/census_148d_test.libsvm"
PAGES = "--data DATA/facebook/edges.txt --labels DATA/facebook/labels.txt --eval-every 1"
# Where a technique waits for the network at each step, wv ends after 10 seconds: the rate until then is what counts.
SECTIONS = {
    **sections_of_kge(),
    "mf-zipf-sizes": Section("mf", "made:100000x10000x5000000", sizes(ZIPF + " --epochs 5")),
    **{f"mf-zipf-{n}-nodes": Section("mf", "made:100000x10000x5000000", [
        *each(n, "technique", TECHNIQUES, ZIPF + " --epochs 2"),
        *each(n, "visit", ["blocks"], ZIPF + " --epochs 2 --technique relocate")]) for n in (2, 4)},
    "mf-jester": Section("mf", "--data DATA/jester.tsv", sizes(REAL)),
    "mf-movielens": Section("mf", "--data DATA/movielens.tsv", sizes(REAL) + each(2, "technique", TECHNIQUES, REAL)),
    "wv-sizes": Section("wv", WIKITEXT, sizes("")),
    "wv-all-words": Section("wv", WIKITEXT, sizes("--subsample 0")),
    **{f"wv-{n}-nodes": Section("wv", WIKITEXT, each(n, "technique", TECHNIQUES, "--seconds 10")) for n in (2, 4)},
    **{name: Section("wv", data, [run for n in nodes for run in each(n, "sampling", LEVELS)])
       for name, data, nodes in (("wv-sampling", WIKITEXT, (1, 2, 4)), ("wv-quality-sampling", NOVELS, (2, 4)))},
    "wv-quality": Section("wv", NOVELS, one_two_four()),
    "ctr-census": Section("ctr", CENSUS, one_two_four()),
    "ctr-techniques": Section("ctr", CENSUS, each(4, "technique", (*TECHNIQUES, "nups"))),
    "ctr-planted": Section("ctr", "made:26x2000x4000000", [Run("1 node", 1, "--epochs 1 --lr 0.05 --reg 0")]),
    "ctr-speed": Section("ctr", "made:26x100000x200000", one_two_four("--epochs 3 --hold-back 0.02 --validate 0")),
    "ctr-beside": Section("ctr", CENSUS, []),
    "gnn-facebook": Section("gnn", PAGES, one_two_four()),
    **{f"gnn-{name}": Section("gnn", f"--data DATA/{name}/edges.txt --labels DATA/{name}/labels.txt --features "
                              f"DATA/{name}/features.txt --split DATA/{name}/purposes.txt", [Run("1 node", 1, "--epochs 30")])
       for name in ("cora", "citeseer")},
    "gnn-planted": Section("gnn", "made:1000000x16x32", [Run("1 node", 1, "--epochs 1 --train 0.6 --validate 0.3")]),
    "gnn-techniques": Section("gnn", PAGES, each(4, "technique", (*TECHNIQUES, "nups"))),
    "gnn-beside": Section("gnn", PAGES, []),
}


# ---- results: what runs came to ----

def summary(path, program):
    """What a run told, by the names that tables use: lists."""
    events = events_of(Path(path).read_text(encoding="utf-8"))
    epochs = [e for e in events if e["event"] == "epoch"]
    got = {"seconds": [e["seconds"] for e in epochs], "rate": [e["examples_per_second"] / 1000 for e in epochs],
           "loss": [e["loss"] for e in epochs[-1:] if "loss" in e], "epochs": [len(epochs)]}
    if program == "kge":
        # The median of the epochs after the first; what the clock cut short counts only when there is nothing else.
        rates, seconds = got["rate"], got["seconds"]
        last = len(rates) - (len(rates) > 2 and seconds[-1] < 0.5 * seconds[-2])
        got["rate"] = [statistics.median(rates[1 if last > 1 else 0:last])]
        got["gflops"] = [epochs[0]["gflops"] / rates[0] * got["rate"][0]]
    for e in events:
        if e.get("split") == "test":
            got.update({name: [e[name]] for name in ("mrr", "rmse", "auc", "log_loss", "calibration_error") if name in e})
        if e.get("task") in ("analogies", "similarity"):
            got[e["task"]] = [100 * e["accuracy"] if e["task"] == "analogies" else e["spearman"]]
        if e["event"] in ("eval", "best") and "accuracy" in e:
            got["accuracy"] = [e["accuracy"]]  # the best is said last
        if e["event"] == "partition":
            got["cut"] = [100 * e["edges_between"]]
        if e["event"] == "stats":
            accesses = accesses_of(whole(e))
            got["remote"] = [100 * accesses["remote"] / (sum(accesses.values()) or 1)]
            got["sent"] = [whole(e)["bytes_sent"] / 1e6 / (len(epochs) or 1)]
    return got


def ranged(values, form):
    ends = f" ({min(values):{form}} to {max(values):{form}})" if len(values) > 1 else ""
    return format(statistics.median(values), form) + ends


def mean(values, form):
    return format(statistics.mean(values), form)


def most(values, form):
    return format(max(values), form)


ACCESSES = (("remote accesses, %", "remote", mean, ".2f"), ("MB an epoch, sent by all", "sent", mean, ".1f"))
FIGURES = {
    "kge": (("thousand facts/s", "rate", ranged, ".1f"), ("GFLOP/s", "gflops", ranged, ".1f"), ("test MRR", "mrr", mean, ".4f"),
            ("epochs", "epochs", mean, ".0f")),
    "mf": (("seconds an epoch", "seconds", ranged, ".3f"), ("test RMSE", "rmse", ranged, ".4f"), *ACCESSES),
    "wv": (("thousand words/s", "rate", ranged, ".0f"), ("loss", "loss", ranged, ".3f"),
           ("analogies, %", "analogies", ranged, ".2f"), ("Spearman", "similarity", ranged, ".3f"), *ACCESSES),
    "ctr": (("AUC", "auc", mean, ".4f"), ("log loss", "log_loss", mean, ".4f"),
            ("calibration error", "calibration_error", mean, ".4f"), ("thousand examples/s", "rate", most, ".0f"), *ACCESSES),
    "gnn": (("test accuracy", "accuracy", mean, ".4f"), ("edges between nodes, %", "cut", mean, ".1f"),
            ("thousand nodes/s", "rate", most, ".0f"), *ACCESSES),
}


def table_of_runs(program, runs):
    """Of each label's turns; figures that no run has are left out, those of one alone are -."""
    def values(turns, name):
        return [x for got in turns for x in got.get(name, [])]
    figures = [f for f in FIGURES[program] if any(values(turns, f[1]) for turns in runs.values())]
    return table(("run", *(heading for heading, *_ in figures)), [
        (label, *(how(values(turns, name), form) if values(turns, name) else "-" for _, name, how, form in figures))
        for label, turns in runs.items()])


# ---- results: running them ----

def run_of(section, data, run, turn, path, options):
    """What it came to; None: it failed."""
    command = [f"{options.programs}/locus-{section.program}", *data, *run.options.split(), "--json", "--seed", str(turn)]
    if section.program == "kge" and not section.once:
        command += ["--seconds", str(options.seconds)]
    if run.is_far:
        distance = f"{options.programs}/../test/distance"
        command = [distance, "--role", "distance", f"{run.nodes} 0.0002 exec {' '.join(command)}"]
    elif run.nodes > 1:
        command = [f"{options.programs}/locus", "run", "-n", str(run.nodes), "--", *command]
    why = run_to(path, 3600 if section.once else options.run_seconds, command)
    if why:
        print(f"failed: {run.label}: {why}")
        return None
    got = summary(path + ".json", section.program)
    print(f"{run.label}, turn {turn}: {statistics.median(got['rate']):.0f} thousand examples/s", flush=True)
    return got


def run_section(name, options):
    """Returns how many runs failed."""
    section, folder = SECTIONS[name], os.path.join(options.out, name)
    data, turns = with_data(section.program, section.data, options.data), {run.label: [] for run in section.runs}
    os.makedirs(folder, exist_ok=True)
    for turn in range(1, 2 if section.once else options.turns + 1):
        for i, run in enumerate(section.runs):
            turns[run.label].append(run_of(section, data, run, turn, f"{folder}/{i:02}.{turn}", options))
    if section.runs:
        text = table_of_runs(section.program, {label: [got for got in all_of if got] for label, all_of in turns.items()
                                               if any(all_of)})
        text += "".join(Path(word + ".said").read_text(encoding="ascii") for word in data if os.path.exists(word + ".said"))
    else:  # beside other programs
        tasks = ["/usr/bin/python3", ROOT / "lab/python/tasks.py", section.program, options.programs, options.data]
        text = subprocess.run(tasks, check=True, capture_output=True, text=True).stdout
    Path(folder + ".md").write_text(text, encoding="utf-8")
    print(text)
    return sum(got is None for all_of in turns.values() for got in all_of)


def results(options):
    wanted, failed = [name for name in SECTIONS if name.startswith(tuple(options.wanted or [""]))], 0
    if not wanted:
        sys.exit(f"there is no section {' '.join(options.wanted)}; there are {' '.join(SECTIONS)}")
    for name in wanted:
        print(f"== {name}", flush=True)
        try:
            failed += run_section(name, options)
        except Missing as e:
            print(f"passed over: {name}: {e}")
    print(f"{failed} runs failed; tables: {options.out}")
    sys.exit(failed > 0)


# ---- cluster ----

TARGET_EPOCH = 4
SIZES = {  # of the task, full and quick; what takes longest last
    "mf": ("made:100000x10000x5000000 --reg 0.02 --rank 100", "made:500x100x5000 --reg 0.02 --rank 8"),
    "kge": ("made:15000x200x250000 --dim 100 --batch 1 --negatives 1", "made:300x5x2000 --dim 8 --batch 1 --negatives 1"),
    "wv": ("--dim 100", "--dim 8 --min-count 1"),
}
WORDS = (2_000_000, 5_000)
# Of nodes: AdaPM and NuPS train so, and README's figures are of these.
AMONG_NODES = {"kge": ["--sampling", "non-conform"], "wv": ["--sampling", "bounded"], "mf": []}


def machine():
    def said(*command):
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    known = dict(re.findall(r"^ *([^:]+): *(.*)", said("lscpu"), re.M))
    sockets = known.get("Socket(s)", "")
    return {"processor": known.get("Model name"), "processors": len(os.sched_getaffinity(0)),
            "sockets": int(sockets) if sockets.isdigit() else 1,
            "memory_gib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2 ** 30, "kernel": platform.release(),
            "commit": said("git", "describe", "--always", "--dirty"), "load": os.getloadavg()[0],
            "date": datetime.date.today().isoformat()}


class Kit:
    def __init__(self, options):
        self.options = options
        self.end_s = time.monotonic() + 60 * options.minutes
        self.result = {"machine": machine(), "cells": [], "bench": [], "left_out": []}
        self.tried = set()

    def run(self, name, command):
        left_s, why = self.end_s - time.monotonic(), "no time is left"
        path = str(self.options.out / re.sub(r"\W+", "-", name))
        if left_s >= 5:
            print(f"{left_s / 60:5.1f} min left  {name}", file=sys.stderr, flush=True)
            why = run_to(path, left_s, command)
        if why:
            self.result["left_out"].append(f"{name}: {why}")
        return [] if why else events_of(Path(path + ".json").read_text(encoding="utf-8"))

    def train(self, program, nodes, workers, more=(), before=(), label="adaptive"):
        """nodes 0: plain arrays."""
        name = f"{program} {label} nodes={nodes} workers={workers}"
        if name in self.tried:
            return
        self.tried.add(name)
        options = with_data(program, SIZES[program][self.options.quick])
        if program == "wv":
            options += ["--data", str(self.options.out / "text")]
        start = [str(BUILD / "bin" / "locus"), "run", "-n", str(nodes), "--"]
        if self.options.launch:
            start = shlex.split(self.options.launch.format(nodes=nodes))
        among = AMONG_NODES[program] if nodes > 1 else []
        lines = self.run(name, [*before, *(start if nodes else []), str(BUILD / "bin" / f"locus-{program}"), *options, "--workers",
                                str(workers), "--epochs", str(TARGET_EPOCH + 2), "--json", *among, *more,
                                *([] if nodes else ["--baseline"])])
        if not lines:
            return
        passed = [line for line in lines if line["event"] == "epoch"]
        stats = next((line for line in lines if line["event"] == "stats"), None)
        accesses = accesses_of(stats) if stats else {"remote": 0}
        self.result["cells"].append({
            "program": program, "label": label, "nodes": nodes, "workers": workers,
            "seconds": [line["seconds"] for line in passed], "loss": [line["loss"] for line in passed],
            "remote_share": accesses["remote"] / sum(accesses.values()) if sum(accesses.values()) else None,
            "staleness_s": stats and stats.get("replica_staleness_mean_s")})

    def bench(self, name, *arguments):
        short = ["--quick"] if self.options.quick else ["--repetitions", "1"]
        self.result["bench"] += self.run(f"bench/{name} {' '.join(arguments)}", [str(BUILD / "bench" / name), *arguments, *short])

    def measure(self):
        """What matters most comes first, since the time may end anywhere. Each node has a shard, so that four of one worker need
        eight processors."""
        cores, sockets = (self.result["machine"][what] for what in ("processors", "sockets"))
        counts = [n for n in (1, 2, 4, 8, 14, 16, 30, 32, 62, 64, 128) if n <= max(cores, 2)]
        nodes = self.options.nodes or [n for n in (2, 4, 8, 16) if 2 * n <= max(cores, 4)]
        if self.options.quick:
            counts, nodes = counts[:2], [2]
        many = max(n for n in counts if n <= max(2, cores - cores // 8))
        made.text(self.options.out / "text", WORDS[self.options.quick])  # one that is there may be of --quick
        for n in counts:  # pushes of Zipf-distributed keys, and the racing array of the same run
            self.bench("local_access", "--only", "push,length=16,keys=64,zipf-1.1", "--threads", str(n))
        for program in SIZES:
            for n in (1, many):
                self.train(program, 1, n)
            for n in nodes:
                self.train(program, n, 1)
        for n in (many, *counts):
            for program in SIZES:
                self.train(program, 0, n, label="plain arrays")
                self.train(program, 1, n)
        for program in SIZES:
            self.train(program, nodes[-1], 1, ["--technique", "static"], label="static")
            if not self.options.launch:
                self.train(program, nodes[-1], 1, before=["env", "LOCUS_LAB=tcp"], label="adaptive, TCP")
            if sockets > 1:  # as HogWild++ has it
                self.train(program, sockets, max(1, cores // sockets - 1), label="a node a socket")
        self.bench("two_nodes", "--only", "length=128")
        self.bench("steps")
        for program in SIZES:
            for n in (1, nodes[-1]):
                self.train(program, n, 1, before=["env", f"LOCUS_STEP_TIME={STEPS['their'][program][0]}"], label="step of the papers")
        for technique in ("relocate",) if self.options.quick else ("relocate", "replicate", "full"):
            for program in SIZES:
                self.train(program, nodes[-1], 1, ["--technique", technique], label=technique)

    def page(self):
        m, quick = self.result["machine"], self.options.quick
        text = (f"# locus on {m['processors']} processors\n\n{m['processor']}, {m['sockets']} socket(s), "
                f"{m['memory_gib']:.0f} GiB, Linux {m['kernel']}; commit {m['commit']}, {m['date']}; load before {m['load']:.2f}. "
                f"Seconds are medians of epochs 2 to {TARGET_EPOCH + 2}; effective: by the time to the loss of one worker after "
                f"{TARGET_EPOCH} epochs.\n\n")
        text += "**Quick: it runs, and says nothing of how fast.**\n\n" * quick
        for program in SIZES:
            cells = [c for c in self.result["cells"] if c["program"] == program]
            bases = [c for c in cells if c["nodes"] == 1 and c["workers"] == 1]
            rows = [row(c, next((b for b in bases if b["label"] == c["label"]), bases[0] if bases else None)) for c in cells]
            text += f"## {program}\n\n`locus-{program} {SIZES[program][quick]}`"
            text += f", {WORDS[quick]} words" * (program == "wv") + "\n\n" + table(
                ("", "nodes x workers", "s an epoch", "raw speedup", "effective", "loss", "remote %", "age of replicas, ms"), rows)
        if self.result["bench"]:
            lines = "\n".join(map(json.dumps, self.result["bench"]))
            done = subprocess.run([sys.executable, str(ROOT / "bench" / "report.py")], input=lines, capture_output=True, text=True,
                                  check=False)
            text += f"## Accesses\n\n```\n{done.stdout.strip()}\n```\n\n"
        return text + "## Left out\n\n" * bool(self.result["left_out"]) + "".join(f"- {what}\n" for what in self.result["left_out"])


def seconds_of(cell):
    return statistics.median(cell["seconds"][1:] or cell["seconds"])


def curve_of(cell):
    return list(zip(itertools.accumulate(cell["seconds"]), (-loss for loss in cell["loss"])))


def row(cell, base):
    raw = faster = None
    if base:
        raw = seconds_of(base) / seconds_of(cell)
        faster = sooner(curve_of(cell), curve_of(base), -base["loss"][TARGET_EPOCH - 1])

    def text(value, digits=2, scale=1):
        return "-" if value is None else f"{scale * value:.{digits}f}"
    return (cell["label"], f"{max(cell['nodes'], 1)} x {cell['workers']}", text(seconds_of(cell), 3), text(raw), text(faster),
            text(cell["loss"][-1], 4), text(cell["remote_share"], 2, 100), text(cell["staleness_s"], 2, 1000))


def cluster(options):
    if not (BUILD / "bin" / "locus").exists():
        sys.exit(f"report.py: {BUILD / 'bin' / 'locus'} is not there: run make first")
    options.out.mkdir(parents=True, exist_ok=True)
    kit = Kit(options)
    try:
        kit.measure()
    except KeyboardInterrupt:
        kit.result["left_out"].append("what was to come: interrupted")
    (options.out / "cluster.json").write_text(json.dumps(kit.result, indent=1) + "\n", encoding="utf-8")
    (options.out / "cluster.md").write_text(kit.page(), encoding="utf-8")
    print(f"{options.out / 'cluster.md'} and cluster.json are written", file=sys.stderr)
    sys.exit(0 if kit.result["cells"] else 1)


# ---- gain ----

def gain(_):
    """A bar is the speed of eight nodes as a multiple of one node's: seconds of one node, divided by seconds of eight."""
    head, bar, group, left, unit = 94, 20, 70, 240, 120  # pixels; unit: of one node's speed
    ways = (("rows stay at home", "#b0b0b0"), ("locus", "#2a6fb0"))
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## What it brings")[1].split("\n## ")[0]
    measured = re.search(r"All nodes were (.*? \d{4}\))\.", section, re.S)[1].replace("\n", " ")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.split("\n") if line.startswith("|")]
    rows = [line for line in cells if re.search(r"\d", line[-1])]
    height = head + group * len(rows) + 50
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" font-family="sans-serif" font-size="14">',
           f'<rect width="760" height="{height}" fill="#fff"/>',
           '<text x="16" y="24" font-size="16">Eight nodes: how many times as fast as one node</text>',
           f'<text x="16" y="44" font-size="12" fill="#666">{measured}</text>']
    for k, (way, colour) in enumerate(ways):
        out.append(f'<rect x="{left + k * 170}" y="56" width="14" height="14" fill="{colour}"/>'
                   f'<text x="{left + k * 170 + 20}" y="68">{way}</text>')
    for tick in range(4):
        x = left + tick * unit
        out.append(f'<line x1="{x}" y1="{head - 16}" x2="{x}" y2="{height - 40}" stroke="{"#444" if tick < 2 else "#ddd"}"/>'
                   f'<text x="{x}" y="{height - 22}" text-anchor="middle">{tick}</text>')
    for i, (what, one, *eight) in enumerate(rows):
        y = head + i * group
        title, name = re.match(r"(.*?) \((\w+)\)", what).groups()
        out.append(f'<text x="{left - 10}" y="{y + 17}" text-anchor="end">{title}</text>'
                   f'<text x="{left - 10}" y="{y + 36}" text-anchor="end" fill="#666">{name}</text>')
        for k, ((_, colour), seconds) in enumerate(zip(ways, eight)):
            speed = float(one) / float(seconds)
            width = speed * unit
            out.append(f'<rect x="{left}" y="{y + k * (bar + 4)}" width="{width:.1f}" height="{bar}" fill="{colour}"/>'
                       f'<text x="{left + width + 8:.1f}" y="{y + k * (bar + 4) + 15}" '
                       f'stroke="#fff" stroke-width="4" paint-order="stroke">{speed:.1f}</text>')
    print("\n".join(out + ["</svg>"]))


# ---- quick ----

def quick(options):
    """Each program trains on four modelled nodes with a little data: two runs say the same to the bit, and one of another seed
    does not."""
    papers, failed = os.path.abspath(options.papers), []
    programs = {"ctr": "made:4x400x4000 --batch 32 --hidden 8 --epochs 2", "gnn": "made:500x8x4 --dim 8 --hidden 8 --epochs 2",
                "kge": "made:400x8x4000 --dim 20 --batch 4 --negatives 4 --eval-every 1 --epochs 2",
                "lasso": "made:300x600x20 --staleness 1 --passes 4",
                "mf": "made:1000x200x20000 --rank 10 --epochs 3 --eval-every 1",
                "wv": "--data text --dim 20 --min-count 1 --batch 8 --negatives 4 --epochs 2"}

    def run(program, said, seed=1, before="", trace=None):
        """What it says, but for what it was told."""
        traces = {"LOCUS_TRACE": trace, "LOCUS_TRACE_KEYS": "sample:50"} if trace else {}
        done = subprocess.run([papers, "--nodes", "4", *before.split(), program, *with_data(program, said), "--seed",
                               str(seed), "--workers", "2", "--json"], env={**os.environ, **traces}, capture_output=True, text=True,
                              check=False)
        if done.returncode or not done.stdout:
            sys.exit(f"FAILED  {program} {said}: status {done.returncode}: {done.stderr}")
        return "".join(line for line in done.stdout.splitlines(True) if not line.startswith('{"event":"run"'))

    def check(good, what):
        failed.extend([what] * (not good))
        print("ok     " if good else "FAILED ", what, flush=True)

    def pull_s(said):
        return next(e["pull_s"] for e in events_of(said) if e["event"] == "machine")

    def trace_of(name):
        run("mf", mf, trace=name)
        return [Path(f"{name}.{node}.jsonl").read_text(encoding="utf-8") for node in range(4)]

    mf, kge = "made:1000x200x20000 --rank 10 --epochs 2", "made:400x8x4000 --dim 8 --batch 1 --negatives 2 --epochs 1"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made.text("text", 8000)
        for program, said in programs.items():
            first = run(program, said)
            check(first == run(program, said), f"{program}: two runs are the same to the bit")
            check(first != run(program, said, seed=2), f"{program}: another seed's differs")
        check(run("mf", mf + " --technique relocate") == run("mf", mf + " --technique nups --hot 1000000x"),
              "mf: nups of which no key is hot is relocation, in every byte and count")
        late = run("kge", kge, before="--ahead 1")
        check(late == run("kge", kge, before="--ahead 1"), "kge, signals one clock ahead: two runs are the same to the bit")
        check(pull_s(late) > 2 * pull_s(run("kge", kge, before="--ahead 100")) >= 0, "and wait longer for rows than with a hundred")
        check(trace_of("first") == trace_of("second"), "mf, traced: the files of two runs are the same to the bit")
        os.chdir("/")
    sys.exit(len(failed) > 0)


# ---- the command line ----

ABOUT_MODELLED = """Runs each cell of lab/papers that has no result yet in RESULTS, then makes the tables of all results.

DATA holds what lab/README.md says; cells whose data are missing are passed over. CELL is the beginning of a cell's name; without
any all are run. A document of which there is no result stays as it is. LIMIT in the environment are the seconds that a cell may
take."""
ABOUT_RESULTS = """Trains on this machine, by sections, whose runs take turns.

PROGRAMS has the programs, DATA what lab/README.md says; a section whose data are missing is passed over, by name. SECTION is the
beginning of a section's name ("kge", "mf-zipf"); without any all are run, which takes some hours on two processors.

OUT/SECTION/ gets the JSON lines of each run, OUT/SECTION.md the table: medians, in brackets least and most; means of qualities
of kge, ctr and gnn, and of what is sent; the fastest epoch of ctr and gnn. Speeds of kge are of runs of --seconds each, on the
whole training split: the median of the epochs after the first, in which rows find their places. Sections with "far" in the name
delay what passes between nodes, 200 microseconds each way, by proxies: that needs build/gcc/test/distance, and the right to make
network namespaces."""
ABOUT_CLUSTER = """What a host with many cores, or several hosts, do with locus: one page and one JSON file, in twenty minutes.

    lab/report.py cluster
    salloc -N 4 lab/report.py cluster --nodes 2 --nodes 4 --launch 'srun -n {nodes} --ntasks-per-node=1'

Programs train on data that is made up here, in build/made, and a text, which all hosts must see. Raw speedup is that of an
epoch's time; effective speedup that of the time to the loss that one worker has after four epochs. Run it on an idle machine,
after `make` and `make benches`. What matters most comes first; what does not fit into the time is named and left out."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, run, about, *names):
        added = commands.add_parser(name, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        added.set_defaults(run=run)
        for argument in names:
            added.add_argument(argument, metavar=argument.upper())
        return added

    for name in ("papers", "techniques"):
        command(name, modelled, ABOUT_MODELLED, "papers", "data", "results").add_argument("wanted", nargs="*", metavar="CELL")
    added = command("results", results, ABOUT_RESULTS, "programs", "data", "out")
    added.add_argument("wanted", nargs="*", metavar="SECTION")
    added.add_argument("--turns", type=int, default=3, help="of each run, with the seeds 1, 2, ...")
    added.add_argument("--seconds", type=int, default=7, help="of a run of kge")
    added.add_argument("--run-seconds", type=int, default=200, help="no run may take longer, but those of kge's quality")
    added = command("cluster", cluster, ABOUT_CLUSTER)
    added.add_argument("--launch", metavar="COMMAND", help="what starts {nodes} processes of the program that follows it")
    added.add_argument("--nodes", type=int, action="append", metavar="N", help="several times (default: by the processors)")
    added.add_argument("--out", type=Path, default=ROOT / "build" / "cluster", metavar="FOLDER", help="default build/cluster")
    added.add_argument("--minutes", type=float, default=20, help="what is not done then is left out (default 20)")
    added.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    command("gain", gain, gain.__doc__)
    command("quick", quick, quick.__doc__, "papers")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
