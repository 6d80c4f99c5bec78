#!/usr/bin/python3
"""The papers' results on modelled machines: runs each cell of lab/papers that has no result yet in RESULTS, then

    lab/papers.py papers PAPERS DATA RESULTS [CELL...]        writes the tables of lab/papers.md, ctr.md and gnn.md, and drawings
    lab/papers.py techniques PAPERS DATA RESULTS [CELL...]    prints the tables of lab/techniques.md: NuPS' Figures 6, 8 and 11,
                                                              Table 3 and Section 5.7, AdaPM's Section 5.3

from all results. DATA holds fb15k-237/, as `locus prepare kge` makes it, text.txt and novels.txt; what is not there is passed
over. CELL is the beginning of a cell's name; without any all are run. A document of which there is no result stays as it is.
LIMIT in the environment are the seconds that a cell may take."""
import json
import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import made

# Negatives of kge and wv are drawn from what is at the node (AdaPM, Appendix C: "local sampling"; "independent sampling" with
# static partitioning). One fact a step and 6 + 6 negatives, as AdaPM's own program has it on this graph.
KGE = "--data {data}/fb15k-237 --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0 --eval-every 1 --epochs "
MF = "{mf} --reg 0.02 --rank 100 --adagrad coordinate --eval-every 1 --epochs "
WV = "--data {data}/text.txt --subsample 0.001 --epochs "
LOCAL = " --sampling non-conform"
MADE = {"mf": "20000x2000x1000000", "kge_large": "100000x50x1000000", "mf_large": "100000x10000x10000000",
        "ctr_large": "26x100000x4000000", "gnn_large": "100000x16x32"}
OPTIONS = {
    "kge": KGE + "3" + LOCAL, "kge-ahead": KGE + "1" + LOCAL, "kge-ten": KGE + "10" + LOCAL,
    "kge-large": "{kge_large} --dim 100 --batch 1 --negatives 6 --loss logistic --reg 0.01 --init 0.1 "
                 "--eval-every 1 --epochs 4" + LOCAL,
    "mf": MF + "6", "mf-ahead": MF + "1 --batch 1",
    "mf-large": "{mf_large} --reg 0.02 --rank 100 --eval-every 1 --epochs 5",
    "wv": WV + "2" + LOCAL, "wv-ahead": WV + "1 --batch 8" + LOCAL,
    "wv-large": "--data {data}/novels.txt --subsample 0.001 --epochs 2" + LOCAL,
    "ctr-large": "{ctr_large} --hold-back 0.02 --validate 0 --epochs 1 --lr 0.02 --reg 0",
    "gnn-large": "{gnn_large} --train 0.9 --validate 0.05 --eval-every 1 --epochs 2",
    "kge-one": KGE + "1", "mf-one": MF + "3", "wv-one": WV + "1",  # of techniques.md
}
# A step's time. `their`: what AdaPM's programs take on the machine where ours were measured, by the seconds of an epoch; of
# ctr and gnn, which were PyTorch's there, what PyTorch takes for our model (lab/python/tasks.py). `our`: our programs'
# --baseline there.
STEPS = {"their": {"ctr": (28000, 1000), "gnn": (75000, 6000), "kge": (49600, 2000), "mf": (1530, 60), "wv": (3700, 100)},
         "our": {"ctr": (1000, 1000), "gnn": (10000, 6000), "kge": (840, 150), "mf": (88, 20), "wv": (220, 40)}}
# AdaPM, Section 5.8: signals so many clocks ahead, with our timing of action and without. A clock is a fact, a cell, or
# eight words in the middle.
OFFSETS, SEEDS, THREE = (1, 4, 16, 64, 256, 1000, 4000), (1, 2, 3), ("kge", "mf", "wv")
TECHNIQUES = ("adaptive", "full", "replicate", "relocate", "static")


def cell(kind, nodes, more="", machine="nups", steps="their", changes="", workers=8, before=""):
    return SimpleNamespace(kind=kind, nodes=nodes, more=more, machine=machine, steps=steps, changes=changes, workers=workers,
                           before=before)


