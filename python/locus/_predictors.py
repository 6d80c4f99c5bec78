# SPDX-License-Identifier: Apache-2.0
"""The models of the programs, and how each answers lines: many at a time. An answer is a dict of names and values."""
import re
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np

from ._command import Problem
from ._saved import Array, Names, Saved

Answer = Dict[str, Any]
NUMBER = rb"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
IS_NUMBER = re.compile(NUMBER)
# By the colons of a pair: a line with a number before its pairs, or without.
PAIRS = {colons: re.compile(rb"(?:\+?" + NUMBER + rb"(?: (?=\d)|$))?((?:" + colons * rb"\d{1,10}:" + NUMBER +
                            rb"(?: (?=\d)|$))*)") for colons in (1, 2)}
LDAC = re.compile(rb"0|\d+(?: \d{1,10}:\d+)+")
BAD = {b"\r": "a carriage return", b"\0": "a byte 0", b"\xef\xbb\xbf": "a byte order mark",
       b"\x1f\x8b": "what gzip made: zcat FILE | makes text of it"}
INDEX_MAX = 1073741823
ROOM = 1 << 22  # numbers that are worked on together


def batches(stream: Any, path: str) -> Iterator[Tuple[List[bytes], int]]:
    """Lines as they come, and the number of the first."""
    left, number = b"", 1
    while True:
        data = stream.read1(1 << 20)
        block = left + data
        bad = re.search(rb"\A(\x1f\x8b|\xef\xbb\xbf)|[\r\0]" if number == 1 else rb"[\r\0]", block)
        if bad:
            lines = block[:bad.start()].split(b"\n")[:-1]
            yield lines, number
            raise Problem(f"{path}:{number + len(lines)}: expected text whose lines end with a line feed alone, found "
                          f'{BAD[bad[0]]}; "locus prepare" converts other forms')
        *lines, left = block.split(b"\n")
        lines += [left] if left and not data else []
        if lines:
            yield lines, number
        number += len(lines)
        if not data:
            return


def add_up(values: Array, keys: Array, count: int) -> Array:
    """The sum of the values of each key; keys ascend, and are below `count`."""
    sums = np.zeros((count, *values.shape[1:]))
    if len(keys):
        starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        sums[keys[starts]] = np.add.reduceat(values, starts)
    return sums


