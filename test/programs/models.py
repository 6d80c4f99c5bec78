"""What a model file is worth, computed from it and from the data alone: each is given its notes, its tensors, and files
of data."""
import math

from tensors import numpy as np


def names_of(tensor):
    return bytes(tensor).decode("utf-8").split("\n")[:-1]


def places_of(tensor):
    return {name: i for i, name in enumerate(names_of(tensor))}


def lines_of(path):
    return [line.split() for line in path.read_text("utf-8").splitlines()]


def through(model, number, values):
    return values @ model[f"layer{number}.weight"].astype(float) + model[f"layer{number}.bias"]


def log_loss_of_ctr(_, model, test):
    """Of LIBSVM, with as many features in each line."""
    lines = lines_of(test)
    clicks = np.array([float(y) > 0 for y, *_ in lines])
    pairs = np.array([[pair.split(":") for pair in pairs] for _, *pairs in lines], float)
    features, values = pairs[..., 0].astype(int), pairs[..., 1]
    hidden, last = (model["vectors"][features] * values[..., None]).reshape(len(lines), -1), 0
    while f"layer{last}.weight" in model:
        hidden, last = through(model, last, np.maximum(hidden, 0) if last else hidden), last + 1
    logits = (model["wide"][features] * values).sum(1) + hidden[:, 0]
    return (np.logaddexp(0, logits) - logits * clicks).mean()


def accuracy_of_gnn(_, model, edges, labels, split):
    """Of all neighbours, as the model takes them."""
    place, classes = places_of(model["nodes"]), names_of(model["classes"])
    near = np.eye(len(place))
    for a, b in lines_of(edges):
        near[place[a], place[b]] = near[place[b], place[a]] = 1
    near /= near.sum(1)[:, None]
    hidden = np.maximum(through(model, 1, near @ model["embeddings"]), 0)
    found, purposes = through(model, 2, near @ hidden).argmax(1), dict(lines_of(split))
    return np.mean([classes[found[place[node]]] == label for node, label in lines_of(labels) if purposes[node] == "test"])


def complex_of(rows):
    half = rows.shape[-1] // 2
    return rows[..., :half] + 1j * rows[..., half:]


# As the papers write them, of rows of subjects and of objects, of which one may be many.
SCORES = {
    "complex": lambda s, r, o: (complex_of(s) * complex_of(r) * complex_of(o).conj()).sum(-1).real,
    "rescal": lambda s, r, o: (s @ r.reshape(s.shape[-1], -1) * o).sum(-1),
    "distmult": lambda s, r, o: (s * r * o).sum(-1),
    "transe": lambda s, r, o: -np.linalg.norm(s + r - o, axis=-1),
    "rotate": lambda s, r, o: -np.linalg.norm(complex_of(s) * np.exp(1j * r) - complex_of(o), axis=-1)}


def mrr_of_kge(notes, model, folder):
    """Filtered."""
    place, kind = places_of(model["entity_names"]), places_of(model["relation_names"])
    entities, relations = model["entities"].astype(float), model["relations"].astype(float)
    score, is_reciprocal, known, ranks = SCORES[notes["model"]], notes["reciprocal"] == "true", {}, []
    parts = [[line.split("\t") for line in (folder / f"{part}.txt").read_text("utf-8").splitlines()]
             for part in ("train", "valid", "test")]
    parts = [[each for s, r, o in part
              for each in ((place[s], kind[r], place[o], False), (place[o], kind[r], place[s], True))] for part in parts]
    for *question, answer, of_subjects in sum(parts, []):
        known.setdefault((*question, of_subjects), []).append(answer)
    for given, relation, answer, of_subjects in parts[2]:
        row = relations[relation + len(kind) * (of_subjects and is_reciprocal)]
        ends = (entities, entities[given]) if of_subjects and not is_reciprocal else (entities[given], entities)
        scores = score(ends[0], row, ends[1])
        own, scores[known[given, relation, of_subjects]] = scores[answer], -np.inf
        ranks.append(1 + (scores > own).sum())
    return np.mean([1 / rank for rank in ranks])


def sums_of_lasso(notes, model, data):
    """The objective, and the sum of squares."""
    rows = [(float(y), {int(j) - 1: float(x) for j, x in (pair.split(":") for pair in pairs)})
            for y, *pairs in lines_of(data)]
    b = model["coefficients"]
    columns = [[row.get(j, 0) for _, row in rows] for j in range(len(b))]
    norms = [math.sqrt(math.fsum((x - math.fsum(column) / len(rows)) ** 2 for x in column)) for column in columns]
    errors = [y - float(notes["intercept"]) - math.fsum(x * column[i] for x, column in zip(b, columns))
              for i, (y, _) in enumerate(rows)]
    squares = math.fsum(error ** 2 for error in errors)
    return squares / 2 + float(notes["lambda"]) * math.fsum(abs(b) * norms), squares


def topics_of_lda(_, model, count):
    """The likeliest words of each topic, so many at most: one that no document has under the topic is none."""
    words, columns, totals = names_of(model["words"]), model["word_topics"].T, model["topic_totals"]
    assert np.array_equal(columns.sum(1), totals), f"topics have {totals} tokens, their words {columns.sum(1)}"
    return [[words[i] for i in np.argsort(-column, kind="stable")[:count] if column[i] > 0] for column in columns]


def rmse_of_mf(notes, model, test):
    row, column = places_of(model["row_names"]), places_of(model["column_names"])
    r, c, values = zip(*((row[user], column[item], float(value)) for user, item, value in lines_of(test)))
    told = float(notes["mean"]) + (model["rows"][list(r)].astype(float) * model["columns"][list(c)]).sum(1)
    if "row_biases" in model:
        told += model["row_biases"][list(r)] + model["column_biases"][list(c)]
    return np.sqrt(np.mean((told - values) ** 2))


def same_in_text(names, rows, text):
    """Of each row, whether word2vec's text has its name and values; the first line has how many there are."""
    head, *lines = lines_of(text)
    assert head == list(map(str, rows.shape)) and len(lines) == len(names) == len(rows), f"{text} has other sizes: {head}"
    return [name.replace(" ", "_") == line[0] and np.allclose(np.array(line[1:], float), row, rtol=1e-5, atol=0)
            for name, row, line in zip(names, rows, lines)]


def words_as_in(_, model, text, binary):
    """How many words of wv have the same vectors in the model and word2vec's two formats, and how many there are."""
    names, rows = names_of(model["word_names"]), model["inputs"]
    head, data = binary.read_bytes().split(b"\n", 1)
    assert list(map(int, head.split())) == list(rows.shape), f"{binary} has other sizes: {head}"
    for name, row in zip(names, rows):
        expected = name.encode() + b" " + row.astype("<f4").tobytes() + b"\n"
        assert data.startswith(expected), f"{binary} has something else than {name}"
        data = data[len(expected):]
    assert data == b"", "bytes are left over"
    same = same_in_text(names, rows, text)
    return sum(same), len(same)
