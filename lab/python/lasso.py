#!/usr/bin/env python3
"""The lasso by locus' lasso and by scikit-learn, in one run: what objective, in how much processor time.

    lasso.py LASSO [--matrix NAME=X,Y,LAMBDA]... [--generate ROWSxCOLUMNSxVALUES] [--lambda 0.01]

LASSO is the program. A matrix is MatrixMarket with its response, or a table with commas whose first column is the response
(then Y is empty); LAMBDA is a share of the largest, at which nothing is left. --generate makes another one here, with so
many values in each column, each hundredth column with an effect. All are judged alike, here, in doubles: half the squared
errors plus lambda times the absolute values, over columns that are centred and of unit norm. Needs python3-sklearn, and
python3-scipy; where scikit-learn is not there, it is left out.

Processor time is that of learning alone: of scikit-learn's fit, and of lasso what a run takes more than one with lambda at
its largest, which reads the same file. Time of the clock is what lasso says itself, and that of the fit.
"""

import argparse
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import scipy.io  # noqa: E402
import scipy.sparse  # noqa: E402


class Problem:
    """X and y as they are; `scaled` has columns of unit norm when they are centred, which stays beside them."""

    def __init__(self, name, x, y, ratio):
        self.name, self.x, self.ratio = name, scipy.sparse.csc_matrix(x), ratio
        self.y = y - y.mean()
        n = len(y)
        self.mean = np.asarray(self.x.mean(0)).ravel()
        squares = np.asarray(self.x.multiply(self.x).sum(0)).ravel()
        norm = np.sqrt(np.maximum(squares - n * self.mean ** 2, 0))
        self.norm = np.where(norm > 1e-10 * np.sqrt(squares + 1e-300), norm, np.inf)
        self.scaled = (self.x @ scipy.sparse.diags(1 / self.norm)).tocsc()
        self.largest = np.abs(self.scaled.T @ self.y).max()

    def objective(self, coefficients):
        """Of coefficients of the columns as they are."""
        errors = self.y - (self.x @ coefficients - self.mean @ coefficients)
        finite = np.isfinite(self.norm)
        absolute = np.abs(coefficients[finite] * self.norm[finite]).sum()
        return errors @ errors / 2 + self.ratio * self.largest * absolute


def read_matrix(text):
    name, rest = text.split("=", 1)
    x, y, ratio = rest.split(",")
    if y:
        return Problem(name, scipy.io.mmread(x), np.asarray(scipy.io.mmread(y).todense()).ravel(), float(ratio))
    table = np.loadtxt(x, delimiter=",", skiprows=1)
    return Problem(name, table[:, 1:], table[:, 0], float(ratio))


def generate(text, ratio):
    rows, columns, values = map(int, text.split("x"))
    draw = np.random.default_rng(1)
    row = np.sort(draw.integers(rows, size=(columns, values)), 1)
    for twice in np.flatnonzero((np.diff(row) == 0).any(1)):
        row[twice] = np.sort(draw.choice(rows, values, replace=False))
    x = scipy.sparse.csc_matrix((draw.random(columns * values), row.ravel(), np.arange(0, columns * values + 1, values)),
                                (rows, columns))
    effects = np.where(np.arange(columns) % 100 == 0, draw.normal(size=columns), 0)
    return Problem(text, x, x @ effects + 0.1 * draw.normal(size=rows), ratio)


def write_libsvm(problem, path):
    by_row = problem.x.tocsr()
    with open(path, "w") as file:
        for i, response in enumerate(problem.y):
            first, end = by_row.indptr[i], by_row.indptr[i + 1]
            pairs = zip(by_row.indices[first:end], by_row.data[first:end])
            file.write(f"{response:.17g} " + " ".join(f"{j + 1}:{value:.17g}" for j, value in sorted(pairs)) + "\n")


def read_coefficients(path, columns):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    values = np.frombuffer(data[8 + size:], "<f8")
    return np.concatenate([values, np.zeros(columns - len(values))])


def processor_time(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def run_lasso(program, data, ratio, out, more):
    began = processor_time(resource.RUSAGE_CHILDREN)
    command = [program, "--data", data, "--lambda", str(ratio), "--out", out, "--json", *more]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    events = [json.loads(line) for line in output.splitlines()]
    seconds = [event for event in events if event["event"] == "lambda"][-1]["seconds"]
    return processor_time(resource.RUSAGE_CHILDREN) - began, seconds


def show(results, who, effort, cpu, wall, objective, coefficients):
    results.append((who, effort, cpu, wall, objective, int((coefficients != 0).sum())))
    print(f"... {who} {effort}: {cpu:.2f} s, {objective:.7g}", file=sys.stderr, flush=True)


def try_lasso(program, problem, results, folder):
    data, out = os.path.join(folder, "data"), os.path.join(folder, "model")
    write_libsvm(problem, data)
    width = [] if problem.x.nnz < 0.2 * problem.x.shape[0] * problem.x.shape[1] else ["--width", "4"]
    for tolerance in ("1e-4", "1e-5"):
        more = ["--tolerance", tolerance, *width]
        for who, place in (("lasso --baseline", ["--baseline"]), ("lasso, one node", [])):
            reading, _ = run_lasso(program, data, 1, out, more + place)
            cpu, wall = run_lasso(program, data, problem.ratio, out, more + place)
            coefficients = read_coefficients(out, problem.x.shape[1])
            show(results, who, tolerance, cpu - reading, wall, problem.objective(coefficients), coefficients)


def try_sklearn(problem, results):
    from sklearn.linear_model import Lasso
    n, columns = problem.x.shape
    is_dense = problem.x.nnz > 0.5 * n * columns
    x = np.asfortranarray(problem.scaled.toarray()) if is_dense else problem.scaled
    for tolerance in (1e-4, 1e-6, 1e-8):
        model = Lasso(alpha=problem.ratio * problem.largest / n, tol=tolerance, max_iter=100000)
        cpu, wall = processor_time(resource.RUSAGE_SELF), time.time()
        model.fit(x, problem.y)
        cpu, wall = processor_time(resource.RUSAGE_SELF) - cpu, time.time() - wall
        coefficients = model.coef_ / problem.norm
        show(results, "scikit-learn", f"{tolerance:g}", cpu, wall, problem.objective(coefficients), coefficients)


def compare(program, problem):
    results = []
    with tempfile.TemporaryDirectory() as folder:
        try_lasso(program, problem, results, folder)
    try:
        try_sklearn(problem, results)
    except ImportError as missing:
        print(f"left out: {missing}")
    least = min(objective for *_, objective, _ in results)
    rows, columns = problem.x.shape
    print(f"{problem.name}: {rows} x {columns}, {problem.x.nnz} values, lambda {problem.ratio:g} of the largest")
    print(f"{'':<18} {'tolerance':>9} {'processor':>10} {'clock':>10} {'objective':>12} {'above the least':>15} coefficients")
    for who, effort, cpu, wall, objective, nonzero in results:
        print(f"{who:<18} {effort:>9} {cpu:8.2f} s {wall:8.2f} s {objective:12.7g} {objective / least - 1:15.1e} {nonzero}",
              flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("lasso")
    arguments.add_argument("--matrix", action="append", default=[])
    arguments.add_argument("--generate", default="20000x100000x10")
    arguments.add_argument("--lambda", dest="ratio", type=float, default=0.01)
    options = arguments.parse_args()
    for text in options.matrix:
        compare(options.lasso, read_matrix(text))
    compare(options.lasso, generate(options.generate, options.ratio))


if __name__ == "__main__":
    main()
