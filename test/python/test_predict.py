"""locus predict and locus export, of models that are written here by hand, and what must follow from their numbers."""
import io
import json
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import ROOT, environment
from tensors import numpy as np

from locus import export, predict

KINDS = {"f4": "F32", "f8": "F64", "i8": "I64", "u1": "U8", "u2": "BF16"}


def write_model(path, notes, **tensors):
    """Tensors are arrays, texts of names, or lists of floats."""
    header, data = {"__metadata__": notes}, b""
    for name, each in tensors.items():
        values = (np.frombuffer(each.encode(), "u1") if isinstance(each, str) else
                  each if isinstance(each, np.ndarray) else np.array(each, "<f4"))
        about = {"dtype": KINDS[values.dtype.str[1:]], "shape": values.shape}
        about["data_offsets"] = [len(data), len(data) + values.nbytes]
        header[name.replace("_", ".", 1) if name.startswith(("layer", "path")) else name] = about
        data += values.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def same(one, other):
    """Texts, of numbers nearly."""
    a, b = re.split(r"[\t\n]", one), re.split(r"[\t\n]", other)
    return len(a) == len(b) and all(x == y or is_near(x, y) for x, y in zip(a, b))


def is_near(one, other):
    try:
        return abs(float(one) - float(other)) <= 1e-6 * (1 + abs(float(other)))
    except ValueError:
        return False


