"""lasso from end to end: against a plain solver written here, alone and on clusters."""
import math
import random

import support
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

    def objective_at(self, ratio):
        def product(column):
            return sum(x * e for x, e in zip(column, errors))

        errors, b = self.response[:], [0.0] * COLUMNS
        weight = ratio * max(abs(product(column)) for column in self.columns)
        change = 1
        while change > 1e-9:
            change = 0
            for j, column in enumerate(self.columns):
                z = product(column) + b[j]
                now = math.copysign(max(abs(z) - weight, 0), z)
                if now != b[j]:
                    errors = [e - (now - b[j]) * x for e, x in zip(errors, column)]
                    change, b[j] = max(change, abs(now - b[j])), now
        return math.fsum(e * e for e in errors) / 2 + weight * math.fsum(map(abs, b))


class Lasso(Trainers):
    def setUp(self):
        super().setUp()
        matrix, response = make_regression()
        self.best = Solver(matrix, response).objective_at(0.05)
        self.write("x", (" ".join([f"{y:.3f}"] + [f"{j}:{x:.3f}" for j, x in enumerate(row, 1) if x])
                         for y, row in zip(response, matrix)))

    def reaches(self, wanted, nodes, options):
        ended = self.train("lasso", f"--lambda 0.05 --json {options}", nodes)
        last = ended.named("lambda")[-1]
        self.assertEqual(last["converged"], 1)
        self.assertAlmostEqual(last["objective"] / wanted, 1, delta=1e-5, msg=ended)
        return ended

    def test_reaches_the_optimum_of_a_plain_solver(self):
        for nodes, options in ((0, ""), (0, "--order round-robin --workers 2"), (0, "--correlation 0.5"), (0, "--baseline"),
                               (0, "--baseline --workers 3"), (2, "--technique adaptive"), (2, "--technique static"),
                               (3, "--workers 2"), (3, "--staleness 1")):
            with self.subTest(nodes=nodes, options=options):
                ended = self.reaches(self.best, nodes, f"--data x {options}")
                self.assertEqual(len(ended.named("stats")), "--baseline" not in options)
                self.assertTrue(ended.named("waits") or "--baseline" in options)

    def test_filter_of_correlations_is_what_lets_it_converge(self):
        """Columns that are alike, many of them updated at once: each makes up for the whole error."""
        draw = random.Random(3)
        self.write("alike", (" ".join([f"{x + draw.random():.3f}"] + [f"{j}:{x + draw.random():.3f}" for j in range(1, 129)])
                             for x in (4 * draw.random() for _ in range(40))))
        lasso = "--data alike --lambda 0.01 --order round-robin --passes 50 --baseline"
        filtered = self.train("lasso", lasso)
        without = self.train("lasso", f"{lasso} --correlation 1", status=None)
        if without.status == 0:
            self.assertGreater(without.number("objective "), 100 * filtered.number("objective "))
        else:
            self.assertIn("lasso: the coefficients diverge: choose a smaller --correlation", without.err)

    def test_rests_however_little_may_change(self):
        """Coefficients that go to and fro between a float and the next one are at rest."""
        for seed in 6, 18:
            draw, lines = random.Random(seed), []
            for _ in range(150):
                row = [round(draw.gauss(0, 1), 3) for _ in range(64)]
                lines.append(" ".join([f"{sum(row) + draw.gauss(0, 1):.3f}"] + [f"{j}:{x}" for j, x in enumerate(row, 1)]))
            self.write("data", lines)
            lasso = "--data data --lambda 0.01 --tolerance 1e-9 --correlation 0.5 --passes 1000"
            least = self.train("lasso", f"{lasso} --baseline").number("objective ")
            for nodes, more in ((0, ""), (0, "--order round-robin"), (2, "--order round-robin --workers 2")):
                with self.subTest(nodes=nodes, more=more, seed=seed):
                    ended = self.train("lasso", f"{lasso} {more}", nodes)
                    self.assertNotIn("not converged", ended.out)
                    self.assertAlmostEqual(ended.number("objective ") / least, 1, delta=1e-8)

    # ---- others' penalties, as docs/guides/other-tools.md converts them ----

    def gives_the_model_of(self, printed):
        """Of what another tool prints: the largest lambda, the intercept, the coefficients, of lambda 0.02."""
        largest, *wanted = map(float, printed.split())
        ended = self.train("lasso", f"--data x --lambda {0.02 / largest} --tolerance 1e-9 --json --out model")
        self.assertAlmostEqual(ended.last("lambda", event="lambda") / (0.02 * math.sqrt(ROWS)), 1, delta=1e-6)
        self.write("questions", ["", *(f"{j}:1" for j in range(1, 1 + COLUMNS))])
        intercept, *rest = map(float, self.sh("locus-predict model questions").out.split())
        told = [intercept, *(answer - intercept for answer in rest)]
        self.assertEqual(len(wanted), len(told))
        self.assertGreater(sum(abs(value) > 0.01 for value in told[1:]), 3)
        for one, other in zip(told, wanted):
            self.assertAlmostEqual(one, other, delta=1e-5)

    def test_scikit_learn(self):
        if not self.can(f"{support.PYTHON} -c 'import sklearn.linear_model'"):
            self.skipTest("there is no scikit-learn here (python3-sklearn)")
        self.gives_the_model_of(self.must(f"""{support.PYTHON} -c '
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
X, y = load_svmlight_file("x", zero_based=False)
X = X.toarray()
Z = StandardScaler().fit_transform(X)
scaler, lasso = (model := make_pipeline(StandardScaler(), Lasso(alpha=0.02, tol=1e-12, max_iter=1000000))).fit(X, y)
print(abs(Z.T @ (y - y.mean())).max() / len(y), model.predict(0 * X[:1])[0], *lasso.coef_ / scaler.scale_)'"""))

    def test_glmnet(self):
        if not self.can("Rscript -e 'library(glmnet)'"):
            self.skipTest("there is no glmnet here (r-cran-glmnet)")
        rows = [line.split() for line in (self.here / "x").read_text().splitlines()]
        cells = [dict(pair.split(":") for pair in row[1:]) for row in rows]
        self.write("table", (" ".join([row[0]] + [cell.get(str(j), "0") for j in range(1, COLUMNS + 1)])
                             for row, cell in zip(rows, cells)))
        self.gives_the_model_of(self.must("""Rscript -e '
suppressMessages(library(glmnet))
table <- as.matrix(read.table("table"))
x <- table[, -1]; y <- table[, 1]
model <- glmnet(x, y, lambda = 0.02, thresh = 1e-15, maxit = 1e7)
cat(format(c(glmnet(x, y)$lambda[1], as.vector(coef(model))), digits = 15))'"""))

    # ---- a model to begin with ----

    def test_from_its_own_solution_there_is_nothing_left_to_do(self):
        """Whatever scales the data have."""
        whole = self.reaches(self.best, 0, "--data x --tolerance 1e-6 --out model").last("updates")
        for nodes, options in ((0, ""), (2, "--workers 2")):
            more = self.reaches(self.best, nodes, f"--data x {options} --tolerance 1e-6 --from model").last("updates")
            self.assertLess(more, whole / 8)

    def test_begins_with_the_model_of_other_columns(self):
        """They are known by their numbers: one that the model has is gone, and there is a new one."""
        old, new = [], []
        for number, line in enumerate((self.here / "x").read_text().splitlines(), 1):
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