def cells_of_papers():
    all_cells = {}

    def add(name, *given, **more):
        all_cells[name] = cell(*given, **more)

    for p in (*THREE, "kge-large", "mf-large", "wv-large", "ctr-large", "gnn-large"):
        few = p in ("kge-large", "mf-large", "wv-large")
        for nodes in (1, 8) + ((16,) if p != "kge-large" else ()) + (() if few else (2, 4)):
            add(f"{p}-adaptive-{nodes}", p, nodes, "--lr 0.0125" if p[:2] == "wv" and nodes == 16 else "")
        for t in TECHNIQUES[1:5 if p in THREE else 3] if not few else ("replicate",) if p == "mf-large" else ():
            add(f"{p}-{t}-8", p, 8, f"--technique {t}" + " --sampling conform" * (t == "static" and p != "mf"))
        for level in ("conform", "bounded", "long-term")[:3 if p in ("kge", "wv") else 1 if p == "wv-large" else 0]:
            add(f"{p}-{level}-8", p, 8, f"--sampling {level}")
    for p in THREE:
        seldom = "--eval-every 100" if p != "wv" else ""
        conform = " --sampling conform" if p != "mf" else ""
        add(f"{p}-shared-8", p, 8, changes="own_core=0")
        add(f"{p}-cores-1", p, 1, steps="our", workers=2)
        add(f"{p}-cores-4", p, 4, steps="our", workers=1)
        for nodes in (1, 8):
            add(f"{p}-our-{nodes}", p, nodes, seldom, steps="our")
        add(f"{p}-immediate-8", p, 8, before="--immediate")
        for nodes in (1, 2, 4, 8):
            add(f"{p}-lapse-relocate-{nodes}", p, nodes, "--technique relocate", "lapse")
            if p == "mf":
                add(f"{p}-lapse-blocks-{nodes}", p, nodes, "--technique relocate --visit blocks", "lapse")
            if nodes == 8 or p == "mf" and nodes > 1:
                add(f"{p}-lapse-static-{nodes}", p, nodes, "--technique static" + conform, "lapse")
        add(f"{p}-lapse-adaptive-8", p, 8, "", "lapse")
        add(f"{p}-narrow-8", p, 8, seldom, "lapse")
        add(f"{p}-bound-8", p, 8, seldom, "lapse", "our")
        for offset in OFFSETS:
            add(f"{p}-ahead-{offset}", p + "-ahead", 8, before=f"--ahead {offset}")
            add(f"{p}-ahead-{offset}-immediate", p + "-ahead", 8, before=f"--ahead {offset} --immediate")
    for seed in SEEDS:  # what the draw makes of it
        for nodes in (1, 8):
            add(f"kge-ten-{nodes}-seed-{seed}", "kge-ten", nodes, f"--seed {seed}")
    return all_cells


# The threshold, as times of the 100 that NuPS has, from the lowest up to the first at which no key is hot: all above are the
# same to the byte. FACTORS: times as many keys as its rule of 100 times the mean chooses. RATES: what NuPS has in a second, in
# a thousandth of one, for epochs are as much shorter.
TIMES = {"1/64": 1.5625, "1/16": 6.25, "1/4": 25, "1": 100, "4": 400, "16": 1600, "64": 6400, "256": 25600}
FACTORS = {"1/16": 1 / 16, "1/4": 1 / 4, "1": 1, "4": 4, "16": 16, "64": 64, "256": 256}
CHOSEN, BEST = {"kge": 18, "wv": 22, "mf": 9}, {"wv": 66, "kge": 1152}
RATES, EDGE = (200, 1000, 5000, 25000, 125000), {"slow": "--lr 0.00625", "adagrad": "--optimizer adagrad"}
NUPS = "--technique nups --hot "


