"""What a model file is worth, computed from it and from the data alone, with nothing but Python. Each takes the notes and the
tensors of the file, and files of data."""
import math
import struct


def rows_of(tensor):
    _, shape, values = tensor
    return [values[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]


def names_of(tensor):
    return tensor[2].decode("utf-8").split("\n")[:-1]


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.split() for line in file]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def layer_of(model, number):
    return rows_of(model[f"layer{number}.weight"]), model[f"layer{number}.bias"][2]


def through(layer, values, is_rectified):
    weights, biases = layer
    sums = [b + sum(v * row[j] for v, row in zip(values, weights)) for j, b in enumerate(biases)]
    return [max(x, 0) for x in sums] if is_rectified else sums


def log_loss_of_ctr(_, model, test):
    """Of LIBSVM, with as many features in each line."""
    wide, vectors = model["wide"][2], rows_of(model["vectors"])
    layers = [layer_of(model, i) for i in range(sum(name.endswith(".weight") for name in model))]
    loss, examples = 0, lines_of(test)
    for label, *pairs in examples:
        logit, values = 0, []
        for feature, value in (pair.split(":") for pair in pairs):
            logit += wide[int(feature)] * float(value)
            values += [x * float(value) for x in vectors[int(feature)]]
        for i, layer in enumerate(layers):
            values = through(layer, values, i + 1 < len(layers))
        logit += values[0]
        loss += max(logit, 0) + math.log1p(math.exp(-abs(logit))) - (logit if float(label) > 0 else 0)
    return loss / len(examples)


def accuracy_of_gnn(notes, model, edges, labels, split):
    """Of all neighbours, as the model takes them."""
    names, classes = names_of(model["nodes"]), names_of(model["classes"])
    near = {name: {name: 1} for name in names}
    for a, b, *weight in lines_of(edges):
        near[a][b] = near[b][a] = float(weight[0]) if notes["weights"] == "true" else 1
    total = {name: sum(weights.values()) for name, weights in near.items()}

    def share(to, other):
        whole = total[to] if notes["average"] == "mean" else math.sqrt(total[to] * total[other])
        return near[to][other] / whole

    rows = dict(zip(names, rows_of(model["embeddings"])))

    def mean_of(node, values):
        return [math.fsum(share(node, other) * values[other][i] for other in near[node])
                for i in range(len(values[node]))]

    hidden = {node: through(layer_of(model, 1), mean_of(node, rows), True) for node in names}
    right = count = 0
    purposes = {node: purpose for node, purpose in lines_of(split)}
    for node, label in lines_of(labels):
        if purposes[node] == "test":
            odds = through(layer_of(model, 2), mean_of(node, hidden), False)
            right += classes[odds.index(max(odds))] == label
            count += 1
    return right / count


def mrr_of_kge(_, model, folder):
    """ComplEx with reciprocal relations, filtered."""
    parts = [[line.split("\t") for line in (folder / f"{part}.txt").read_text("utf-8").splitlines()]
             for part in ("train", "valid", "test")]
    entities, relations = rows_of(model["entities"]), rows_of(model["relations"])
    place = {name: i for i, name in enumerate(names_of(model["entity_names"]))}
    kind = {name: i for i, name in enumerate(names_of(model["relation_names"]))}
    known = set()
    for s, r, o in sum(parts, []):
        known |= {(place[s], kind[r], place[o]), (place[o], kind[r] + len(kind), place[s])}
    half, ranks = len(entities[0]) // 2, []

    def query(a, b):
        pairs = list(zip(a[:half], a[half:], b[:half], b[half:]))
        return [ar * br - ai * bi for ar, ai, br, bi in pairs] + [ar * bi + ai * br for ar, ai, br, bi in pairs]

    for s, r, o in parts[2]:
        for given, relation, answer in ((place[s], kind[r], place[o]), (place[o], kind[r] + len(kind), place[s])):
            asked = query(relations[relation], entities[given])
            scores = [dot(asked, row) for row in entities]
            ranks.append(1 + sum(score > scores[answer] for e, score in enumerate(scores)
                                 if (given, relation, e) not in known))
    return sum(1 / rank for rank in ranks) / len(ranks)


