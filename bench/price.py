#!/usr/bin/python3
"""The price of a node: what training on several nodes costs in processor time, as a multiple of what one node takes.

    bench/price.py                                          four trainers on 1, 2 and 4 nodes of one worker: five minutes
    bench/price.py --only wv --technique adaptive full --nodes 1 2
    bench/price.py --only kge --beside ../before/build/gcc  another build's or prefix's programs in turn with these, in pairs

Figures are of an epoch. `all`: processor seconds, user and system, of all threads of all nodes, without the first epoch and
the last. It is the sum of worker, loader, shard and rest; `kernel` is the system's part of all. What is counted is of all
epochs. `age_ms`: of replicas, as they are read. `loss`: of the last epoch. Other programs beside it change little.

Data is made up, unless --data, or LOCUS_DATA, names a folder with fb15k-237/ and novels.txt, as lab/README.md makes it."""
import argparse
import collections
import glob
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "lab"))
import made  # noqa: E402

BUILD = ROOT / "build" / "gcc"
KINDS = {"worker": "worker", "loader": "loader", "locus-shard": "shard"}
OPTIONS = {  # in full, and quick
    "wv": ("", "--dim 8"),
    "kge": ("--batch 1 --negatives 6 --loss logistic --reg 0 --dim 100", "--batch 1 --negatives 6 --loss logistic --reg 0 --dim 8"),
    "mf": ("--reg 0.02 --rank 100 --adagrad coordinate", "--reg 0.02 --rank 8"),
    "small": ("", "--examples 20000"),
}
MADE = {"kge": ("14541x237x272115", "400x8x4000"), "mf": ("50000x5000x2500000", "500x100x5000")}
WORDS = (1_100_000, 20_000)
# Of the table, with their digits behind the point; the first ones are seconds.
COLUMNS = {"all": 3, "worker": 3, "loader": 3, "shard": 3, "rest": 3, "kernel": 3, "sent_mb": 1, "relocated": 0, "replicas": 0,
           "intents": 0, "remote_percent": 2, "age_ms": 2, "loss": 4}


def data_of(program, folder, quick):
    """The option that names it."""
    if program == "small":
        return []
    if program == "mf" or program == "kge" and not folder:
        return made.options(program, MADE[program][quick]).split()
    if folder:
        return ["--data", str(folder / {"wv": "novels.txt", "kge": "fb15k-237"}[program])]
    path = made.FOLDER / f"words-{WORDS[quick]}"
    if not path.exists():
        made.FOLDER.mkdir(parents=True, exist_ok=True)
        made.text(path, WORDS[quick])
    return ["--data", str(path)]


def words_of(path):
    """Of a file of /proc, without the name in parentheses and what is before it."""
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:  # it has ended
        return []


def seconds_of(first):
    """Processor time of a process and its descendants so far."""
    stats = {path.split("/")[2]: words_of(path) for path in glob.glob("/proc/[0-9]*/stat")}
    family, spent = [str(first)], collections.Counter()
    for parent in family:  # which grows
        family += [process for process, stat in stats.items() if stat[1:2] == [parent]]
    for process in family:
        for task in glob.glob(f"/proc/{process}/task/*"):
            for name, nanoseconds in zip(words_of(task + "/comm")[:1], words_of(task + "/schedstat")):
                spent[KINDS.get(name.rstrip("0123456789"), "")] += int(nanoseconds) / 1e9
        try:
            spent["all"] += time.clock_gettime(~int(process) << 3 | 2)  # the clock that clock_getcpuclockid() gives
        except OSError:  # it has ended
            continue
        spent["kernel"] += int(stats[process][12]) / os.sysconf("SC_CLK_TCK")
        spent["processes"] += 1
    spent["rest"] = spent["all"] - sum(spent[kind] for kind in KINDS.values())
    return spent


def run(command, epochs):
    """Its events, and the processor time at the end of each epoch but the last, at which nodes may be gone already."""
    events, marks = [], []
    with tempfile.TemporaryFile() as errors, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                              stderr=errors) as process:
        for event in map(json.loads, process.stdout):
            events.append(event)
            if event["event"] == "epoch" and len(marks) < epochs - 1:
                marks.append(seconds_of(process.pid))
        if process.wait() != 0:
            errors.seek(0)
            sys.exit(f"price.py: {' '.join(command)}: status {process.returncode}: {errors.read().decode()}")
    return events, marks