def cells_of_techniques():
    all_cells = {}

    def add(name, program, nodes, more, **given):
        all_cells[f"{program}-{name}"] = cell(program + "-one", nodes, more, **given)

    for p in ("mf", "wv", "kge"):
        local = LOCAL.strip() if p != "mf" else ""
        for t in ("adaptive", "relocate", "nups --hot auto", "essp --staleness 1", "ssp --staleness 1", "static"):
            add(t.split()[0], p, 8, f"--technique {t}")
        add("one", p, 1, "--technique adaptive")
        for name, threshold in TIMES.items():
            add("hot-" + name.replace("/", "_"), p, 8, f"{NUPS}{threshold:g}x")
        for level in ("long-term", "non-conform") if local else ():
            add("nups-" + level, p, 8, f"{NUPS}auto --sampling {level}")
        for rate in RATES:
            add(f"rate-{rate}", p, 8, NUPS + "auto", changes=f"rounds={rate}")
        add("rate-never", p, 8, NUPS + "auto", before="--unsynchronized")
        for t in ("relocate", "adaptive") if local else ():
            add("local-" + t, p, 8, f"{local} --technique {t}")
        for name, factor in FACTORS.items():
            keys = int(CHOSEN[p] * factor + 0.5)
            if keys > 0:
                add("local-keys-" + name.replace("/", "_"), p, 8, f"{NUPS}{keys} {local}")
        for nodes in (2, 4, 16):
            for t in ("relocate", "nups --hot auto", "essp --staleness 1")[:3 if p == "mf" else 2]:
                add(f"nodes-{t.split()[0]}-{nodes}", p, nodes, f"{local} --technique {t}")
        for seed in SEEDS if p in BEST else ():  # at equal time
            add(f"two-adaptive-{seed}", p, 8, f"--technique adaptive {local} --epochs 2 --seed {seed}")
            add(f"two-nups-{seed}", p, 8, f"{NUPS}{BEST[p]} {local} --epochs 2 --seed {seed}")
    add("adaptive-6", "kge", 8, "--technique adaptive --epochs 6")  # in the time that NuPS takes for an epoch
    add("adaptive-3", "wv", 8, "--technique adaptive --epochs 3")
    for kind, more in EDGE.items():  # wv with conform samples is at the edge of what its rate allows
        add(f"{kind}-one", "wv", 1, "--technique adaptive " + more)
        for name, t in (("relocate", "--technique relocate"), ("hot-1", NUPS + "auto"), ("hot-1_16", NUPS + "6.25x")):
            add(f"{kind}-{name}", "wv", 8, f"{t} {more}")
    add("adagrad-adaptive", "wv", 8, "--technique adaptive " + EDGE["adagrad"])
    return all_cells


# ---- running them ----

def run(name, c):
    """The result appears when it is whole."""
    program, out = c.kind.split("-")[0], f"{results}/{name}"
    step, prepare = STEPS[c.steps][program]
    model = f"step={step},prepare={prepare}" + f",{c.changes}" * bool(c.changes)
    made_up = {n: made.options(program, sizes) for n, sizes in MADE.items() if f"{{{n}}}" in OPTIONS[c.kind]}
    options = OPTIONS[c.kind].format(data=data, **made_up).split()
    if options[0] == "--data" and not os.path.exists(options[1]) or os.path.exists(out + ".json"):
        return
    sweep = program + "-hot-"
    if name.startswith(sweep) and any(n.startswith(sweep) and read(n).copies == 0 for n in done()):
        return
    command = [papers, "--nodes", str(c.nodes), "--machine", c.machine, "--model", model, *c.before.split(), program, *options,
               "--workers", str(c.workers), "--json", *c.more.split()]
    print(f"== {name}", file=sys.stderr, flush=True)
    with open(out + ".command", "w", encoding="utf-8") as f:
        f.write(" ".join(command) + "\n")
    with open(out + ".new", "w", encoding="utf-8") as to, open(out + ".log", "w", encoding="utf-8") as log:
        status = subprocess.run(["timeout", "--kill-after=10", os.environ.get("LIMIT", "1800"), *command], stdin=subprocess.DEVNULL,
                                stdout=to, stderr=log, check=False).returncode
    if status:
        print(f"{name} did not end well: see {out}.log", file=sys.stderr)
    else:
        os.rename(out + ".new", out + ".json")


def done():
    return sorted(name[:-5] for name in os.listdir(results) if name.endswith(".json"))


def have(name):
    return os.path.exists(f"{results}/{name}.json")


def command_of(name):
    """As a user types it, without this machine's paths."""
    with open(f"{results}/{name}.command", encoding="utf-8") as f:
        return f.read().strip().replace(papers, "build/gcc/lab/papers").replace(data, "DATA").replace(
            f"{made.FOLDER}/", "")


def quality_of(e):
    """Higher is better: MRR and accuracy; of errors and losses 1/x; 2 AUC - 1, which is 0 for who knows nothing."""
    if e.get("split") == "valid" and "mrr" in e:
        return e["mrr"]
    if "rmse" in e:
        return 1 / e["rmse"]
    if e.get("split") == "test" and "auc" in e:
        return 2 * e["auc"] - 1
    return e.get("accuracy")


