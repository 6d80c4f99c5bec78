#!/usr/bin/python3
"""Is lab/papers repeatable? lab/quick.py PAPERS

Each program trains on four modelled nodes with a little generated data: two runs say the same to the bit, and one of another
seed does not."""
import json
import os
import random
import subprocess
import sys
import tempfile

from made import options as made

RUNS = (("ctr", f"{made('ctr', '4x400x4000')} --batch 32 --hidden 8 --epochs 2"),
        ("gnn", f"{made('gnn', '500x8x4')} --dim 8 --hidden 8 --epochs 2"),
        ("kge", "--data graph --dim 20 --batch 4 --negatives 4 --eval-every 1 --epochs 2"),
        ("lasso", f"{made('lasso', '300x600x20')} --staleness 1 --passes 4"),
        ("mf", f"{made('mf', '1000x200x20000')} --rank 10 --epochs 3 --eval-every 1"),
        ("wv", "--data text --dim 20 --min-count 1 --batch 8 --negatives 4 --epochs 2"))
MF = f"{made('mf', '1000x200x20000')} --rank 10 --epochs 2"
papers = os.path.abspath(sys.argv[1])
failed = 0


def run(program, options, seed=1, before="", trace=None):
    """What it says, but for what it was told."""
    traces = {"LOCUS_TRACE": trace, "LOCUS_TRACE_KEYS": "sample:50"} if trace else {}
    done = subprocess.run([papers, "--nodes", "4", *before.split(), program, *options.split(), "--seed", str(seed), "--workers",
                           "2", "--json"], env={**os.environ, **traces}, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        sys.exit(f"FAILED  {program} {options}: status {done.returncode}: {done.stderr}")
    return "".join(line for line in done.stdout.splitlines(True) if not line.startswith('{"event":"run"'))


def check(good, what):
    global failed
    failed += not good
    print("ok     " if good else "FAILED ", what, flush=True)


def pull_s(said):
    return next(e["pull_s"] for e in map(json.loads, said.splitlines()) if e.get("event") == "machine")


def trace_of(name):
    run("mf", MF, trace=name)
    texts = []
    for node in range(4):
        with open(f"{name}.{node}.jsonl", encoding="utf-8") as f:
            texts.append(f.read())
    return texts


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    draw = random.Random(1)

    def skewed(below):  # few are frequent
        return draw.randrange(1 + draw.randrange(1 + draw.randrange(below)))
    os.mkdir("graph")
    for split, count in (("train", 2000), ("valid", 100), ("test", 100)):
        with open(f"graph/{split}.txt", "w", encoding="utf-8") as f:
            for _ in range(count):
                subject, relation = skewed(300), draw.randrange(5)
                f.write(f"e{subject}\tr{relation}\te{(subject * 7 + relation) % 300}\n")
    with open("text", "w", encoding="utf-8") as f:
        for i in range(8000):
            f.write(f"w{skewed(200)}" + " \n"[i % 20 == 0])

    for program, options in RUNS:
        first = run(program, options)
        check(first == run(program, options), f"{program}: two runs are the same to the bit")
        check(first != run(program, options, seed=2), f"{program}: another seed's differs")
    check(run("mf", MF + " --technique relocate") == run("mf", MF + " --technique nups --hot 1000000x"),
          "mf: nups of which no key is hot is relocation, in every byte and count")
    kge = f"{made('kge', '400x8x4000')} --dim 8 --batch 1 --negatives 2 --epochs 1"
    late = run("kge", kge, before="--ahead 1")
    check(late == run("kge", kge, before="--ahead 1"), "kge, signals one clock ahead: two runs are the same to the bit")
    check(pull_s(late) > 2 * pull_s(run("kge", kge, before="--ahead 100")) >= 0, "and wait longer for rows than with a hundred")
    check(trace_of("first") == trace_of("second"), "mf, traced: the files of two runs are the same to the bit")
    os.chdir("/")
sys.exit(failed > 0)