def models_of(notes, model):
    """Of each lambda: lambda, intercept, coefficients by column."""
    if "path.starts" not in model:
        return [(float(notes["lambda"]), float(notes["intercept"]), dict(enumerate(model["coefficients"][2])))]
    starts, columns, values, intercepts, lambdas = (
        model["path." + name][2] for name in ("starts", "columns", "values", "intercepts", "lambdas"))
    models = [(x, at, dict(zip(columns[a:b], values[a:b])))
              for x, at, a, b in zip(lambdas, intercepts, starts, starts[1:])]
    last = {j: b for j, b in enumerate(model["coefficients"][2]) if b}
    assert (models[-1][1], models[-1][2]) == (float(notes["intercept"]), last), "the last of the path is another model"
    return models


def sums_of_lasso(notes, model, data):
    """(objective, sum of squares) of each lambda; of LIBSVM with the squared loss."""
    rows = [(float(y), {int(j) - 1: float(x) for j, x in (pair.split(":") for pair in pairs)})
            for y, *pairs in lines_of(data)]
    norms, sums = [], []
    for j in range(model["coefficients"][1][0]):
        column = [row.get(j, 0) for _, row in rows]
        mean = math.fsum(column) / len(rows)
        norms.append(math.sqrt(math.fsum((x - mean) ** 2 for x in column)))
    for weight, intercept, b in models_of(notes, model):
        squares = math.fsum((y - intercept - math.fsum(b.get(j, 0) * x for j, x in row.items())) ** 2 for y, row in rows)
        sums.append((squares / 2 + weight * math.fsum(abs(value) * norms[j] for j, value in b.items()), squares))
    return sums


def topics_of_lda(_, model, count):
    """The likeliest words of each topic, so many."""
    words, rows = names_of(model["words"]), rows_of(model["word_topics"])
    topics = []
    for topic, total in enumerate(model["topic_totals"][2]):
        column = [row[topic] for row in rows]
        assert sum(column) == total, f"topic {topic} has {total} tokens, its words {sum(column)}"
        topics.append([words[i] for i in sorted(range(len(words)), key=lambda i: -column[i])[:count]])
    return topics


def rmse_of_mf(notes, model, test):
    rows, columns = rows_of(model["rows"]), rows_of(model["columns"])
    row, column = names_of(model["row_names"]), names_of(model["column_names"])
    row, column = {name: i for i, name in enumerate(row)}, {name: i for i, name in enumerate(column)}
    squares, cells = 0, lines_of(test)
    for user, item, value in cells:
        r, c = row[user], column[item]
        biases = model["row_biases"][2][r] + model["column_biases"][2][c] if "row_biases" in model else 0
        squares += (float(notes["mean"]) + biases + dot(rows[r], columns[c]) - float(value)) ** 2
    return math.sqrt(squares / len(cells))


def entities_as_in(_, model, text):
    """How many entities of kge are the same in word2vec's text, and how many lines it has."""
    names, rows, lines = names_of(model["entity_names"]), rows_of(model["entities"]), lines_of(text)
    assert lines.pop(0) == [str(len(rows)), str(len(rows[0]))], "the first line has other sizes"
    same = [name.replace(" ", "_") == line[0] and len(line) == len(row) + 1
            and all(abs(float(x) - y) <= 1e-5 * abs(y) for x, y in zip(line[1:], row))
            for name, row, line in zip(names, rows, lines)]
    return sum(same), len(lines)


def words_as_in(_, model, text, binary):
    """How many words of wv have the same vectors in the model and word2vec's two formats, and how many there are."""
    names, inputs, same = names_of(model["word_names"]), rows_of(model["inputs"]), 0
    with open(binary, "rb") as file:
        count, dim = map(int, file.readline().split())
        for line, name, row in zip(lines_of(text)[1:], names, inputs):
            word = b""
            while not word.endswith(b" "):
                word += file.read(1)
            vector = struct.unpack(f"<{dim}f", file.read(4 * dim))
            file.read(1)
            is_near = all(abs(float(x) - y) <= 1e-5 * abs(y) for x, y in zip(line[1:], row))
            same += word[:-1].decode() == name == line[0] and vector == row and is_near and len(line) == dim + 1
    return same, count, len(names)
