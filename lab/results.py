#!/usr/bin/python3
"""Repeats the tables of lab/kge.md, wv.md, mf.md, ctr.md and gnn.md, and the drawings of wv.md and mf.md.

PROGRAMS has the programs. DATA is a folder in which, at any depth, whatever there is of these is found: fb15k-237 and wn18rr
(folders), clic.txt and wiki.train.tokens (texts), questions-words.txt and EN-WS-353-ALL.txt (questions), jester-1.mtx and
ratings.csv, census_148d_train.libsvm and census_148d_test.libsvm, facebook_edges.csv and facebook_target.csv, cora and citeseer
(.edges.tsv, .nodes.svm, .split.txt). `locus prepare` makes the programs' forms of them, in OUT. What is missing is passed over,
by name. SECTION is the beginning of a section's name ("kge", "mf-zipf"); without any all are
run, which takes some hours on two processors.

OUT/SECTION/ gets the JSON lines of each run, OUT/SECTION.md the table, OUT/SECTION.svg the drawing. The runs of a section take
turns. Speeds of kge are of runs of --seconds each, on the whole training split: the median of the epochs after the first, in
which rows find their places. Sections with "far" in the name delay what passes between nodes, 200 microseconds each way, by
proxies: that needs build/gcc/test/distance, and the right to make network namespaces."""
import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections import namedtuple

import made

# kind: "" or "far"; a number: so many processes on plain arrays that know nothing of each other
Run = namedtuple("Run", "label nodes options kind", defaults=("",))
Section = namedtuple("Section", "program runs table once", defaults=(False,))
TECHNIQUES = ("adaptive", "static", "relocate", "replicate", "full")
LEVELS = ("conform", "bounded", "long-term", "non-conform")


class Missing(Exception):
    pass


# ---- what a run came to ----

def summary(path):
    """What a run told, by the names that tables use: lists."""
    with open(path, encoding="utf-8") as f:
        events = [json.loads(line) for line in f if line.startswith("{")]
    epochs = [e for e in events if e.get("event") == "epoch"]
    got = {"seconds": [e["seconds"] for e in epochs], "rate": [e["examples_per_second"] for e in epochs],
           "gflops": [e.get("gflops", 0) for e in epochs], "loss": [e["loss"] for e in epochs[-1:] if "loss" in e],
           "epochs": [len(epochs)], "is_wv": any("pairs_per_second" in e for e in epochs)}
    for e in events:
        if e.get("split") == "test":
            got.update({name: [e[name]] for name in ("mrr", "rmse", "auc", "log_loss", "calibration_error") if name in e})
        if e.get("split") == "planted":
            got["own"] = [e["auc"]]
        if e.get("task") in ("analogies", "similarity"):
            got[e["task"]] = [100 * e["accuracy"] if e["task"] == "analogies" else e["spearman"]]
        if e.get("event") in ("eval", "best") and "accuracy" in e:
            got["accuracy"] = [e["accuracy"]]  # the best is said last
        if e.get("event") == "partition":
            got["cut"] = [100 * e["edges_between"]]
        if e.get("event") == "stats":
            remote = e["pulled_remote"] + e["pushed_remote"]
            here = sum(e[f"{how}_{where}"] for how in ("pulled", "pushed") for where in ("local", "replica"))
            got["remote"] = [100 * remote / ((remote + here) or 1)]
            got["sent"] = [e["bytes_sent"] / 1e6 / (len(epochs) or 1)]
    return got


def steady(got):
    """The rate of kge, and its GFLOP/s: what the clock cut short counts only when there is nothing else."""
    rates, seconds = got["rate"], got["seconds"]
    last = len(rates) - (len(rates) > 2 and seconds[-1] < 0.5 * seconds[-2])
    rate = statistics.median(rates[1 if last > 1 else 0:last])
    return rate / 1000, got["gflops"][0] / rates[0] * rate


# ---- tables: what `runs`, label -> the summaries of its turns, came to ----

def all_of(runs, name):
    return [x for got in runs for x in got.get(name, [])]


def middle(values, form):
    return format(statistics.median(values), form) if values else "-"


