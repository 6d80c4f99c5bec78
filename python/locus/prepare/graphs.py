# SPDX-License-Identifier: Apache-2.0
"""Graphs for gnn. Line formats have readers of their own here: libraries read on where a file says what they do not know."""
import argparse
import itertools
import os
import re
from contextlib import ExitStack
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from .files import Refused, Source, counted, say, within, writing
from .sparse import Matrix, SparseLines, is_matrix, is_sparse, refuse_headless
from .tables import Table, is_missing

Nodes = Dict[str, Optional[str]]  # in the order of the file; labels
Edges = Iterator[Tuple[str, str]]
PURPOSES = {"training": "train", "valid": "val", "validation": "val", "testing": "test"}


def _wrong(source: Source, at: int, expected: str, line: str) -> Refused:
    return Refused(f"{source.name}:{at}: expected {expected}, found \"{line[:60]}\"")


def _metis(source: Source, nodes: Nodes) -> Edges:
    """`vertices edges [fmt [weights]]`, then a line a vertex with all its neighbours; each edge is given once."""
    lines = ((at, line) for at, line in source.lines() if not line.startswith("%"))
    at, line = next(lines, (1, ""))
    if not re.fullmatch(r"\s*\d+\s+\d+(\s+[01]{1,3}(\s+\d+)?)?\s*", line):
        raise _wrong(source, at, "vertices and edges (METIS)", line)
    count, edges, kinds, weights = (line.split() + ["0", "1"])[:4] if len(line.split()) < 4 else line.split()
    skip, step = int(kinds.zfill(3)[0]) + int(kinds.zfill(3)[1]) * int(weights), 1 + int(kinds[-1])
    vertex = ends = 0
    for at, line in lines:
        words = line.split()
        if vertex == int(count) and not words:
            continue
        vertex += 1
        nodes[str(vertex)] = None
        if (len(words) - skip) % step or not all(word.isdigit() and 1 <= int(word) <= int(count) for word in words[skip::step]):
            raise _wrong(source, at, f"neighbours from 1 to {count}", line)
        ends += len(words[skip::step])
        yield from ((str(vertex), word) for word in words[skip::step] if int(word) >= vertex)
    if vertex != int(count) or ends != 2 * int(edges):
        raise Refused(f"{source.name}: its head says {count} vertices and {edges} edges, and {vertex} lines with {ends} ends of "
                      "edges follow")


def _dimacs(source: Source, nodes: Nodes) -> Edges:
    """`p edge|col|sp|max nodes edges`, then `e u v` or `a u v w`, from 1."""
    size, count = "", 0
    for at, line in source.words():
        words = line.split()
        if words[0] == "p" and len(words) == 4 and words[2].isdigit():
            size = words[3]
            nodes.update((str(i), None) for i in range(1, int(words[2]) + 1))
        elif words[0] in ("e", "a") and len(words) in (3, 4):
            if not all(word.isdigit() and word != "0" and (not size or word in nodes) for word in words[1:3]):
                raise _wrong(source, at, "nodes from 1", line)
            count += 1
            nodes.update({words[1]: None, words[2]: None})
            yield words[1], words[2]
        elif words[0] not in ("c", "n", "v", "d", "x", "t"):
            raise _wrong(source, at, "a line of DIMACS (c, p, e or a)", line)
    if size not in ("", str(count), str(2 * count)) and str(2 * int(size)) != str(count):
        raise Refused(f"{source.name}: its head says {size} edges, and {count} follow")


def _tgf(source: Source, nodes: Nodes) -> Edges:
    """`id label` lines, a lone #, `id id label` lines."""
    behind = False
    for at, line in source.words():
        words = line.split(None, 2 if behind else 1)
        if line.strip() == "#" and not behind:
            behind = True
        elif not behind:
            nodes[words[0]] = words[1].strip() if len(words) > 1 else None
        elif len(words) < 2 or words[0] not in nodes or words[1] not in nodes:
            raise _wrong(source, at, "two of the nodes above #", line)
        else:
            yield words[0], words[1]


