"""locus prepare: each kind of file is right, or refused with a sentence that names the remedy."""
import contextlib
import gzip
import importlib
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

from locus.prepare import main
from support import BIN, ROOT

INPUTS = ROOT.parent / "shared" / "inputs"


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"there is no {name} here") from None


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_it(self, *arguments):
        """Status, and what it said."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = main(list(arguments))
        return status, said.getvalue()

    def right(self, arguments, **results):
        """What is in the results: OUT, or files of the folder OUT."""
        status, said = self.run_it(*arguments.split(), "out")
        self.assertEqual(status, 0, said)
        self.assertTrue(all(line.startswith("locus prepare: ") for line in said.splitlines()), said)
        for name, text in results.items():
            path = Path("out") if name == "out" else Path("out") / f"{name}.txt"
            self.assertEqual(path.read_text("utf-8", "surrogateescape"), text, f"{arguments}: {said}")
        return said

    def refused(self, arguments, sentence):
        Path("out").is_file() and Path("out").unlink()
        status, said = self.run_it(*arguments.split(), "out")
        self.assertEqual(status, 1, f"{arguments}: {said}")
        self.assertRegex(said.splitlines()[-1], sentence, arguments)
        self.assertFalse(Path("out").is_file(), arguments)

    def all_cases(self, cases, suffix="in"):
        """Text, arguments, and the result: a text, files of a folder, or what a refusal says."""
        for text, arguments, result in cases:
            with self.subTest(text=text, arguments=arguments):
                if isinstance(text, dict):
                    for name, each in text.items():
                        Path(name).parent.mkdir(parents=True, exist_ok=True)
                        Path(name).write_bytes(each if isinstance(each, bytes) else each.encode())
                else:
                    Path("in").write_bytes(text if isinstance(text, bytes) else text.encode())
                for left in Path("out").glob("*") if Path("out").is_dir() else ():
                    left.unlink()
                Path("out").is_file() and Path("out").unlink()
                if isinstance(result, Refusal):
                    self.refused(arguments, result.sentence)
                else:
                    self.right(arguments, **(result if isinstance(result, dict) else {"out": result}))


class Refusal:
    def __init__(self, sentence):
        self.sentence = sentence


R = Refusal
ML = "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1029,3.0,1260759179\n"
ML_OUT = "1\t31\t2.5\n1\t1029\t3.0\n"


class Tables(Case):
    def test_ratings(self):
        self.all_cases((
            (ML, "mf in", ML_OUT),
            (ML.replace(",", ";"), "mf in", ML_OUT),
            (ML.replace(",", "\t"), "mf in", ML_OUT),
            (ML.replace(",", " "), "mf in", ML_OUT),
            (ML.replace(",", ", "), "mf in", ML_OUT),
            (ML.replace("\n", "\r\n"), "mf in", ML_OUT),
            (b"\xef\xbb\xbf" + ML.encode(), "mf in", ML_OUT),
            (ML[:-1], "mf in", ML_OUT),
            ("\n" + ML + "\n\n", "mf in", ML_OUT),
            (gzip.compress(ML.encode()), "mf in", ML_OUT),
            ("# made by a tool\n" + ML, "mf in", ML_OUT),
            ("# user item rating\n1 31 2.5\n1 1029 3.0\n", "mf in", ML_OUT),
            ("1::31::2.5::9\n1::1029::3.0::9\n", "mf in", ML_OUT),
            ("1|31|2.5\n1|1029|3.0\n", "mf in", ML_OUT),
            ("1\t31\t2.5\t881250949\n1\t1029\t3.0\t881250949\n", "mf in", ML_OUT),
            (",userId,movieId,rating\n0,1,31,2.5\n1,1,1029,3.0\n", "mf in", ML_OUT),
            (",0,1,2\n0,1,31,2.5\n1,1,1029,3.0\n", "mf in", ML_OUT),
            ("rating,user,item\n2.5,1,31\n3.0,1,1029\n", "mf in", ML_OUT),
            ("a,b,c,d\n1,31,9,2.5\n1,1029,9,3.0\n", "mf in --columns a,b,d", ML_OUT),
            ("1,31,9,2.5\n1,1029,9,3.0\n", "mf in --columns 1,2,4", ML_OUT),
            ("user,item,rating\nu1,i1,\nu1,i2,NA\nu2,i1,3\n", "mf in", "u2\ti1\t3\n"),
            ("user,item\nu1,i1\nu1,i1\n", "mf in", "u1\ti1\t1\nu1\ti1\t1\n"),
            ('user,item,rating\n"a, ""b""",#i,3\n', "mf in", 'a, "b"\t#i\t3\n'),
            ("user,item,rating\n 1.50,007,+.5\n9007199254740993,1e3,1e-05\n", "mf in",
             "1.50\t007\t0.5\n9007199254740993\t1e3\t1e-05\n"),
            ("sep=;\nuserId;movieId;rating\n1;31;2.5\n1;1029;3.0\n", "mf in", ML_OUT),
            ("u,,3\nv,j,4\n", "mf in", "v\tj\t4\n"), ("user,item,rating\n1.0,2.0,3.0\n,1.0,2.0\n", "mf in", "1\t2\t3.0\n"),
            ("user,item\n", "mf in", ""), ("u,,3\n1.0,2,4\n", "mf in --heading no", "1\t2\t4\n"),
            ("u;i;3,5\nv;j;4\n", "mf in --decimal ,", "u\ti\t3.5\nv\tj\t4\n"),
            (b"user,item,rating\n\xe9,\xff,3\n", "mf in", "\udce9\t\udcff\t3\n"),
            ("#u0,i0\n#u1,i1\n", "mf in --comments none", "#u0\ti0\t1\n#u1\ti1\t1\n"),
            ("a\tb \"c\t3\n", "mf in", "a\tb \"c\t3\n"),
            ("a\t\"b\" c\t3\n", "mf in --quotes none", "a\t\"b\" c\t3\n"),
        ))

    def test_ratings_refused(self):
        self.all_cases((
            ("", "mf in", R("has no rows")),
            ("u,i,3\nv,j\n", "mf in", R("in:2: has 2 fields")),
            ("u,i,3\nv,j,4,5\n", "mf in", R("in:2: has 4 fields")), ("a b\nu v w\n", "mf in", R("in:2: has 3 fields")),
            ('"user" "item" "rating"\n"1" 1 31 2.5\n"2" 1 1029 3.0\n', "mf in", R("in:2: has 4 .*first row has 3: row names\\?")),
            ("userId,movieId,rating\n1,1,3,5\n2,1,2,0\n", "mf in", R("a comma within a field needs quotation marks")),
            ("userId,movieId,rating\n1,1,3,\n", "mf in", R("in:2: has 4 fields, and the first row has 3")),
            ("0,1,31\n1,1,1029\n2,2,31\n", "mf in", R("column 1 has each number once.*--columns 2,3 leaves it out, if not, 1,2,3")),
            ("0,1,31,5\n1,1,1029,4\n2,2,31,4\n", "mf in", R("--columns 2,3,4 leaves it out")),
            ("".join(f"{i * 7 % 31},{i % 5},{i % 3},4\n" for i in range(31)), "mf in", R("column 1 has each number once")),
            ("user," + ",".join(f"m{i}" for i in range(99)) + "\nu" + ",2" * 99 + "\n", "mf in",
             R("m13, \\.\\.\\. \\(100 in all\\); of a matrix .*stack")),
            ('{"user": 1, "item": 2}\n', "mf in", R("is JSON: pandas")), ("user,item,rating\nu,i,\\N\n", "mf in", R("nothing that could be written")),
            ("u;i;4,5\nv;j;1.234,5\n", "mf in --separator ; --decimal ,", R("no points between thousands")),
            ("u;i;1.234,5\nv;j;4,5\n", "mf in --separator ; --decimal ,", R("may be a heading")),
            (b"PAR1\x15\x04", "mf in", R("is Parquet: pandas")), (b"PK\x03\x04\0", "mf in", R("read_excel")),
            (b"\x80\x04\x95", "mf in", R("is a pickle")),
            (ML + "1,2,x,3\n", "mf in", R("in:4: .*\"x\", which is no number")),
            ("u;i;3,5\nv;j;4,0\n", "mf in", R("--separator says which")),
            ("u;i;3,5\nv;j;4,0\n", "mf in --separator ;", R("no number.*--decimal ,")),
            ("u,i,1e400\n", "mf in", R("no number")), ("u,i,inf\n", "mf in", R("no number")),
            ("u,i,0x1F\n", "mf in", R("no number")), ("u,i,1_000\n", "mf in", R("no number")),
            ('u,"i\tj",3\nu,i,4\n', "mf in", R("a tab or a line end")), ('u,"i\nj",3\n', "mf in", R("a tab or a line end")),
            ('u,"i" j,3\n', "mf in", R("quotation marks.*--quotes none")),
            ('u,"i,3\nv,j,4\n', "mf in", R("quotation marks|fields")),
            ("a,b;c,d;e\na,b;c,d;e\n", "mf in", R("commas or semicolons.*--separator")),
            ("0,1,2\n1,31,2.5\n", "mf in", R("may be a heading: --heading")),
            ("user,x,y,z\nu,1,2,3\n", "mf in", R("which columns are row, column, value\\? --columns")),
            ("0,1,31,2.5\n1,1,1029,3\n2,2,31,4\n", "mf in", R("--columns")),
            ("user,user,rating\na,b,1\n", "mf in", R("two columns are called \"user\"")),
            ("#u0,i0,3\nu1,i1,4\n", "mf in", R("may be a row or a comment: --comments none")),
            ("u0,i0,3\n# a,i1,4\nu2,i2,4\n", "mf in", R("in:2: .*may be a row or a comment")),
            ("u1\ti1\t4\n#\ti0\t3\n", "mf in", R("in:2: .*may be a row or a comment")),
            ("user,item,rating\nu,i,NA\n", "mf in", R("nothing that could be written")),
            ("user,item,rating\nu,i,3\n".encode("utf-16"), "mf in", R("iconv -f UTF-16")),
            (b"u,i,3\nv,\0,4\n", "mf in", R("in:2: has a zero byte")),
            ("% 3 rows\n600 400 3\n1 1 4\n2 2 3\n3 1 5\n", "mf in", R("MatrixMarket without its first line")),
            (ML, "mf nothing", R("nothing is not there")), (ML, "mf .", R("is a folder")),
            (ML, "mf in --columns userId,film,rating", R("no column \"film\"")),
        ))

    def test_two_files_and_stdin(self):
        Path("a").write_text(ML)
        Path("b").write_text(ML.replace(",", "\t"))
        self.right("mf a b", out=2 * ML_OUT)
        Path("b").write_text("u,i,r\n1,2,3\n")
        self.refused("mf a b", "b has other columns than a")
        ended = subprocess.run([sys.executable, "-m", "locus.prepare", "mf", "-", "-"], input=ML, text=True, capture_output=True,
                               env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
        self.assertEqual((ended.returncode, ended.stdout), (0, ML_OUT), ended.stderr)
        self.assertIn("stdin: 2 rows", ended.stderr)

    def test_a_failure_leaves_the_result_that_was_there(self):
        Path("in").write_text(ML)
        Path("out").write_text("old\told\t1\n")
        self.assertEqual(self.run_it("mf", "in", "nowhere")[0], 0)
        Path("in").write_text(ML + "1,2,x,4\n")
        self.assertEqual(self.run_it("mf", "in", "out")[0], 1)
        self.assertEqual(Path("out").read_text(), "old\told\t1\n")
        self.assertEqual(sorted(os.listdir()), ["in", "nowhere", "out"])

    def test_what_was_not_written_by_it_stays(self):
        files = {"in": ML, "test.csv": ML, "d/train.txt": "a\tr\tb\n", "d/valid.txt": "a\tr\tb\n", "d/test.txt": "a\tr\tb\n",
                 "in.columns.json": "{}", "svm": "1 1:2\n", "raw/documents.txt": "red\n", "raw/train.txt": ML}
        for name, text in files.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text)
        os.link("in", "same")
        for arguments, sentence in (
                ("mf in in", "read as well as written"), ("mf in ./in", "read as well"), ("mf in same", "read as well"),
                ("kge d d", "read as well"), ("kge d/train.txt d/valid.txt d/test.txt d", "read as well"),
                ("ctr test.csv in --like in", "read as well"), ("mf in test.csv", "is there, and prepare mf has not written it"),
                ("ctr in test.csv", "has not written it"), ("lda in raw", "documents.txt is there"), ("kge in raw", "train.txt is"),
                ("lasso svm test.csv", "has not written it"), ("vectors in test.csv", "has not"),
                ("mf in out.gz", "not packed"), ("mf in no/out", "there is no folder"), ("kge d no/out", "there is no folder")):
            with self.subTest(arguments=arguments):
                status, said = self.run_it(*arguments.split())
                self.assertEqual((status, len(said.splitlines())), (1, 1), said)
                self.assertRegex(said, sentence)
        self.assertEqual({name: Path(name).read_text() for name in files}, files)
        for arguments in ("mf in out", "lasso svm rows --first 1", "ctr svm clicks", "kge d facts"):
            for _ in range(2):
                self.assertEqual(self.run_it(*arguments.split())[0], 0, arguments)

    def test_options_without_effect(self):
        Path("in").write_text(ML)
        Path("m").write_text(MATRIX + "pattern general\n2 2 1\n2 1\n")
        Path("svm").write_text("1 1:2\n")
        Path("edges").write_text(EDGES)
        Path("facts").write_text("a\tr\tb\n")
        Path("x.col").write_text("e 1 2\n")
        Path("in.columns.json").write_text("{}")
        for arguments, option in {
                "mf in": "similarity", "mf in ": "vocabulary v", "wv in": "columns 1,2", "wv in ": "first 1", "mf m": "columns 1,2",
                "ctr in": "columns 1,2", "ctr svm": "label 1", "ctr svm ": "like in", "ctr in --like in": "label rating",
                "ctr in --like in ": "bins 5", "ctr in  --like in": "without rating", "gnn m": "columns 1,2", "gnn edges": "names id",
                "gnn edges ": "class-columns 1,2", "gnn  edges": "first 1", "kge facts facts facts": "seed 2", "kge in": "decimal ,", "lda in --vocabulary svm": "like in",
                "vectors in": "columns 1,2", "lasso svm": "format table",
                "lasso svm ": "response m", "lasso m --response svm": "first 1", "gnn m ": "format table", "gnn x.col": "names id",
                "gnn x.col ": "separator ,", "lda in --format gibbs": "comments #"}.items():
            self.refused(f"{arguments} --{option}", f"--{option.split()[0]} has no effect")

    def test_wrong_command_lines(self):
        for arguments in ((), ("mf",), ("mf", "a"), ("xy", "a", "b"), ("ctr", "a", "b", "--bins", "1"), ("mf", "a", "b", "--nothing"),
                          ("ctr", "a", "b", "--without", "c,", "d")):
            with self.assertRaises(SystemExit) as ended:
                self.run_it(*arguments)
            self.assertEqual(ended.exception.code, 2)

    def test_pandas(self):
        pandas = library("pandas")
        frame = pandas.DataFrame({"user": ["a b", 'q"x', "ü,"], "item": ["007", "#i", "x"], "rating": [0.1 + 0.2, None, 1e-7]})
        expected = "a b\t007\t0.30000000000000004\nü,\tx\t1e-07\n"
        for options in ({}, {"index": False}, {"sep": "\t"}, {"sep": ";", "index": False}, {"quoting": 1}, {"na_rep": "NaN"},
                        {"encoding": "utf-8-sig"}):
            with self.subTest(options=options):
                frame.to_csv("in", **options)
                self.right("mf in", out=expected)

    def test_similarities_and_text(self):
        self.all_cases((
            ("Word 1,Word 2,Human (mean)\nlove,sex,6.77\ntiger,cat,7.35\n", "wv in --similarity",
             "love\tsex\t6.77\ntiger\tcat\t7.35\n"),
            ("word1\tword2\tPOS\tSimLex999\told\nold\tnew\tA\t1.58\t3\n" * 1, "wv in --similarity",
             "old\tnew\t1.58\n"),
            (b"\xef\xbb\xbfa  b\r\n\r\n# c\n", "wv in", "a  b\n# c\n"),
            ("a\rb\n", "wv in", R("carriage return")),
        ))


