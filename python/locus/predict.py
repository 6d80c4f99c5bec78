# SPDX-License-Identifier: Apache-2.0
"""locus predict: what a model that a program saved says of each line."""
import itertools
import json
import sys
from typing import Any, List, Optional

from ._command import Problem, count, parser, run

HELP = """One line in, one line out. Lines have the form of the training data, with the answer or without:
  kge    subject, relation, object with tabs between: the score; with ? as the subject or the object the best
         entities and their scores; an entity alone: the nearest ones by the cosine
  wv     a word: the nearest ones; two: their cosine; three: what is to the third as the second is to the first
  mf     row, column with a tab between: the value; a row alone: its best columns
  ctr    LIBSVM or LIBFFM: how likely a click is
  gnn    edges, node and node with a tab between: a line for each node, its class and how likely that is
  lda    words, or LDA-C: the share of each topic; with --best the likeliest topics and their shares
  lasso  LIBSVM: the response
What the model does not know is left out (mf: the mean and what is known; kge and wv: nan, or nothing), and counted in
the end on stderr.

examples:
  cut -f1,2 test.tsv | locus predict factors.safetensors
  printf 'dog.n.01\\thypernym\\t?\\n' | locus predict --best 5 graph.safetensors
  locus predict clicks.safetensors test.ffm > probabilities
  echo Heat | locus predict --near columns factors.safetensors
"""


def as_text(value: Any) -> bytes:
    if isinstance(value, (dict, list)):
        parts = list(value.values()) if isinstance(value, dict) else value
        return b"\t".join(as_text(each) for each in parts if each != [])
    return value if isinstance(value, bytes) else b"nan" if value is None else b"%.9g" % value


def as_json(answer: Any) -> bytes:
    return json.dumps({"event": "prediction", **answer}, separators=(",", ":"), ensure_ascii=False,
                      default=lambda name: name.decode("utf-8", "replace")).encode()


def predict(told: Any) -> None:
    from ._predictors import batches, predictor
    told.path = "stdin" if told.file == "-" else told.file
    model, out, form = predictor(told), sys.stdout.buffer, as_json if told.json else as_text
    with sys.stdin.buffer if told.file == "-" else open(told.file, "rb") as stream:
        step = max(1, (1 << 22) // model.width)
        for lines, number in batches(stream, told.path):
            for _, run_ in itertools.groupby(lines, lambda line: line.count(b"\t")):  # they ask the same
                while some := list(itertools.islice(run_, step)):
                    model.first = number
                    out.writelines(form(each) + b"\n" for each in model.answer_until(some))
                    number += len(some)
            out.flush()
    out.writelines(form(each) + b"\n" for each in model.finish())
    if model.missed:
        said = (f"{model.missed_lines} line{'s' * (model.missed_lines != 1)} with {model.what} that the model does not "
                f"know: {model.missed} in all, {model.missed_first}")
        if model.missed > model.known_names:
            said += f'; are the names others (1.0 is not 1), or the columns in another order? {model.converts}'
        if not model.known_names:
            raise Problem(f"nothing is known of {told.path}: {said}")
        print(f"locus predict: {said}", file=sys.stderr)


def main(words: Optional[List[str]] = None) -> int:
    of = parser("predict", "Says what a model that a program saved (--out) predicts of each line.", HELP)
    of.add_argument("model", metavar="MODEL", help="a safetensors file of any of the programs")
    of.add_argument("file", metavar="FILE", nargs="?", default="-", help="lines; without, or with -: stdin")
    of.add_argument("--best", type=count, metavar="N", help="answers of a question (10); lda: topics, else all in their order")
    of.add_argument("--known", metavar="FILE", help="what is known, to train with, say. kge: facts, mf: ratings: they are left "
                    "out of the best answers; and rows that the model of mf does not know get factors by them")
    of.add_argument("--features", metavar="FILE", help="gnn: of the nodes, for a model that was trained with features")
    of.add_argument("--near", metavar="TENSOR", help="lines are names of rows of this table, such as rows, columns, "
                    "relations, vectors: the nearest ones by the cosine")
    of.add_argument("--json", action="store_true", help="JSON lines")
    return run("predict", predict, of.parse_args(words))


if __name__ == "__main__":
    sys.exit(main())