def _lgl(source: Source, nodes: Nodes) -> Edges:
    """`# node`, then its neighbours, a line each, perhaps with a weight."""
    head = ""
    for at, line in source.words():
        words = line.split()
        if len(words) > 2 or (words[0] == "#" and len(words) < 2) or (words[0] != "#" and not head):
            raise _wrong(source, at, "# and a node, or a neighbour and its weight (LGL)", line)
        nodes.setdefault(words[1] if words[0] == "#" else words[0])
        if words[0] == "#":
            head = words[1]
        else:
            yield head, words[0]


def _adjacency(source: Source, nodes: Nodes) -> Edges:
    for at, line in source.words("#"):
        words = line.split()
        if any(re.fullmatch(r"-?\d*\.\d+|\{.*", word) for word in words):
            raise _wrong(source, at, "a node and its neighbours, without weights", line)
        nodes.update((word, None) for word in words if word not in nodes)
        yield from ((words[0], word) for word in words[1:])


def _pajek(source: Source, nodes: Nodes) -> Edges:
    """Vertices are known by their numbers; all sections of edges are read."""
    section = ""
    row = 0
    for at, line in source.words("%"):
        words = line.split()
        if words[0].startswith("*"):
            section, row = words[0][1:].lower(), 0
            if section not in ("network", "vertices", "arcs", "edges", "arcslist", "edgeslist", "matrix"):
                raise _wrong(source, at, "*Network, *Vertices N, *Arcs, *Edges, *Arcslist, *Edgeslist or *Matrix", line)
            if section == "vertices":
                nodes.update((str(i), None) for i in range(1, int(words[1] if words[1:2] and words[1].isdigit() else 0) + 1))
            continue
        row += 1
        ends = words if section.endswith("list") else [str(row), *(str(i) for i, word in enumerate(words, 1) if word.strip("0."))] \
            if section == "matrix" else words[:2]
        ends = [end.lstrip("-") for end in ends]  # of a multiple line all but the first
        label = re.match(r'\s*\d+\s+(?:"((?:[^"\\]|\\.)*)"|(\S+))', line)
        if section in ("", "network") or ends[0] not in nodes or (section == "matrix" and len(words) != len(nodes)) or (
                section != "vertices" and (len(words) < 2 or not {*ends} <= nodes.keys())):
            raise _wrong(source, at, f"vertices from 1 to {len(nodes)} (*{section})", line)
        if section == "vertices":
            nodes[ends[0]] = (label[1] if label[2] is None else label[2]) if label else None
        else:
            yield from ((ends[0], end) for end in ends[1:])


def _by_networkx(source: Source, nodes: Nodes) -> Edges:
    """GML and GraphML, by id; their edges are counted beside it. Attributes but label and name are not looked at."""
    try:
        import networkx  # type: ignore
    except ModuleNotFoundError:
        raise Refused("reading GML and GraphML needs NetworkX: install python3-networkx of Debian, or networkx of PyPI") from None
    with source.open() as file:
        text = file.read()
    is_xml = text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    if not is_xml:  # one edge may stand twice, whether the file says multigraph or not
        text = re.sub(rb"(\bgraph\s*\[)", rb"\1 multigraph 1", re.sub(rb"\bmultigraph\s+[01]\b", b"", text), count=1)
    try:
        graph = networkx.parse_graphml(text.decode()) if is_xml else networkx.parse_gml(text.decode(), label="id")
    except Exception as fault:  # of many classes
        raise Refused(f"{source.name}: NetworkX cannot read it: {fault}") from None
    count = len(re.findall(rb"<edge[\s>/]" if is_xml else rb"\bedge\s*\[", text))
    if graph.number_of_edges() != count:
        raise Refused(f"{source.name}: has {count} edges, and NetworkX reads {graph.number_of_edges()}")
    for node, about in graph.nodes(data=True):
        nodes[str(node)] = str(about.get("label", about.get("name", ""))) or None
    yield from ((str(ends[0]), str(ends[1])) for ends in graph.edges())


