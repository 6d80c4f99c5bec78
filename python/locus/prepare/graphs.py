# SPDX-License-Identifier: Apache-2.0
"""Graphs for gnn. Line formats have readers of their own here: libraries read on where a file says what they do not know."""
import argparse
import itertools
import os
import re
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from .files import Refused, Source, counted, need, refuse_idle, say, strictly, whole, within, write
from .sparse import Matrix, SparseLines, is_matrix, is_sparse
from .tables import Table, is_missing

Nodes = Dict[str, Optional[str]]  # in the order of the file; labels
Edges = Iterator[Tuple[str, str]]
PURPOSES = {"training": "train", "valid": "val", "validation": "val", "testing": "test"}


@strictly("METIS: vertices, edges [fmt [weights]], then a line a vertex with all its neighbours, as many as the head says")
def _metis(source: Source, nodes: Nodes) -> Edges:
    lines = (line.split() for line in source.lines() if not line.startswith("%"))
    head = [whole(word) for word in next(lines, [])]
    count, edges, kinds, weights = head + [0, 1][len(head) - 2:]
    skip, step, ends, balance = kinds // 100 + kinds // 10 % 10 * weights, 1 + kinds % 10, 0, 0
    for words in lines:
        if len(nodes) < count or words:
            here = len(nodes) + 1
            nodes[str(here)] = None
            need((len(words) - skip) % step == 0)
            for end in map(whole, words[skip::step]):
                need(1 <= end <= count)
                ends += 1
                balance += hash((here, end)) if here < end else -hash((end, here))
                if here < end:
                    yield str(here), str(end)
    need((count, 2 * edges) == (len(nodes), ends), f"{count} vertices, {edges} edges; found {len(nodes)} and {ends / 2:g}")
    need(balance == 0, "a vertex has a neighbour that has not it, or itself")


@strictly("DIMACS: p edge|col|sp|max nodes edges, then e u v or a u v w, nodes from 1, as many as p says")
def _dimacs(source: Source, nodes: Nodes) -> Edges:
    size, count = -1, 0
    for line in source.words():
        words = line.split()
        if words[0] == "p":
            size = whole(words[3])
            nodes.update((str(i), None) for i in range(1, source.bound(whole(words[2])) + 1))
        elif words[0] in ("e", "a"):
            need(len(words) in (3, 4) and all(word in nodes if size >= 0 else whole(word) for word in words[1:3]))
            count += 1
            nodes.update(dict.fromkeys(words[1:3]))
            yield words[1], words[2]
        else:
            need(words[0] in ("c", "n", "v", "d", "x", "t"))
    need(size in (-1, count, 2 * count) or count == 2 * size, f"{size} edges; found {count}")


@strictly("TGF: a node and its label; a lone #; two of the nodes and a label. --format table, if it is none")
def _tgf(source: Source, nodes: Nodes) -> Edges:
    behind = False
    for line in source.words():
        words = line.split(None, 2 if behind else 1)
        if behind:
            need(nodes.keys() >= {words[0], words[1]})
            yield words[0], words[1]
        elif words != ["#"]:
            nodes[words[0]] = words[1].strip() if len(words) > 1 else None
        behind = behind or words == ["#"]


@strictly("LGL: # and a node; below it its neighbours, a line each, perhaps with a weight")
def _lgl(source: Source, nodes: Nodes) -> Edges:
    head = None
    for line in source.words():
        words = line.split()
        need(len(words) < 3 and (head or words[0] == "#"))
        nodes.setdefault(words[words[0] == "#"])
        if words[0] == "#":
            head = words[1]
        else:
            yield str(head), words[0]


@strictly("a node and its neighbours, without weights")
def _adjacency(source: Source, nodes: Nodes) -> Edges:
    for line in source.words("#"):
        words = line.split()
        need(not any(re.fullmatch(r"-?\d*\.\d+|\{.*", word) for word in words))
        nodes.update(dict.fromkeys(words))
        yield from ((words[0], word) for word in words[1:])


@strictly("Pajek: *Vertices N, numbers and labels; *Arcs, *Edges, *Arcslist, *Edgeslist, numbers of vertices")
def _pajek(source: Source, nodes: Nodes) -> Edges:
    section = ""
    for line in source.words("%"):
        words = line.split()
        if line.startswith("*"):
            section = words[0][1:].lower()
            need(section in ("network", "vertices", "arcs", "edges", "arcslist", "edgeslist"))
            nodes.update((str(i), None) for i in range(1, source.bound(whole(words[1])) + 1 if section == "vertices" else 0))
        elif section == "vertices":
            need(words[0] in nodes)
            label = re.match(r'\s*\d+\s+(?:"((?:[^"\\]|\\.)*)"|(\S+))', line)
            nodes[words[0]] = (label[1] if label[2] is None else label[2]) if label else None
        else:
            ends = [word.lstrip("-") for word in (words if section.endswith("list") else words[:2])]  # - is of multiple lines
            need(section.startswith(("arcs", "edges")) and len(ends) > 1 and nodes.keys() >= {*ends})
            yield from ((ends[0], end) for end in ends[1:])


