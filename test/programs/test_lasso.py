"""lasso from end to end: against a plain solver written here, alone and on clusters."""
import math
import random

import tensors
from support import IS_SANITIZED
from trainers import Trainers

ROWS, COLUMNS = 60, 90


def make_regression():
    """Neighbouring columns are alike, two in three cells are 0 in the first half and none in the second."""
    draw, matrix, response = random.Random(7), [], []
    for _ in range(ROWS):
        row, y = [], 3 + 0.1 * draw.random()
        for j in range(COLUMNS):
            is_there = j >= COLUMNS // 2 or draw.random() < 0.33
            row.append(math.floor(1000 * ((row[-1] / 2 if row else 0) + draw.random())) / 1000 if is_there else 0)
            if j % 15 == 0:
                y += -row[j] if j % 2 else row[j]
        matrix.append(row)
        response.append(math.floor(1000 * y) / 1000)
    return matrix, response


class Solver:
    """Cyclic coordinate descent in doubles."""

    def __init__(self, matrix, response):
        mean = math.fsum(response) / ROWS
        self.response, self.columns, self.norms = [y - mean for y in response], [], []
        for column in zip(*matrix):
            mean = math.fsum(column) / ROWS
            self.norms.append(math.sqrt(math.fsum((x - mean) ** 2 for x in column)))
            self.columns.append([(x - mean) / self.norms[-1] for x in column])

    def objective_at(self, ratio, alpha=1, is_raw=False):
        """The elastic net's, of scikit-learn: n times its penalty, of columns with a variance of 1 or as they are, is `first`
        times the absolute value and `second` times half the square of ours."""
        def product(column):
            return sum(x * e for x, e in zip(column, errors))

        errors, b = self.response[:], [0.0] * COLUMNS
        scale = [1 / norm if is_raw else 1 / math.sqrt(ROWS) for norm in self.norms]
        first, second = [ROWS * alpha * its for its in scale], [ROWS * (1 - alpha) * its * its for its in scale]
        weight = ratio * max(abs(product(column)) / its for column, its in zip(self.columns, first))
        change = 1
        while change > 1e-9:
            change = 0
            for j, column in enumerate(self.columns):
                z = product(column) + b[j]
                now = math.copysign(max(abs(z) - weight * first[j], 0), z) / (1 + weight * second[j])
                if now != b[j]:
                    errors = [e - (now - b[j]) * x for e, x in zip(errors, column)]
                    change, b[j] = max(change, abs(now - b[j])), now
        penalty = math.fsum(f * abs(x) + s / 2 * x * x for f, s, x in zip(first, second, b))
        return math.fsum(e * e for e in errors) / 2 + weight * penalty