def read(name):
    """A cell's result: times and counts are an epoch's; curve: seconds and quality of each evaluation."""
    r = SimpleNamespace(curve=[], epochs=0)
    seconds = evaluated = 0
    with open(f"{results}/{name}.json", encoding="utf-8") as f:
        for e in (json.loads(line) for line in f if line.startswith("{")):
            if e.get("event") == "epoch" and e["epoch"] > 0:
                r.epochs += 1
                seconds += e["seconds"]
                if "pairs_per_second" in e:
                    r.curve.append((seconds, 1 / e["loss"]))
            elif e.get("event") == "eval" and r.epochs > evaluated and quality_of(e) is not None:
                evaluated = r.epochs
                r.curve.append((seconds, quality_of(e)))
            elif e.get("event") == "stats":
                stats = e
            elif e.get("event") == "machine":
                machine = e
    n = r.epochs
    count = {where: stats["pulled_" + where] + stats["pushed_" + where] for where in ("local", "replica", "remote")}
    r.nodes, r.seconds, r.best = machine["nodes"], seconds / n, max((q for _, q in r.curve), default=0)
    r.gb, r.stale_ms = stats["bytes_sent"] / r.nodes / n * 1e-9, 1e3 * stats.get("replica_staleness_mean_s", 0)
    r.relocated, r.replicas = stats["relocated_in"] / n, stats["replicas_created"] / n
    r.remote, r.copied = count["remote"] / (sum(count.values()) or 1), count["replica"] / (sum(count.values()) or 1)
    r.owned, r.copies = stats["owned_now"], stats["replicas_created"]
    r.parts = [machine["computed_s"] / n, machine["starved_s"] / n, (machine["pull_s"] + machine["sample_s"]) / n,
               machine["update_s"] / n, machine["settle_s"] / n]
    r.busy, r.wire_gb = machine["busiest_shard_s"] / machine["seconds"], machine["wire_bytes"] / r.nodes / n * 1e-9
    return r


def reached(r, goal, epochs=None):
    """The seconds to a quality, which rises evenly between two evaluations; None: it was not reached."""
    before, last = 0, None
    for at, quality in r.curve[:epochs]:
        if goal > 0 and quality >= goal:
            return at if last is None else before + (at - before) * (goal - last) / (quality - last)
        before, last = at, quality
    return None


def table(heading, rows):
    if not rows:
        return
    print("|" + "|".join(f" {x} " if x else " " for x in heading) + "|\n|" + "---|" * len(heading))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


# ---- lab/papers.md, ctr.md, gnn.md ----

def speedups(p, title):
    if not have(p + "-adaptive-1"):
        return
    one, rows = read(p + "-adaptive-1"), []
    goal = 0.9 * one.best
    for name in ("adaptive-1", "adaptive-2", "adaptive-4", "adaptive-8", "adaptive-16", "full-8", "replicate-8", "relocate-8",
                 "static-8", "immediate-8", "conform-8", "bounded-8", "long-term-8"):
        if have(f"{p}-{name}"):
            r = read(f"{p}-{name}")
            to_goal = reached(r, goal)
            rows.append((", ".join(name.rsplit("-", 1)), f"{r.seconds:.4f}", f"{one.seconds / r.seconds:.1f}", f"{r.best:.3f}",
                         f"{100 * r.best / one.best:.0f} %", f"{reached(one, goal) / to_goal:.1f}" if to_goal else "-",
                         f"{r.gb:.3f}", f"{r.replicas:.0f}", f"{r.relocated:.0f}", f"{100 * r.remote:.2f} %"))
    print(f"### {title}\n")
    table(("technique, nodes", "seconds an epoch", "raw speedup", "quality, best", "its part of one node's", "effective speedup",
           "GB sent a node and epoch", "replicas an epoch", "relocations", "accesses elsewhere, evaluations included"), rows)
    if have(p + "-adaptive-8"):
        print(f"Command of the cell `adaptive, 8`:\n\n    {command_of(p + '-adaptive-8')}\n")


def beside_one(names, one_of, row):
    """A row of each of the (label, name) that there are, beside one node's of its program."""
    return [(label, *row(read(name), read(one_of(name)))) for label, name in names if have(name) and have(one_of(name))]