def _by_networkx(source: Source, nodes: Nodes) -> Edges:
    """GML and GraphML, by id; their edges are counted beside it. Attributes but label and name are not looked at."""
    try:
        import networkx  # type: ignore
    except ModuleNotFoundError:
        raise Refused("reading GML and GraphML needs NetworkX: install python3-networkx of Debian, or networkx of PyPI") from None
    with source.open() as file:
        text = file.read().decode("utf-8-sig", "replace")
    is_xml = text.lstrip().startswith("<")
    if not is_xml:  # an edge may stand twice, whether the file says so or not
        text = re.sub(r"(\bgraph\s*\[)", r"\1 multigraph 1", re.sub(r"\bmultigraph\s+[01]\b", "", text), count=1)
    try:
        graph = networkx.parse_graphml(text) if is_xml else networkx.parse_gml(text, label="id")
    except Exception as fault:  # of many classes
        raise Refused(f"{source.name}: NetworkX cannot read it: {fault}") from None
    if len(re.findall(r"<edge[\s>/]" if is_xml else r"\bedge\s*\[", text)) != graph.number_of_edges():
        raise Refused(f"{source.name}: NetworkX reads {graph.number_of_edges()} edges, and it has more or fewer")
    nodes.update((str(node), str(about.get("label", about.get("name", ""))) or None) for node, about in graph.nodes(data=True))
    yield from ((str(ends[0]), str(ends[1])) for ends in graph.edges())


READERS: Dict[str, Callable[[Source, Nodes], Edges]] = {
    "metis": _metis, "dimacs": _dimacs, "tgf": _tgf, "lgl": _lgl, "adjacency": _adjacency, "pajek": _pajek,
    "gml": _by_networkx, "graphml": _by_networkx}
ENDINGS = {"graph": "metis", "col": "dimacs", "gr": "dimacs", "net": "pajek", "adjlist": "adjacency"}
UNLISTED = ("table", "dimacs", "lgl", "adjacency")  # nodes are in the order in which edges name them, which says nothing
UNLABELLED = (*UNLISTED, "matrix", "metis")


def _has_lone_mark(source: Source) -> bool:
    """A line of # alone, which parts nodes and edges of TGF."""
    with source.open() as file:
        return any(line.strip() == b"#" for line in file)


def _kind(source: Source, told: argparse.Namespace) -> str:
    """By --format, the ending, or what only one format begins with; else a table, unless it may be another, too."""
    lines = source.first()
    begins = " ".join(lines[:9]).lower().lstrip()
    words = [line.split() for line in lines if line.split() and line[0] != "%"] or [[""]]
    letters = {each[0] for each in words}
    ending = re.sub(r"\.(gz|bz2|xz)$", "", source.name.lower()).rpartition(".")[2]
    ending = ENDINGS.get(ending, ending)
    for kind, fits in (
            ("matrix", is_matrix(source)), (told.format, told.format), (ending, ending in READERS),
            ("graphml", begins.startswith(("<?xml", "<graphml"))), ("pajek", begins.startswith(("*vertices", "*network"))),
            ("gml", re.match(r"(creator .*)?(version .*)?graph\s*\[", begins)),
            ("dimacs", letters <= {*"cpeanvdxt"} and any(each[0] == "p" and "".join(each[2:4]).isdigit() for each in words)),
            ("tgf", words[0][0][:1] != "#" and _has_lone_mark(source))):
        if fits:
            return str(kind)
    is_metis = "".join(words[0]).isdigit() and words[0][0] == str(sum(line[:1] != "%" for line in source.lines()) - 1) and (
        len(words) > 999 or len(words[0]) > 2 or [2 * int(each) for each in words[0][1:]] == [sum(map(len, words[1:]))])
    is_lgl = letters > {"#"} and any(before[0] != "#" == after[0] and len(after) == 2 for before, after in zip(words, words[1:]))
    lengths = {len(each) for each in words if each[0][:1] != "#"}
    for kind, fits in (("dimacs", letters <= {"e", "a"}), ("lgl", is_lgl), ("metis", is_metis),
                       ("adjacency", len(lengths) > 2 and not re.search("[\t,;|]", "".join(lines)))):
        if fits:
            raise Refused(f"{source.name} may be {kind}, or a table of edges: --format {kind} or table says which")
    return "table"