class Predictor:
    program, form, what = "", "", "names"
    width = 1  # numbers that a line takes
    count = 10  # the default of --best

    def __init__(self, saved: Saved, told: Any) -> None:
        self.saved, self.path, self.first = saved, told.path, 1
        self.best = self.count if told.best is None else told.best
        self.known_names, self.missed, self.missed_lines, self.missed_last, self.missed_first = 0, 0, 0, 0, ""
        self.open(saved, told)

    def open(self, saved: Saved, told: Any) -> None:
        """Takes what it needs of the model."""

    @property
    def converts(self) -> str:
        like = " --like TRAINED" if self.program == "ctr" else ""
        return f'"locus prepare {self.program} FILE OUT{like}" converts other forms'

    def answer(self, lines: List[bytes]) -> List[Answer]:
        """An answer for each line."""
        raise NotImplementedError

    def answer_until(self, lines: List[bytes]) -> Iterator[Answer]:
        """The same; of a line that is refused, those before it have their answers."""
        self.refused = 0
        try:
            yield from self.answer(lines)
        except Problem:
            yield from self.answer(lines[:self.refused]) if self.refused else ()
            raise

    def finish(self) -> List[Answer]:
        """What is answered behind the last line."""
        return []

    def lines_of(self, path: str) -> Iterator[List[bytes]]:
        """Of another file: what is refused there is of that file."""
        asked, self.path = self.path, path
        with open(path, "rb") as file:
            for lines, self.first in batches(file, path):
                yield lines
        self.path = asked

    def refuse(self, at: int, line: bytes) -> Problem:
        self.refused = at
        shown = f'"{line[:60].decode("utf-8", "replace")}"' if line else "an empty line"
        return Problem(f"{self.path}:{self.first + at}: expected {self.form}, found {shown}; "
                       f'{self.converts}')

    def refuse_if(self, wrong: Array, of_line: Array, lines: List[bytes]) -> None:
        if wrong.any():
            at = int(of_line[wrong.argmax()])
            raise self.refuse(at, lines[at])

    def find(self, at: int, names: Names, name: bytes) -> int:
        if not name:
            raise self.refuse(at, name)
        row = names.find(name)
        self.known_names += row >= 0
        if row < 0:
            self.miss(at, name)
        return row

    def miss(self, at: int, name: bytes) -> None:
        line = self.first + at
        self.missed_first = self.missed_first or f'the first is "{name.decode("utf-8", "replace")}" in line {line}'
        self.missed, self.missed_lines = self.missed + 1, self.missed_lines + (self.missed_last != line)
        self.missed_last = line

    def pairs(self, lines: List[bytes], names: Names, colons: int = 1) -> Tuple[Array, Array, Array]:
        """Of lines of LIBSVM, or with two colons LIBFFM: the line of each pair, the row of its index, and the pairs."""
        texts, counts = [], []
        for at, line in enumerate(lines):
            found = PAIRS[colons].fullmatch(line)
            if not found:
                raise self.refuse(at, line)
            texts += [found[1]] if found[1] else []
            counts.append(found[1].count(b":") // colons)
        text = b" ".join(texts).replace(b":", b" ").decode()
        pairs = np.fromstring(text, sep=" ").reshape(-1, colons + 1) if text else np.zeros((0, colons + 1))
        of_line = np.repeat(np.arange(len(lines)), counts)
        self.refuse_if((pairs[:, :-1] > INDEX_MAX).any(1) | ~np.isfinite(pairs[:, -1]), of_line, lines)
        rows = names.find_numbers(pairs[:, -2].astype(np.int64))
        self.known_names += np.count_nonzero(rows >= 0)
        for i in np.flatnonzero(rows < 0).tolist():
            self.miss(int(of_line[i]), b"%d" % int(pairs[i, -2]))
        return of_line, rows, pairs

    def fill(self, answers: List[Answer], ats: List[int], without: List[List[int]], rows: int,
             score: Callable[[slice], Array], names: Any, kind: str, value: str) -> None:
        """The answers at these places get the rows with the highest scores, the highest first, of equal ones the first;
        of each place it is told which rows are left out."""
        count, step = self.best, max(1, ROOM // max(1, rows))
        for first in range(0, len(ats), step):
            some = slice(first, first + step)
            for at, out, scores in zip(ats[some], without[some], score(some)):
                scores[out] = -np.inf
                found = np.flatnonzero(scores >= np.partition(scores, -count)[-count]) if count < rows else np.arange(rows)
                found = found[scores[found] > -np.inf]
                found = found[np.argsort(-scores[found], kind="stable")[:count]]
                answers[at]["best"] = [{kind: names[i], value: x} for i, x in zip(found.tolist(), scores[found].tolist())]


class Nearest(Predictor):
    """--near: rows of a table by the cosine."""
    form, kind, table = "a name", "name", ""

    def open(self, saved: Saved, told: Any) -> None:
        name, rows, self.names = saved.table(self.table or told.near)
        if rows.ndim != 2:
            raise saved.problem(f'its tensor "{name}" has one number a row: there are no nearest ones')
        self.rows = rows[:len(self.names)]
        length = np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows))
        self.scale = np.divide(1, length, out=np.zeros_like(length), where=length > 0)

    def fill_nearest(self, answers: List[Answer], asked: List[Tuple[int, List[int], Array]]) -> None:
        """With the nearest rows of a vector but those that were asked about."""
        ats, own, queries = [at for at, _, _ in asked], [rows for _, rows, _ in asked], np.array([each for _, _, each in asked])

        def score(some: slice) -> Array:
            length = np.linalg.norm(queries[some], axis=1, keepdims=True)
            cosines = queries[some] @ self.rows.T * self.scale / np.where(length > 0, length, 1)
            return np.where((length > 0) & (self.scale > 0), cosines, -np.inf)  # zeros are near to nothing
        self.fill(answers, ats, own, len(self.rows), score, self.names, self.kind, "cosine")

    def answer(self, lines: List[bytes]) -> List[Answer]:
        answers: List[Answer] = [{self.kind: line, "best": []} for line in lines]
        rows = [self.find(at, self.names, line) for at, line in enumerate(lines)]
        self.fill_nearest(answers, [(at, [row], self.rows[row]) for at, row in enumerate(rows) if row >= 0])
        return answers