def seeds_of_kge():
    for epochs in (3, 10):
        for seed in SEEDS:
            names = [f"kge-ten-{nodes}-seed-{seed}" for nodes in (1, 8)]
            if not all(map(have, names)):
                continue
            one, eight = map(read, names)
            best = [max(q for _, q in r.curve[:epochs]) for r in (one, eight)]
            times = [reached(r, 0.9 * best[0], epochs) for r in (one, eight)]
            yield (str(seed), str(epochs), f"{best[0]:.3f}", f"{best[1]:.3f}", f"{100 * best[1] / best[0]:.0f} %",
                   f"{times[0]:.3f}", *((f"{times[1]:.3f}", f"{times[0] / times[1]:.1f}") if times[1] else "--"))


def bars(programs):
    names = [(f"{p}, {t}", f"{p}-{t}-8") for p in programs for t in TECHNIQUES if have(f"{p}-{t}-8")]
    rows = []
    for label, name in names:
        r = read(name)
        parts = [x / (r.seconds * r.nodes * 8) for x in r.parts]
        rows.append((label, *(f"{100 * x:.1f} %" for x in (*parts, 1 - sum(parts))), f"{100 * r.busy / 4:.0f} %",
                     f"{100 * r.wire_gb / 12.5 / r.seconds:.0f} %", f"{r.stale_ms:.2f}" if r.stale_ms else "-"))
    table(("", "computes", "waits for batches", "waits for rows", "waits for updates", "end of the epoch", "the rest",
           "busiest node's shards", "its card", "replicas' owners heard of, ms ago"), rows)


def tables_of_papers():
    for p, title in (("kge", "Knowledge graph embeddings: FB15k-237, quality is the MRR"),
                     ("kge-large", "Knowledge graph embeddings: a planted graph of 100,000 entities and 1,000,000 facts"),
                     ("mf", "Matrix factorization: 20,000 x 2,000, 1,000,000 cells of Zipf 1.1, quality is 1 / RMSE"),
                     ("mf-large", "Matrix factorization: 100,000 x 10,000, 10,000,000 cells of Zipf 1.1, a rate for each factor"),
                     ("wv", "Word vectors: the first 440,000 tokens of WikiText-2, quality is 1 / loss of an epoch"),
                     ("wv-large", "Word vectors: 2,000,000 tokens of novels")):
        speedups(p, title)
    print("### Knowledge graph embeddings, ten epochs, three seeds\n")
    table(("seed", "epochs", "MRR, one node", "eight nodes", "its part of one node's", "seconds to 90 %, one node", "eight nodes",
           "effective speedup"), list(seeds_of_kge()))
    print("### What a core of its own brings\n")
    table(("8 nodes", "seconds an epoch", "raw speedup", "quality, of one node's", "GB sent a node and epoch",
           "busy part of the shards"),
          beside_one([(f"{p}, {what}", f"{p}-{name}-8") for p in THREE for name, what in
                      (("shared", "pace of shared cores"), ("adaptive", "with cores of their own"))],
                     lambda name: name.split("-")[0] + "-adaptive-1", lambda r, one: (
                         f"{r.seconds:.4f}", f"{one.seconds / r.seconds:.1f}", f"{100 * r.best / one.best:.0f} %", f"{r.gb:.3f}",
                         f"{100 * r.busy / 4:.0f} %")))
    print("### Four nodes with a core for each thread, our own steps\n")
    table(("", "one node of two workers: seconds an epoch", "four nodes of one worker", "of twice the speed",
           "quality, of one node's"),
          beside_one([(p, f"{p}-cores-4") for p in THREE], lambda name: name[:-1] + "1", lambda r, one: (
              f"{one.seconds:.4f}", f"{r.seconds:.4f}", f"{100 * one.seconds / r.seconds / 2:.0f} %",
              f"{100 * r.best / one.best:.0f} %")))
    print("### Lapse's machines, their steps\n")  # Lapse, Section 4: with relocation and without
    table(("", "seconds an epoch", "raw speedup", "of one node's quality", "accesses elsewhere, evaluations included",
           "rows moved a second", "workers wait for rows"),
          beside_one([(f"{p}, {t}, {nodes}", f"{p}-lapse-{t}-{nodes}") for p in ("mf", "kge", "wv") for t in
                      ("relocate", "blocks", "static", "adaptive") for nodes in (1, 2, 4, 8)],
                     lambda name: name.split("-")[0] + "-lapse-relocate-1", lambda r, one: (
                         f"{r.seconds:.4f}", f"{one.seconds / r.seconds:.1f}", f"{100 * r.best / one.best:.0f} %",
                         f"{100 * r.remote:.1f} %", f"{r.relocated / r.seconds:.0f}",
                         f"{100 * r.parts[2] / (r.nodes * 8 * r.seconds):.0f} %")))
    print("### Where the network is the bound\n")

    def bound(name, width):
        shards = 4 if width == 12.5 else 2

        def row(r, one):
            alone, sent = r.parts[0] / 64, r.wire_gb / width
            return (f"{alone:.4f}", f"{sent:.4f}", f"{r.seconds:.4f}", f"{r.seconds / max(alone, sent):.2f}",
                    f"{one.seconds / r.seconds:.1f}", f"{100 * r.best / one.best:.0f} %", f"{100 * r.busy / shards:.0f} %")
        return [line for p in THREE for line in beside_one(
            [(f"{p}, {name[1]}", f"{p}-{name[0]}-8")], lambda _: f"{p}-{'adaptive' if name[0] == 'narrow' else 'our'}-1", row)]
    table(("8 nodes", "computing alone", "what is sent / bandwidth", "seconds an epoch", "times the longer of the two",
           "raw speedup", "quality, of one node's", "busiest node's shards"),
          bound(("our", "our steps, 100 Gbit/s"), 12.5) + bound(("bound", "our steps, 10 Gbit/s"), 1.25) +
          bound(("narrow", "their steps, 10 Gbit/s"), 1.25))
    print("### What the workers' time goes into, on 8 nodes\n")
    bars(THREE)