def ranged(values, form, scale=1):
    values = [x * scale for x in values]
    ends = f" ({min(values):{form}} to {max(values):{form}})" if len(values) > 1 else ""
    return middle(values, form) + ends


def mean(runs, name, form):
    values = all_of(runs, name)
    return format(statistics.mean(values), form) if values else "-"


def fastest(runs):
    return format(max(all_of(runs, "rate")) / 1000, ".0f")


def table_of(headings, runs, cells):
    lines = ["|" + "|".join(f" {h} " if h else " " for h in headings) + "|", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join([label, *cells(got)]) + " |" for label, got in runs.items()]) + "\n"


def kge_speeds(runs, title):
    def cells(got):
        both = sorted(steady(g) for g in got)
        return ranged([rate for rate, _ in both], ".1f"), f"{both[(len(both) - 1) // 2][1]:.2f}"
    return table_of((f"`{title}`", "thousand facts/s", "GFLOP/s"), runs, cells)


def kge_quality(runs, _):
    return table_of(("", "test MRR", "epochs"), runs, lambda got: (mean(got, "mrr", ".4f"), mean(got, "epochs", ".0f")))


def ctr_quality(runs, _):
    def cells(got):
        own = all_of(got, "own")
        less = statistics.mean(own) - statistics.mean(all_of(got, "auc")) if own else None
        return (mean(got, "auc", ".4f"), "-" if less is None else f"{less:.4f}", mean(got, "log_loss", ".4f"),
                mean(got, "calibration_error", ".4f"), fastest(got), mean(got, "remote", ".2f"), mean(got, "sent", ".1f"))
    return table_of(("run", "AUC", "planted, less AUC", "log loss", "calibration error", "thousand examples/s",
                     "remote accesses, %", "MB an epoch, sent by all"), runs, cells)


def gnn_quality(runs, _):
    return table_of(("run", "test accuracy", "edges between nodes, %", "thousand nodes/s", "remote accesses, %",
                     "MB an epoch, sent by all"), runs,
                    lambda got: (mean(got, "accuracy", ".4f"), mean(got, "cut", ".1f"), fastest(got),
                                 mean(got, "remote", ".2f"), mean(got, "sent", ".1f")))


OPTIONAL = (("rmse", "test RMSE", ".4f"), ("loss", "loss", ".3f"), ("analogies", "analogies, %", ".2f"),
            ("similarity", "Spearman", ".3f"), ("remote", "remote accesses, %", ".2f"),
            ("sent", "MB an epoch, sent by all", ".0f"))
RANGED = ("rmse", "analogies", "similarity")


def speed_of(runs):
    is_wv = any(got["is_wv"] for turns in runs.values() for got in turns)
    return ("rate", 1e-6, "M words/s", "million words/s: more") if is_wv else ("seconds", 1, "seconds an epoch",
                                                                              "seconds an epoch: less")


def speeds(runs, _):
    name, scale, heading, _ = speed_of(runs)
    first = statistics.median(all_of(next(iter(runs.values())), name))
    columns = [c for c in OPTIONAL if any(all_of(got, c[0]) for got in runs.values()) and (c[0] != "loss" or name == "rate")]
    return table_of(("run", heading, "times the first", *(c[1] for c in columns)), runs, lambda got: (
        ranged(all_of(got, name), ".3f", scale), f"{statistics.median(all_of(got, name)) / first:.2f}",
        *((ranged if c[0] in RANGED else middle)(all_of(got, c[0]), c[2]) for c in columns)))