class Hand(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = Path(folder.name)
        self.model = self.here / "model"

    def call(self, command, *words, lines=b""):
        """Its status, and what it printed on stdout and on stderr."""
        out, err = io.TextIOWrapper(io.BytesIO(), newline=""), io.StringIO()
        stdin = mock.Mock(buffer=io.BufferedReader(io.BytesIO(lines)))
        with mock.patch.multiple(sys, stdin=stdin, stdout=out, stderr=err):
            try:
                status = command.main([str(word) for word in words])
            except SystemExit as ended:
                status = ended.code
        out.flush()
        return status, out.buffer.getvalue().decode(), err.getvalue()

    def says(self, options, lines, wanted, unknown=""):
        status, out, err = self.call(predict, *options.split(), self.model, lines=lines.encode())
        self.assertTrue(status == 0 and same(out, wanted), f"{lines}: status {status}\n{err}{out}not\n{wanted}")
        self.assertEqual(err, unknown and f"locus predict: {unknown}\n")

    def refuses(self, options, lines, part, status=1):
        """In the end; what stands before it may have been answered."""
        ended, _, err = self.call(predict, *options.split(), self.model, lines=lines.encode())
        is_sentence = err.startswith("locus predict: ") and err.count("\n") == 1
        self.assertTrue(ended == status and part in err and (is_sentence or status == 2), f"{ended}: {err}")


class Predict(Hand):
    def write_ratings(self, **more):
        """Anna's factor is (1, 2), Bob's (0, 1); x, y and z have (1, 0), (0.5, 1) and (-1, 2)."""
        notes = {"model": "factors", "rank": "2", "mean": "3", "regularization": "0.25", "method": "sgd", **more}
        write_model(self.model, notes, rows=[[1, 2], [0, 1]], columns=[[1, 0], [.5, 1], [-1, 2]], row_biases=[.25, -.5],
                    column_biases=[0, .125, 1], row_names="Anna\n\"Bob, #1\"\n", column_names="x\ny \n\ufeffz\n")

    def test_mf_adds_mean_biases_and_product(self):
        """Names are found as they were written: quotes, commas, blanks, byte order marks and all."""
        self.write_ratings()
        self.says("", 'Anna\tx\n"Bob, #1"\t\ufeffz\t-1.5e1\n"Bob, #1"\ty \nEve\tx\nEve\tw\nAnna\tw',
                  'Anna\tx\t4.25\n"Bob, #1"\t\ufeffz\t5.5\n"Bob, #1"\ty \t3.625\nEve\tx\t3\nEve\tw\t3\nAnna\tw\t3.25\n',
                  '3 lines with names that the model does not know: 4 in all, the first is "Eve" in line 4')
        self.says("", "Eve\tw\nAnna\tv\nAnna\tx\nEve\tv", "Eve\tw\t3\nAnna\tv\t3.25\nAnna\tx\t4.25\nEve\tv\t3\n",
                  '3 lines with names that the model does not know: 5 in all, the first is "Eve" in line 1; '
                  'are the names others (1.0 is not 1), or the columns in another order? "locus prepare mf FILE OUT" converts other forms')
        self.says("--json", "Anna\tx", '{"event":"prediction","row":"Anna","column":"x","rating":4.25}\n')
        self.says("--best 2", 'Anna\nEve\n"Bob, #1"',
                  'Anna\t\ufeffz\t7.25\ty \t5.875\nEve\n"Bob, #1"\t\ufeffz\t5.5\ty \t3.625\n',
                  '1 line with names that the model does not know: 1 in all, the first is "Eve" in line 2')
        self.says("--json --best 1", "Anna\nEve",
                  '{"event":"prediction","row":"Anna","best":[{"column":"\ufeffz","rating":7.25}]}\n'
                  '{"event":"prediction","row":"Eve","best":[]}\n',
                  '1 line with names that the model does not know: 1 in all, the first is "Eve" in line 2')
        (self.here / "known").write_text('Anna\t\ufeffz\t2\n"Bob, #1"\ty \t1\nEve\t\ufeffz\t3\nAnna\tw\t1\n',
                                         encoding="utf-8")
        self.says(f"--known {self.here}/known", 'Anna\n"Bob, #1"\nEve\n',
                  'Anna\ty \t5.875\tx\t4.25\n"Bob, #1"\t\ufeffz\t5.5\tx\t2.5\nEve\tx\t3\ty \t2.725\n')

    def test_mf_finds_factors_of_rows_whose_ratings_are_given(self):
        """What the normal equations have as their solution, in fractions: for (1, 0, 1) and (1/2, 1, 1), 1 and -9/8, with
        1/2 on the diagonal it is (73/148, -69/74, 1/37); with 1/4, as coordinate descent has it, whose regularization is in
        all, (139/216, -43/36, 5/108)."""
        (self.here / "known").write_text("Eve\t\ufeffz\t3\nFay\tx\t4\nFay\tw\t9\nFay\ty \t2\n", encoding="utf-8")
        for method, wanted in (("sgd", (3.52027035, 2.46621633, 1.66891909)),
                               ("cd", (3.68981481, 2.29861116, 1.01388884))):
            self.write_ratings(method=method)
            self.says(f"--known {self.here}/known", "Fay\tx\nFay\ty \nFay\t\ufeffz\n",
                      "".join(f"Fay\t{name}\t{value}\n" for name, value in zip(("x", "y ", "\ufeffz"), wanted)))

    def test_mf_of_pairs_counts_what_is_not_there(self):
        """x is there; y and z stand for two cells each that are not, as 0: 1 + 4 cells, a column (1, 1, -1) of factors. So
        (1 + 2 + 2 + 5/4) f = 1 - mean 0.5 (1 - 2 (1 - 1))."""
        notes = {"model": "factors", "rank": "1", "mean": "0.5", "regularization": "0.25", "implicit": "4"}
        write_model(self.model, notes, rows=[[1]], columns=[[1], [1], [-1]], row_names="a\n", column_names="x\ny\nz\n")
        (self.here / "known").write_text("b\tx\t7\n")
        self.says(f"--known {self.here}/known", "b\tx\nb\tz", f"b\tx\t{.5 + .5 / 6.25}\nb\tz\t{.5 - .5 / 6.25}\n")

    def test_mf_counts_rows_without_names_from_1(self):
        write_model(self.model, {"model": "factors", "rank": "1", "mean": "0"}, rows=[[2], [3]], columns=[[5]])
        self.says("", "1\t1\n2\t1\t4\n0\t1", "1\t1\t10\n2\t1\t15\n0\t1\t0\n",
                  '1 line with names that the model does not know: 1 in all, the first is "0" in line 3')
        self.says("", "2", "2\t1\t15\n")

    def test_lines_of_another_form_are_refused(self):
        self.write_ratings()
        answers = [self.call(predict, self.model, lines=lines)[:2] for lines in (b"Anna\nBob\n\n", b"Anna\tx\nx\ty\r\n")]
        self.assertIn("stdin:1: expected text whose lines end with a line feed alone, found what gzip made: zcat FILE | ",
                      self.call(predict, self.model, lines=b"\x1f\x8b\x08\0")[2])
        self.assertEqual(answers[1], (1, "Anna\tx\t4.25\n"))
        self.assertEqual((answers[0][0], answers[0][1].count("\n")), (1, 2))
        wanted = "expected row, column and value with tabs between, a row and a column, or a row, found"
        for lines, part in (("Anna\tx\nuser\titem\trating", f'stdin:2: {wanted} "user\titem\trating"; "locus prepare mf'),
                            ("Anna\tx\n\n", f"stdin:2: {wanted} an empty line"), ("a\tb\t1\t2", f"stdin:1: {wanted}"),
                            ("Anna\tx\nAnna\tx\r\n", "stdin:2: expected text whose lines end with a line feed alone"),
                            ("\ufeffAnna\tx", "with a line feed alone, found a byte order mark"),
                            ("Anna\0", 'found a byte 0; "locus prepare" converts'), ("Anna\tx\tnan", "stdin:1"), ("Anna\t\t1", "stdin:1")):
            self.refuses("", lines, part)
        (self.here / "known").write_text("Anna\tx\t1\nAnna\ty\n")
        self.refuses(f"--known {self.here}/known", "", "known:2: expected row, column and value with tabs between, found")
        for options, part in ((f"--known {self.here}/none", "none: No such file"), ("--features x", "--features has no effect"),
                              ("--near rows --known x", "--known has no effect with --near"), ("--best 0", "usage: ")):
            self.refuses(options, "", part, status=2 if "usage" in part else 1)

    def test_of_what_nothing_is_known_of_is_a_failure(self):
        self.write_ratings()
        for options, lines in ("", "Anna,x\nEve,y"), ("", "x\tAnna"), ("--near rows", "x"), ("--json", "Anna.0\tx.0"):
            self.refuses(options, lines, "nothing is known of stdin: ")
            self.refuses(options, lines, "are the names others (1.0 is not 1), or the columns in another order?")
        write_model(self.model, {"model": "lasso", "loss": "squared", "intercept": "1"}, coefficients=np.array([2.]))
        self.refuses("", "3:1\n2:1", "nothing is known of stdin: 2 lines with columns")
        self.says("", "0\n", "1\n")

    def test_near_finds_rows_of_every_table(self):
        self.write_ratings()
        self.says("--near columns", "x\nq", "x\ty \t0.447213595\t\ufeffz\t-0.447213595\nq\n",
                  '1 line with names that the model does not know: 1 in all, the first is "q" in line 2')
        self.says("--near rows --best 1 --json", "Anna",
                  '{"event":"prediction","name":"Anna","best":[{"name":"\\"Bob, #1\\"","cosine":0.8944271802902222}]}\n')
        self.refuses("--near row_biases", "", "has one number a row")
        self.refuses("--near words", "", 'has no table of numbers "words": it has rows, columns, row_biases, ')

    def write_graph(self, reciprocal, relations):
        """Numbers of one complex each: a = 1, b = i, c = 2; r multiplies by i. i a conj(b) = 1."""
        write_model(self.model, {"model": "complex", "dim": "2", "reciprocal": reciprocal},
                    entities=[[1, 0], [0, 1], [2, 0]], relations=[[0, 1], [3, 0]][:relations], entity_names="a\nb\nthe c\n", relation_names="r\n")

    def test_kge_scores_facts_and_answers_questions(self):
        self.write_graph("false", 1)
        one = '1 line with names that the model does not know: 1 in all, the first is "d" in line 4'
        self.says("", "a\tr\tb\nb\tr\ta\nthe c\tr\tb\na\tr\td",
                  "a\tr\tb\t1\nb\tr\ta\t-1\nthe c\tr\tb\t2\na\tr\td\tnan\n", one)
        self.says("--best 2", "a\tr\t?\nb\tr\ta\nb\n?\tr\tb\n?\tq\tb",
                  "a\tr\t?\tb\t1\ta\t0\nb\tr\ta\t-1\nb\ta\t0\tthe c\t0\n?\tr\tb\tthe c\t2\ta\t1\n?\tq\tb\n",
                  '1 line with names that the model does not know: 1 in all, the first is "q" in line 5')
        self.says("--best 1", "the c", "the c\ta\t1\n")
        for line in "a\tr", "a\t?\tb":
            self.refuses("", line, "stdin:1: expected subject, relation and object with tabs between, of which subject or object")
        (self.here / "known").write_text("a\tr\tb\nthe c\tr\tb\nd\tr\tb\n")
        self.says(f"--known {self.here}/known", "a\tr\t?\n?\tr\tb", "a\tr\t?\ta\t0\tthe c\t0\n?\tr\tb\tb\t0\n")
        # A question for subjects has the second row, times 3: the score of b for a is that of 3 a.
        self.write_graph("true", 2)
        self.says("--best 1 --json", "?\tr\ta", '{"event":"prediction","subject":"?","relation":"r","object":"a",'
                  '"best":[{"entity":"the c","score":6.0}]}\n')
        # s' R o
        write_model(self.model, {"model": "rescal", "dim": "2", "reciprocal": "false"}, entities=[[1, 2], [3, 4]],
                    relations=[[1, 2, 3, 4]], entity_names="a\nb\n", relation_names="r\n")
        self.says("--best 1", "a\tr\tb\nb\tr\ta\n?\tr\tb", "a\tr\tb\t61\nb\tr\ta\t59\n?\tr\tb\tb\t133\n")
        # s r o; -|s + r - o|; -|s exp(ir) - o|, of one complex number each.
        for model, relation, expected in (("distmult", [2, -1], "a\tr\tb\t-2\n?\tr\tb\tb\t2\n"),
                                          ("transe", [2, 1], "a\tr\tb\t-1\n?\tr\tb\ta\t-1\n"),
                                          ("rotate", [np.pi / 2], "a\tr\tb\t-5.83095189\n?\tr\tb\ta\t-5.83095189\n")):
            write_model(self.model, {"model": model, "dim": "2", "reciprocal": "false"}, entities=[[1, 2], [3, 4]],
                        relations=[relation], entity_names="a\nb\n", relation_names="r\n")
            self.says("--best 1", "a\tr\tb\n?\tr\tb", expected)

    def test_wv_finds_near_words_and_analogies(self):
        write_model(self.model, {"model": "skip-gram", "dim": "2"}, inputs=[[2, 0], [0, 3], [3, 4], [-1, 0], [0, 0]],
                    word_names="east\nnorth\nne\n#west, far\nnever\n")
        self.says("--best 9", "never\n#west, far", "never\n#west, far\tnorth\t0\tne\t-0.6\teast\t-1\n")
        self.says("--best 2", "east", "east\tne\t0.6\tnorth\t0\n")
        self.says("", "#west, far\tnorth\teast\nne me\n#west, far",
                  "#west, far\tnorth\teast\tne\t0.894427191\nne\tme\tnan\n"
                  "#west, far\tnorth\t0\tne\t-0.6\teast\t-1\n",
                  '1 line with names that the model does not know: 1 in all, the first is "me" in line 2')
        self.says("", "east ne", "east\tne\t0.6\n")
        self.refuses("", "a b c d", "stdin:1: expected one, two or three words")

    def test_lasso_adds_coefficients_times_values(self):
        """1 + 2 x1 - x3."""
        write_model(self.model, {"model": "lasso", "loss": "squared", "intercept": "1"}, coefficients=np.array([2., 0, -1]))
        self.says("", "7 1:2 3:0.5\n1:3 2:9 4:8\n0\n\n-2e1 4:1", "4.5\n7\n1\n1\n1\n",
                  '2 lines with columns that the model does not know: 2 in all, the first is "4" in line 2')
        for line in "1 0:1", "a,b,2", "1:2  3:1", "1:2 ", "1:nan", "1:1e999", "1:2:3", "1:x", "1 2", "9999999999:1":
            self.refuses("", f"1:2\n{line}", 'stdin:2: expected index:value with one blank between, indices from 1')

    def test_lda_finds_shares_of_topics(self):
        """A word of each of two topics, which is all that the topic has, and alpha 0.5: of a, a, b the shares are (2.5, 1.5)
        / 4."""
        write_model(self.model, {"model": "lda", "alpha": "0.5", "beta": "0"}, word_topics=[[8, 0], [0, 4]],
                    topic_totals=[8, 4], words="a\n#b\n")
        self.says("", "a a  #b c\n2 0:2 1:1\nc\n\n0", "0.625\t0.375\n0.625\t0.375\n0.5\t0.5\n0.5\t0.5\n0.5\t0.5\n",
                  '2 lines with words that the model does not know: 2 in all, the first is "c" in line 1')
        self.says("", "1 0:3\n2 5:2 0:3\n", "0.875\t0.125\n0.875\t0.125\n",
                  '1 line with words that the model does not know: 1 in all, the first is "5" in line 2')
        self.says("--best 1 --json", "1 1:3\na", '{"event":"prediction","best":[{"topic":1,"share":0.875}]}\n'
                  '{"event":"prediction","best":[{"topic":0,"share":0.75}]}\n')
        # What is likeliest: found by the program, too, when it predicted itself.
        write_model(self.model, {"model": "lda", "alpha": "0.5", "beta": "0.25"}, word_topics=[[6, 2], [4, 8], [1, 0]],
                    topic_totals=[11, 10], words="a\nb\nc\n")
        self.says("", "a a b\nb b b c\n2 0:9 1:1\n",
                  "0.660423093\t0.339576907\n0.384828052\t0.615171948\n0.906106176\t0.0938938238\n")
        self.refuses("", "a\n2 1:3", "stdin:2: expected count word:count ... (LDA-C), or words with blanks between, found")

    def test_ctr_reads_libsvm_and_libffm(self):
        """0.5 - 2, and 0.25 * 1 + 0.125 * 4 + 0.25; nothing known; then -1 - 0.5, and 0.125 * 2 - 0.25 + 0.25."""
        notes = {"model": "wide & deep", "dim": "1", "fields": "2"}
        model = {"wide": [.5, -1], "vectors": [[1], [2]], "layer0_weight": [[.25], [.125]], "layer0_bias": [.25]}
        write_model(self.model, notes, **model)
        told, nothing, other = "0.377540669\n", "0.562176501\n", "0.222700139\n"
        self.says("", "1 0:1 1:2\n\n+1", told + nothing + nothing)
        self.says("", "1:2:0 0:7:1\n-1 1:1:1 0:0:-1\n0 0:0:1 1:1:2", nothing + other + told,
                  '1 line with features that the model does not know: 2 in all, the first is "2" in line 1')
        for lines in "0:1 1:1 0:1", "0:1 1:1\n0:0:1", "0:0:1\n2:0:1":
            self.refuses("", lines, f"stdin:{1 + lines.count(chr(10))}: expected index:value or field:index:value")
        write_model(self.model, notes, **{**model, "features": "7\n300000000\n"})
        self.says("", "300000000:2 7:-1", "0.201813222\n")

    def test_gnn_sums_over_neighbours(self):
        """Of a - b - c the hidden values are the mean of the embeddings less 1; the second layer says as much of "yes" as
        their mean, and 0.5 of "no". Inputs 2, 7, 0: sums 4.5, 3, 3.5: hidden 3.5, 2, 2.5: means 2.75, 8 / 3, 2.25."""
        write_model(self.model, {"model": "graph convolution", "average": "mean"}, embeddings=[[2], [7]],
                    layer1_weight=[[1]], layer1_bias=[-1], layer2_weight=[[1, 0]], layer2_bias=[0, .5], nodes="a\nb\n", classes="yes\nno\n")
        self.says("", "a\tb\nb\tc\nb\ta\nc\tc\n", "a\tyes\t0.904650509\nb\tyes\t0.897215975\nc\tyes\t0.851952791\n",
                  '1 line with nodes that the model does not know: 1 in all, the first is "c" in line 2')
        self.refuses("--features x", "a\tb", "was trained without features: --features has no effect")
        self.refuses("", "a\tb\na b", "stdin:2: expected node and node with a tab between")
        # Values 3 (0.75 * 4), -4, 4: means -1/2, 1, 0, so hidden 0, 1, 0: means 1/2, 1/3, 1/2.
        write_model(self.model, {"model": "graph convolution", "average": "mean"}, layer1_weight=[[4], [-4]],
                    layer2_weight=[[1, 0]], layer2_bias=[0, 1])
        (self.here / "features").write_text("0\t0:3 9:1\n2\t0:1\n1\t1:1\n")
        self.says(f"--features {self.here}/features", "0\t1\n1\t2\n",
                  "0\t1\t0.622459331\n1\t1\t0.660757\n2\t1\t0.622459331\n",
                  '1 line with features that the model does not know: 1 in all, the first is "9" in line 1')
        for text, line in (("0\t0:1\n0\t0:2\n", 2), ("0 0:1\n", 1), ("0\t0:1,1:2\n", 1)):
            (self.here / "features").write_text(text)
            self.refuses(f"--features {self.here}/features", "0\t1\n",
                         f"features:{line}: expected node, tab, index:value with one blank")

    def test_files_that_are_no_models_are_refused(self):
        whole = '{"a":{"dtype":"F32","shape":[%s],"data_offsets":[%s]}}'
        for header, part in (("{}", "is no model in safetensors, or is cut off"), (whole % ("9", "0,36"), "is cut off"),
                             (whole % ("3", "0,8"), "is cut off"),
                             (whole.replace("F32", "F99") % ("2", "0,8"), "is cut off"),
                             ('{"__metadata__":{"model":"tree"},' + (whole % ("2", "0,8"))[1:], 'have the "model" tree'),
                             ('{"__metadata__":{"model":"fact\\u006frs"},' + (whole % ("2", "0,8"))[1:],
                              'says nothing of "rank"'),
                             ("[1]", "is cut off"), ("{", "is cut off")):
            self.model.write_bytes(struct.pack("<Q", len(header)) + header.encode() + b"12345678")
            self.refuses("", "", part)
        for data in b"", b"1", b"\xff" * 9:
            self.model.write_bytes(data)
            self.refuses("", "", "is no model in safetensors, or is cut off or damaged: MODEL is named first")
        notes = {"model": "factors", "rank": "2", "mean": "0"}
        write_model(self.model, notes, rows=[[1], [2]], columns=[[1, 2]])
        self.refuses("", "", 'its tensor "rows" has the shape [2, 1], which does not fit the others')
        write_model(self.model, notes, rows=[[1, 2]], columns=[[1, 2]], row_names="a\nb\n")
        self.refuses("", "", 'its "row_names" are not the names of 1 rows')
        self.model.unlink()
        self.refuses("", "", "model: No such file")

    def test_many_lines_are_answered_as_they_are_alone(self):
        """More than are worked on together, and a line that is read in two parts."""
        draw = np.random.default_rng(1)
        names = [f"entity {i} {'x' * (i % 50)}" for i in range(300)]
        write_model(self.model, {"model": "complex", "dim": "8", "reciprocal": "true"}, relation_names="r\n",
                    entities=draw.normal(size=(300, 8)).astype("<f4"), relations=draw.normal(size=(2, 8)).astype("<f4"),
                    entity_names="".join(f"{name}\n" for name in names))
        questions = [f"{name}\tr\t?" for name in names]
        once = self.call(predict, "--best", 3, self.model, lines="\n".join(questions).encode())[1].splitlines()
        with mock.patch("locus._predictors.ROOM", 1000):
            many = self.call(predict, "--best", 3, self.model, lines="\n".join(100 * questions).encode())[1].splitlines()
        self.assertEqual((len(many), len(once)), (30000, 300))
        for i in 0, 299, 15000, 29999:
            self.assertTrue(same(many[i], once[i % 300]), (many[i], once[i % 300]))
        self.assertEqual([line.split("\t")[3::2] for line in many], 100 * [line.split("\t")[3::2] for line in once])

    def test_each_line_is_answered_before_the_next_is_waited_for(self):
        self.write_ratings()
        command = [sys.executable, "-m", "locus.predict", str(self.model)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as child:
            for _ in range(2):
                child.stdin.write(b"Anna\tx\n")
                child.stdin.flush()
                self.assertEqual(child.stdout.readline(), b"Anna\tx\t4.25\n")
            child.stdin.close()
            self.assertEqual(child.wait(), 0)

    def test_says_which_module_is_missing(self):
        ended = subprocess.run([sys.executable, "-S", "-m", "locus.predict", "x"], cwd=ROOT / "python", text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={"PATH": "/usr/bin"})
        self.assertEqual((ended.returncode, ended.stdout),
                         (1, "locus predict: NumPy is missing: apt install python3-numpy, or pip install numpy\n"))


class Export(Hand):
    def exports(self, out, wanted, *options):
        status, said, err = self.call(export, *options, self.model, self.here / out)
        self.assertEqual((status, said, err), (0, "", ""))
        self.assertEqual((self.here / out).read_bytes(), wanted)

    def refuses_export(self, part, *words):
        status, said, err = self.call(export, *words)
        self.assertEqual((status, said), (1, ""))
        self.assertTrue(err.startswith("locus export: ") and part in err, err)
        self.assertEqual(set(self.here.iterdir()), {self.model})

    def test_rows_as_text(self):
        write_model(self.model, {"model": "factors"}, rows=[[1, 2], [0, 1]], columns=[[1, 0], [.5, 1], [-1, 2]],
                    column_biases=[0, .125, 1], row_names="Anna\nBob\n", column_names="x\ny\nz\n")
        self.exports("a.tsv", b"Anna\t1\t2\nBob\t0\t1\n")
        self.exports("b.tsv", b"x\t0\ny\t0.125\nz\t1\n", "--tensor", "column_biases")
        self.exports("c.txt", b"3 2\nx 1 0\ny 0.5 1\nz -1 2\n", "--tensor", "columns")
        self.exports("d.bin", b"2 2\nAnna \0\0\x80\x3f\0\0\0\x40\nBob \0\0\0\0\0\0\x80\x3f\n")
        write_model(self.model, {"model": "lasso"}, coefficients=np.array([2, 0, .1]))
        self.exports("e.tsv", b"1\t2\n2\t0\n3\t0.10000000000000001\n")
        write_model(self.model, {"model": "complex"}, relations=[[1], [2], [3], [4]], relation_names="a b\na_b\n")
        self.exports("f.txt", b"4 1\na_b 1\na_b_2 2\na_b_3 3\na_b_4 4\n")
        write_model(self.model, {}, users=np.array([0x3f80, 0xc000], "<u2"))  # as locus.torch saves them
        self.exports("g.tsv", b"0\t1\n1\t-2\n", "--tensor", "users")

    def test_all_for_numpy(self):
        write_model(self.model, {"model": "lasso", "a": "b"}, coefficients=np.array([2, 0, .1]),
                    path_starts=np.array([1, 2]), columns="1\n2\n3\n")
        self.assertEqual(self.call(export, self.model, self.here / "x.npz"), (0, "", ""))
        archive = np.load(self.here / "x.npz")
        self.assertEqual(archive["coefficients"].tolist(), [2, 0, .1])
        self.assertEqual((archive["path.starts"].tolist(), archive["columns"].tobytes()), ([1, 2], b"1\n2\n3\n"))
        self.assertEqual(json.loads(archive["notes.json"]), {"model": "lasso", "a": "b"})

    def test_what_cannot_be_is_refused(self):
        write_model(self.model, {}, users=[1])
        for part, *words in (("has no table of numbers", self.model, self.here / "x.tsv"),
                             ('"rows": it has users', "--tensor", "rows", self.model, self.here / "x.tsv"),
                             ("must end with .npz, .tsv, .txt or .bin", self.model, self.here / "x"),
                             ("--tensor has no effect", "--tensor", "users", self.model, self.here / "x.npz"),
                             ("none/x.tsv", self.model, self.here / "none" / "x.tsv")):
            self.refuses_export(part, *words)

    def test_only_what_it_has_written_is_written_anew(self):
        write_model(self.model, {"model": "factors"}, rows=[[1, 2], [0, 1]])
        for name, theirs in (("x.npz", b"PK\3\4" + bytes(26) + b"rows.npy"), ("x.tsv", b"a\tb\n"), ("x.txt", b"to do\n"), ("x.bin", b"\0\1")):
            path = self.here / name
            for _ in range(2):
                self.assertEqual(self.call(export, self.model, path), (0, "", ""))
            path.write_bytes(theirs)
            status, _, said = self.call(export, self.model, path)
            self.assertEqual((status, path.read_bytes()), (1, theirs))
            self.assertIn(f"{name} is there, and locus export has not written it: name another, or remove this one", said)


if __name__ == "__main__":
    unittest.main()