MATRIX = "%%MatrixMarket matrix coordinate "


class Matrices(Case):
    def test_ratings(self):
        self.all_cases((
            (MATRIX + "real general\n% c\n3 4 2\n1 4 1.0D+05\n3 1 .5\n", "mf in", "1\t4\t100000.0\n3\t1\t0.5\n"),
            (MATRIX + "integer symmetric\n2 2 2\n1 1 7\n2 1 -3\n", "mf in", "1\t1\t7\n2\t1\t-3\n1\t2\t-3\n"),
            (MATRIX + "real skew-symmetric\n2 2 1\n2 1 -3.5\n", "mf in", "2\t1\t-3.5\n1\t2\t3.5\n"),
            (MATRIX + "pattern general\n2 2 1\n2 1\n", "mf in", "2\t1\t1\n"),
            (MATRIX + "unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n", "mf in", "1\t1\t18446744073709551615\n"),
            ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "mf in", "1\t1\t1\n2\t1\t2\n1\t2\t3\n2\t2\t4\n"),
            ("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n", "mf in", "1\t1\t1\n2\t1\t2\n1\t2\t2\n2\t2\t3\n"),
            (MATRIX + "real general\n2 2 3\n1 1 1\n2 2 5\n1 1 2\n", "mf in", "2\t2\t5\n1\t1\t3.0\n"),
            (MATRIX + "real symmetric\n2 2 3\n2 1 1\n2 2 5\n2 1 2\n", "mf in", "2\t2\t5\n2\t1\t3.0\n1\t2\t3.0\n"),
            (MATRIX + "real general\n300000000 5 1\n300000000 2 3\n", "mf in", "300000000\t2\t3\n"),
            (MATRIX + "real general\n2 2 2\n1 1 1\n", "mf in", R("it has 1, and the head says 2")),
            (MATRIX + "real general\n2 2 1\n1 1 1\n1 2 1\n", "mf in", R("in:4: expected as many entries as the head says")),
            (MATRIX + "real general\n2 2 1\n3 1 1\n", "mf in", R("in:3: .*within the matrix: found \"3 1 1\"")),
            (MATRIX + "real general\n2 2 1\n0 1 1\n", "mf in", R("within the matrix")),
            (MATRIX + "real general\n2 2 1\n1 1 nan\n", "mf in", R("in:3")),
            (MATRIX + "complex general\n1 1 1\n1 1 1 1\n", "mf in", R("in:1: expected")),
            (MATRIX + "real symmetric\n2 3 1\n1 1 1\n", "mf in", R("in:2: .*as many rows as columns")),
        ))

    def test_what_scipy_writes(self):
        scipy_io, sparse = library("scipy.io"), library("scipy.sparse")
        random = np.random.default_rng(1)
        for matrix in (sparse.random(9, 7, .3, random_state=1), sparse.csr_matrix(random.integers(0, 3, (5, 5))),
                       sparse.coo_matrix(([1., 2.], ([0, 1], [1, 0])), (2, 2)), random.normal(size=(3, 2))):
            with self.subTest(matrix=type(matrix)):
                scipy_io.mmwrite("m.mtx", matrix)
                self.right("mf m.mtx")
                wanted = scipy_io.mmread("m.mtx")
                dense = np.zeros(wanted.shape)
                for line in Path("out").read_text().splitlines():
                    row, column, value = line.split("\t")
                    dense[int(row) - 1, int(column) - 1] = float(value)
                np.testing.assert_array_equal(dense, wanted.toarray() if sparse.issparse(wanted) else wanted)