def drawing(runs, title):
    """A bar for each run, of its speed, and beside it one of its quality; lines: least to most."""
    name, scale, _, heading = speed_of(runs)
    quality = next((q for q in (("rmse", "test RMSE: less", ".4f"), ("analogies", "analogies, %: more", ".2f"),
                                ("loss", "loss of the epoch: less", ".4f"))
                    if any(all_of(got, q[0]) for got in runs.values())))
    height = 84 + 24 * len(runs)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height}" width="900" height="{height}" '
           f'font-family="sans-serif">', f'<rect width="900" height="{height}" fill="#fff"/>']

    def text(x, y, size, anchor, said, colour="#333"):
        out.append(f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{said}</text>')

    text(16, 28, 16, "start", title.replace("_", " "), "#111")
    text(884, 28, 12, "end", "bars: medians; lines: least to most", "#666")
    for x, width, (what, head, form), by, colour in ((216, 250, (name, heading, ".3f"), scale, "#4c78a8"),
                                                     (546, 270, quality, 1, "#54a24b")):
        most = max(itertools.chain(*(all_of(got, what) for got in runs.values())))
        text(x, 62, 13, "start", head + " is better")
        for i, (label, got) in enumerate(runs.items()):
            values, y = all_of(got, what), 74 + 24 * i
            if what == name:
                text(206, y + 13, 12, "end", label)
            if not values:
                continue
            middle, ends = statistics.median(values), [x + v / most * width for v in (min(values), max(values))]
            out.append(f'<rect x="{x}" y="{y}" width="{middle / most * width:.1f}" height="16" fill="{colour}"/>')
            if len(values) > 1:
                out.append(f'<path d="M{ends[0]:.1f},{y + 8}H{ends[1]:.1f}" stroke="#222" stroke-width="1.5"/>')
            text(x + width + 6, y + 13, 12, "start", f"{middle * by:{form}}")
    return "\n".join([*out, "</svg>"]) + "\n"


# ---- what several sections have in common ----

def nodes_of(n):
    return f"{n} node" + "s" * (n > 1)


def sizes(options):
    return [Run("plain arrays", 1, options + " --baseline"), Run("plain arrays, 2 workers", 1, options + " --workers 2 --baseline"),
            Run("1 node", 1, options), Run("1 node, 2 workers", 1, options + " --workers 2"), Run("2 nodes", 2, options),
            Run("4 nodes", 4, options)]


def each(nodes, name, values, options):
    return [Run(f"{nodes_of(nodes)}, {v}", nodes, f"{options} --{name} {v}") for v in values]


# ---- the sections ----

KGE = {"single": "--dim 100 --batch 1 --negatives 6 --loss logistic --reg 0", "batches": "--dim 100 --batch 512 --negatives 500",
       "good": "--dim 200 --reciprocal --reg 0.05 --init 0.1 --negatives 1000 --batch 512"}


def kge_runs(kind, o):
    if kind == "worker":
        return [Run("plain arrays, 1 worker", 1, o + " --baseline"), Run("1 node, 1 worker", 1, o)]
    if kind == "sizes":
        return [Run("plain arrays, 2 workers", 1, o + " --workers 2 --baseline"),
                Run("plain arrays, four processes apart", 1, o + " --baseline", 4), Run("1 node, 2 workers", 1, o + " --workers 2"),
                Run("2 nodes, 1 worker", 2, o), Run("4 nodes, 1 worker", 4, o),
                Run("4 nodes, 1 worker, non-conform", 4, o + " --sampling non-conform")]
    if kind == "levels":
        return each(4, "sampling", LEVELS, o)
    if kind == "far":
        return [Run(f"4 far nodes, {t}, {level}", 4, f"{o} --technique {t} --sampling {level}", "far")
                for t in ("adaptive", "static") for level in ("conform", "non-conform")]
    return each(2 if kind == "2-techniques" else 4, "technique", TECHNIQUES, o)


def kge_speed(steps, kind):
    return lambda lab: Section("kge", kge_runs(kind, f"--data {lab.short_graph()} {KGE[steps]} --epochs 1000"), kge_speeds)


def kge_judged(graph, options, epochs):
    def of(lab):  # quality does not depend on what else the machine does: one run of each
        o = f"--data {lab.prepared('kge', graph, [graph])} {options} --epochs {epochs} --eval-every 1000"
        return Section("kge", [Run("plain arrays", 1, o + " --baseline"), Run("1 node", 1, o), *each(4, "sampling", LEVELS, o)],
                       kge_quality, True)
    return of


def mf_zipf(runs):
    return lambda lab: Section("mf", runs(f"{made.options('mf', '100000x10000x5000000')} --hold-back 0.02 --rank 100 --reg 0.02 --adagrad coordinate"), speeds)


def mf_techniques(nodes):
    return lambda o: [*each(nodes, "technique", TECHNIQUES, o + " --epochs 2"),
                      Run(f"{nodes} nodes, relocate, blocks", nodes, o + " --epochs 2 --technique relocate --visit blocks")]


def mf_real(file, more):
    def of(lab):
        o = f"--data {lab.prepared('mf', file + '.tsv', [file])} --rank 10 --bias --lr 0.02 --reg 0.05 --init 0.1 --epochs 20 --adagrad coordinate"
        return Section("mf", sizes(o) + more(o), speeds)
    return of


def wv(runs):
    return lambda lab: Section("wv", runs(f"--data {lab.words('wiki.train.tokens', 1000000)} --epochs 1"), speeds)


def wv_samplings(*nodes):
    return lambda o: [r for n in nodes for r in each(n, "sampling", LEVELS, o)]


def wv_quality(runs):
    return lambda lab: Section("wv", runs(f"--data {lab.words('clic.txt', 2000000)} {lab.questions()}"), speeds)


def ctr_census(runs):
    return lambda lab: Section("ctr", runs(f"--data {lab.find('census_148d_train.libsvm')} "
                                           f"--test {lab.find('census_148d_test.libsvm')}"), ctr_quality)


def one_two_four(options, *first):
    return [*first, *(Run(nodes_of(n), n, options) for n in (1, 2, 4))]


def ctr_planted(_):
    return Section("ctr", [Run("26 fields, 2000 categories, 4 M examples", 1,
                               f"{made.options('ctr', '26x2000x4000000')} --epochs 1 --lr 0.05 --reg 0")], ctr_quality)


def ctr_speed(_):
    o = f"{made.options('ctr', '26x100000x200000')} --epochs 3 --hold-back 0.02 --validate 0"
    return Section("ctr", [*3 * [Run("plain arrays", 1, o + " --baseline"), Run("1 node", 1, o)], Run("2 nodes", 2, o),
                           Run("4 nodes", 4, o)], ctr_quality)


def pages(lab):
    return lab.prepared("gnn", "facebook", ["facebook_edges.csv"], "--labels", "@facebook_target.csv", "--class-columns", "id,page_type")


def gnn_pages(runs):
    return lambda lab: Section("gnn", runs(f"--data {pages(lab)}/edges.txt --labels {pages(lab)}/labels.txt --eval-every 1"), gnn_quality)


def gnn_features(lab):
    def options(name):
        graph = lab.prepared("gnn", name, [f"{name}.edges.tsv"], "--labels", f"@{name}.nodes.svm", "--features",
                             f"@{name}.nodes.svm", "--purposes", f"@{name}.split.txt")
        return " ".join(f"--{what} {graph}/{file}.txt" for what, file in (
            ("data", "edges"), ("labels", "labels"), ("features", "features"), ("split", "purposes"))) + " --epochs 30"
    return Section("gnn", [Run(name, 1, options(name)) for name in ("cora", "citeseer")], gnn_quality)


def gnn_planted(_):
    return Section("gnn", [Run("a million nodes", 1, f"{made.options('gnn', '1000000x16x32')} --epochs 1 "
                               "--train 0.6 --validate 0.3")], gnn_quality)


def beside(program):
    """Processor time beside other programs: tasks.py makes the table."""
    folder = {"ctr": lambda lab: lab.data, "gnn": pages}[program]
    return lambda lab: Section(program, [], lambda runs, _: subprocess.run(
        ["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "python", "tasks.py"), program,
         f"{lab.programs}/locus-{program}", folder(lab)], check=True, capture_output=True, text=True).stdout)


# Where a technique waits for the network at each step, wv ends after 10 seconds: the rate until then is what counts.
SECTIONS = {
    **{f"kge-{steps}-{kind}": kge_speed(steps, kind) for kind, all_steps in (
        ("worker", "single batches good"), ("sizes", "single batches good"), ("techniques", "single batches"),
        ("2-techniques", "single batches"), ("levels", "single batches"), ("far", "single batches"))
       for steps in all_steps.split()},
    "kge-quality-wn18rr": kge_judged("wn18rr", "--dim 128 " + KGE["good"].split(" ", 2)[2], 40),
    "kge-quality-fb15k-237": kge_judged("fb15k-237", KGE["good"], 30),
    "mf-zipf-sizes": mf_zipf(lambda o: sizes(o + " --epochs 5")), "mf-zipf-2-nodes": mf_zipf(mf_techniques(2)),
    "mf-zipf-4-nodes": mf_zipf(mf_techniques(4)), "mf-jester": mf_real("jester-1.mtx", lambda o: []),
    "mf-movielens": mf_real("ratings.csv", lambda o: each(2, "technique", TECHNIQUES, o)),
    "wv-sizes": wv(sizes), "wv-all-words": wv(lambda o: sizes(o + " --subsample 0")),
    "wv-2-nodes": wv(lambda o: each(2, "technique", TECHNIQUES, o + " --seconds 10")),
    "wv-4-nodes": wv(lambda o: each(4, "technique", TECHNIQUES, o + " --seconds 10")),
    "wv-sampling": wv(wv_samplings(1, 2, 4)),
    "wv-quality": wv_quality(lambda o: one_two_four(o, Run("plain arrays", 1, o + " --baseline"))),
    "wv-quality-sampling": wv_quality(wv_samplings(2, 4)),
    "ctr-census": ctr_census(lambda o: one_two_four(o, Run("plain arrays", 1, o + " --baseline"))),
    "ctr-techniques": ctr_census(lambda o: each(4, "technique", (*TECHNIQUES, "nups"), o)),
    "ctr-planted": ctr_planted, "ctr-speed": ctr_speed, "ctr-beside": beside("ctr"),
    "gnn-facebook": gnn_pages(lambda o: one_two_four(o, Run("plain arrays", 1, o + " --baseline"))),
    "gnn-features": gnn_features, "gnn-planted": gnn_planted,
    "gnn-techniques": gnn_pages(lambda o: each(4, "technique", (*TECHNIQUES, "nups"), o)), "gnn-beside": beside("gnn"),
}


# ---- running them ----

class Lab:
    def __init__(self, options):
        self.programs, self.data, self.out = options.programs, options.data, options.out
        self.options, self.failed = options, 0

    def find(self, name):
        for folder, folders, files in sorted(os.walk(self.data, followlinks=True)):
            if name in folders + files:
                return os.path.join(folder, name)
        raise Missing(f"there is no {name} in '{self.data}'")

    def made(self, name, make):
        """A file of OUT, which is made once."""
        path = os.path.join(self.out, name)
        if not os.path.exists(path):
            make(path + ".part")
            os.rename(path + ".part", path)
        return path

    def prepared(self, program, name, inputs, *options):
        """What `locus prepare` makes of files of DATA: a file or a folder of OUT. Options that are files begin with @."""
        told = [self.find(o[1:]) if o[0] == "@" else o for o in (*("@" + i for i in inputs), *options)]

        def make(path):
            shutil.rmtree(path, ignore_errors=True)
            subprocess.run([f"{self.programs}/locus-prepare", program, *told[:len(inputs)], path, *told[len(inputs):]], check=True)
        return self.made(name, make)

    def short_graph(self):
        """The training split, and a little of the others: an evaluation takes longer than a run."""
        graph = self.prepared("kge", "fb15k-237", ["fb15k-237"])

        def make(path):
            os.makedirs(path, exist_ok=True)
            for split, most in (("train", None), ("valid", 200), ("test", 200)):
                with open(f"{graph}/{split}.txt", encoding="utf-8") as f, open(f"{path}/{split}.txt", "w", encoding="utf-8") as to:
                    to.writelines(itertools.islice(f, most))
        return self.made("fb15k-237-short", make)

    def words(self, name, count):
        """The first words of a text."""
        text = self.find(name)

        def make(path):
            with open(text, encoding="utf-8") as f, open(path, "w", encoding="utf-8") as to:
                written = 0
                for line in itertools.takewhile(lambda _: written < count, f):
                    to.write(line)
                    written += len(line.split())
        return self.made(f"{name}-{count}", make)

    def questions(self):
        found = []
        for option, name in (("--analogies", "questions-words.txt"), ("--similarity", "EN-WS-353-ALL.txt")):
            try:
                file = self.find(name) if option == "--analogies" else self.prepared("wv", name + ".tsv", [name], "--similarity")
                found.append(f"{option} {file}")
            except Missing as e:
                print(f"passed over: {e}")
        if not found:
            raise Missing("there are no questions")
        return " ".join(found)

    def command(self, run, section, turn):
        program = f"{self.programs}/locus-{section.program}"
        options = [*run.options.split(), "--json", "--seed", str(turn)]
        if section.table is kge_speeds:
            options += ["--seconds", str(self.options.seconds)]
        if run.kind == "far":
            distance = f"{self.programs}/../test/distance"
            return [distance, "--role", "distance", f"{run.nodes} 0.0002 exec {program} {' '.join(options)}"]
        launcher = [f"{self.programs}/locus", "run", "-n", str(run.nodes), "--"] if run.nodes > 1 else []
        return [*launcher, program, *options]

    def run(self, run, section, turn, base):
        """The summaries of the processes that the run is; none: it failed."""
        limit = self.options.run_seconds if section.table is not kge_quality else self.options.quality_seconds
        command = self.command(run, section, turn)
        paths = [f"{base}.{i}" for i in range(run.kind or 1)] if isinstance(run.kind, int) else [base]
        running = []
        for path in paths:
            with open(path + ".json", "w", encoding="utf-8") as out, open(path + ".err", "w", encoding="utf-8") as err:
                running.append(subprocess.Popen(["timeout", "--kill-after=5", str(limit), *command], stdin=subprocess.DEVNULL,
                                                stdout=out, stderr=err))
        if any([process.wait() for process in running]):
            with open(paths[0] + ".err", encoding="utf-8") as err:
                print(f"failed: {run.label}: {(err.read().strip() or 'took too long').splitlines()[-1]}")
            self.failed += 1
            return []
        got = [summary(path + ".json") for path in paths]
        if len(got) > 1:  # apart: their speeds add up
            rates, gflops = (sum(x) for x in zip(*map(steady, got)))
            got[0].update(rate=[1000 * rates], gflops=[gflops], seconds=[1])
        print(f"{run.label}, turn {turn}: {statistics.median(got[0]['rate']):.0f} examples/s", flush=True)
        return got[:1]

    def section(self, name):
        section = SECTIONS[name](self)
        folder = os.path.join(self.out, name)
        os.makedirs(folder, exist_ok=True)
        runs = {}
        for turn in self.options.turns[:1] if section.once else self.options.turns:
            for i, run in enumerate(section.runs):
                runs.setdefault(run.label, []).extend(self.run(run, section, turn, f"{folder}/{i:02}.{turn}"))
        runs = {label: got for label, got in runs.items() if got}
        if section.runs and not runs:
            return
        title = section.runs[0].options.replace(" --baseline", "") if section.runs else ""
        text = section.table(runs, title.split(" ", 2)[-1].split(" --epochs")[0])
        with open(folder + ".md", "w", encoding="utf-8") as f:
            f.write(text)
        if section.table is speeds:
            with open(folder + ".svg", "w", encoding="utf-8") as f:
                f.write(drawing(runs, name))
        print(text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "data", "out"):
        p.add_argument(name, metavar=name.upper())
    p.add_argument("sections", nargs="*", metavar="SECTION")
    p.add_argument("--turns", nargs="+", type=int, default=[1, 2, 3], help="the runs' seeds")
    p.add_argument("--seconds", type=int, default=7, help="of a run of kge")
    p.add_argument("--run-seconds", type=int, default=200, help="no run may take longer")
    p.add_argument("--quality-seconds", type=int, default=3600, help="nor one of kge's quality")
    lab = Lab(p.parse_intermixed_args())
    wanted = [name for name in SECTIONS if name.startswith(tuple(lab.options.sections or [""]))]
    if not wanted:
        sys.exit(f"there is no section {' '.join(lab.options.sections)}; there are {' '.join(SECTIONS)}")
    os.makedirs(lab.out, exist_ok=True)
    for name in wanted:
        print(f"== {name}", flush=True)
        try:
            lab.section(name)
        except Missing as e:
            print(f"passed over: {name}: {e}")
    print(f"{lab.failed} runs failed; tables and drawings: {lab.out}")
    return lab.failed > 0


if __name__ == "__main__":
    sys.exit(main())
