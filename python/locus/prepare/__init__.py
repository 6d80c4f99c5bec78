# SPDX-License-Identifier: Apache-2.0
"""locus prepare: converts what people bring into the one form that a program reads."""
import argparse
import lzma
import os
import zlib
from typing import List, Optional

from .._command import Problem, keep_others, run
from .._command import parser as new_parser

ABOUT = """Converts what people bring into the one form that a program reads. What it takes by itself it says in one line
before it writes; what could be read in two ways it refuses, until an option says it. Rows are counted, and
none is lost silently. Numbers keep all their digits.

program   reads                                                writes
mf        CSV and its relatives, MatrixMarket                  row, column, value, with tabs between
kge       folders of DGL-KE, PyKEEN, OpenKE, LibKGE, WordNet;  a folder: train.txt, valid.txt, test.txt, of head,
          one such file, or three; N-Triples                   relation, tail; on stdout facts and questions
ctr       CSV and its relatives, Criteo's, LIBSVM, LIBFFM      LIBFFM of columns, with OUTPUT.columns.json, or LIBSVM
gnn       CSV and its relatives, MatrixMarket, METIS, DIMACS,  a folder: edges.txt, what is told of nodes
          TGF, LGL, GML, GraphML, Pajek, adjacency lists
lda       text, GibbsLDA++, LDA-C, UCI docword, CLUTO,         a folder: documents.txt, vocabulary.txt
          MatrixMarket
lasso     LIBSVM, from 0 or 1; MatrixMarket                    LIBSVM from 1
wv        text; with --similarity CSV and its relatives        text; two words and a rating
vectors   word2vec (text, binary), GloVe, fastText             safetensors, for --from of locus-wv"""

# Of each program the options that it heeds, the name of the file if OUTPUT is a folder, and how its first line begins.
TABLES = "columns separator heading quotes comments decimal"
PROGRAMS = {
    "mf": (TABLES, "", rb"[^\t\n]+\t[^\t\n]+\t-?\d[-+.\deE]*\n"),
    "kge": ("columns separator heading quotes comments seed", "train.txt", rb"([^\t\n]+\t){2}[^\t\n]+\n"),
    "ctr": ("format separator heading quotes comments decimal label positive weight categorical with_ without bins like",
            "", rb"(-?\d+ )?(\d+:)?\d+:[^,]*|(-?\d)?\n"),
    "gnn": ("columns separator heading quotes comments format labels purposes class_columns purpose_columns features names first",
            "edges.txt", rb"[^\t\n]+\t[^\t\n]+\n"),
    "lda": ("format comments vocabulary like", "documents.txt", rb"\d+( \d+:|\n)"),
    "lasso": ("first response", "", rb"-?\d[^,:\t\n ]*( \d+:|\n)"),
    "wv": (TABLES + " similarity", "", rb""),
    "vectors": ("", "", rb".{8}\{\"__metadata__.*")}