class _Graph:
    def __init__(self, source: Source, told: argparse.Namespace) -> None:
        self.source, self.kind = source, _kind(source, told)
        self.nodes, self.names, self.count = {}, {}, 0  # type: Nodes, Dict[str, str], int
        self.matrix = Matrix(source).look(both=False) if self.kind == "matrix" else None
        self.table = Table(source, told, ("source", "target")) if self.kind == "table" else None
        self.at = self.table.choose() if self.table else []
        for option, is_idle in (("names", self.kind in UNLABELLED), ("format", self.kind == "matrix"), ("columns", not self.table),
                                ("separator heading quotes comments", not (self.table or told.labels or told.purposes))):
            refuse_idle(told, option * is_idle, f"on a graph of the form {self.kind}")
        if self.matrix and self.matrix.rows != self.matrix.columns:
            raise Refused(f"{source.name}: has {self.matrix.rows} rows and {self.matrix.columns} columns, a graph's has as many; if rows "
                          "and columns are two kinds of nodes, write the edges as a table")

    def _read(self) -> Edges:
        self.nodes.clear()
        if self.matrix:
            self.nodes.update((str(i), None) for i in range(1, self.source.bound(self.matrix.rows) + 1))
            return ((str(i + 1), str(j + 1)) for i, j, value in self.matrix.entries(both=False) if float(value) != 0)
        return self._rows(self.table) if self.table else READERS[self.kind](self.source, self.nodes)

    def _rows(self, table: Table) -> Edges:
        for _, (first, second) in table.named(self.at):
            self.nodes.update({first: None, second: None})
            yield first, second

    def look(self, told: argparse.Namespace, known: Sequence[str]) -> None:
        """Counts, and chooses what nodes are called: what the other files say, else labels, if all have one and they differ."""
        linked: Set[str] = set()
        for ends in self._read():
            self.count += 1
            linked.update(ends if not self.table else ())
        if not self.count:
            raise Refused(f"{self.source.name} has no edges")
        labels = [label for label in self.nodes.values() if label]
        usable = 0 < len(set(labels)) == len(self.nodes) and not any(re.search(r"[\t\r\n]", label) for label in labels)
        of_ids, of_labels = (sum(name in group for name in known) for group in (self.nodes, set(labels)))
        if (told.names == "label" and not usable) or (usable and known and of_ids == of_labels and not told.names
                                                      and self.nodes != dict(zip(labels, labels))):
            raise Refused(f"{self.source.name}: nodes have ids and {'labels' if usable else 'no labels, or some twice'}, and the other "
                          "files may have either: --names id or label")
        chosen = told.names or ("label" if usable and of_ids <= of_labels else "id")
        self.names = {node: label or node if chosen == "label" else node for node, label in self.nodes.items()}
        self.lone = [self.names[node] for node in self.nodes if not self.table and node not in linked]
        say(f"{self.source.name}: {counted(self.count, 'edge')} of {counted(len(self.nodes), 'node')}, "
            + (self.matrix.about() + "; nodes are numbers from 1, 0 is no edge" if self.matrix else
               self.table.about(self.at) if self.table else self.kind + self.source.left())
            + (f"; nodes are called by their {chosen}s" if labels else ""))

    def edges(self) -> Edges:
        names = self.names
        return ((names[first], names[second]) for first, second in self._read())

    def lines(self, path: str, count: int, first: Optional[int]) -> List[str]:
        """The nodes that a file is about whose lines are nodes: those of the graph's file, or numbers."""
        if self.kind not in UNLISTED and count == len(self.nodes):
            return list(self.names.values())
        numbers = [int(node) if re.fullmatch("0|[1-9][0-9]*", node) else -1 for node in self.nodes]
        first = first if first is not None else 0 if min(numbers) == 0 else 1 if max(numbers) == count else None
        if self.kind not in UNLISTED or first is None or min(numbers) < first or max(numbers) >= count + first:
            raise Refused(f"{path}: its {count} lines are about nodes in their order, and the graph has {len(numbers)} nodes"
                          + (f", {min(numbers)} to {max(numbers)}: --first says whether the first line is about node 0 or 1" if
                             min(numbers) >= 0 else " that are no numbers: give a table"))
        return [str(first + i) for i in range(count)]


