"""What programs refuse, each with a status and a sentence. Wrong uses are refused with status 2, wrong files with 1."""
import os
import re
import socket

from support import IS_SANITIZED, ROOT, made
from trainers import Trainers

MF, CTR, GNN = made("mf", "10x10x10"), made("ctr", "4x100x50"), made("gnn", "100x4x2")
LDA, LASSO = made("lda", "10x10x5x2"), made("lasso", "10x10x3")
USES = {
    "kge": [
        ("--json", "--data is missing: the graph to learn from"),
        ("--dims 3", 'there is no option "--dims"'),
        ("--data=a --data b", "--data is given twice, and has one value: leave one out"),
        ("--data x --dim 3", "--dim 3 is odd"),
        ("--data x --model rotate --dim 3", "--dim 3 is odd"),
        ("--data x --model rescal --dim 1000", "--dim 1000 is more than 512"),
        ("--loss hinge", '--loss takes one of logistic, softmax, not "hinge"'),
    ],
    "wv": [
        ("--json", "--data is missing"),
        ("--data x --optimizer adam", '--optimizer takes one of sgd, adagrad, not "adam"'),
        ("--data x --batch 10000 --negatives 1000", "make up to 100000000 negatives in a step"),
    ],
    "mf": [
        ("--json", "--data is missing"),
        ("--data - --test -", "- is stdin, which one option alone can have"),
        ("--data=a --data b", "--data is given twice, and has one value (cat A B > ALL makes one)"),
        ("--data x --out -", "- would be stdout, where figures go"),
        ("--data x --implicit 4 --best 0", "--best must be 1 or more"),
        (f"{MF} --hold-back 0 --eval-every 1", "has nothing to evaluate by"),
        (f"{MF} --hold-back 0 --best 3", "--best has no cells to test with"),
        (f"{MF} --method cd --batch 32", "--method cd has no --batch: leave it out"),
        (f"{MF} --method cd --technique essp", "--method cd bounds no staleness"),
    ],
    "ctr": [
        ("--json", "--data is missing"),
        (f"{CTR} --hidden 4,,2", "--hidden takes 1 to 7 numbers"),
    ],
    "gnn": [
        ("--json", "--data is missing"),
        ("--data edges", "--labels is missing"),
        (f"{GNN} --train 0.9", "are more than all nodes"),
    ],
    "lda": [
        ("--json", "--data is missing"),
        (f"{LDA} --topics 1", "--topics"),
        (f"{LDA} --staleness 1 --baseline", "--staleness is for rows that locus manages"),
    ],
    "lasso": [
        ("--json", "--data is missing"),
        ("--data x --technique full", "--technique takes one of adaptive"),
        ("--data x --lambda 2", "--lambda"),
        ("--data x --workers 1024", "the scheduler is one"),
        ("--data x --staleness 1 --baseline", "leave --baseline out"),
    ],
}

# What --data has, further options, and the sentence.
TEXTS = {
    "mf": [("a\tb\t1\na\tb\t2\n", "--test /dev/null", "/dev/null: it is not")],
    "ctr": [
        ("1 2:1\n1 2:1\n", "", "bad: every example is a click, with the label 1"),
        ("0 2:1\n0 2:1\n", "", "bad: no example is a click, with the label 1"),
    ],
    "lasso": [("1 1:2\n1 1:2\n", "", "nothing to learn")],
    "wv": [("a b\n", "--min-count 3", "bad: none of its 2 words occurs 3 times")],
}