def _parser() -> argparse.ArgumentParser:
    parser = new_parser(
        "prepare", ABOUT, "for example: locus prepare mf ratings.csv - | locus-mf --data - --out model.safetensors",
        usage="locus prepare PROGRAM INPUT... OUTPUT [options]",
        form=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=110, max_help_position=26))
    add = parser.add_argument
    add("program", metavar="PROGRAM", choices=PROGRAMS, help="whose data it is: " + ", ".join(PROGRAMS))
    add("paths", metavar="INPUT... OUTPUT", nargs="+", help="files, which may be compressed by gzip, bzip2 or xz, - is stdin; and "
        "a file or, of kge, gnn and lda, a folder, - is stdout")
    add("--format", metavar="NAME", help="of the input, where it cannot be told: table (ctr, gnn), adjacency, dimacs, "
        "gml, graphml, lgl, metis, pajek, tgf (gnn); text, gibbs, ldac, docword, cluto, matrix (lda)")
    group = parser.add_argument_group("tables")
    add = group.add_argument
    add("--columns", metavar="A,B,C", help="the columns of the program's form, in its order: names, or numbers from 1; ? in questions to kge")
    add("--separator", metavar="TEXT", help="between fields: a character, ::, tab or blank")
    add("--heading", choices=("yes", "no"), help="is the first row one?")
    add("--quotes", choices=("csv", "none"), help="none: quotation marks are text")
    add("--comments", metavar="MARKS", help="lines that begin with one of these characters are comments; none: no line is")
    add("--decimal", metavar="MARK", choices=(".", ","), default=".", help="before fractions: . or , (default .)")
    group = parser.add_argument_group("ctr")
    add = group.add_argument
    add("--label", metavar="COLUMN", help="the label's column, by its name or number")
    add("--positive", metavar="TEXT", help="the label of a click (default 1)")
    add("--weight", metavar="COLUMN", help="as how many an example counts: OUTPUT.weights is for locus-ctr --weights")
    add("--categorical", metavar="A,B", default="", help="columns whose numbers are ids, each a feature")
    add("--with", metavar="A,B", default="", dest="with_", help="columns to learn from although nearly every row has "
        "another word")
    add("--without", metavar="A,B", default="", help="columns to leave out")
    add("--bins", metavar="N", type=int, default=64, help="parts that a column of numbers is cut into, about (default 64)")
    add("--like", metavar="OUTPUT", help="what prepare made of the training data: this becomes alike. Of lda its folder")
    group = parser.add_argument_group("other programs")
    add = group.add_argument
    add("--labels", metavar="FILE", help="gnn: a table of nodes and classes, or a class a line")
    add("--purposes", metavar="FILE", help="gnn: a table of nodes and train, val or test")
    add("--class-columns", metavar="A,B", help="gnn: of --labels the columns of node and class")
    add("--purpose-columns", metavar="A,B", help="gnn: of --purposes those of node and purpose")
    add("--features", metavar="FILE", help="gnn: LIBSVM, a line a node")
    add("--names", choices=("id", "label"), help="gnn: what nodes are called, where a graph's file has both")
    add("--first", metavar="N", type=int, choices=(0, 1), help="the number of the first column (lasso), or of the first node "
        "where lines are nodes (gnn)")
    add("--response", metavar="FILE", help="lasso: of MatrixMarket the file of the responses, MatrixMarket or a number a line")
    add("--vocabulary", metavar="FILE", help="lda: a word a line, for formats of numbers")
    add("--seed", metavar="N", type=int, default=1, help="kge: of the division of one file into three (default 1)")
    add("--similarity", action="store_true", help="wv: two words and a rating a row")
    return parser


def main(arguments: Optional[List[str]] = None) -> int:
    parser = _parser()
    told = parser.parse_intermixed_args(arguments)
    told.given = {name for name, value in vars(told).items() if name not in ("program", "paths") and value != parser.get_default(name)}
    told.asked = [told.label, told.weight, told.categorical, told.with_, told.without, told.class_columns, told.purpose_columns]
    cut = [each for each in (told.columns, *told.asked) if each and each.endswith(",")]
    if len(told.paths) < 2 or told.bins < 2 or cut:
        parser.error(f"{cut[0]} ends with a comma: there must be no blank after it" if cut else
                     "INPUT and OUTPUT are needed" if len(told.paths) < 2 else f"--bins {told.bins}: must be 2 or more")
    return run("prepare", _prepare, told)


def _check_output(told: argparse.Namespace, output: str) -> None:
    """Nothing is lost that prepare has not written."""
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise Problem(f"{output}: there is no folder {folder}")
    if output.endswith((".gz", ".bz2", ".xz", ".zip")):
        raise Problem(f"{output}: what is written is not packed: write to -, and from there to gzip")
    for path in (*told.paths[:-1], told.like, told.labels, told.purposes, told.features, told.response, told.vocabulary):
        if path and os.path.exists(path) and os.path.exists(output) and (os.path.samefile(path, output) or (
                path.endswith(".txt") and os.path.samefile(os.path.dirname(path) or ".", output))):
            raise Problem(f"{path} would be read as well as written: name another OUTPUT")
    _, name, form = PROGRAMS[told.program]
    output = os.path.join(output, name) if name else output
    keep_others(output, form, f"prepare {told.program}", "is OUTPUT missing? else ")


def _prepare(told: argparse.Namespace) -> None:
    from . import clicks, facts, files, graphs, ratings, words
    files.refuse_idle(told, " ".join(told.given - {*PROGRAMS[told.program][0].split()}), f"on {told.program}")
    formats = {"lda": words.BAGS, "gnn": ("table", *graphs.READERS)}.get(told.program, ("table",))
    if told.format not in (None, *formats):
        raise Problem(f"--format {told.format} is none of {told.program}'s: {', '.join(formats)}")
    _check_output(told, told.paths[-1])
    todo = {"mf": ratings.mf, "kge": facts.kge, "wv": ratings.wv, "ctr": clicks.ctr, "gnn": graphs.gnn, "lda": words.lda,
            "lasso": words.lasso, "vectors": words.vectors}
    try:
        todo[told.program](told, told.paths[:-1], told.paths[-1])
    except (EOFError, lzma.LZMAError, zlib.error) as fault:
        raise Problem(f"what is packed is damaged: {fault}") from None