class Lasso(Trainers):
    LIBSVM, MARKET = "--data x.libsvm", "--data x.mtx --response y.mtx"

    def setUp(self):
        super().setUp()
        matrix, response = make_regression()
        self.solver = Solver(matrix, response)
        cells = [" ".join(f"{j}:{x:.3f}" for j, x in enumerate(row, 1) if x) for row in matrix]
        self.write("x.libsvm", (f"{y:.3f} {row}" for y, row in zip(response, cells)))
        self.write("labels", (f"{1 if y > 2.2 else -1} {row}" for y, row in zip(response, cells)))
        head = "%%MatrixMarket matrix array real general"
        values = [f"{x:.3f}" for column in zip(*matrix) for x in column]
        self.write("x.mtx", [head, "% by columns", f"{ROWS} {COLUMNS}"] + values)
        self.write("y.mtx", [head, f"{ROWS} 1"] + [f"{y:.3f}" for y in response])

    def reaches(self, wanted, nodes, options):
        ended = self.train("lasso", f"--lambda 0.05 --json {options}", nodes)
        last = ended.named("lambda")[-1]
        self.assertEqual(last["converged"], 1)
        self.assertAlmostEqual(last["objective"] / wanted, 1, delta=1e-5, msg=ended)
        return ended

    def test_reaches_the_optimum_of_a_plain_solver(self):
        best = self.solver.objective_at(0.05)
        mixed, raw = self.solver.objective_at(0.05, 0.3), self.solver.objective_at(0.05, 0.6, True)
        for wanted, nodes, options in (
                (best, 0, self.LIBSVM),
                (best, 0, self.MARKET + " --order round-robin --schedulers 3 --depth 0"),
                (best, 0, self.LIBSVM + " --order random --workers 2 --width 8"),
                (best, 0, self.LIBSVM + " --path 5 --correlation 0.5 --width 4"),
                (best, 0, self.MARKET + " --baseline"),
                (best, 0, self.LIBSVM + " --baseline --workers 3"),
                (mixed, 0, self.LIBSVM + " --alpha 0.3 --path 3"),
                (mixed, 0, self.LIBSVM + " --alpha 0.3 --order random --schedulers 5 --baseline --workers 2"),
                (raw, 0, self.MARKET + " --alpha 0.6 --no-standardize --workers 2"),
                (best, 2, self.LIBSVM + " --technique adaptive"),
                (best, 2, self.LIBSVM + " --technique static"),
                (best, 3, self.LIBSVM + " --schedulers 4 --workers 2 --depth 1"),
                (best, 3, self.MARKET + " --schedulers 2 --staleness 2 --depth 0 --width 8")):
            with self.subTest(nodes=nodes, options=options):
                ended = self.reaches(wanted, nodes, options)
                self.assertEqual(len(ended.named("stats")), "--baseline" not in options)
                self.assertTrue(ended.named("waits") or "--baseline" in options)

    def test_filter_of_correlations_is_what_lets_it_converge(self):
        """Columns that are alike, all updated at once: each makes up for the whole error."""
        if IS_SANITIZED:
            self.skipTest("it is the arithmetic of one thread, and slow with a sanitizer")
        lasso = "--generate 100x400x60 --lambda 0.01 --order round-robin --width 128 --passes 200 --json --baseline"
        filtered = self.train("lasso", f"{lasso} --correlation 0.1")
        without = self.train("lasso", f"{lasso} --correlation 1", status=None)
        if without.status == 0:
            self.assertGreater(without.last("objective"), 100 * filtered.last("objective", event="lambda"))
        else:
            self.assertIn("lasso: the coefficients diverge: choose a smaller --width", without.err)

    # ---- labels ----

    def test_coefficients_that_went_too_far_together_take_care(self):
        """Columns with little in common, but all of it where the loss is curved: one column more has settled the other
        rows. All updated at once go too far, until they take care."""
        alike = range(1, 25)
        self.write("curved", [" ".join([str(r % 2)] + [f"{j}:1" for j in alike]) for r in range(4)]
                   + [f"1 {j}:1 25:1" for j in alike for _ in range(80)] + 400 * ["0 26:1"])

        def run(more):
            ended = self.train("lasso", "--data curved --loss logistic --lambda 0.001 --order round-robin --depth 0 "
                                        f"--width 24 --passes {more}")
            return ended, ended.number("objective ")

        least, together = run("300 --baseline --width 1")[1], run("300 --baseline")[1]
        self.assertTrue(0.999 * least <= together < 2 * least, (least, together))
        # What goes on takes as much.
        run("30 --out whole --checkpoint all --checkpoint-every 25")
        self.sh("mkdir one && mv all/checkpoint-000001 one")
        self.assertIn("goes on behind epoch ", run("30 --out resumed --checkpoint one --resume")[0].out)
        self.sh("cmp whole resumed")

    def learn_labels(self, more, nodes=0):
        ended = self.train("lasso", "--data labels --loss logistic --lambda 0.6 --width 16 --correlation 0.6 "
                                    f"--tolerance 1e-4 {more}", nodes)
        self.assertNotIn("not converged", ended.out)
        return ended

    def test_labels_are_learned(self):
        """All find the same, and what they find tells the labels apart."""
        alone = self.learn_labels("--baseline").number("objective ")
        self.assertTrue(0 < alone < ROWS * math.log(2), alone)
        for nodes, more in ((0, "--order round-robin"), (2, "")):
            self.assertAlmostEqual(self.learn_labels(more, nodes).number("objective ") / alone, 1, delta=1e-4)
        ended = self.train("lasso", "--data labels --test labels --loss logistic --out model")
        self.assertIn("logistic loss; priority", ended.out)
        notes, model = tensors.read(self.here / "model")
        b, right = model["coefficients"], 0
        for line in (self.here / "labels").read_text().splitlines():
            y, *pairs = line.split()
            margin = float(notes["intercept"]) + sum(b[int(j) - 1] * float(x) for j, x in (p.split(":") for p in pairs))
            right += (margin > 0) == (float(y) > 0)
        self.assertEqual(notes["loss"], "logistic")
        self.assertGreater(right, 0.8 * ROWS)
        self.assertAlmostEqual(ROWS * ended.number("accuracy "), right, delta=1e-6)

    def test_rests_however_little_may_change(self):
        """Sums of floats have the digits for it: columns whose coefficients are 0 are looked at when the others rest."""
        lasso = "--data labels --loss logistic --lambda 0.1 --alpha 0.5 --tolerance 1e-9 --passes 2000"
        least = self.train("lasso", f"{lasso} --baseline --width 1").number("objective ")
        for nodes, more in ((0, ""), (0, "--workers 3"), (2, "--order round-robin")):
            with self.subTest(nodes=nodes, more=more):
                ended = self.train("lasso", f"{lasso} {more}", nodes)
                self.assertNotIn("not converged", ended.out)
                self.assertAlmostEqual(ended.number("objective ") / least, 1, delta=1e-8)

    # ---- a model to begin with ----

    def test_from_its_own_solution_there_is_nothing_left_to_do(self):
        """Whatever scales the data have."""
        best = self.solver.objective_at(0.05)
        whole = self.reaches(best, 0, f"{self.LIBSVM} --tolerance 1e-6 --out model").last("updates")
        for nodes, options in ((0, self.MARKET), (2, self.LIBSVM + " --schedulers 2 --workers 2")):
            more = self.reaches(best, nodes, f"{options} --tolerance 1e-6 --from model").last("updates")
            self.assertLess(more, whole / 8)
        whole, more = self.learn_labels("--baseline --out model"), self.learn_labels("--baseline --from model")
        self.assertAlmostEqual(more.number("objective ") / whole.number("objective "), 1, delta=1e-6)
        self.assertLess(more.number("rounds  "), whole.number("rounds  ") / 2)

    def test_begins_with_the_model_of_other_columns(self):
        """They are known by their numbers: one that the model has is gone, and there is a new one."""
        old, new = [], []
        for number, line in enumerate((self.here / "x.libsvm").read_text().splitlines(), 1):
            y, *pairs = line.split()
            pairs = {1000000 * int(j): 3 * float(x) for j, x in (pair.split(":") for pair in pairs)}
            for lines in old, new:
                lines.append(" ".join([y] + [f"{j}:{x:.3f}" for j, x in pairs.items()]))
                pairs.pop(16000000, None)
                pairs[97000000] = number % 7
        self.write("old", old)
        self.write("new", new)
        self.write("none", ["1 999:1", "2 998:1"])
        self.train("lasso", "--data old --lambda 0.05 --out model")
        wanted = self.train("lasso", "--data new --lambda 0.05 --tolerance 1e-6").number("objective ")
        ended = self.reaches(wanted, 0, "--data new --tolerance 1e-6 --from model")
        self.assertRegex(ended.err, r"lasso: \d+ of \d+")
        taken, all_of_them = map(int, ended.err.split("lasso: ")[1].replace(" of ", " ").split()[:2])
        self.assertEqual(taken + 1, all_of_them)
        self.assertIn("; the data have no values in the others' columns", ended.err)
        self.program_refuses("lasso", 1, "--data none --from model",
                             "has no coefficient of a column of the data (--from)")