# Of each program the form of a line, in which is told what was expected, and in which file, where it is not --data; then
# texts of other forms, and what is said of one of their lines, or of the whole.
FORMS = [
    ("mf", "row TAB column TAB value", "--data bad", [
        ("a\tb\t1\na b 1\n", "2: has 1 field with tabs between, not 3"), ("a\tb\n", "1: has 2 fields with tabs between"),
        ("a\tb\t1\t9\n", "1: has 4 fields"), ("a,b,1\n", "1: has 1 field"), ("# a\n", "1: has 1 field"),
        ("a\t\t1\n", "1: has an empty field"), ("user\titem\trating\n", '1: "rating" is no value: must be a number'),
        ("a\tb\t1\na\tb\tx\n", '2: "x" is no value'), ("a\tb\tnan\n", '1: "nan" is no value'),
        ("a\tb\t1e39\n", '1: "1e39" is no value: is too large'), ("a\tb\t1\n\n", "2: is empty"),
        ("a\tb\t1\r\n", "1: has a carriage return in it"), ("\x1f\udc8b\x08", "1: is what gzip made: zcat FILE | "), ("a\tb\t1\na\0b\t1\n", "2: has a zero byte"),
        ("\ufeffa\tb\t1\n", "1: begins with a byte order mark")]),
    ("mf", "row TAB column TAB value", f"{MF} --test bad", [("a\tb\n", "1: has 2 fields")]),
    ("ctr", "weight", f"{CTR} --weights bad", [("1 2:1\n0 2:1\n", '1: "1 2:1" is no weight: must be a number')]),
    ("kge", "head TAB relation TAB tail", "--data graph", [
        ("a b c\n", "1: has 1 field with tabs between, not 3"), ("a\tr\tb\na\tr\n", "2: has 2 fields"),
        ("a\tr\tb\t1\n", "1: has 4 fields"), ("Head\trelation\ttail\na\tr\tb\n", "1: is a heading: leave it away"), ("a\tr\tb\n\n", "2: is empty"),
        ("a\tr\tb\r\n", "1: has a carriage return in it")]),
    ("ctr", "label index:value ..., or label field:index:value ...", "--data bad", [
        ("hello\n", '1: "hello" is no label: must be 1 for a click'), ("1 2:1\n2 2:1\n", '2: "2" is no label'),
        ("1 2:1\n-1 2:1\n0 2:1\n", "3: has the label 0, and another line has -1"), ("1 2:1\n? 2:1\n", '2: "?" is no label'),
        ("1,2,0\n", '1: "1,2,0" is no label'), ("1\t2\t3\n", "is no label"), ("1 2:1\n0 2:1 # x\n", '2: "#" is no feature'),
        ("1 2:1\n0 qid:1 2:1\n", '2: "qid" is no feature: must be a whole number'), ("1 2:1\n0 2:y\n", '2: "y" is no value'),
        ("1 2:1\n0 2:1  3:1\n", "2: has two blanks"), ("1 2:1\n0 1:2:1\n", "2: feature 2: either all features have"),
        ("1 2:1\n0 2000000000:1\n", "must be a whole number from 0 to 1073741823"), ("1 2:1\n\n", "2: is empty"), ("1\n0\n", "has no features")]),
    ("gnn", "node TAB node", "--data bad --labels bad", [
        ("0 1\n1 2\n", "1: has 1 field with tabs between, not 2"), ("0\t1\n1\t2\t0.5\n", "2: has 3 fields"),
        ("0\t1\n\n", "2: is empty"), ("source\ttarget\n0\t1\n", "1: is a heading: leave it away")]),
    ("gnn", "node TAB class", "--data edges --labels bad", [("0\tx\n1 y\n", "2: has 1 field with tabs between, not 2")]),
    ("gnn", "node TAB train|val|test", "--data edges --labels edges --split bad", [
        ("0\ttraining\n", '1: "training" is no purpose: must be train, val or test')]),
    ("gnn", "node TAB index:value ...", "--data edges --labels edges --features bad", [
        ("0\t1:1\n1\tx\n", '2: "x" is no feature: must be index:value'), ("0\t\n1\t\n", "has no features")]),
    ("lda", "count word:count ...", "--data bad", [
        ("the cat\n", '1: "the" is no number of words: must be a whole number from 0 to 1073741823'),
        ("2 0:1 1:1\n2 0:1 x:1\n", '2: "x" is no word: must be a whole number'), ("2 0:1\n", "1: has 1 words, and says that"),
        ("1 0:0.5\n", '1: "0.5" is no count'), ("1  0:1\n", "1: has two blanks"), ("0\n0\n", "has no words")]),
    ("lda", "document word count, after three lines of their numbers", "--data bad", [
        ("1\n2\n1\n1 3 1\n", '4: "3" is no word: must be a whole number from 1 to 2'),
        ("1\n2\n1\n1 2\n", "4: must be three numbers"), ("1\n2\n2\n1 2 1\n", "4: the file ends after 1 of 2 entries")]),
    ("lasso", "response index:value ..., indices from 1", "--data bad", [
        ("1 1:2\n2 2:x\n", '2: "x" is no value: must be a number'), ("1 1:2\n2 0:1\n", "2: has the index 0: they begin"),
        ("y,x\n", '1: "y,x" is no response'), ("1 1:2\n\n", "2: is empty"), ("1\n2\n", "has no values"),
        ("1 1:2\n2 1:2 1:3\n", "2: index 1 is given twice")]),
    ("wv", "words with white space between", "--data bad", [("a\0b\n", "1: has a zero byte"), ("\n\n", "has no words")]),
    ("wv", "word TAB word TAB rating", "--data text --similarity bad", [
        ("w1 w2 5\n", "1: has 1 field with tabs between, not 3"), ("w1\tw2\t5\nw1\tw2\tx\n", '2: "x" is no rating')]),
]

FILES = [
    ("gnn", f"{GNN} --train 0", "no node with a class to train with"),
    ("gnn", "--data /dev/null --labels x", "is not a regular file"),
    ("wv", "--data text --analogies text", "text:1: "),
    ("kge", "--data graph --out no/model --epochs 1", "no: No such file or directory"),
    ("kge", "--data /no/such", "/no/such is no folder with train.txt, valid.txt and test.txt in it"),
    ("kge", "--data - < /dev/null", "stdin is no folder with train.txt, valid.txt and test.txt in it. A line must be"),
    ("kge", "--data graph/train.txt", "graph/train.txt is no folder with train.txt, valid.txt and test.txt in it"),
    ("mf", "--data - < /dev/null", "stdin is empty. A line must be"),
    ("mf", "--data ratings --write -", "- would be stdout, and must be a folder"),
] + [(program, "--data /no/such" + " --labels x" * (program == "gnn"), "/no/such: No such file")
     for program in USES if program != "kge"]