def tables_of_offsets():
    for p, title in (("kge", "Knowledge graph embeddings: FB15k-237, a clock is a fact, quality is the MRR"),
                     ("mf", "Matrix factorization: 20,000 x 2,000, 1,000,000 cells, a clock is a cell, quality is 1 / RMSE"),
                     ("wv", "Word vectors: 440,000 tokens of WikiText-2, a clock is eight words, quality is 1 / loss of the "
                            "epoch")):
        rows = []
        for offset in OFFSETS:
            both = [read(name) if have(name) else None for name in (f"{p}-ahead-{offset}", f"{p}-ahead-{offset}-immediate")]
            rows.append((str(offset), *("-" if r is None else text(r) for text in (
                lambda r: f"{r.seconds:.4f}", lambda r: f"{r.best:.3f}", lambda r: f"{r.gb:.3f}",
                lambda r: f"{1e3 * r.stale_ms:.0f}", lambda r: f"{r.replicas:.0f}") for r in both)))
        if not have(p + "-ahead-1"):
            continue
        print(f"### {title}\n")
        table(("clocks ahead", *(f"{what}: {how}" if how[0] == "o" else how for what in (
            "seconds of the epoch", "quality after it", "GB sent a node", "staleness of a read, us", "replicas")
            for how in ("our timing", "immediate action"))), rows)
        print(f"Command of 64 clocks, immediate:\n\n    {command_of(p + '-ahead-64-immediate')}\n")


def insert(document, mark, tables, first):
    """What it prints comes between the two marks, if there is a result whose name begins so."""
    if not any(name.startswith(first) for name in done()):
        return
    path, kept = f"lab/{document}.md", sys.stdout
    with tempfile.TemporaryFile("w+", encoding="utf-8") as sys.stdout:
        tables()
        sys.stdout.seek(0)
        text = sys.stdout.read()
    sys.stdout = kept
    with open(path, encoding="utf-8") as f:
        head, rest = f.read().split(f"<!-- {mark} -->\n")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{head}<!-- {mark} -->\n{text.rstrip()}\n<!-- end of {mark} -->" + rest.split(f"<!-- end of {mark} -->")[1])


# ---- drawings: colours that are dark enough on white, and different without colour, too ----

COLOURS = "\n".join(f"set linetype {i + 1} lc rgb '{c}' lw 1.6 pt {(1, 2, 4, 6, 8, 10)[i]}" for i, c in enumerate(
    ("#202020", "#1a7a3c", "#2a6fb0", "#b8860b", "#b03030", "#7a3fa0")))