TRIPLES = {"train": "a\tr\tb\nb\tr\tc\n", "valid": "a\tr\tc\n", "test": "c\tr\ta\n"}
IDS = {"e": ["a", "b", "c"], "r": ["r"]}
NUMBERS = {"train": [(0, 0, 1), (1, 0, 2)], "valid": [(0, 0, 2)], "test": [(2, 0, 0)]}


class Facts(Case):
    def lines(self, rows):
        return "".join("\t".join(map(str, row)) + "\n" for row in rows)

    def test_folders(self):
        by_number = {split: self.lines(rows) for split, rows in NUMBERS.items()}
        htr = {split: self.lines([(len(rows),)]) + "".join(f"{h} {t} {r}\n" for h, r, t in rows) for split, rows in NUMBERS.items()}
        number_first, name_first = ({key: self.lines([(i, name)[::step] for i, name in enumerate(names)])
                                     for key, names in IDS.items()} for step in (1, -1))
        openke = {key: f"{len(IDS[key])}\n{text}" for key, text in name_first.items()}
        gz = {split: gzip.compress(("head\trelation\ttail\n" + text).encode()) for split, text in by_number.items()}
        for name, folder in {
                "ours": {f"{split}.txt": text for split, text in TRIPLES.items()},
                "headings": {f"{split}.txt": "head\trelation\ttail\n" + text for split, text in TRIPLES.items()},
                "blank last": {f"{split}.txt": text + "\n" for split, text in TRIPLES.items()},
                "CRLF": {f"{split}.txt": text.replace("\n", "\r\n") for split, text in TRIPLES.items()},
                "DGL-KE": {**{f"{split}.tsv": text for split, text in by_number.items()}, "entities.tsv": number_first["e"],
                           "relations.tsv": number_first["r"]},
                "DGL-KE, names": {**{f"{split}.txt": text for split, text in TRIPLES.items()}, "entities.dict": number_first["e"],
                                  "relations.dict": number_first["r"]},
                "LibKGE": {**{f"{split}.del": text for split, text in by_number.items()}, "entity_ids.del": number_first["e"],
                           "relation_ids.del": number_first["r"]},
                "OpenKE": {**{f"{split}2id.txt": text for split, text in htr.items()}, "entity2id.txt": openke["e"],
                           "relation2id.txt": openke["r"]},
                "PyKEEN": {**{f"{split}/numeric_triples.tsv.gz": gz[of] for split, of in (
                    ("training", "train"), ("validation", "valid"), ("testing", "test"))},
                    "training/entity_to_id.tsv.gz": gzip.compress(("id\tlabel\n" + number_first["e"]).encode()),
                    "training/relation_to_id.tsv.gz": gzip.compress(("id\tlabel\n" + number_first["r"]).encode())},
        }.items():
            self.all_cases((({f"{name.replace(' ', '_')}/{at}": text for at, text in folder.items()},
                             f"kge {name.replace(' ', '_')}", TRIPLES),))

    def test_files(self):
        files = {f"{split}.nt": "".join("<http://x/{}> <http://x/{}> <http://x/{}> .\n".format(*line.split("\t"))
                                        for line in text.splitlines()) for split, text in TRIPLES.items()}
        self.all_cases((
            ({f"{split}.x": text for split, text in TRIPLES.items()}, "kge train.x valid.x test.x", TRIPLES),
            (files, "kge train.nt valid.nt test.nt", {"test": "<http://x/c>\t<http://x/r>\t<http://x/a>\n"}),
            ({f"{split}.x": "".join("{0},{2},{1}\n".format(*line.split("\t")) for line in text.splitlines())
              for split, text in TRIPLES.items()}, "kge train.x valid.x test.x --columns 1,3,2", TRIPLES),
            ({f"{split}.x": text.replace("r", "r e") for split, text in TRIPLES.items()}, "kge train.x valid.x test.x",
             {"valid": "a\tr e\tc\n"}),
            ({"d/train.txt": "a\tr\n", "d/valid.txt": "a\tr\tb\n", "d/test.txt": "a\tr\tb\n"}, "kge d", R("3 fields or more")),
            ({"e/train.txt": "a\tr\tb\n"}, "kge e", R("valid.txt is not there")),
            ({"f/other": ""}, "kge f", R("has none of train.txt")),
            ({"g/train2id.txt": "3\n0 1 0\n", "g/valid2id.txt": "1\n0 1 0\n", "g/test2id.txt": "1\n0 1 0\n",
              "g/entity2id.txt": "2\na\t0\nb\t1\n", "g/relation2id.txt": "1\nr\t0\n"}, "kge g", R("OpenKE.*3; found 1")),
            ({"h/train.txt": "0\t0\t5\n", "h/valid.txt": "0\t0\t1\n", "h/test.txt": "0\t0\t1\n", "h/entities.dict": "0\ta\n1\tb\n",
              "h/relations.dict": "0\tr\n"}, "kge h", R("h/train.txt:1: 0, 0, 5: one is not in the lists")),
            ("a\tr\tb\n", "kge in", R("too few to be divided")),
        ))

    def test_questions(self):
        for text, more, result in (
                ("head,relation\na,r\na,r\nb,r\n", "", "a\tr\t?\na\tr\t?\nb\tr\t?\n"), ("tail,relation\na,r\n", "", "?\tr\ta\n"),
                ("head,relation,tail\na,r,\n,r,c\na,r,?\n", "", "a\tr\t?\n?\tr\tc\na\tr\t?\n"), ("head,relation\n", "", ""),
                ("a,r\n", "--columns 1,2,?", "a\tr\t?\n"), ("a,r\n", "", R(", \\? is what is asked")),
                ("head,relation,thing\na,r,b\n", "", "a\tr\tb\n"), ("id,head,relation\n1,a,r\n", "", R("which columns")),
                ("head,tail\na,b\n", "", R("which columns")), ("a,r,b\n", "--seed 2", R("--seed has no effect"))):
            Path("in").write_text(text)
            ended = subprocess.run([sys.executable, "-m", "locus.prepare", "kge", "in", "-", *more.split()], text=True, capture_output=True,
                                   env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
            with self.subTest(text=text, more=more):
                if isinstance(result, Refusal):
                    self.assertRegex(ended.stderr, result.sentence)
                self.assertEqual((ended.returncode, ended.stdout), (1, "") if isinstance(result, Refusal) else (0, result), ended.stderr)

    def test_a_heading_or_a_column_elsewhere(self):
        text = "".join(f"e{i % 9},e{i * 5 % 8},r{i % 2}\n" for i in range(60))
        self.all_cases(((text, "kge in", R("column 2 has names of columns 1 or 3.*--columns")), (text + ",e1,r0\n", "kge in --columns 1,3,2", {})))

    def test_one_file_is_divided(self):
        facts = [(f"e{i % 40}", f"r{i % 3}", f"e{i * 7 % 41}") for i in range(400)]
        Path("in").write_text(self.lines(facts + facts[:5]))
        self.assertIn("405 facts", self.right("kge in"))
        splits = {split: [tuple(line.split("\t")) for line in Path(f"out/{split}.txt").read_text().splitlines()] for split in TRIPLES}
        self.assertEqual(sorted(sum(splits.values(), [])), sorted(facts))
        self.assertEqual([len(splits["valid"]), len(splits["test"])], [400 // 33] * 2)
        trained = {name for fact in splits["train"] for name in fact}
        self.assertLessEqual({name for split in ("valid", "test") for fact in splits[split] for name in fact}, trained)

    def test_wordnet(self):
        head = "  1 This software and database is being provided\n"
        Path("wn").mkdir()
        for ending in ("noun", "verb", "adj", "adv"):
            Path(f"wn/data.{ending}").write_text(head)
            Path(f"wn/index.{ending}").write_text(head)
        entries = [f"{i:08} 03 n 01 word{i % 5} 0 002 @ {i * 3 % 100:08} n 0000 ~ 00000001 n 0000 | gloss\n" for i in range(100)]
        Path("wn/data.noun").write_text(head + "".join(entries))
        Path("wn/index.noun").write_text(head + "".join(
            f"word{k} n 20 1 @ 20 0 {' '.join(f'{i:08}' for i in range(k, 100, 5))}\n" for k in range(5)))
        Path("wn/data.adj").write_text(head + "00000200 00 s 01 Good(a) 0 001 ! 00000300 a 0101 | x\n"
                                              "00000300 00 a 01 bad 0 001 ! 00000200 a 0101 | x\n")
        self.assertIn("99 facts", self.right("kge wn"))  # two are loops, the antonyms come once
        facts = "".join(Path(f"out/{split}.txt").read_text() for split in TRIPLES)
        self.assertIn("word1.n.01\thypernym\tword3.n.01\n", facts)
        self.assertIn("good.a.00000200\tantonym\tbad.a.00000300\n", facts)
        Path("wn/data.verb").write_text(head + "00000001 29 v xx go 0 000 | x\n")
        self.refused("kge wn", "data.verb:2: expected an entry")


class Clicks(Case):
    def test_sparse(self):
        self.all_cases((
            ("# made\n1 1:1 2:.5 # id 7\n\n-1\t3:1e0\n+1\n", "ctr in", "1 1:1 2:0.5\n-1 3:1e0\n1\n"),
            ("0\n1.0 0:3:1\n", "ctr in", "0\n1 0:3:1\n"),
            ("2 2:1\n1 3:1\n", "ctr in --positive 2", "1 2:1\n0 3:1\n"),
            ("2 2:1\n1 3:1\n", "ctr in", R("in:1: its label \"2\".*--positive")),
            ("1 2:1\n0 3:1\n-1 3:1\n", "ctr in", R("--positive")),
            ("1 2:1\n0 qid:1 3:1\n", "ctr in", R("in:2: .*sed .*\"qid:1\"")),
            ("1 2:1\n0 0:3:1\n", "ctr in", R("in:2: .*features with and without a field")),
            ({"in": "1 2:1\n", "two": "0 0:3:1\n"}, "ctr in two", R("two:1: .*features with and without a field")),
            ("1 2:1\n0 2000000000:1\n", "ctr in", R("above 1073741823")),
            ("1 2:1\n" * 1001 + "0 2:nan\n", "ctr in", R("in:1002: expected .*found \"2:nan\"")),
        ))

    def rows(self, heading, count, *columns):
        return heading + "\n" + "".join(",".join(str(of(i)) for of in columns) + "\n" for i in range(count))

    def test_columns(self):
        text = self.rows("id,when,site,age,zip,click", 200, lambda i: 1000 + i, lambda i: f"2014-10-{i:03}", lambda i: "abc"[i % 3],
                         lambda i: i * .5, lambda i: 10000 + i % 90, lambda i: int(i % 3 == 0))
        self.all_cases(((text, "ctr in", {}),))
        said = self.right("ctr in")
        for part in ("200 examples, 67 of them clicks", 'the label is "click"', "left out, since nearly every row has another (--with): "
                     "id, when", "words: site, zip", "numbers in about 64 parts (--categorical if they are ids): age"):
            self.assertIn(part, said)
        lines = Path("out").read_text().splitlines()
        self.assertEqual(lines[0], "1 0:0:1 1:1:1 2:2:1")
        columns = json.loads(Path("out.columns.json").read_text())["columns"]
        self.assertEqual([column["name"] for column in columns], ["site", "age", "zip"])
        self.assertEqual(len(columns[1]["cuts"]), 15)  # of few examples no more than 16 parts
        counts = np.bincount([int(line.split()[2].split(":")[1]) for line in lines])
        self.assertEqual({12, 13} - set(counts[counts > 0]), set())
        self.assertIn("words: when, site, zip", self.right("ctr in --with when"))
        self.assertIn("words: site, age, zip", self.right("ctr in --categorical age"))
        self.assertIn("left out: site", self.right("ctr in --without site,zip"))
        self.refused("ctr in --without sites", "no column \"sites\"")

    def test_cuts(self):
        from locus.prepare.clicks import cuts_of
        self.assertEqual(cuts_of(np.arange(64), 64), [])
        self.assertEqual(cuts_of(np.arange(100), 4), [25, 50, 75])
        heavy = np.r_[np.zeros(900), np.arange(1, 101)]  # a value that would fill a part has its own
        self.assertEqual(cuts_of(heavy, 5), [1, 26, 51, 76])
        self.assertEqual(cuts_of(np.r_[np.zeros(90), np.ones(90), np.arange(2, 12)], 3), [1, 2])
        self.assertEqual(cuts_of(np.r_[np.arange(10), 5 * np.ones(90)], 3), [4, 5, 6])

    def test_a_file_alike(self):
        text = self.rows("site,age,click", 90, lambda i: "abc"[i % 3], lambda i: i % 30, lambda i: int(i % 3 == 0))
        Path("in").write_text(text)
        self.right("ctr in")
        os.rename("out", "train.ffm")
        os.rename("out.columns.json", "train.ffm.columns.json")
        first = Path("train.ffm").read_text().splitlines()[0]
        Path("q").write_text("age,click,site\n0,1,a\n,0,a\n7,1,new\n")
        said = self.right("ctr q --like train.ffm")
        lines = Path("out").read_text().splitlines()
        self.assertEqual(lines[0], first)
        self.assertEqual([len(line.split()) for line in lines], [3, 2, 2])
        self.assertIn("2 of 6 words are not in the training data", said)
        Path("q").write_text("age,site\n0,a\n")
        self.right("ctr q --like train.ffm", out=first[2:] + "\n")
        self.refused("ctr q --like other", "other.columns.json is not there")
        Path("q").write_text("age\n0\n")
        self.refused("ctr q --like train.ffm", "no column \"site\".* an empty column of that name will do")
        for questions, said in (
                ("age,site,click\n0,a,\n1,b,\n", "2 examples without labels"), ("age,site\n", "0 examples without labels"),
                ("age,site,click\n", "0 examples"), ("age,site\n0.0,a\n", "0 of 2 words"), ('age,site\n"0,0",a\n', 'all of age \\("0,0"'),
                ("age,site,click\n0,a,1\n0,b,\n", "1 row without a label left out"), ("0,a\n1,b\n", R("head -n 1"))):
            Path("q").write_text(questions)
            if isinstance(said, Refusal):
                self.refused("ctr q --like train.ffm", said.sentence.replace("in:", "q:"))
            else:
                self.assertRegex(self.right("ctr q --like train.ffm.columns.json"), said)
        Path("in").write_text(text)
        self.assertIn("to test or to ask a model of train.ffm it must be made with --like train.ffm", self.right("ctr in"))

    def test_columns_that_could_be_two_things(self):
        def prices(odd, every):
            return self.rows("price,click", 90, lambda i: odd if i % every == 0 else f"{i % 30}.5", lambda i: int(i % 7 == 0))
        self.all_cases((
            (prices("12,5", 1).replace("12,5", '"12,5"'), "ctr in", R("in:2: price has \"12,5\", and 0 % .*--categorical price.*--decimal ,")),
            (prices("$12.50", 1), "ctr in", R("price has \"\\$12.50\"")), (prices("x", 5), "ctr in", R("and 80 % of this column are numbers")),
            (prices('"1,250"', 50), "ctr in", R("price has \"1,250\", and 97 %")), (prices("\\N", 5), "ctr in", {}), (prices("-", 5), "ctr in", {}),
            (prices("x", 5), "ctr in --categorical price", {}), (prices("x", 50), "ctr in", {}),
            ("a,click,clicked\nu,1,1\nv,0,0\n", "ctr in", R("\"click\" or \"clicked\"\\?.*--without")),
            ("a,click,clicked\nu,1,1\nv,0,0\n", "ctr in --without clicked", "1 0:0:1\n0 0:1:1\n"),
            ("site,click\n", "ctr in", R("no row has a label")), ("a,click\nu,1\nv,0\n", "ctr in --with a", "1 0:0:1\n0 0:1:1\n")))
        Path("in").write_text(self.rows("n,age,user_id,click", 60, lambda i: i, lambda i: i % 5, lambda i: f"{i % 7}.0", lambda i: i % 2))
        said = self.right("ctr in")
        for part in ("nearly every row has another (--with): n", "each a word: age", "words: user_id"):
            self.assertIn(part, said)
        self.assertIn("parts (--categorical if they are ids): n", self.right("ctr in --with n"))
        ended = subprocess.run([sys.executable, "-m", "locus.prepare", "ctr", "in", "-"], text=True, capture_output=True,
                               env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
        self.assertRegex(ended.stderr, "OUTPUT must be a file: without OUTPUT.columns.json")

    def test_labels_and_weights(self):
        self.all_cases((
            ("a,label\nu, >50K.\nv,<=50K\nw,<=50K\n", "ctr in --positive >50K", "1 0:0:1\n0 0:1:1\n0 0:2:1\n"),
            ("a,click\nu,True\nv,False\n", "ctr in", "1 0:0:1\n0 0:1:1\n"),
            ("u,1\nv,0\n", "ctr in", "1 0:0:1\n0 0:1:1\n"),
            ("1,u\n0,v\n", "ctr in", "1 0:0:1\n0 0:1:1\n"),
            ("a,w,click\nu,2,1\nv,0,0\nw,.5,0\n", "ctr in --weight w", "1 0:0:1\n0 0:1:1\n0 0:2:1\n"),
            ('a,click\n"x\n0",1\ny,0\n', "ctr in", "1 0:0:1\n0 0:1:1\n"),
            ("a,b,click\n1,x,1\n,x,0\n1.0,x,0\n", "ctr in", "1 0:0:1 1:1:1\n0 0:2:1 1:1:1\n0 0:0:1 1:1:1\n"),
            ({"in": "a,click\nu,1\n", "two": "a,click\nv,0\n"}, "ctr in two", "1 0:0:1\n0 0:1:1\n"),
            ("a,click\n9007199254740993,1\n9007199254740992,0\n", "ctr in", "1 0:0:1\n0 0:1:1\n"),
            ("a,w,click\nu,-1,1\n", "ctr in --weight w", R("in:2: its weight \"-1\" is neither 0 nor a number from 1e-9")),
            ("a,click\nu,yes\nv,no\n", "ctr in", R("--positive says which label is a click")),
            ("u,>50K\nv,<=50K\n", "ctr in --positive >50K", "1 0:0:1\n0 0:1:1\n"),
            ("1,u,0\n0,v,1\n", "ctr in", R("which column has the label.*--label")),
            ("a,b\nu,v\nw,x\n", "ctr in", R("which column has the label")),
            ("a,click\nu,1\nv,\nw,0\n", "ctr in", "1 0:0:1\n0 0:1:1\n"), ("a,click\nu,\n", "ctr in", R("no row has a label")),
            ("a,click\nu,True\nv,False\n", "ctr in --positive true", R("labels are False, True: --positive")),
            ("a,click\nu,yes\nv,no\n", "ctr in --positive Yes", R("labels are no, yes: --positive")),
        ))
        Path("w").write_text("a,w,click\nu,2,1\nv,0,0\nw,.5,0\n")
        self.right("ctr w --weight w")
        self.assertEqual(Path("out.weights").read_text().split(), ["2", "0", "0.5"])

    def test_criteo(self):
        hashes = "\t".join(["68fd1e64", ""] * 13)
        rows = [f"{label}\t" + "\t".join(map(str, numbers)) + "\t" + hashes for label, numbers in (
            (1, [0, 1, 2, 3, 100, "", -2] + 6 * [5]), (0, [0, 1, 2, 8, 105, "", -2] + 6 * [5]))]
        Path("in").write_text("\n".join(rows) + "\n")
        self.assertIn("Criteo's", self.right("ctr in"))
        first, second = Path("out").read_text().splitlines()
        self.assertEqual(first.split()[:6], ["1", "0:0:1", "1:1:1", "2:2:1", "3:3:1", "4:4:1"])
        self.assertEqual(second.split()[:6], ["0", "0:0:1", "1:1:1", "2:2:1", "3:25:1", "4:4:1"])
        self.assertEqual(len(first.split()), 1 + 12 + 13)
        Path("q").write_text(rows[0][2:] + "\n")
        os.rename("out", "train.ffm")
        os.rename("out.columns.json", "train.ffm.columns.json")
        self.right("ctr q --like train.ffm", out=first[2:] + "\n")


EDGES = "1\t2\n2\t3\n"
GML = 'graph [ node [ id 1 label "a" ] node [ id 2 label "b" ] edge [ source 1 target 2 ] ]'


class Graphs(Case):
    def test_formats(self):
        gml = ('Creator "igraph"\nVersion 1\ngraph\n[\n  directed 0\n  node\n  [\n    id 1\n    name "a"\n  ]\n  node\n  [\n    id 2\n'
               '    name "b [x]"\n  ]\n  edge\n  [\n    source 1\n    target 2\n    weight 1e-05\n  ]\n  edge\n  [\n    source 1\n'
               '    target 2\n  ]\n]\n')
        pajek = '*Vertices 3\n1 "a b"\n2 "c"\n3 "c"\n% two words\n*Arcs :1 "likes"\n1 2 3.5\n*Edges\n2 3\n*Arcslist\n3 1 2\n'
        many = "".join(f"{i} v{i}\n" for i in range(1500))
        graphml = ('<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="node" '
                   'attr.name="label" attr.type="string"/><graph edgedefault="undirected"><node id="n0"><data key="d0">x</data>'
                   '</node><node id="n1"/><edge source="n0" target="n1"/></graph></graphml>')
        self.all_cases((
            (EDGES, "gnn in", {"edges": EDGES}),
            ("source,target\n1,2\n2,3\n", "gnn in", {"edges": EDGES}),
            ("# FromNodeId\tToNodeId\n" + EDGES, "gnn in", {"edges": EDGES}),
            ("1 2 0.5\n2 3 0.25\n", "gnn in", {"edges": EDGES}),
            ("Source,Target,Type,Weight\n1,2,Undirected,1\n2,3,Undirected,1\n", "gnn in", {"edges": EDGES}),
            (MATRIX + "pattern symmetric\n3 3 2\n2 1\n3 2\n", "gnn in", {"edges": "2\t1\n3\t2\n"}),
            ({"x.graph": "% c\n3 2\n2\n1 3\n2\n"}, "gnn x.graph", {"edges": EDGES}),
            ({"x.graph": "3 2 001\n2 7\n1 7 3 9\n2 9\n"}, "gnn x.graph", {"edges": EDGES}),
            ({"x.graph": "3 2 11 2\n5 5 2 7\n5 5 1 7 3 9\n5 5 2 9\n"}, "gnn x.graph", {"edges": EDGES}),
            ("4 2\n2\n1 3\n2\n\n", "gnn in --format metis", {"edges": EDGES}),
            ("c x\np edge 3 2\ne 1 2\ne 2 3\n", "gnn in", {"edges": EDGES}),
            ("p sp 3 2\na 1 2 7\na 2 3 8\n", "gnn in", {"edges": EDGES}),
            ("p max 3 2\nn 1 s\nn 3 t\na 1 2 7\na 2 3 8\n", "gnn in", {"edges": EDGES}),
            ("e 1 2\ne 2 3\n", "gnn in --format dimacs", {"edges": EDGES}), ("e 1 2\ne 2 3\n", "gnn in --format table --columns 2,3", {"edges": EDGES}),
            ("1 a\n2 b\n3 b\n#\n1 2 x y\n2 3\n", "gnn in", {"edges": EDGES}),
            ("1 a\n2 b\n3 c\n#\n1 2 x y\n2 3\n", "gnn in", {"edges": "a\tb\nb\tc\n"}),
            ("1 a\n2 b\n3 c\n#\n1 2 x y\n2 3\n", "gnn in --names id", {"edges": EDGES}),
            (many + "#\n1 2\n2 3\n", "gnn in --names id", {"edges": EDGES}),
            ("# 1\n2 0.5\n# 2\n3\n# 4\n", "gnn in --format lgl", {"edges": EDGES}),
            ("#!/usr/bin/python\n1 2\n2 3\n3\n", "gnn in --format adjacency", {"edges": EDGES}),
            ("# of pages\n# from to\n# 3 nodes, 2 edges\n1 2\n2 3\n", "gnn in", {"edges": EDGES}),
            (pajek, "gnn in", {"edges": "1\t2\n2\t3\n3\t1\n3\t2\n"}),
            (pajek.replace('3 "c"', "3 d"), "gnn in", {"edges": "a b\tc\nc\td\nd\ta b\nd\tc\n"}),
            ("*Vertices 4 2\n*Edges\n1 3\n", "gnn in", {"edges": "1\t3\n"}),
            (gml, "gnn in", {"edges": "a\tb [x]\na\tb [x]\n"}),
            (gml.replace("name", "label"), "gnn in", {"edges": "a\tb [x]\na\tb [x]\n"}),
            (gml.replace('name "a"', 'name "b [x]"'), "gnn in", {"edges": "1\t2\n1\t2\n"}),
            (graphml, "gnn in", {"edges": "n0\tn1\n"}),
        ))

    def test_refused(self):
        self.all_cases((
            ("e 1 2\ne 2 3\n", "gnn in", R("may be dimacs, or a table.*--format dimacs or table")),
            ("3 3\n2 3\n1 3\n1 2\n", "gnn in", R("may be metis, or a table")), ("#x\na b\nb\n", "gnn in", R("has 1 field")),
            ("% c\n3 2\n2\n1 3\n2\n", "gnn in", R("may be metis, or a table")),
            ("# 1\n2\n# 2\n3\n", "gnn in", R("may be lgl, or a table")), ("1 2\n# 2\n", "gnn in --format lgl", R("in:1: expected LGL")),
            ("1 2 3\n2 4\n5\n6 7 8 9\n", "gnn in", R("may be adjacency, or a table.*--format")),
            ("1 2 4.5\n2 3\n", "gnn in --format adjacency", R("in:1: .*without weights")),
            ({"x.graph": "3 3\n2\n1 3\n2\n"}, "gnn x.graph", R("x.graph:4: .*3 vertices, 3 edges; found 3 and 2")),
            ({"x.graph": "3 2\n2\n1 4\n2\n"}, "gnn x.graph", R("x.graph:3: expected METIS")),
            ({"x.graph": "3 2\n2 3\n1\n2\n"}, "gnn x.graph", R("x.graph:4: .*a neighbour that has not it")), ({"x.graph": "1 1\n1 1\n"}, "gnn x.graph", R("or itself")),
            ({"x.graph": ""}, "gnn x.graph", R("expected METIS")),
            ("p edge 3 9\ne 1 2\ne 2 3\n", "gnn in", R("9 edges; found 2")),
            ("p edge 3 2\ne 0 2\ne 2 3\n", "gnn in", R("in:2: expected DIMACS.* nodes from 1")),
            ("p edge 999999999999 1\ne 1 2\n", "gnn in", R("its head says 999999999999.*is its head right")),
            ("1 a\n2 b\n#\n1 3\n", "gnn in", R("in:4: expected TGF.*--format table")),
            ("*Vertices 2\n*Edges\n1 3\n", "gnn in", R("in:3: expected Pajek")),
            ("*Vertices 2\n*Partition x\n1\n", "gnn in", R("in:2: expected Pajek")),
            ("*Vertices 2\n*Matrix\n0 1\n1 0\n", "gnn in", R("in:2: expected Pajek")),
            ("*Vertices 999999999999\n*Edges\n1 2\n", "gnn in", R("is its head right")),
            ("*Vertices 2\n1 a\n2 a\n*Edges\n1 2\n", "gnn in --names label", R("no labels, or some twice")),
            ("1 cites 2\n3 cites 1\n2 cites 3\n", "gnn in", R("which columns are source, target")),
            ({"x.gml": "graph [ node [ id 1 ] edge [ source 1 target 2 ] ]"}, "gnn x.gml", R("NetworkX cannot read it")),
            ({"x.graphml": "<graphml><graph>"}, "gnn x.graphml", R("NetworkX cannot read it")),
            (MATRIX + "pattern general\n3 4 1\n2 1\n", "gnn in", R("3 rows and 4 columns")),
            (MATRIX + "pattern general\n999999999999 999999999999 1\n2 1\n", "gnn in", R("is its head right")),
            (MATRIX + "pattern general\n3 3 0\n", "gnn in", R("has no edges")),
            (EDGES, "gnn in --format xy", R("none of gnn's: table, metis")), (EDGES, "gnn in --names label", R("--names has no effect")),
        ))

    def test_blank_lines_that_count_are_not_left_out(self):
        Path("in").write_text("4 2\n2\n1 3\n2\n\n")
        self.assertRegex(self.right("gnn in --format metis"), "2 edges of 4 nodes, metis\n.*1 node \\(4\\) without an edge")
        Path("in").write_text("2\na b\n\n")
        self.assertNotIn("blank", self.right("lda in --format gibbs", documents="2 0:1 1:1\n0\n"))

    def test_what_networkx_writes(self):
        networkx = library("networkx")
        graph = networkx.Graph([("a b", "ü"), ("ü", "c"), ("c", "c")])
        graph.add_node("alone")
        pairs = {frozenset(edge) for edge in graph.edges()}
        for write, name, options in ((networkx.write_gml, "x.gml", ""), (networkx.write_graphml, "x.graphml", ""),
                                     (networkx.write_pajek, "x.net", ""), (lambda g, p: networkx.write_edgelist(
                                         g, p, delimiter=",", data=False), "x.csv", ""),
                                     (lambda g, p: networkx.write_adjlist(networkx.relabel_nodes(g, {"a b": "a_b"}), p), "x.adjlist", "")):
            with self.subTest(name=name):
                write(graph, name)
                said = self.right(f"gnn {name}{options}")
                found = {frozenset(line.replace("a_b", "a b").split("\t")) for line in Path("out/edges.txt").read_text("utf-8").splitlines()}
                self.assertEqual(found, pairs)
                self.assertEqual("1 node (alone) without an edge" in said, name != "x.csv", said)

    def test_what_is_said_of_nodes(self):
        wide = {"in": "0 1\n1 2\n2 3\n"}
        self.all_cases((
            ({"in": EDGES, "l": "node,class\n1,x\n2,\n3,y\n"}, "gnn in --labels l", {"labels": "1\tx\n3\ty\n"}),
            ({"in": EDGES, "l": "# c\n1 x\n2 -1\n9 y\n"}, "gnn in --labels l", {"labels": "1\tx\n9\ty\n"}),
            ({**wide, "l": "id,page,kind\n0,p,x\n1,q,y\n"}, "gnn in --labels l --class-columns id,kind", {"labels": "0\tx\n1\ty\n"}),
            ({**wide, "l": "id,page,kind\n0,p,x\n1,q,y\n"}, "gnn in --labels l", R("which columns are node, class\\? --class-columns")),
            ({**wide, "l": "x\ny\n\nx\n"}, "gnn in --labels l", {"labels": "0\tx\n1\ty\n3\tx\n"}),
            ({**wide, "l": "1 0:1\n0 1:1\n1 2:1\n1 3:.5\n"}, "gnn in --labels l --features l",
             {"labels": "0\t1\n1\t0\n2\t1\n3\t1\n", "features": "0\t0:1\n1\t1:1\n2\t2:1\n3\t3:0.5\n"}),
            ({**wide, "f": "0 0:1 # n\n0 1:1\n0\n0 3:1\n"}, "gnn in --features f", {"features": "0\t0:1\n1\t1:1\n2\t\n3\t3:1\n"}),
            ({**wide, "p": "0 training\n1 valid\n2 test\n3 none\n"}, "gnn in --purposes p",
             {"purposes": "0\ttrain\n1\tval\n2\ttest\n"}),
            ({"in": GML, "l": "1 x\n2 y\n"}, "gnn in --labels l", {"edges": "1\t2\n"}),
            ({"in": GML, "l": "a x\nb y\n"}, "gnn in --labels l", {"edges": "a\tb\n", "labels": "a\tx\nb\ty\n"}),
            ({"in": GML}, "gnn in --names id", {"edges": "1\t2\n"}),
            ({"x.graph": "3 2\n2\n1 3\n2\n", "l": "x\ny\nx\n"}, "gnn x.graph --labels l", {"labels": "1\tx\n2\ty\n3\tx\n"}),
            ({"x.col": "e 1 3\ne 2 3\n", "l": "x\ny\nz\n"}, "gnn x.col --labels l", {"labels": "1\tx\n2\ty\n3\tz\n"}),
            ({"x.adjlist": "b c\na c\n", "l": "x\ny\nz\n"}, "gnn x.adjlist --labels l", R("no numbers: give a table")),
            ({"in": "1 2\n2 3\n", "l": "x\ny\nx\n"}, "gnn in --labels l", {"labels": "1\tx\n2\ty\n3\tx\n"}),
            ({"in": "1 2\n2 3\n", "l": "x\ny\nx\nx\n"}, "gnn in --labels l", R("--first says whether the first line is about node 0 or 1")),
            ({**wide, "l": "x\ny\nx\n"}, "gnn in --labels l", R("3 lines are about nodes in their order, and the graph has 4 nodes, 0 to 3")),
            ({"in": "a b\nb c\n", "l": "x\ny\nx\n"}, "gnn in --labels l", R("no numbers: give a table")),
            ({**wide, "l": "1,x\n2,y\n3,x\n4,x\n"}, "gnn in --labels l", R("its nodes begin with 1, those of in with 0: number both alike")),
            ({**wide, "l": "a,x\nb,y\n"}, "gnn in --labels l", R("names no node of the graph; it has a")),
            ({**wide, "l": "0,x\n0,y\n"}, "gnn in --labels l", R("a node stands in two rows")),
            ({**wide, "l": "0,x\n1,NA\n"}, "gnn in --labels l", R("\"NA\" is no class")),
            ({**wide, "p": "0 training\n1 tests\n"}, "gnn in --purposes p", R("\"tests\" is no purpose")),
            ({**wide, "f": "0 0:1\n0 1:1\n"}, "gnn in --features f", R("f: its 2 lines")),
        ))


DOCUMENTS = "2 0:3 1:2\n0\n2 1:1 3:4\n"


class Documents(Case):
    def test_formats(self):
        names, from_1 = "0\n1\n2\n3\n", "1\n2\n3\n4\n"
        self.all_cases((
            (DOCUMENTS, "lda in", {"documents": DOCUMENTS, "vocabulary": names}),
            ("# ldac\n" + DOCUMENTS + "\n", "lda in", {"documents": DOCUMENTS}),
            ({"in": DOCUMENTS, "v": "a\n#\nc\nd\n"}, "lda in --vocabulary v", {"vocabulary": "a\n#\nc\nd\n"}),
            ({"bleiin": DOCUMENTS, "bleiin.vocab": "a\nb\nc\nd\n"}, "lda bleiin", {"vocabulary": "a\nb\nc\nd\n"}),
            ("3\n4\n4\n3 4 4\n1 1 3\n1 2 2\n3 2 1\n", "lda in", {"documents": DOCUMENTS, "vocabulary": from_1}),
            ("\n3\n4\n4\n3 4 4\n1 1 3\n1 2 2\n3 2 1\n", "lda in", {"documents": DOCUMENTS}),
            (MATRIX + "real general\n3 4 4\n1 1 3\n1 2 2.0\n3 2 1\n3 4 4\n", "lda in", {"documents": DOCUMENTS}),
            ("3 4 4\n1 3 2 2\n\n2 1 4 4.0\n", "lda in", {"documents": DOCUMENTS, "vocabulary": from_1}),
            ({"m": "3 4 4\n1 3 2 2\n\n2 1 4 4\n", "m.clabel": "a\nb\nc\nd\n"}, "lda m", {"vocabulary": "a\nb\nc\nd\n"}),
            ("2\nit was\na bright\n", "lda in --format gibbs", {"documents": "2 0:1 1:1\n2 2:1 3:1\n"}),
            ("3\nit was\n\na bright\n", "lda in --format gibbs", {"documents": "2 0:1 1:1\n0\n2 2:1 3:1\n"}),
            ("b a b\n\na c\n", "lda in", {"documents": "2 0:2 1:1\n2 1:1 2:1\n", "vocabulary": "b\na\nc\n"}),
            ("1984\nit was\na bright\n", "lda in", {"documents": "1 0:1\n2 1:1 2:1\n2 3:1 4:1\n"}),
            ("2\nit was\na bright\n", "lda in --format text", {"vocabulary": "2\nit\nwas\na\nbright\n"}),
            ("# red\nblue\n", "lda in --comments none", {"vocabulary": "#\nred\nblue\n"}),
            ("# red\nblue\n", "lda in --comments #", {"vocabulary": "blue\n"}),
            ("2 0:1 100000000:1\n1 3:2\n", "lda in", {"documents": "2 0:1 2:1\n1 1:2\n", "vocabulary": "0\n3\n100000000\n"}),
        ))

    def test_refused(self):
        self.all_cases((
            ("# red\nblue\n", "lda in", R("--comments none")),
            ("2 0:1 1:1\n3 0:1 1:1\n", "lda in", R("looks like LDA-C, and not in all lines")),
            ("2 0:1 0:1\n", "lda in --format ldac", R("in:1: expected")),
            ("<DOC>\na b\n</DOC>\n", "lda in", R("XML, SGML or JSON")),
            ("1 2 3 4\n5 6\n", "lda in", R("has no words")),
            ("2\nit was\na bright\n", "lda in", R("--format gibbs.*--format text")), ("3\na\n\nb\n", "lda in", R("--format gibbs")),
            ("3\nit was\na bright\n", "lda in --format gibbs", R("GibbsLDA.*3; found 2")),
            ("", "lda in --format gibbs", R("GibbsLDA")), ("", "lda in --format cluto", R("CLUTO")),
            ("3 4 4\n1 3 2 2\n2 1 4 4\n", "lda in", R("slam leaves out: 3 rows, 4 entries; found 2, 4")),
            ("1 4 1\n1 1e+05\n", "lda in", R("\"1e\\+05\" is no whole number")),
            ("d1\ten\tit was\nd2\ten\ta bright\n", "lda in", R("cut -f3-.*--format text")),
            ("3\n4\n9\n1 1 3\n", "lda in", R("in:4: .*9; found 1")),
            ("3\n4\n1\n1 5 3\n", "lda in", R("in:4: expected .*document, word and count")),
            (MATRIX + "real general\n1 1 1\n1 1 1.5\n", "lda in", R("1.5\" is no whole number")),
            (MATRIX + "real general\n999999999999 1 1\n1 1 1\n", "lda in", R("is its head right")),
            ("999999999999\n1\n1\n1 1 1\n", "lda in", R("is its head right")), ("\n", "lda in", R("has no")),
            (MATRIX + "real general\n1 1 1\n1 1 -1\n", "lda in", R("no whole number")),
            ({"in": DOCUMENTS, "v": "a\nb\n"}, "lda in --vocabulary v", R("has 4 words, and the vocabulary 2")),
            ({"in": DOCUMENTS, "v": "a\na\nb\nc\n"}, "lda in --vocabulary v", R("stands twice")),
            ({"in": DOCUMENTS, "v": "a 1\nb 1\nc 1\nd 1\n"}, "lda in --vocabulary v", R("a word a line")),
        ))

    def test_a_file_alike(self):
        Path("in").write_text("b a b\n")
        self.right("lda in")
        os.rename("out", "trained")
        Path("in").write_text("a x b\n")
        self.assertIn("1 token of unknown words left out", self.right("lda in --like trained", documents="2 1:1 0:1\n"))


class Rows(Case):
    def test_lasso(self):
        self.all_cases((
            ("1.5 0:1 2:2\n-1 1:.5 # c\n", "lasso in", "1.5 1:1 3:2\n-1 2:0.5\n"),
            ("1.5 1:1 3:2\n", "lasso in --first 1", "1.5 1:1 3:2\n"),
            ("1.5 3:1 1:2\n", "lasso in --first 0", "1.5 2:2 4:1\n"),
            ("1.5 1:1 3:2\n", "lasso in", R("counted from 1 or 0\\? --first says it")),
            ("1.5 0:1 3:2\n", "lasso in --first 1", R("--first says it")),
            ("1.5 1:1 1:2\n", "lasso in --first 1", R("each index once")),
            ("x 1:1\n", "lasso in --first 1", R("in:1: expected response")),
            ({"in": MATRIX + "real general\n2 3 2\n2 3 .5\n1 1 2\n", "y": "7\n8\n"}, "lasso in --response y", "7 1:2.0\n8 3:0.5\n"),
            ({"in": MATRIX + "real general\n2 3 2\n2 3 .5\n1 1 2\n", "y": "%%MatrixMarket matrix array real general\n2 1\n7\n8\n"},
             "lasso in --response y", "7 1:2.0\n8 3:0.5\n"),
            ({"in": MATRIX + "real general\n2 3 1\n2 3 .5\n", "y": "7\n"}, "lasso in --response y", R("1 response, and in 2 rows")),
            ({"y": MATRIX + "real general\n2 2 2\n1 1 7\n2 2 8\n"}, "lasso in --response y", R("y: has 2 rows and 2 columns")),
            ("", "lasso y", R("y is MatrixMarket: --response names the file")),
        ))


class Vectors(Case):
    def saved(self):
        data = Path("out").read_bytes()
        length, = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        self.assertEqual(length % 8, 0)
        tensors = {name: data[8 + length + about["data_offsets"][0]:8 + length + about["data_offsets"][1]]
                   for name, about in header.items() if name != "__metadata__"}
        return tensors["word_names"].decode().splitlines(), np.frombuffer(tensors["inputs"], "<f4").reshape(
            header["inputs"]["shape"]).tolist()

    def test_formats(self):
        binary = b"2 2\n" + b"a " + struct.pack("<2f", 1, 2) + b"\nb " + struct.pack("<2f", 3, 4) + b"\n"
        for text, names, values in (
                ("2 2\na 1 2\nb 3 4\n", ["a", "b"], [[1, 2], [3, 4]]), ("a 1 2\nb 3 4\n", ["a", "b"], [[1, 2], [3, 4]]),
                ("a\t1\t2\nb\t3\t4\n", ["a", "b"], [[1, 2], [3, 4]]), (binary, ["a", "b"], [[1, 2], [3, 4]]),
                (binary.replace(b"\nb", b"b"), ["a", "b"], [[1, 2], [3, 4]]),
                ("\ufeffa 1 2 \r\nb 3 4 \r\n", ["a", "b"], [[1, 2], [3, 4]]),
                ("a 1 2\nat x@y 3 4\n, 5 6\n1,000 7 8\n", ["a", "at x@y", ",", "1,000"], [[1, 2], [3, 4], [5, 6], [7, 8]]),
                ("a 1 2\n. . 3 4\n", ["a", ". ."], [[1, 2], [3, 4]]), ("3 2\na 1 2\na 5 6\nb 3 4\n", ["a", "b"], [[1, 2], [3, 4]])):
            with self.subTest(text=text):
                Path("in").write_bytes(text if isinstance(text, bytes) else text.encode())
                self.right("vectors in")
                self.assertEqual(self.saved(), (names, values))

    def test_refused(self):
        self.all_cases((
            ("5 99999999999999999999\na 1 2\n", "vectors in", R("is its head right")),
            ("5 2\na 1 2\nb 3 4\n", "vectors in", R("has 2 vectors, and its head says 5")),
            ("1 2\na 1 2\nb 3 4\n", "vectors in", R("has 2 vectors, and its head says 1")),
            ("2 2\na 1 2 3\nb 3 4 5\n", "vectors in", R("in:2: expected a word and numbers.*2; found \"a 1 2 3\"")),
            ("a 1 2\nb 3\nc 1 2\n", "vectors in", R("in:2: expected a word and numbers")),
            ("a 1 2\nb 3 nan\n", "vectors in", R("in:2")), ("a 1 2\nb 3 1e39\n", "vectors in", R("no float holds")),
            (b"2 2\na " + struct.pack("<2f", 1, 2) + b"\nb " + b"\0\0", "vectors in", R("word 2 of 2 has not 2 finite numbers")),
            (b"1 2\na " + struct.pack("<2f", 1, 2) + b"\nb ", "vectors in", R("goes on after the 1 words")),
            (b"\x80\x04x", "vectors in", R("save_word2vec_format")), (b"\xba\x16\x4f\x2f\0", "vectors in", R("as .vec")),
        ))


class Programs(Case):
    """What it writes is what the programs read."""

    def trained(self, program, *options):
        if not (BIN / program).exists():
            self.skipTest("the programs are not built: make")
        ended = subprocess.run([str(BIN / program), *options, "--epochs", "1", "--json"], text=True, capture_output=True, timeout=300)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def test_a_pipe_to_mf(self):
        random = np.random.default_rng(1)
        Path("r.csv").write_text(",user,item,rating\n" + "".join(
            f"{i},u {i % 20},{i % 7},{random.normal():.3f}\n" for i in range(200)))
        if not (BIN / "locus-mf").exists():
            self.skipTest("the programs are not built: make")
        ended = subprocess.run(f"{sys.executable} -m locus.prepare mf r.csv - | {BIN}/locus-mf --data - --rank 2 --epochs 1 --json "
                               "--hold-back 0.1 --out m.safetensors", shell=True, text=True, capture_output=True, timeout=300,
                               env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("r.csv: 200 rows", ended.stderr)
        self.assertIn(b"u 19\n", Path("m.safetensors").read_bytes())

    def test_the_others(self):
        facts = "".join(f"e{i % 9}\tr{i % 2}\te{i * 5 % 8}\n" for i in range(60))
        Path("in").write_text(facts)
        for split in TRIPLES:
            Path(f"{split}.csv").write_text(facts.replace("\t", ","))
        self.right("kge train.csv valid.csv test.csv")
        self.assertIn('"event":"epoch"', self.trained("locus-kge", "--data", "out", "--dim", "4").replace(" ", ""))
        Path("c.csv").write_text("site,age,click\n" + "".join(f"{'abc'[i % 3]},{i % 40},{i % 3 // 2}\n" for i in range(300)))
        self.assertEqual(self.run_it("ctr", "c.csv", "c.ffm")[0], 0)
        self.assertEqual(self.run_it("ctr", "c.csv", "t.ffm", "--like", "c.ffm")[0], 0)
        self.assertEqual(Path("c.ffm").read_bytes(), Path("t.ffm").read_bytes())
        self.trained("locus-ctr", "--data", "c.ffm", "--test", "t.ffm")
        Path("w.txt").write_text("cat dog pig\ncat pig\n" * 20)
        self.assertEqual(self.run_it("lda", "w.txt", "l")[0], 0)
        self.trained("locus-lda", "--data", "l/documents.txt", "--vocabulary", "l/vocabulary.txt", "--topics", "2")
        Path("v.txt").write_text("cat 1 2\nhen 3 4\n")
        self.assertEqual(self.run_it("vectors", "v.txt", "v.safetensors")[0], 0)
        said = subprocess.run([str(BIN / "locus-wv"), "--data", "w.txt", "--dim", "2", "--min-count", "1", "--from", "v.safetensors",
                               "--epochs", "1"], text=True, capture_output=True, timeout=300)
        self.assertIn("rows of \"inputs\" begin as v.safetensors has them", said.stdout + said.stderr)


class Inputs(Case):
    """What strangers brought: right, by small numbers, or refused."""

    @unittest.skipUnless(INPUTS.is_dir(), "there is no folder of inputs beside this tree")
    def test_each(self):
        i = str(INPUTS) + "/"
        right = {
            "mf mf_pandas_index.csv": 5, "mf mf_huge_rows.mtx": 3, "mf t4_mf_hash.csv": 76, "mf t4_mf_quoted.csv": 76,
            "mf t4_mf_hash_ask.csv --comments none": 4, "mf t4_mf_pairs_thrice.csv": 540, "mf t4_mf_quoted_ask.csv": 4,
            "mf t4_mf_semicolons_ask.csv": 4, "mf t4_mf_time_zones.csv": 16, "kge kge_heading": 3, "kge kge_blank_last": 3,
            "ctr ctr_base.svm": 40, "ctr ctr_comment_behind.svm": 40, "ctr ctr_comment_first.svm": 40, "ctr ctr_empty_first.svm": 41,
            "ctr ctr_huge_id.svm": 4, "ctr ctr_heading_train.csv": 550, "ctr ctr_heading_test.csv": 300, "ctr ctr_plain_train.csv": 550,
            "ctr ctr_plain_test.csv": 300, "ctr ctr_missing_empty_train.csv": 550, "ctr ctr_long_number.tsv": 1,
            "ctr t4_ctr_line_end.csv": 400, "ctr t4_ctr_three.ffm": 1500, "ctr t4_ctr_three.svm": 1500, "ctr t4_ctr_two.ffm": 200,
            "ctr t4_ctr_two.svm": 200, "ctr t4_ctr_new_field.ffm": 5,
            "gnn gnn_edges.tsv --labels gnn_labels.tsv --features gnn_comment_features.svm": 132, "gnn gnn_edges.mtx": 132,
            "gnn gnn_edges.tsv --labels gnn_comment_heading_labels.csv --features gnn_huge_features.svm": 132,
            "gnn gnn_names_heading_edges.csv --labels gnn_names_labels.csv": 132, "gnn t4_gnn.tgf --labels t4_gnn_labels.tsv": 70,
            "gnn gnn_quoted_edges.csv --labels gnn_quoted_labels.csv": 8, "gnn t4_gnn_dimacs.col --labels t4_gnn_labels.tsv": 70,
            "gnn gnn_blank_label_edges.tsv --labels gnn_blank_label_labels.txt": 40,
            "gnn gnn_blank_label_edges.tsv --labels gnn_blank_label_labels_minus1.txt": 40,
            "gnn t4_gnn_metis.graph --labels t4_gnn_labels.tsv": 70, "lda lda_blank_first.docword": 3, "lda lda_blank_first.ldac": 3,
            "lda lda_blank_last.docword": 3, "lda lda_comment_first.ldac": 2, "lda lda_empty_first_document.ldac": 4,
            "lda lda_huge_id.ldac": 2, "lda lda_matrix_market.mm": 3, "lda lda_number_first.txt": 3, "lda t4_lda_text.txt": 30,
            "lda t4_lda_hash_ask.txt --comments none": 3, "lasso lasso_huge_id.svm --first 1": 6,
            "lasso t4_lasso_labels.svm --first 1": 60, "vectors t4_wv_blank_token.txt": 5, "vectors t4_wv_bom.txt": 5,
            "vectors t4_wv_comma.vec": 6, "vectors t4_wv_twice.vec": 3}
        for command, count in right.items():
            with self.subTest(command=command), tempfile.TemporaryDirectory() as folder:
                words = [i + word if os.path.exists(i + word) else word for word in command.split()]
                status, said = self.run_it(words[0], *words[1:2], f"{folder}/out", *words[2:])
                self.assertEqual(status, 0, said)
                result = next(path for path in (Path(folder) / "out", *(Path(folder) / "out" / f"{name}.txt" for name in (
                    "edges", "train", "documents"))) if path.is_file())
                data = result.read_bytes()
                found = data.split(b'"shape": [')[1].split(b",")[0] if words[0] == "vectors" else data.count(b"\n")
                self.assertEqual(int(found), count, said)
        for command, sentence in {
                "mf mf_no_banner.mtx": "without its first line", "mf t4_mf_hash_ask.csv": "--comments none",
                "gnn gnn_edges.mtx --labels gnn_labels.tsv": "number both alike", "lda t4_lda_sgml.txt": "--format text",
                "lda t4_lda_hash_ask.txt": "--comments", "lasso lasso_huge_id.svm": "--first", "lasso t4_lasso_labels.svm": "--first",
                "vectors t4_wv_header_dim.vec": "as the first line says"}.items():
            with self.subTest(command=command):
                self.refused(" ".join(i + word if os.path.exists(i + word) else word for word in command.split()), sentence)


if __name__ == "__main__":
    unittest.main()