class Refusals(Trainers):
    def test_wrong_uses_are_refused_with_a_sentence(self):
        for program, rows in USES.items():
            for options, part in rows:
                with self.subTest(program=program, options=options):
                    self.program_refuses(program, 2, options, part)

    def test_time_of_a_step_must_be_a_number(self):
        self.write_data()
        self.assertIn('LOCUS_STEP_TIME is "1ms": must be a number from 0 to',
                      self.sh("locus-mf --data ratings", 2, LOCUS_STEP_TIME="1ms").err)

    def test_wrong_texts_are_refused_with_a_sentence(self):
        for program, rows in TEXTS.items():
            for text, more, part in rows:
                with self.subTest(program=program, text=text, options=more):
                    (self.here / "bad").write_text(text)
                    self.program_refuses(program, 1, f"--data bad {more}", part)

    def test_lines_of_other_forms_are_refused_with_their_place_and_what_converts_them(self):
        self.write_data()
        self.write("edges", ["0\t1", "1\t2"])
        for program, form, options, rows in FORMS:
            is_docword = form.startswith("document")  # an empty file could be either
            for text, part in rows + [("", "is empty")] * (not is_docword):
                with self.subTest(program=program, options=options, text=text):
                    where = "graph/train.txt" if program == "kge" else "bad"
                    (self.here / where).write_text(text, newline="", errors="surrogateescape")
                    ended = self.train(program, options, status=1)
                    self.assertRegex(ended.err, rf"locus-{program}: {where}[: ].*{re.escape(part)}.*(\?|(?<!\?)\.) A line must "
                                     rf'be "{re.escape(form)}"; "locus prepare {program}" converts other forms\n$')

    def test_wrong_files_are_refused_with_a_sentence(self):
        self.write_data()
        for program, options, part in FILES:
            with self.subTest(program=program, options=options):
                self.program_refuses(program, 1, options, part)

    def test_stdin_is_of_one_node(self):
        self.write_data()
        for line in "locus run -n 2 locus-mf --data - < ratings", "OMPI_COMM_WORLD_SIZE=2 locus-mf --data - < ratings":
            self.assertIn("several nodes cannot read stdin: write a file that all of them see\n", self.sh(line, 2).err)
        self.sh("locus run -n 1 locus-mf --data - --epochs 1 < ratings")

    def test_nodes_that_differ_in_their_options_are_refused(self):
        self.write_data()
        ended = self.sh("locus run -n 2 -- sh -c 'exec locus-kge --data graph --technique static --seed $LOCUS_RANK'", 1)
        self.assertIn("rank 1 has data and options of fingerprint", ended.err)

    def test_the_benchmark_of_local_accesses_refuses_what_is_no_build_and_what_it_cannot_write(self):
        self.sh("mkdir -p build/lib build/bench; touch build/lib/liblocus.so.0 file; ln -s /bin/false build/bench/local_access")
        for told, said in (("--beside file", "file is neither a build nor a prefix of locus"),
                           ("--out file", "cannot write to file: File exists"),
                           ("--out out", "build/bench/local_access with the library of build: status 1")):
            with self.subTest(told=told):
                self.assertIn(f"local.py: {said}", self.sh(f"{ROOT}/bench/local.py --build build {told}", 1).err)
        self.assertEqual(os.listdir(self.here / "out"), [])


class Irregular(Trainers):
    """A pipe without a writer would be waited for without end, a device may have none: all readers say at once that there
    is no regular file."""

    def make_socket(self, path):
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))

    def test_files_are_refused_by_the_command(self):
        makers = {"pipe": os.mkfifo, "socket": self.make_socket, "device": lambda path: path.symlink_to("/dev/zero"),
                  "folder": os.mkdir}
        (self.here / "model").mkdir()
        (self.here / "file.0.report.jsonl").symlink_to("file")
        (self.here / "model/manifest.json").symlink_to("../file")
        limit = "unlimited" if IS_SANITIZED else "4000000"  # a sanitizer wants more addresses than there are
        for kind, make in makers.items():
            make(self.here / "file")
            for line, part in (("trace file", "cannot read file: it is "),
                               ("report file --out page", "file.0.report.jsonl cannot be read: it is "),
                               ("checkpoint verify model", "manifest.json: it is no regular file")):
                with self.subTest(kind=kind, line=line):
                    ended = self.sh(f"ulimit -v {limit} && timeout 60 locus {line}", None)
                    self.assertTrue(ended.status in (1, 2) and part in ended.err + ended.out, ended)
            self.sh("rm -rf file")