class _Marks:
    """A word of each node: a table, a word a line (blank: none), or the labels of LIBSVM."""

    def __init__(self, path: str, told: argparse.Namespace, kind: str) -> None:
        self.source, self.kind, self.order = Source(path), kind, []  # type: Source, str, List[str]
        self.table, self.is_sparse = None, is_sparse(self.source)  # type: Optional[Table], bool
        if not self.is_sparse and any(re.search(r"[\t ,;|]|::", line.strip()) for line in self.source.words("#%")):
            plain = argparse.Namespace(**{**vars(told), "columns": getattr(told, f"{kind}_columns")})
            self.table = Table(self.source, plain, ("node", kind), option=f"--{kind}-columns")
            self.at = self.table.choose()

    def _all(self) -> Edges:
        if self.table:
            return ((name, row[self.at[1]].strip()) for row, (name,) in self.table.named(self.at[:1]))
        return zip(self.order or itertools.repeat(""), (label for label, _ in SparseLines(self.source).lines()) if self.is_sparse
                   else (line.strip() for line in self.source.lines()))

    def given(self) -> Edges:
        for name, word in self._all():
            word = PURPOSES.get(word.lower(), word) if self.kind == "purpose" else word
            if word not in ("", "-1", "none"):
                yield name, word

    def look(self, graph: _Graph, told: argparse.Namespace) -> None:
        rows = sum(1 for _ in self._all())
        self.order = [] if self.table else graph.lines(self.source.name, rows, told.first)
        found, self.count = dict(self.given()), sum(1 for _ in self.given())
        nodes, words = set(graph.names.values()), sorted(set(found.values()))
        new = [name for name in found if name not in nodes]
        all_named = [*map(int, filter(str.isdigit, (name for name, _ in self._all())))]
        numbers = [*map(int, filter(str.isdigit, nodes))]
        shift = all_named and numbers and (min(all_named) - min(numbers), max(all_named) - max(numbers))
        odd = [word for word in words if is_missing(word) or (self.kind == "purpose" and word not in ("train", "val", "test"))]
        for fault, text in ((shift in ((1, 1), (-1, -1)), f"its nodes begin with {min(all_named or [0])}, those of {graph.source.name} with "
                             f"{min(numbers or [0])}: number both alike"), (len(found) < self.count, "a node stands in two rows"),
                            (len(new) == len(found), f"names no node of the graph; it has {next(iter(new), 'none')}, and {graph.source.name} "
                             f"has {next(iter(nodes), 'none')}"),
                            (odd, f"\"{''.join(odd[:1])}\" is no {self.kind}: leave it empty, if a node has none")):
            if fault:
                raise Refused(f"{self.source.name}: {text}")
        say(f"{self.source.name}: {counted(self.count, 'node')} with a {self.kind}, of {len(words)}: {', '.join(words)[:60]}; "
            f"{rows - self.count} with none; {len(new)} are not among the edges; "
            + (self.table.about(self.at) if self.table else f"a line a node, from {self.order[0]}"))


def gnn(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """edges.txt: `node TAB node`; labels.txt: `node TAB class`; purposes.txt; features.txt: `node TAB index:value ...`."""
    if len(inputs) > 1:
        raise Refused("gnn takes one file of edges; --labels, --purposes and --features name the others")
    for option, of in (("class_columns", told.labels), ("purpose_columns", told.purposes), ("first", told.labels or told.purposes or told.features)):
        refuse_idle(told, option * (not of), "without the file that it is about")
    graph = _Graph(Source(inputs[0]), told)
    marks = {name: _Marks(path, told, kind) for name, kind, path in (
        ("labels.txt", "class", told.labels), ("purposes.txt", "purpose", told.purposes)) if path}
    graph.look(told, [name for mark in marks.values() if mark.table for name, _ in mark.given()])
    for mark in marks.values():
        mark.look(graph, told)
    features, order = SparseLines(Source(told.features)) if told.features else None, []  # type: Optional[SparseLines], List[str]
    if features:
        order = graph.lines(told.features, sum(1 for _ in features.lines()), told.first)
        say(f"{told.features}: features of the nodes {order[0]} to {order[-1]}, {features.about()}; what is before them left out")
    lone = {*graph.lone} - {name for mark in marks.values() for name, _ in mark.given()} - {*order}
    if lone:
        say(f"{counted(len(lone), 'node')} ({min(lone)}{', ...' if len(lone) > 1 else ''}) without an edge, of which no other file says "
            "anything, left out")
    names = ["edges.txt", *marks, *(["features.txt"] if features else [])]
    stale = [name for name in ("labels.txt", "purposes.txt", "features.txt") if name not in names
             and os.path.exists(within(output, name)[0])]
    if stale:
        raise Refused(f"{output} has {stale[0]} of another graph: name another folder, or remove it")
    pairs = zip(order, (pairs for _, pairs in features.lines())) if features else iter(())
    found = [(graph.edges(), graph.count), *((mark.given(), mark.count) for mark in marks.values()), (pairs, len(order))]
    write(*((path, map("\t".join, rows), count, "rows") for path, (rows, count) in zip(within(output, *names), found)))