def gnuplot(file, size, script):
    subprocess.run(["gnuplot"], input=f"set terminal svg size {size} font 'sans,11' noenhanced\nset output 'lab/{file}.svg'\n"
                   f"{COLOURS}\nset grid\n{script}\n", text=True, check=True)


def block(name, rows):
    return f"${name} << end\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "end\n"


def draw(p, quality):
    """Quality over time, a line a technique."""
    names = [n for n in ("adaptive-1", *(t + "-8" for t in TECHNIQUES)) if have(f"{p}-{n}")]
    if names:
        gnuplot(f"papers_{p}", "640,360", "".join(block(f"d{i}", read(f"{p}-{n}").curve) for i, n in enumerate(names)) +
                "set logscale x; set autoscale xfix; set offsets graph 0.04, graph 0.04, 0, 0\n"
                "set xtics (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)\nset key outside right; set yrange [0:*]\n"
                f"set xlabel 'seconds of training (virtual), each mark the end of an epoch'; set ylabel '{quality}'\nplot " +
                ", ".join(f"$d{i} using 1:2 with linespoints title '{n.replace('-', ', ')}'" for i, n in enumerate(names)))


def draw_offsets():
    programs = [p for p in THREE if have(p + "-ahead-1")]
    script = f"set multiplot layout {len(programs)},2\nset logscale x; set xlabel 'clocks that intent is signaled ahead'\n" \
             "set xrange [0.8:5000]\n"
    for p in programs:
        for kind in ("", "-immediate"):
            names = [(offset, f"{p}-ahead-{offset}{kind}") for offset in OFFSETS if have(f"{p}-ahead-{offset}{kind}")]
            script += block(p + kind.replace("-", "_"), [(o, read(n).seconds, read(n).best) for o, n in names])
        for column, title, scale, key in ((2, "seconds of the epoch", "set logscale y", "top"),
                                          (3, "quality after it", "unset logscale y; set yrange [0:*]", "bottom")):
            script += f"set key {key} right; set title '{p}: {title}'\n{scale}\nplot ${p} using 1:{column} with linespoints " \
                      f"title 'our timing', ${p}_immediate using 1:{column} with linespoints title 'immediate'\nset yrange [*:*]\n"
    if programs:
        gnuplot("papers_ahead", f"760,{260 * len(programs)}", script)


def draw_bars():
    """What the workers' time goes into, a bar for each program and technique."""
    rows = []
    for p in THREE:
        for t in TECHNIQUES:
            if have(f"{p}-{t}-8"):
                r = read(f"{p}-{t}-8")
                parts = [x / (r.seconds * r.nodes * 8) for x in r.parts]
                rows.append((f'"{p} {t}"', *parts, 1 - sum(parts)))
        rows.append(('""', *6 * [0]))
    if have("kge-adaptive-8"):
        gnuplot("papers_time", "760,400", "".join(f"set linetype {i + 1} lc rgb '{c}'\n" for i, c in enumerate(
            ("#1a7a3c", "#b8860b", "#b03030", "#7a3fa0", "#2a6fb0", "#b0b0b0"))) + block("bars", rows) +
            "set style data histograms; set style histogram rowstacked; set style fill solid; set boxwidth 0.8\n"
            "set xtics rotate by -45 nomirror; set ylabel 'percent of the time of all workers'; set yrange [0:100]\n"
            "unset grid; set grid ytics; set key outside right reverse Left invert\nplot " + ", ".join(
                f"$bars using (100 * ${i + 2}):xtic(1) title '{part}'" for i, part in enumerate(
                    ("computes", "waits for batches", "waits for rows", "waits for updates", "end of the epoch", "the rest"))))


def write_papers():
    if subprocess.run(["sh", "-c", "command -v gnuplot"], stdout=subprocess.DEVNULL, check=False).returncode == 0:
        draw_bars()
        draw_offsets()
        for p, quality in (("kge", "MRR"), ("mf", "1 / RMSE"), ("wv", "1 / loss")):
            draw(p, quality)

    def of_large(p, title):
        speedups(p, title)
        bars([p])
    insert("papers", "tables", tables_of_papers, tuple(p + "-adaptive" for p in OPTIONS))
    insert("papers", "offsets", tables_of_offsets, ("kge-ahead", "mf-ahead"))
    insert("ctr", "tables", lambda: of_large("ctr-large", "4,000,000 planted examples, quality is 2 AUC - 1"), "ctr-large")
    insert("gnn", "tables", lambda: of_large("gnn-large", "100,000 planted nodes, quality is the accuracy"), "gnn-large")