class Kge(Nearest):
    program, kind, table = "kge", "entity", "entities"
    form = "subject, relation and object with tabs between, of which subject or object may be ?, or an entity"

    def open(self, saved: Saved, told: Any) -> None:
        super().open(saved, told)
        dim, self.model = self.rows.shape[1], saved.note("model")
        self.is_distance = self.model in ("transe", "rotate")
        self.relations = saved.take("relations", None, {"rescal": dim * dim, "rotate": dim // 2}.get(self.model, dim))
        self.is_reciprocal = saved.note("reciprocal") == "true"
        self.relation_names = saved.names("relation_names", len(self.relations) // (1 + self.is_reciprocal))
        self.known: Dict[Tuple[bool, int, int], List[int]] = {}
        for lines in self.lines_of(told.known) if told.known else ():
            for at, line in enumerate(lines):
                subject, relation, object_ = self.fields_of(at, line)
                s, r, o = self.names.find(subject), self.relation_names.find(relation), self.names.find(object_)
                if min(s, r, o) >= 0:
                    self.known.setdefault((True, o, r), []).append(s)
                    self.known.setdefault((False, s, r), []).append(o)

    def fields_of(self, at: int, line: bytes) -> List[bytes]:
        fields = line.split(b"\t")
        if len(fields) != 3 or not all(fields) or fields[1] == b"?":
            raise self.refuse(at, line)
        return fields

    def query(self, of_subjects: bool, given: List[int], relation: List[int]) -> Array:
        """Vectors whose products with the entities are the scores, or whose distances from them."""
        is_inverse, half = of_subjects and not self.is_reciprocal, self.rows.shape[1] // 2
        rows = np.array(relation) + (len(self.relation_names) if of_subjects and self.is_reciprocal else 0)
        g, r = self.rows[given], self.relations[rows]
        if self.model == "rescal":
            r = r.reshape(len(r), g.shape[1], -1)
            return np.einsum("nij,nj->ni" if is_inverse else "nij,ni->nj", r, g)
        if self.model in ("distmult", "transe"):
            return g * r if self.model == "distmult" else g - r if is_inverse else g + r
        r = np.exp(1j * r) if self.model == "rotate" else r[:, :half] + 1j * r[:, half:]
        product = (r.conj() if is_inverse else r) * (g[:, :half] + 1j * g[:, half:])
        return np.hstack([product.real, product.imag]).astype(np.float32)

    def scores_of_all(self, query: Array) -> Array:
        if not self.is_distance:
            return query @ self.rows.T
        return np.array([-np.linalg.norm(each - self.rows, axis=1) for each in query])

    def answer(self, lines: List[bytes]) -> List[Answer]:
        if b"\t" not in lines[0]:
            return super().answer(lines)
        answers: List[Answer] = []
        groups: Dict[Tuple[bool, bool], Any] = {}
        for at, line in enumerate(lines):
            fields = self.fields_of(at, line)
            subjects, objects = fields[0] == b"?", fields[2] == b"?" != fields[0]
            answers.append(dict(zip(("subject", "relation", "object"), fields)))
            answers[-1]["best" if subjects or objects else "score"] = [] if subjects or objects else None
            s, r, o = (0 if is_asked else self.find(at, names, field) for is_asked, names, field in
                       zip((subjects, False, objects), (self.names, self.relation_names, self.names), fields))
            if min(s, r, o) >= 0:
                groups.setdefault((subjects, objects), []).append((at, o if subjects else s, r, o))
        for (subjects, objects), group in groups.items():
            ats, given, relations, others = (list(each) for each in zip(*group))
            query = self.query(subjects, given, relations)
            if subjects or objects:
                known = [self.known.get((subjects, g, r), []) for g, r in zip(given, relations)]
                self.fill(answers, ats, known, len(self.rows), lambda some: self.scores_of_all(query[some]), self.names, "entity",
                          "score")
            else:
                other = self.rows[others]
                scores = -np.linalg.norm(query - other, axis=1) if self.is_distance else np.einsum("ij,ij->i", query, other)
                for at, x in zip(ats, scores.tolist()):
                    answers[at]["score"] = x
        return answers


class Wv(Nearest):
    program, form, kind, table = "wv", "one, two or three words", "word", "inputs"

    def answer(self, lines: List[bytes]) -> List[Answer]:
        answers: List[Answer] = []
        asked = []
        for at, line in enumerate(lines):
            words = line.split(b"\t") if b"\t" in line else [line] if self.names.find(line) >= 0 else line.split()
            if not 1 <= len(words) <= 3:
                raise self.refuse(at, line)
            rows = [self.find(at, self.names, word) for word in words]
            answers.append(dict(zip("abc", words)))
            answers[-1]["cosine" if len(words) == 2 else "best"] = None if len(words) == 2 else []
            units = self.rows[rows] * self.scale[rows][:, None]
            if min(rows) >= 0 and len(words) == 2:
                answers[-1]["cosine"] = float(units[0] @ units[1])
            elif min(rows) >= 0:
                asked.append((at, rows, units[0] if len(words) == 1 else units[1] + units[2] - units[0]))
        self.fill_nearest(answers, asked)
        return answers


class Mf(Predictor):
    program, form = "mf", "row, column and value with tabs between, a row and a column, or a row"

    def open(self, saved: Saved, told: Any) -> None:
        rank, self.mean = int(saved.note("rank")), float(saved.note("mean"))
        self.rows, self.columns = saved.take("rows", None, rank), saved.take("columns", None, rank)
        self.row_names = saved.names("row_names", len(self.rows), 1)
        self.column_names = saved.names("column_names", len(self.columns), 1)
        self.has_biases = "row_biases" in saved.tensors
        self.row_biases, self.column_biases = (
            saved.take(name, len(of)) if self.has_biases else np.zeros(len(of))
            for name, of in (("row_biases", self.rows), ("column_biases", self.columns)))
        self.known: Dict[int, Dict[int, float]] = {}
        self.new: Dict[bytes, int] = {}
        if told.known:
            self.take_known(told.known)

    def fields_of(self, at: int, line: bytes, least: int = 1) -> List[bytes]:
        fields = line.split(b"\t")
        if not least <= len(fields) <= 3 or not all(fields) or len(fields) == 3 and not IS_NUMBER.fullmatch(fields[2]):
            raise self.refuse(at, line)
        return fields

    def take_known(self, path: str) -> None:
        implicit = int(self.saved.notes.get("implicit", 0))
        self.form = "row, column and value with tabs between"
        for lines in self.lines_of(path):
            for at, line in enumerate(lines):
                name, column_name, value = self.fields_of(at, line, 3)
                row, column = self.row_names.find(name), self.column_names.find(column_name)
                if row < 0 <= column:
                    row = self.new.setdefault(name, len(self.rows) + len(self.new))
                if column >= 0:
                    self.known.setdefault(row, {})[column] = 1 if implicit else float(value)
        self.form = Mf.form
        if self.new:
            factors = self.factors([self.known[row] for row in self.new.values()], implicit)
            self.rows = np.vstack([self.rows, factors[:, :self.rows.shape[1]]])
            self.row_biases = np.r_[self.row_biases, factors[:, -1] * self.has_biases]

    def factors(self, rows: List[Dict[int, float]], implicit: int) -> Array:
        """What suits the cells of each row best, with the regularization of training. Of pairs without values each also
        stands for so many cells that are not there, which are 0: all such columns have an equal part."""
        columns = np.hstack([self.columns, np.ones((len(self.columns), int(self.has_biases)))]).astype(float)
        rest, ridge = -self.mean - self.column_biases.astype(float), float(self.saved.note("regularization"))
        is_sum, all_, found = self.saved.notes.get("method") == "cd", columns.T @ columns * (implicit > 0), []
        for cells in rows:
            own, values = columns[list(cells)], np.array(list(cells.values()))
            absent = len(cells) * implicit if len(cells) < len(columns) else 0
            weight = absent / max(1, len(columns) - len(cells))
            matrix = own.T @ own * (1 - weight) + all_ * weight
            target = own.T @ (values + (1 - weight) * rest[list(cells)]) + weight * (columns.T @ rest if weight else 0)
            least = 1e-9 * (matrix.max() + 1)
            matrix += np.eye(len(matrix)) * max(ridge if is_sum else ridge * (len(cells) + absent), least)
            found.append(np.linalg.solve(matrix, target))
        return np.array(found, np.float32)

    def answer(self, lines: List[bytes]) -> List[Answer]:
        fields = [self.fields_of(at, line) for at, line in enumerate(lines)]
        found = [(self.new[name] if name in self.new else self.find(at, self.row_names, name),
                  self.find(at, self.column_names, more[0]) if more else 0) for at, (name, *more) in enumerate(fields)]
        rows, columns = np.array(found).T
        if len(fields[0]) == 1:
            return self.columns_of(lines, rows.tolist())
        # Of what the model does not know: the mean, and the other's bias.
        ratings = self.mean + self.row_biases[rows] * (rows >= 0) + self.column_biases[columns] * (columns >= 0)
        products = np.einsum("ij,ij->i", self.rows[rows].astype(float), self.columns[columns])
        ratings += products * (rows >= 0) * (columns >= 0)
        return [{"row": row, "column": column, "rating": x} for (row, column, *_), x in zip(fields, ratings.tolist())]

    def columns_of(self, lines: List[bytes], rows: List[int]) -> List[Answer]:
        answers: List[Answer] = [{"row": line, "best": []} for line in lines]
        ats, asked = [at for at, row in enumerate(rows) if row >= 0], [row for row in rows if row >= 0]

        def score(some: slice) -> Array:
            ratings = self.rows[asked[some]] @ self.columns.T + self.column_biases
            return ratings + (self.mean + self.row_biases[asked[some]][:, None])
        known = [list(self.known.get(row, ())) for row in asked]
        self.fill(answers, ats, known, len(self.columns), score, self.column_names, "column", "rating")
        return answers


def layers_of(saved: Saved, first: int, inputs: int) -> List[Tuple[Array, Array]]:
    """Weights and biases, from that layer on."""
    layers: List[Tuple[Array, Array]] = []
    while not layers or f"layer{first + len(layers)}.weight" in saved.tensors:
        name = f"layer{first + len(layers)}"
        weight = saved.take(f"{name}.weight", inputs, None).astype(float)
        inputs = weight.shape[1]
        layers.append((weight, saved.take(f"{name}.bias", inputs).astype(float)))
    return layers


class Ctr(Predictor):
    program, what = "ctr", "features"
    form = "index:value or field:index:value with one blank between, with a label before them or without"

    def open(self, saved: Saved, told: Any) -> None:
        self.fields, dim, self.colons = int(saved.note("fields")), int(saved.note("dim")), 0
        self.wide = saved.take("wide", None)
        self.vectors = saved.take("vectors", len(self.wide), dim)
        self.layers = layers_of(saved, 0, self.fields * dim)
        self.names, self.width = saved.names("features", len(self.wide)), self.fields * dim
        self.form += f", and at most {self.fields} fields, as the model"

    def answer(self, lines: List[bytes]) -> List[Answer]:
        if not self.colons:  # the first pair tells which of the two
            self.colons = next((line.split()[-1].count(b":") for line in lines if b":" in line), 0)
        colons = 2 if self.colons == 2 else 1
        of_line, rows, pairs = self.pairs(lines, self.names, colons)
        fields = pairs[:, 0].astype(np.int64) if colons == 2 else np.zeros(len(pairs), np.int64)
        if colons == 1 and self.fields > 1:
            fields = np.arange(len(pairs)) - np.searchsorted(of_line, of_line)
        self.refuse_if(fields >= self.fields, of_line, lines)
        keys = of_line * self.fields + fields
        order = np.argsort(keys, kind="stable")
        order = order[rows[order] >= 0]
        rows, values = rows[order], pairs[order, -1]
        hidden = add_up(self.vectors[rows] * values[:, None], keys[order], len(lines) * self.fields)
        hidden = hidden.reshape(len(lines), -1)
        for i, (weight, bias) in enumerate(self.layers):
            hidden = (np.maximum(hidden, 0) if i else hidden) @ weight + bias
        logits = hidden[:, 0] + np.bincount(of_line[order], self.wide[rows] * values, len(lines))
        return [{"probability": p} for p in np.exp(-np.logaddexp(0, -logits)).tolist()]


class Lasso(Predictor):
    program, what = "lasso", "columns"
    form = "index:value with one blank between, indices from 1, with a response before them or without"

    def open(self, saved: Saved, told: Any) -> None:
        self.coefficients, self.intercept = saved.take("coefficients", None), float(saved.note("intercept"))
        self.names = saved.names("columns", len(self.coefficients), 1)

    def answer(self, lines: List[bytes]) -> List[Answer]:
        of_line, rows, pairs = self.pairs(lines, self.names)
        self.refuse_if(pairs[:, 0] < 1, of_line, lines)
        values = self.coefficients[rows] * pairs[:, 1] * (rows >= 0) if len(self.coefficients) else pairs[:, 1] * 0
        sums = self.intercept + np.bincount(of_line, values, len(lines))
        return [{"response": y} for y in sums.tolist()]


class Lda(Predictor):
    program, form, what = "lda", "count word:count ... (LDA-C), or words with blanks between", "words"
    count, steps = 0, 100

    def open(self, saved: Saved, told: Any) -> None:
        self.totals = saved.take("topic_totals", None).astype(float)
        self.words = saved.take("word_topics", None, len(self.totals))
        self.alpha, self.beta = float(saved.note("alpha")), float(saved.note("beta"))
        self.names, self.width = saved.names("words", len(self.words)), 64 * len(self.totals)

    def words_of(self, at: int, line: bytes) -> Dict[int, int]:
        """How often it has which words that the model knows."""
        words: Dict[int, int] = {}
        found = [(self.names.find(word), 1, word) for word in line.split()]
        if LDAC.fullmatch(line) or self.names.listed is None:
            count, *pairs = line.split(b" ")
            if not LDAC.fullmatch(line) or int(count) != len(pairs):
                raise self.refuse(at, line)
            numbers = [tuple(map(int, pair.split(b":"))) for pair in pairs]
            found = [(word if word < len(self.words) else -1, times, b"%d" % word) for word, times in numbers]
        for word, times, name in found:
            if word < 0:
                self.miss(at, name)
            else:
                self.known_names += 1
                words[word] = words.get(word, 0) + times
        return words

    def answer(self, lines: List[bytes]) -> List[Answer]:
        documents = [self.words_of(at, line) for at, line in enumerate(lines)]
        of_line = np.repeat(np.arange(len(lines)), [len(words) for words in documents])
        words = np.array([word for each in documents for word in each], np.int64)
        times = np.array([count for each in documents for count in each.values()], float)
        shares = self.shares(len(lines), of_line, words, times)
        if not self.best:
            return [{"topics": each} for each in shares.tolist()]
        answers: List[Answer] = [{} for _ in lines]
        topics = range(len(self.totals))
        none: List[List[int]] = [[]] * len(lines)
        self.fill(answers, list(range(len(lines))), none, len(topics), lambda some: shares[some], topics, "topic", "share")
        return answers

    def shares(self, count: int, of_line: Array, words: Array, times: Array) -> Array:
        """By expectation and maximization, from equal shares on."""
        topics = len(self.totals)
        phi = (self.words[words] + self.beta) / (self.totals + len(self.words) * self.beta)
        tokens = np.bincount(of_line, times, count)[:, None] + topics * self.alpha
        theta, is_moving = np.full((count, topics), 1 / topics), np.ones(count, bool)
        for _ in range(self.steps):
            parts = theta[of_line] * phi
            parts *= (times / parts.sum(1))[:, None]
            after = (self.alpha + add_up(parts, of_line, count)) / tokens
            moved = np.abs(after - theta).sum(1)
            theta[is_moving] = after[is_moving]
            is_moving &= moved >= 1e-6
            if not is_moving.any():
                break
        return theta


class Gnn(Predictor):
    program, form = "gnn", "node and node with a tab between"

    def open(self, saved: Saved, told: Any) -> None:
        has_features = "embeddings" not in saved.tensors
        if has_features != bool(told.features):
            raise Problem(f"{saved.path} was trained {'with' if has_features else 'without'} features: --features "
                          f"{'names the file that has them' if has_features else 'has no effect'}")
        self.rows = saved.take("layer1.weight" if has_features else "embeddings", None, None)
        self.what = "features" if has_features else "nodes"
        self.names = saved.names(self.what, len(self.rows))
        self.layers = layers_of(saved, 2 if has_features else 1, self.rows.shape[1])
        self.classes = saved.names("classes", self.layers[-1][0].shape[1])
        self.features, self.edges = told.features, [np.zeros((0, 2), np.int64)]
        self.places: Dict[bytes, int] = {}
        self.found: List[int] = []  # of each node its row, without features

    def place(self, at: int, name: bytes) -> int:
        place = self.places.setdefault(name, len(self.places))
        if len(self.found) < len(self.places) and not self.features:
            self.found.append(self.find(at, self.names, name))
        return place

    def answer(self, lines: List[bytes]) -> List[Answer]:
        edges = []
        for at, line in enumerate(lines):
            ends = line.split(b"\t")
            if len(ends) != 2 or not all(ends):
                raise self.refuse(at, line)
            edges.append([self.place(at, name) for name in ends])
        self.edges.append(np.array(edges))
        return []

    def inputs(self) -> Array:
        """Of each node its row, or of its features, whose absolute values are 1 together, the sum of theirs; what the
        model does not know is 0."""
        if not self.features:
            return np.where(np.array(self.found, np.int64)[:, None] >= 0, self.rows[self.found], 0)
        parts, seen = [], set()
        self.form = "node, tab, index:value with one blank between, a line a node"
        for lines in self.lines_of(self.features):
            split = [line.partition(b"\t") for line in lines]
            nodes = [self.place(at, name) for at, (name, _, _) in enumerate(split)]
            for at, node in enumerate(nodes):
                if node in seen or not all(split[at][:2]):
                    raise self.refuse(at, lines[at])
                seen.add(node)
            of_line, rows, pairs = self.pairs([text for _, _, text in split], self.names)
            totals = np.bincount(of_line, np.abs(pairs[:, 1]))[of_line]
            values = np.divide(pairs[:, 1], totals, out=np.zeros(len(pairs)), where=totals > 0) * (rows >= 0)
            parts.append((nodes, add_up(self.rows[rows] * values[:, None], of_line, len(lines))))
        inputs = np.zeros((len(self.places), self.rows.shape[1]))
        for nodes, sums in parts:
            inputs[nodes] = sums
        return inputs

    def finish(self) -> List[Answer]:
        inputs, ends = self.inputs(), np.concatenate(self.edges)
        count, ends = len(inputs), ends[ends[:, 0] != ends[:, 1]]
        # An edge has no direction, and counts once.
        codes = np.unique(np.r_[ends[:, 0] * count + ends[:, 1], ends[:, 1] * count + ends[:, 0]])
        node, other = codes // max(1, count), codes % max(1, count)
        own = 1.0 + np.bincount(node, minlength=count)
        weight = 1 / own[node]

        def gather(values: Array) -> Array:
            """Of each node the weighted sum over it and its neighbours."""
            sums, step = values / own[:, None], max(1, ROOM // values.shape[1])
            for at in range(0, len(node), step):
                part, low = slice(at, at + step), node[at]
                some = add_up(values[other[part]] * weight[part, None], node[part] - low, node[part][-1] + 1 - low)
                sums[low:low + len(some)] += some
            return sums
        hidden = gather(inputs)
        if not self.features:
            hidden = hidden @ self.layers[0][0] + self.layers[0][1]
        odds = gather(np.maximum(hidden, 0)) @ self.layers[-1][0] + self.layers[-1][1]
        shares = np.exp(odds - odds.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        return [{"node": name, "class": self.classes[c], "probability": p}
                for name, c, p in zip(self.places, odds.argmax(1).tolist(), shares.max(1).tolist())]


PREDICTORS = {"complex": Kge, "rescal": Kge, "distmult": Kge, "transe": Kge, "rotate": Kge, "skip-gram": Wv, "factors": Mf,
              "wide & deep": Ctr, "graph convolution": Gnn, "lda": Lda, "lasso": Lasso}
# Who takes which option: others have no use for it.
OPTIONS = {"known": (Kge, Mf), "features": (Gnn,), "best": (Kge, Wv, Mf, Lda, Nearest)}


def predictor(told: Any) -> Predictor:
    saved = Saved(told.model)
    kind = PREDICTORS.get(saved.notes.get("model", ""))
    if kind is None:
        raise saved.problem(f'is no model of a program: its metadata have the "model" {saved.notes.get("model")}')
    taken: Any = Nearest if told.near else kind
    for option, kinds in OPTIONS.items():
        if getattr(told, option) is not None and taken not in kinds:
            raise Problem(f"--{option} has no effect with {'--near' if told.near else f'a model of {kind.program}'}")
    found: Predictor = taken(saved, told)
    found.program = kind.program
    return found