READERS: Dict[str, Callable[[Source, Nodes], Edges]] = {
    "metis": _metis, "dimacs": _dimacs, "tgf": _tgf, "lgl": _lgl, "adjacency": _adjacency, "pajek": _pajek,
    "gml": _by_networkx, "graphml": _by_networkx}
ENDINGS = {"graph": "metis", "col": "dimacs", "gr": "dimacs", "net": "pajek", "adjlist": "adjacency"}


def _kind(source: Source, told: argparse.Namespace) -> str:
    """By --format, the ending, or what only one format begins with; else a table, unless it may be another, too."""
    if told.format:
        if told.format not in (*READERS, "table"):
            raise Refused(f"--format {told.format} is none of gnn's: {', '.join(READERS)}, table")
        return str(told.format)
    ending = re.sub(r"\.(gz|bz2|xz)$", "", source.name.lower()).rpartition(".")[2]
    lines = source.first()
    words = [line.split() for line in lines]
    begins = " ".join(lines[:9]).lower().lstrip()
    for kind, fits in (("matrix", is_matrix(source)), (ENDINGS.get(ending, ending), ENDINGS.get(ending, ending) in READERS),
                       ("graphml", begins.startswith(("<?xml", "<graphml"))), ("pajek", begins.startswith(("*vertices", "*network"))),
                       ("gml", re.match(r"(creator .*)?(version .*)?graph\s*\[", begins)), ("tgf", ["#"] in words),
                       ("dimacs", {each[0] for each in words} >= {"p"} and {each[0] for each in words} <= {*"cpea"})):
        if fits:
            return kind
    may_be = [kind for kind, fits in (("dimacs", {each[0] for each in words} <= {"e", "a"} and len(words[0]) > 2 if words else False),
                                      ("lgl", sum(each[0] == "#" and len(each) == 2 for each in words) > 1)) if fits]
    try:
        may_be += ["metis"] if sum(1 for _ in _metis(source, {})) else []
    except Refused:
        pass
    lengths = {len(each) for each in words}
    if may_be and (len(lengths) == 1 or len(may_be) > 1):
        raise Refused(f"{source.name} may be {' or '.join(may_be)}, or a table of edges: --format says which ({may_be[0]}, table)")
    if not may_be and len(lengths) > 2 and not any(mark in "".join(lines) for mark in "\t,;|"):
        raise Refused(f"{source.name}: its rows differ in length: --format adjacency, if each has a node and its neighbours; if it has "
                      f"two nodes and more, cut -d' ' -f1,2 {source.name} gives the edges")
    return may_be[0] if may_be else "table"