# ---- lab/techniques.md ----

COLUMNS = ("seconds an epoch", "quality, best", "GB sent a node and epoch", "replicas made", "relocations", "accesses elsewhere")


def rows_of(names):
    return [(label, f"{r.seconds:.4f}", f"{r.best:.3f}", f"{r.gb:.3f}", f"{r.replicas:.0f}", f"{r.relocated:.0f}",
             f"{100 * r.remote:.2f} %") for label, r in ((label, read(n)) for label, n in names if have(n))]


def write_techniques():
    for p in ("mf", "wv", "kge"):
        table((p, *COLUMNS), rows_of([("one node", p + "-one")] + [
            (t, f"{p}-{t}") for t in ("static", "ssp", "essp", "relocate", "nups", "adaptive")] + [
            (f"nups, threshold x {t}", f"{p}-hot-{t.replace('/', '_')}") for t in TIMES] + [
            (f"nups, sampling {level}", f"{p}-nups-{level}") for level in ("long-term", "non-conform")] + [
            ("nups, hot keys never synchronized", p + "-rate-never")] + [
            (f"nups, at most {r} synchronizations a second", f"{p}-rate-{r}") for r in RATES]))
    table(("wv, conform samples", COLUMNS[0], "1 / loss", *COLUMNS[2:]), rows_of(
        [(f"{kind}: {n}", f"wv-{kind}-{n}") for kind in EDGE for n in ("one", "relocate", "hot-1", "hot-1_16", "adaptive")]))
    shares = []
    for p in ("kge", "wv", "mf"):
        for factor in FACTORS:
            name = f"{p}-local-keys-{factor.replace('/', '_')}"
            if have(name):  # a node that has the row itself counts no replica
                r = read(name)
                shares.append((f"{p} x {factor}", f"{r.copies // 7}", f"{100 * r.copies / 7 / r.owned:.3f} %",
                               f"{100 * r.copied * 8 / 7:.1f} %", f"{r.seconds:.4f}", f"{r.best:.3f}", f"{r.gb:.3f}",
                               f"{100 * r.remote:.2f} %"))
    table(("times as many hot keys", "hot keys", "of all", "accesses to them", *COLUMNS[:3], COLUMNS[5]), shares)
    table(("local samples", *COLUMNS), rows_of([line for p in ("kge", "wv") for line in (
        *((f"{p}, {n}", f"{p}-local-{n}") for n in ("relocate", "adaptive")),
        *((f"{p}, {n}, two epochs, seed {i}", f"{p}-two-{n}-{i}") for n in ("adaptive", "nups") for i in SEEDS))]))
    by_nodes = []
    for p in ("mf", "kge", "wv"):
        eight = {"essp": "essp", "relocate": "relocate" if p == "mf" else "local-relocate", "nups": "nups" if p == "mf" else
                 "local-keys-1"}
        by_nodes += beside_one([(f"{p}, {t}, {n} nodes", f"{p}-{eight[t]}" if n == 8 else f"{p}-nodes-{t}-{n}")
                                for t in ("relocate", "nups", "essp") for n in (2, 4, 8, 16)], lambda _: p + "-one",
                               lambda r, one: (f"{r.seconds:.4f}", f"{one.seconds / r.seconds:.1f}", f"{r.best:.3f}",
                                               f"{100 * r.remote:.2f} %"))
    table(("", "seconds an epoch", "raw speedup", "quality", "accesses elsewhere"), by_nodes)


KINDS = {"papers": (cells_of_papers, write_papers), "techniques": (cells_of_techniques, write_techniques)}
if len(sys.argv) < 5 or sys.argv[1] not in KINDS:
    sys.exit(__doc__)
papers, data, results = sys.argv[2:5]
os.makedirs(results, exist_ok=True)
for cell_name, wanted in KINDS[sys.argv[1]][0]().items():
    if cell_name.startswith(tuple(sys.argv[5:] or [""])):
        run(cell_name, wanted)
KINDS[sys.argv[1]][1]()