def measure(build, program, technique, nodes, options, data):
    command = [f"{build}/bin/locus", "run", "-n", str(nodes), "--",
               *([f"{build}/bench/small_steps"] if program == "small" else [f"{build}/bin/locus-{program}", "--workers", "1", "--json"]),
               *data, *OPTIONS[program][options.quick].split(), "--technique", technique, "--epochs", str(options.epochs)]
    if program == "kge":  # negatives of what is here; of static parameters these would always be the same ones
        command += ["--sampling", "conform" if technique == "static" else "non-conform"]
    events, marks = run(command, options.epochs)
    stats = next(e for e in events if e["event"] == "stats")
    accesses = [sum(stats[f"{how}_{where}"] for how in ("pulled", "pushed")) for where in ("local", "replica", "remote")]
    # Where an epoch is so short that a node was gone before its time was read, nothing can be said.
    epochs = options.epochs - 2 if marks[0]["processes"] == marks[-1]["processes"] else math.nan
    got = {name: (marks[-1][name] - marks[0][name]) / epochs for name in ("all", *KINDS.values(), "rest", "kernel")}
    for name, of in (("sent_mb", "bytes_sent"), ("relocated", "relocated_in"), ("replicas", "replicas_created"),
                     ("intents", "intents_signaled")):
        got[name] = stats[of] / options.epochs / (1e6 if name == "sent_mb" else 1)
    return {**got, "remote_percent": 100 * accesses[2] / sum(accesses), "age_ms": 1e3 * stats["replica_staleness_mean_s"],
            "loss": [e["loss"] for e in events if e["event"] == "epoch"][-1]}


def report(cells, results):
    """results: of each cell and each build, those of its repeats."""
    rows = [["program", "technique", "nodes", "price", *COLUMNS, "this / other"]]
    for cell in cells:
        middle = {name: statistics.median(got[name] for got in results[cell, 0]) for name in COLUMNS}
        one = [got["all"] for got in results.get(((*cell[:2], 1), 0), [])]
        price = middle["all"] / (statistics.median(one or [0]) or math.nan)
        pairs = [this["all"] / (other["all"] or math.nan) for this, other in zip(results[cell, 0], results.get((cell, 1), []))]
        rows.append([*map(str, cell), f"{price:.2f}", *(f"{middle[name]:.{COLUMNS[name]}f}" for name in COLUMNS),
                     " ".join(f"{pair:.3f}" for pair in pairs)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(map(str.rjust, row, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=OPTIONS, default=list(OPTIONS), metavar="PROGRAM", help=" ".join(OPTIONS))
    parser.add_argument("--nodes", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--technique", nargs="+", default=["adaptive"], help="adaptive replicate full static relocate")
    parser.add_argument("--epochs", type=int, default=5, help="3 or more")
    parser.add_argument("--repeats", type=int, default=1, help="medians of so many are shown")
    parser.add_argument("--beside", metavar="PREFIX")
    parser.add_argument("--data", type=Path, default=os.environ.get("LOCUS_DATA"), metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="small sizes, only to see that it runs")
    options = parser.parse_args()
    if options.epochs < 3:
        parser.error("--epochs must be 3 or more: the first and the last one are left out")
    builds = [BUILD] + ([options.beside] if options.beside else [])
    cells = [(program, technique, nodes) for program in options.only for technique in options.technique for nodes in options.nodes]
    data = {program: data_of(program, options.data, options.quick) for program in options.only}
    results = collections.defaultdict(list)
    for repeat in range(options.repeats):
        for cell in cells:
            for which in range(len(builds))[::-1 if repeat % 2 else 1]:
                print(f"{repeat + 1} of {options.repeats}: {builds[which]} {cell}", file=sys.stderr, flush=True)
                results[cell, which].append(measure(builds[which], *cell, options, data[cell[0]]))
    report(cells, results)


if __name__ == "__main__":
    main()