class _Graph:
    def __init__(self, source: Source, told: argparse.Namespace) -> None:
        self.source, self.kind = source, _kind(source, told)
        self.nodes, self.names, self.count = {}, {}, 0  # type: Nodes, Dict[str, str], int
        self.matrix = Matrix(source) if self.kind == "matrix" else None
        self.table = Table(source, told, ("source", "target")) if self.kind == "table" else None
        if self.matrix and self.matrix.rows != self.matrix.columns:
            raise Refused(f"{source.name}: has {self.matrix.rows} rows and {self.matrix.columns} columns, a graph's has as many; if rows "
                          "and columns are two kinds of nodes, write the edges as a table")
        if self.matrix:
            self.matrix.look(both=False)
            self.nodes = {str(i): None for i in range(1, self.matrix.rows + 1)}
        if self.table:
            self.at = self.table.choose()
            if not self.table.names and self.table.separator == " ":
                refuse_headless(source, list(itertools.islice(self.table.rows(), 1000)))

    def _read(self) -> Edges:
        if self.matrix:
            return ((str(i + 1), str(j + 1)) for i, j, value in self.matrix.entries(both=False) if float(value) != 0)
        return self._rows(self.table) if self.table else READERS[self.kind](self.source, self.nodes)

    def _rows(self, table: Table) -> Edges:
        for row in table.rows():
            ends = table.name(row, self.at[0]), table.name(row, self.at[1])
            self.nodes.update(dict.fromkeys(ends))
            yield ends

    def look(self, told: argparse.Namespace, known: Sequence[str]) -> None:
        """Counts, and chooses what nodes are called: what the other files say, else labels, if all have one and they differ."""
        linked: Set[str] = set()
        for ends in self._read():
            self.count += 1
            if self.kind != "table":
                linked.update(ends)
        labels = [label for label in self.nodes.values() if label]
        usable = 0 < len(set(labels)) == len(self.nodes) and not any(re.search(r"[\t\r\n]", label) for label in labels)
        of_ids, of_labels = (sum(name in group for name in known) for group in (self.nodes, set(labels)))
        differ = usable and any(node != label for node, label in self.nodes.items())
        if (differ and known and of_ids == of_labels and not told.names) or (told.names == "label" and not usable):
            raise Refused(f"{self.source.name}: nodes have ids and {'labels' if usable else 'no labels, or some twice'}, and the other "
                          "files may have either: --names id or label")
        chosen = told.names or ("label" if usable and of_ids <= of_labels else "id")
        self.names = {node: (label or node) if chosen == "label" else node for node, label in self.nodes.items()}
        self.lone = [self.names[node] for node in self.nodes if self.kind != "table" and node not in linked]
        say(f"{self.source.name}: {counted(self.count, 'edge')} of {counted(len(self.nodes), 'node')}, "
            + (self.matrix.about() + "; nodes are numbers from 1, 0 is no edge" if self.matrix else
               self.table.about(self.at) if self.table else self.kind + self.source.left())
            + (f"; nodes are called by their {chosen}s" if labels else ""))

    def edges(self) -> Edges:
        return ((self.names[first], self.names[second]) for first, second in self._read())

    def lines(self, path: str, count: int, first: Optional[int]) -> List[str]:
        """The nodes that a file is about whose lines are nodes: those of the graph's file, or numbers."""
        if not self.table:
            if count != len(self.nodes):
                raise Refused(f"{path} has {count} lines, and {self.source.name} {len(self.nodes)} nodes")
            return list(self.names.values())
        if not all(node.isdigit() and str(int(node)) == node for node in self.nodes):
            raise Refused(f"{path}: its lines are about nodes in their order, and the graph's nodes are no numbers: give a table")
        most, least = max(map(int, self.nodes)), min(map(int, self.nodes))
        first = first if first is not None else 0 if least == 0 else 1 if most == count else None
        if first is None or least < first or most >= count + first:
            raise Refused(f"{path}: its {count} lines are about nodes in their order, and the graph's are {least} to {most}: --first "
                          "says whether the first line is about node 0 or 1")
        return [str(first + i) for i in range(count)]


class _Marks:
    """A word of each node: a table, a word a line (blank: none), or the labels of LIBSVM."""

    def __init__(self, path: str, told: argparse.Namespace, kind: str) -> None:
        self.source, self.kind, self.order = Source(path), kind, []  # type: Source, str, List[str]
        self.table: Optional[Table] = None
        self.is_sparse = is_sparse(self.source)
        if not self.is_sparse and any(re.search(r"[\t ,;|]|::", line.strip()) for _, line in self.source.words("#%")):
            option = f"--{kind}-columns"
            plain = argparse.Namespace(**{**vars(told), "columns": getattr(told, f"{kind}_columns")})
            self.table = Table(self.source, plain, ("node", kind), option=option)
            self.at = self.table.choose()

    def _all(self) -> Edges:
        if self.table:
            return ((self.table.name(row, self.at[0]), row[self.at[1]].strip()) for row in self.table.rows())
        return zip(self.order or itertools.repeat(""), (label for _, label, _ in SparseLines(self.source).lines()) if self.is_sparse
                   else (line.strip() for _, line in self.source.lines()))

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
        bounds = [(min(map(int, names)), max(map(int, names))) if names and all(name.isdigit() for name in names) else None
                  for names in (nodes, [name for name, _ in self._all()] if self.table else [])]
        if bounds[0] and bounds[1] and bounds[0] in [(bounds[1][0] + by, bounds[1][1] + by) for by in (1, -1)]:
            raise Refused(f"{self.source.name}: its nodes are {bounds[1][0]} to {bounds[1][1]}, and those of {graph.source.name} "
                          f"{bounds[0][0]} to {bounds[0][1]}: number both alike")
        odd = [word for word in words if is_missing(word) or (self.kind == "purpose" and word not in ("train", "val", "test"))]
        if len(found) < self.count or not found or len(new) == len(found) or odd:
            raise Refused(f"{self.source.name}: " + (f"\"{odd[0]}\" is no {self.kind}: leave it empty, if a node has none" if odd else
                          "a node stands in two rows" if len(found) < self.count else "names no node of the graph"
                          + (f": it has {new[0]}, and {graph.source.name} has {next(iter(nodes), 'none')}" if new else "")))
        say(f"{self.source.name}: {counted(self.count, 'node')} with a {self.kind}, of {len(words)}: {', '.join(words)[:60]}; "
            f"{rows - self.count} with none; {len(new)} are not among the edges; "
            + (self.table.about(self.at) if self.table else f"a line a node, from {self.order[0]}"))


def gnn(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """edges.txt: `node TAB node`; labels.txt: `node TAB class`; purposes.txt; features.txt: `node TAB index:value ...`."""
    if len(inputs) > 1:
        raise Refused("gnn takes one file of edges; --labels, --purposes and --features name the others")
    graph = _Graph(Source(inputs[0]), told)
    marks = {name: _Marks(path, told, kind) for name, kind, path in (
        ("labels.txt", "class", told.labels), ("purposes.txt", "purpose", told.purposes)) if path}
    graph.look(told, [name for mark in marks.values() if mark.table for name, _ in mark.given()])
    for mark in marks.values():
        mark.look(graph, told)
    features, order = SparseLines(Source(told.features)) if told.features else None, []  # type: Optional[SparseLines], List[str]
    if features:
        order = graph.lines(told.features, sum(1 for _ in features.lines()), told.first)
        say(f"{told.features}: {counted(len(order), 'line')} of features, of the nodes {order[0]} to {order[-1]}, {features.about()}; what "
            "is before the features left out")
    named = {name for mark in marks.values() for name, _ in mark.given()} | set(order)
    lone = [node for node in graph.lone if node not in named]
    if lone:
        say(f"{counted(len(lone), 'node')} ({lone[0]}{', ...' if lone[1:] else ''}) without an edge, of which no other file says anything, "
            "left out")
    for name in ("labels.txt", "purposes.txt", "features.txt"):
        if os.path.exists(within(output, name)[0]) and not (name in marks or (features and name == "features.txt")):
            raise Refused(f"{output} has {name} of another graph: name another folder, or remove it")
    with ExitStack() as stack:
        write = {name: stack.enter_context(writing(within(output, name)[0])) for name in (
            "edges.txt", *marks, *(["features.txt"] if features else []))}
        for first, second in graph.edges():
            write["edges.txt"].line(f"{first}\t{second}")
        write["edges.txt"].expect(graph.count, "edges")
        for name, mark in marks.items():
            for node, word in mark.given():
                write[name].line(f"{node}\t{word}")
            write[name].expect(mark.count, "nodes")
        if features:
            for node, (_, _, pairs) in zip(order, features.lines()):
                write["features.txt"].line(f"{node}\t{pairs}")
            write["features.txt"].expect(len(order), "lines of features")
