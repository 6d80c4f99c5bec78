# SPDX-License-Identifier: Apache-2.0
"""The page of a run, or of several side by side, from what nodes and programs wrote: `locus report PREFIX...`

docs/guides/observe.md says how such files come about, docs/reference/run-files.md what is in them. Nothing here needs
the library. Pages are HTML that is XML as well, without scripts; they and their pictures need no other file.
"""
import argparse
import glob
import json
import math
import os
import re
import sys
import statistics
import time
import unicodedata
from html import escape
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ._command import Problem, keep_others, parser
from ._command import run as run_command

try:
    import numpy as np
except ImportError:  # --help does without
    np = None  # type: ignore[assignment]

Array = Any  # of numpy
NAN = math.nan
COUNTS = ("local", "replica", "remote", "relocated", "copied", "late", "waits_s", "signaled", "waits", "sent", "held", "aged", "shards_s",
          "cpu_s", "replicas", "owned", "resident", "clock")
# What our programs' nodes say of the time when they train: evaluations read rows that nobody intends.
TRAINED, TRAINED_REMOTE = "Accesses in training", "Remote accesses in training"
POINTS_MAX, NODES_SHOWN, LINES_MAX, DOTS_MAX = 240, 64, 8, 60


# ---- what was written ----

class Node:
    """What a node counted: `count[name]` at the times `t`, in seconds since 1970."""

    def __init__(self, head: Dict[str, Any]) -> None:
        self.head, self.t, self.count, self.has_ended = head, np.zeros(0), dict.fromkeys(COUNTS, np.zeros(0)), False

    def take(self, samples: List[Dict[str, Any]]) -> None:
        t = np.array([_time(s) for s in samples])
        # Time may be set back, and a curve goes on all the same.
        kept = np.flatnonzero(t > np.maximum.accumulate(np.append(-np.inf, t))[:-1])
        self.t, self.has_ended = t[kept], any(s.get("end") for s in samples)
        self.count = {name: np.array([_number(samples[i].get(name)) for i in kept]) for name in COUNTS}

    def total(self, name: str) -> float:
        return float(self.count[name][-1]) if len(self.t) else 0.0

    def accesses(self) -> float:
        return self.total("local") + self.total("replica") + self.total("remote")

    def workers_s(self) -> float:
        """Seconds that its workers had, together."""
        return float(max(1, self.head.get("workers", 1)) * (self.t[-1] - self.t[0])) if len(self.t) else 0.0


class Run:
    """A run: its nodes by rank; curves by name, of each node (None: the program) its times and values."""

    def __init__(self, prefix: str) -> None:
        self.prefix, self.program, self.size = prefix, "", 0
        self.nodes: Dict[int, Node] = {}
        self.settings: Dict[str, str] = {}
        self.curves: Dict[str, Dict[Optional[int], Tuple[List[float], List[float]]]] = {}
        self.changes: List[Tuple[float, str]] = []  # of the members: when, and what
        self.began, self.ended = math.inf, -math.inf

    def last(self, name: str) -> float:
        """Of a curve, summed over those that have one."""
        return sum(y[-1] for _, y in self.curves.get(name, {}).values())

    def accessed(self, rank: int) -> Tuple[float, float]:
        """Keys, and those of them at other nodes: in training, where the program says when that is."""
        n = self.nodes[rank]
        keys, remote = (self.curves.get(name, {}).get(rank, ((), (of,)))[1][-1]
                        for name, of in ((TRAINED, n.accesses()), (TRAINED_REMOTE, n.total("remote"))))
        return keys, remote

    def seconds(self) -> float:
        return self.ended - self.began

    def add_point(self, rank: Optional[int], line: Dict[str, Any]) -> None:
        t, y = self.curves.setdefault(str(line["curve"]), {}).setdefault(rank, ([], []))
        if math.isfinite(_time(line) + _number(line.get("y"), NAN)):
            t.append(_time(line))
            y.append(float(line["y"]))

    def take_changes(self, samples: List[Dict[str, Any]]) -> None:
        """As rank 0 says, which knows of all."""
        before: Dict[str, Any] = {}
        for line in samples:
            for kind, words in (("lost", "lost"), ("left", "left"), ("joined", "joined again")):
                count = int(_number(line.get(kind)) - _number(before.get(kind)))
                if count > 0:
                    who = f"node {line.get('last')}" if count == 1 else f"{count} nodes, node {line.get('last')} the last,"
                    self.changes.append((1e-6 * _number(line.get("last_t"), _number(line.get("t"))), f"{who} {words}"))
            before = line

    def stretch(self, t: float) -> None:
        if math.isfinite(t):
            self.began, self.ended = min(self.began, t), max(self.ended, t)


def _number(value: Any, otherwise: float = 0.0) -> float:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else otherwise


def _time(line: Dict[str, Any]) -> float:
    """Seconds since 1970; NAN: it has none."""
    us = _number(line.get("t"), NAN)
    return 1e-6 * us if 0 <= us <= 2.0 ** 53 else NAN


def _lines(path: str) -> Iterator[Dict[str, Any]]:
    """Its objects. A line that is none is passed over: the node was killed while it wrote."""
    if not os.path.isfile(path):
        raise Problem(f"{path} cannot be read: it is not a regular file")
    with open(path, "rb") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def _read_program(run: Run) -> Optional[int]:
    """How many nodes it had, if it says so."""
    path, size = f"{run.prefix}.run.jsonl", None
    for line in _lines(path) if os.path.lexists(path) else ():
        run.stretch(_time(line))
        if "program" in line:
            run.program, size = str(line["program"]), line.get("nodes")
        elif "setting" in line:
            run.settings[str(line["setting"])] = str(line.get("value", ""))
        elif "curve" in line:
            run.add_point(None, line)
    return size


def _read_node(run: Run, rank: int) -> None:
    path = f"{run.prefix}.{rank}.report.jsonl"
    lines = _lines(path)
    head: Dict[str, Any] = next(lines, {})
    if head.get("node") != rank or not isinstance(head.get("nodes"), int) or "shards" not in head \
            or not math.isfinite(_time(head)):
        raise Problem(f"{path} is not what LOCUS_REPORT makes a node write")
    if run.size and head["nodes"] != run.size:
        raise Problem(f"{path} is of a cluster of {head['nodes']} nodes, others of {run.size}: give each run a prefix")
    run.size, run.nodes[rank], samples = head["nodes"], Node(head), []
    for line in lines:
        if "curve" in line:
            run.add_point(rank, line)
        elif math.isfinite(_time(line)):
            samples.append(line)
            run.stretch(_time(line))
    run.nodes[rank].take(samples)
    if rank == 0:
        run.take_changes(samples)


def _ranks(prefix: str) -> List[int]:
    """Of whom there are files."""
    parts = [re.fullmatch(r"\.(\d+)\.report\.jsonl", path[len(prefix):]) for path in glob.glob(glob.escape(prefix) + ".*")]
    return sorted(int(part[1]) for part in parts if part)


def read(prefix: str) -> Run:
    run = Run(prefix)
    size = _read_program(run)
    run.size = size or 0
    for rank in _ranks(prefix):  # an earlier run under the same prefix may have had more
        if size is None and (not run.size or rank < run.size or 0 not in run.nodes) or size is not None and rank < size:
            _read_node(run, rank)
    run.curves = {name: {rank: points for rank, points in of.items() if points[0]} for name, of in run.curves.items()}
    run.curves = {name: of for name, of in run.curves.items() if of}
    if run.ended < run.began:
        raise Problem(f"there is no {prefix}.RANK.report.jsonl: nodes write them when they run with LOCUS_REPORT={prefix}")
    return run


# ---- texts ----

def _text(value: Any) -> str:
    """As it stands in an element; what XML cannot have becomes U+FFFD."""
    return escape(re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(value)))


def _width(text: str) -> float:
    """In letters: about, and rather too wide."""
    return sum(2.0 if unicodedata.east_asian_width(c) in "WF" else 1.0 for c in text)


def _short(text: str, letters: int) -> str:
    """Its begin and its end, where it is too long."""
    shown, kept = text, len(text)
    while _width(shown) > letters and kept > 1:
        kept -= 1
        shown = f"{text[:kept // 3]}\u2026{text[kept // 3 - kept:]}"
    return shown


def _show(value: float, digits: int = 4) -> str:
    return _alike([value], digits)[0]


def _alike(values: Sequence[float], digits: int = 4) -> List[str]:
    """Of a column: in one unit, and all with the decimals that one of them needs."""
    most = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    by, unit = next(((by, unit) for least, by, unit in ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
                     if most >= least), (1.0, ""))
    shown = [f"{v / by:.{digits}g}" for v in values]
    decimals = max((len(text.partition(".")[2]) for text in shown if "e" not in text), default=0)
    form = f".{digits}g" if "e-" in "".join(shown) else f".{decimals}f"
    return [f"{v / by:{form}}{unit}" if math.isfinite(v) else "\u2013" for v in values]


# ---- charts ----

class Series(NamedTuple):
    label: str
    x: Array
    y: Array  # NAN: a gap


# By class, in light and in dark.
CLASSES = ("paper", "ink", "dim", "grid", *(f"c{i}" for i in range(LINES_MAX)))
LIGHT = ("#ffffff", "#1c1c1c", "#5a5a5a", "#e4e4e4", "#1b69b0", "#c96a0a", "#2f8a4e", "#9a3fa0", "#c0392b", "#6b6b6b",
         "#0e8a93", "#8a6d00")
DARK = ("#16181b", "#ececec", "#a8a8a8", "#3a3d42", "#6cb2f5", "#f0a24e", "#74cf93", "#d38be0", "#f08a7e", "#b5b5b5",
        "#5fd0d8", "#d8bd4a")


def _style() -> str:
    def sheet(colours: Sequence[str]) -> str:
        return f"body {{ background: {colours[0]}; }} " + " ".join(
            f".{name} {{ color: {colour}; }}" for name, colour in zip(CLASSES, colours))
    return f"{sheet(LIGHT)}\n@media (prefers-color-scheme: dark) {{ {sheet(DARK)} }}\n"


def _put(x: float, y: float, text: str, size: int = 11, colour: str = "dim", anchor: str = "start") -> str:
    return (f'<text class="{colour}" fill="currentColor" x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
            f'text-anchor="{anchor}">{_text(text)}</text>\n')


def _svg(width: int, height: int) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'


def _ticks(low: float, high: float) -> List[float]:
    """About four, 1, 2 or 5 times a power of ten from each other."""
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    rest = (high - low) / 4 / power
    step = power * (1 if rest < 1.5 else 2 if rest < 3.5 else 5 if rest < 7.5 else 10)
    return [step * i for i in range(math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6) + 1)]


def _thin(x: Array, y: Array) -> Tuple[Array, Array]:
    """At most 2 POINTS_MAX: of each piece the least and the most, so that no peak is lost."""
    if len(x) <= 2 * POINTS_MAX:
        return x, y
    kept = []
    for piece in np.array_split(np.arange(len(x)), POINTS_MAX):
        values = np.where(np.isfinite(y[piece]), y[piece], np.nan)
        if not np.all(np.isnan(values)):
            kept += sorted({int(piece[np.nanargmin(values)]), int(piece[np.nanargmax(values)])})
    return x[kept], y[kept]


def _range(series: Sequence[Series], top: Optional[float], from_zero: bool) -> Tuple[float, float]:
    values = np.concatenate([s.y for s in series] or [np.zeros(0)])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, top or 1.0
    low, high = float(values.min()), top or float(values.max())
    # A loss between 6.1 and 6.3 is no straight line; from 0 on all else.
    if from_zero or low < .5 * high:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(high), abs(low)):
        low, high = (min(0.0, 2 * low), max(0.0, 2 * high)) if high else (0.0, 1.0)
    return low, high


LEFT, ABOVE, HEIGHT, NARROW, WIDE, LETTERS = 52, 46, 170, 350, 530, 21  # plots, charts, names at bars


def _unit(seconds: float) -> Tuple[float, str]:
    return next((each for each in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))
                 if seconds >= 3 * each[0]), (1.0, "seconds"))


def chart(title: str, series: Sequence[Series], seconds: float, top: Optional[float] = None,
          from_zero: bool = True, size: int = NARROW, marks: Sequence[Tuple[float, str]] = ()) -> str:
    """Lines over the time of a run; their names below the title, where there are several. Marks stand at times."""
    names, each, width = len(series) > 1, (size - 24) // 3, size - LEFT - 16
    bottom = ABOVE + HEIGHT + (15 * ((len(series) - 1) // 3) if names else 0)
    series = [Series(s.label, *_thin(np.asarray(s.x, float), np.asarray(s.y, float))) for s in series]
    low, high = _range(series, top, from_zero)
    unit, unit_name = _unit(seconds)
    span = seconds if seconds > 0 else 1.0

    def at(t: float, y: float) -> Tuple[float, float]:
        return LEFT + t / span * width, bottom - (y - low) / (high - low) * HEIGHT

    out = [_svg(size, bottom + 46), _put(12, 18, _short(title, size // 7), 13, "ink")]
    for tick in _ticks(low, high):
        y = at(0, tick)[1]
        out += [f'<line class="{"dim" if tick == 0 else "grid"}" stroke="currentColor" x1="{LEFT}" y1="{y:.1f}" '
                f'x2="{LEFT + width}" y2="{y:.1f}"/>\n', _put(LEFT - 6, y + 4, _show(tick, 6), anchor="end")]
    for tick in _ticks(0, span / unit):
        out.append(_put(at(tick * unit, low)[0], bottom + 16, _show(tick, 6), anchor="middle"))
    out.append(_put(LEFT + width / 2, bottom + 33, unit_name, anchor="middle"))
    for t, text in marks:
        x = at(min(max(t, 0.0), span), low)[0]
        out.append(f'<g class="ink">\n<title>{_text(text)}</title>\n<line stroke="currentColor" stroke-dasharray="3 3" x1="{x:.1f}" '
                   f'y1="{bottom - HEIGHT}" x2="{x:.1f}" y2="{bottom}"/>\n</g>\n')
    for i, s in enumerate(series):
        out.append(_line(s, i % LINES_MAX, at))
        if names:
            x, y = 12 + i % 3 * each, 36 + 15 * (i // 3)
            out += [f'<rect class="c{i % LINES_MAX}" fill="currentColor" x="{x}" y="{y - 8}" width="9" height="9"/>\n',
                    _put(x + 13, y, _short(s.label, (each - 16) // 6), 11, "ink")]
    return "".join(out) + "</svg>\n"


def _line(s: Series, colour: int, at: Callable[[float, float], Tuple[float, float]]) -> str:
    shown = [at(x, y) for x, y in zip(s.x, s.y) if math.isfinite(y)]
    pieces = [[at(x, y) for x, y in zip(s.x[some], s.y[some])]
              for some in np.split(np.arange(len(s.y)), np.flatnonzero(np.diff(np.isfinite(s.y))) + 1)
              if len(some) and np.isfinite(s.y[some[0]])]
    out = [f'<g class="c{colour}">\n<title>{_text(s.label)}</title>\n']
    out += ['<polyline fill="none" stroke="currentColor" stroke-width="1.8" points="' +
            " ".join("%.1f,%.1f" % point for point in piece) + '"/>\n' for piece in pieces]
    out += ['<circle fill="currentColor" cx="%.1f" cy="%.1f" r="2"/>\n' % point
            for point in shown if len(shown) <= DOTS_MAX]
    return "".join(out) + "</g>\n"


def bars(title: str, rows: Sequence[Tuple[str, float, str]]) -> str:
    """A bar for each name, with its value and a note after it."""
    name, width, row = 150, WIDE - 284, 24
    most = max((value for _, value, _ in rows if math.isfinite(value)), default=0.0) or 1.0
    out = [_svg(WIDE, 34 + row * len(rows)), _put(12, 18, _short(title, WIDE // 7), 13, "ink")]
    for i, (label, value, note) in enumerate(rows):
        y, long = 32 + row * i, max(0.0, value) / most * width if math.isfinite(value) else 0.0
        out += [_put(name - 8, y + 12, _short(label, LETTERS), 11, "ink", "end"),
                f'<rect class="c{i % LINES_MAX}" fill="currentColor" x="{name}" y="{y}" width="{max(1.0, long):.1f}" '
                f'height="{row - 8}"/>\n', _put(name + long + 6, y + 12, f"{_show(value)}{note}", 11, "ink")]
    return "".join(out) + "</svg>\n"


# ---- a run ----

class Pieces:
    """The run in equal pieces; what each node counted in each, and NAN where it told nothing."""

    def __init__(self, run: Run, most: int) -> None:
        self.edges = np.linspace(0, run.seconds(), min(max(most - 1, 1), POINTS_MAX) + 1)
        self.x, self.began = self.edges[1:], run.began

    def change(self, node: Node, name: str, of: str = "") -> Array:
        """Of a count; a second, or by another count's change."""
        at = np.clip(self.began + self.edges, node.t[0], node.t[-1])
        by = np.diff(np.interp(at, node.t, node.count[of]) if of else at)
        return np.where(np.diff(at) > 0, np.diff(np.interp(at, node.t, node.count[name])), NAN) / np.where(by > 0, by, NAN)

    def gauge(self, node: Node, name: str) -> Array:
        at = np.clip(self.began + self.edges, node.t[0], node.t[-1])
        return np.where(np.diff(at) > 0, np.interp(at[1:], node.t, node.count[name]), NAN)

    def share(self, node: Node, *parts: str) -> Array:
        """Per cent of the accesses."""
        rates = {name: self.change(node, name) for name in ("local", "replica", "remote")}
        whole = sum(rates.values())
        return 100 * sum(rates[name] for name in parts) / np.where(whole > 0, whole, NAN)


# Title, what is drawn of a node, and the axis' end.
PANELS: List[Tuple[str, Callable[[Pieces, Node], Array], Optional[float]]] = [
    ("Accesses without the network, %", lambda p, n: p.share(n, "local", "replica"), 100),
    ("Accesses of replicas, %", lambda p, n: p.share(n, "replica"), None),
    # A wait is counted when it is over, so that more can be over than there was time.
    ("Workers wait for other nodes, % of their time",
     lambda p, n: np.minimum(100, 100 * p.change(n, "waits_s") / max(1, n.head.get("workers", 1))), 100),
    ("Age of replicas, ms", lambda p, n: 1e-3 * p.change(n, "aged", "held"), None),
    ("Bytes sent a second", lambda p, n: p.change(n, "sent"), None),
    ("Shards' load, % of a core each", lambda p, n: 100 * p.change(n, "shards_s") / max(1, n.head["shards"]), None),
    ("Cores that the process takes", lambda p, n: p.change(n, "cpu_s"), None),
    ("Rows that came a second", lambda p, n: p.change(n, "relocated"), None),
    ("Replicas that came a second", lambda p, n: p.change(n, "copied"), None),
    ("Replicas held", lambda p, n: p.gauge(n, "replicas"), None),
    ("Rows owned", lambda p, n: p.gauge(n, "owned"), None),
    ("Late keys a second", lambda p, n: p.change(n, "late"), None),
    ("Memory, MB", lambda p, n: 1e-6 * p.gauge(n, "resident"), None),
    ("Clock of the slowest worker", lambda p, n: p.gauge(n, "clock"), None),
]


def _spread(x: Array, lines: Dict[int, Array]) -> List[Series]:
    """A line for each node; of more than that the most, the median and the least."""
    if len(lines) <= LINES_MAX - 2:
        return [Series(f"node {rank}", x, y) for rank, y in lines.items()]
    values = np.sort(np.stack(list(lines.values())), axis=0)  # NAN comes last
    count = np.sum(np.isfinite(values), axis=0)
    nth = [values[np.maximum(of, 0), np.arange(len(x))] for of in (count - 1, count // 2, 0 * count)]
    return [Series(label, x, np.where(count > 0, y, NAN)) for label, y in zip(("most", "median node", "least"), nth)]


def _curve(run: Run, name: str) -> List[Series]:
    of = list(run.curves[name].items())[:LINES_MAX]
    return [Series(name if len(of) == 1 or rank is None else f"node {rank}", np.array(t) - run.began, np.array(y))
            for rank, (t, y) in of]


def _charts(run: Run) -> List[str]:
    """Of what has two points: the table has the last of each."""
    nodes = {rank: node for rank, node in run.nodes.items() if len(node.t)}
    p, seconds = Pieces(run, max((len(node.t) for node in nodes.values()), default=0)), run.seconds()
    drawn: List[Tuple[str, List[Series], Optional[float], bool]] = [
        (name, _curve(run, name), None, name.endswith(" a second")) for name in run.curves if name not in (TRAINED, TRAINED_REMOTE)]
    if nodes:
        sums = [Series(label, p.x, np.nansum([p.change(node, part) for node in nodes.values()], axis=0))
                for label, part in (("main copy here", "local"), ("replica here", "replica"), ("other node", "remote"))]
        drawn += [("Keys accessed a second, all nodes", sums, None, True)]
        drawn += [(title, _spread(p.x, {rank: of(p, node) for rank, node in nodes.items()}), top, True) for title, of, top in PANELS]
    marks = [(t - run.began, what) for t, what in run.changes]
    return [chart(title, series, seconds, top, from_zero, marks=marks) for title, series, top, from_zero in drawn
            if any(np.count_nonzero(np.isfinite(s.y)) > 1 for s in series)]


# ---- pages ----

PAGE = """<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/><meta name="generator" content="locus report"/><meta name="viewport" content="width=device-width"/>
<meta name="color-scheme" content="light dark"/><title>%s</title>
<style>
%sbody { font: 14px/1.45 system-ui, sans-serif; margin: 24px auto; max-width: 1080px; padding: 0 12px; }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 16px; margin: 22px 0 6px; }
p { margin: 2px 0 12px; } .charts { display: flex; flex-wrap: wrap; } .wide { overflow-x: auto; }
table { border-collapse: collapse; } svg { font-family: system-ui, Helvetica, Arial, sans-serif; }
td, th { border-bottom: 1px solid #8884; padding: 3px 14px 3px 0; text-align: left; vertical-align: top;
  font-weight: normal; overflow-wrap: anywhere; }
.numbers td:not(:first-child), .numbers th:not(:first-child) { text-align: right; overflow-wrap: break-word; }
.runs td:nth-child(-n+2), .runs th:nth-child(-n+2) { text-align: left; overflow-wrap: anywhere; min-width: 16ch; }
</style>
</head>
<body class="ink">
%s</body>
</html>
"""


def _table(rows: Sequence[Sequence[str]], head: Sequence[str] = (), kind: str = "") -> str:
    lines = [f'<tr class="dim">{"".join(f"<th>{_text(cell)}</th>" for cell in head)}</tr>\n'] if head else []
    lines += [f'<tr>{"".join(f"<td>{_text(cell)}</td>" for cell in row)}</tr>\n' for row in rows]
    return f'<div class="wide"><table class="{kind}">\n{"".join(lines)}</table></div>\n'


def _nodes_table(run: Run) -> str:
    rows, keys_of = [], dict(zip(run.nodes, _alike([run.accessed(rank)[0] for rank in run.nodes])))
    for rank in range(min(run.size, NODES_SHOWN)):
        n = run.nodes.get(rank)
        if not n:
            rows.append([str(rank), "its file is not here"])
            continue
        keys, remote = run.accessed(rank)
        rows.append([str(rank), keys_of[rank], f"{100 * (1 - remote / keys) if keys else 100:.2f}",
                     f"{n.total('relocated'):.0f}", f"{n.total('copied'):.0f}", f"{1e-6 * n.total('sent'):.1f}",
                     f"{n.total('cpu_s'):.1f}", f"{n.total('shards_s'):.1f}",
                     f"{1e-6 * max(n.count['resident'], default=0):.0f}",
                     "yes" if n.has_ended else "no: it was killed, or still runs"])
    head = ("node", "keys accessed", "without the network, %", "rows that came", "replicas that came", "MB sent in all",
            "processor s", "of these shards", "memory, MB", "ended in order")
    more = f"<p>and {run.size - NODES_SHOWN} more</p>\n" if run.size > NODES_SHOWN else ""
    return f"<h2>Nodes</h2>\n{_table(rows, head, 'numbers')}{more}" if run.nodes else ""


def advice(run: Run) -> Iterator[str]:
    """What would help nodes whose workers wait for others, by what they counted."""
    ahead = "" if run.program else "signal them more steps ahead; "  # our programs do by themselves
    for rank, n in run.nodes.items():
        keys, remote = run.accessed(rank)
        waited = n.total("waits_s") / (n.workers_s() or math.inf)
        late, heeds = n.total("late"), n.head.get("technique") in ("adaptive", "relocate", "replicate")
        # Few keys cost little, unless calls wait for them often: a start has some long waits.
        if not heeds or (waited < .125 or n.total("waits") < 32) and remote < max(1024, keys / 8):
            continue
        if not n.total("signaled"):
            remedy = "no intent was signaled: call locus_intent() some steps ahead with the keys of each step"
        elif n.total("clock") == 0:
            remedy = "no clock was advanced, so intents that begin later wait: call locus_advance_clock() after each step"
        elif 2 * late < remote and 8 * remote >= keys and (waited >= .125 or 2 * remote >= keys):
            remedy = "no intent named them: signal intent for all keys of a step"  # fewer may be samples, which nobody can name
        elif 2 * late >= remote or late >= n.total("waits"):  # one late key makes a call of many wait
            remedy = f"the intents for them came too late: {ahead}has each thread a core?"
        elif waited >= .125 and late:
            remedy = "intents for some of them came too late, others no intent named: samples, an evaluation? has each thread a core?"
        else:
            continue
        yield (f"node {rank}: {100 * remote / max(keys, 1):.2g} % of {_show(keys)} keys were at other nodes, and workers waited "
               f"for them {100 * min(1, waited):.0f} % of the time; {remedy} (docs/guides/slow.md)")


def _told_changes(run: Run) -> Iterator[str]:
    """Which the charts have as dashed lines."""
    for t, what in run.changes:
        unit, name = _unit(t - run.began)
        yield f"after {_show((t - run.began) / unit)} {name}: {what}; the others went on"


def _settings_rows(run: Run) -> List[Tuple[str, str]]:
    names = {"workers": "workers of each", "shards": "shards of each", "technique": "technique",
             "tables": "tables (rows x floats)", "command": "command"}
    head: Dict[str, Any] = next((node.head for node in run.nodes.values()), {})
    return [("nodes", str(run.size))] * bool(head) + [(text, str(head[name])) for name, text in names.items()
                                                      if name in head] + list(run.settings.items())


def _when(run: Run) -> str:
    unit, name = _unit(run.seconds())
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(run.began))}, {run.seconds() / unit:.4g} {name}"


def page(run: Run) -> str:
    title = "locus " + re.sub(r"^locus-", "", run.program) if run.program else "locus"
    sums = [pair for pair in _columns([_summary("", run)]) if pair[0] not in ("run", RATIO)]
    body = [f"<h1>{_text(title)}</h1>\n<p class=\"dim\">{_text(_when(run))}</p>\n", _table(sums),
            *(f"<p>{_text(line)}</p>\n" for line in [*_told_changes(run), *advice(run)]), '<div class="charts">\n',
            *_charts(run), "</div>\n", _nodes_table(run), f"<h2>Settings</h2>\n{_table(_settings_rows(run))}"]
    return PAGE % (_text(title), _style(), "".join(body))


# ---- several runs ----

RATIO, DIFFERS = "ratio to the first", "what differs"
FILES = ("--report", "--out", "--checkpoint", "--json")  # differ between runs, and change nothing


class Summary(NamedTuple):
    name: str
    run: Run
    speed: float
    speed_name: str
    cpu_s: float
    shards_s: float  # of that
    waited: float  # per cent of the workers' time
    remote: float  # per cent, in training; of a program that does not say when it trains, of all
    remote_name: str
    losses: Dict[str, float]  # and whatever else has a curve: the last of each, their mean over nodes


def _summary(name: str, run: Run) -> Summary:
    nodes = run.nodes.values()
    rate = next((each for each in run.curves if each.endswith(" a second")), "")
    accesses = sum(node.accesses() for node in nodes)
    if rate:  # of the epochs
        speed = statistics.median(y for _, values in run.curves[rate].values() for y in values)
    else:
        speed = accesses / run.seconds() if accesses and run.seconds() > 0 else NAN
    trained, remote, remote_name = run.last(TRAINED), run.last(TRAINED_REMOTE), "remote in training, %"
    if not trained:
        trained, remote, remote_name = accesses, sum(node.total("remote") for node in nodes), "remote accesses, %"
    waited = 100 * sum(n.total("waits_s") for n in nodes) / (sum(n.workers_s() for n in nodes) or NAN)
    losses = {each: run.last(each) / len(of) for each, of in run.curves.items()
              if each not in (TRAINED, TRAINED_REMOTE) and not each.endswith(" a second")}
    return Summary(name, run, speed, rate or "Keys accessed a second", sum(n.total("cpu_s") for n in nodes) or NAN,
                   sum(n.total("shards_s") for n in nodes), waited, 100 * remote / trained if trained else NAN, remote_name, losses)


def _names(prefixes: Sequence[str]) -> List[str]:
    """Which differ in pictures, too."""
    plain = [re.sub(r"(\.x?html?)?(\.parts)?$", "", prefix) for prefix in prefixes]
    bases = [os.path.basename(each) for each in plain]
    names = bases if len(set(bases)) == len(bases) else plain
    differ = len({_short(name, LETTERS) for name in names}) == len(names)
    return names if differ else [f"{i}: {name}" for i, name in enumerate(names, 1)]


def _differing(runs: Sequence[Run]) -> List[str]:
    names = dict.fromkeys(name for run in runs for name in run.settings if name not in FILES)
    return [name for name in names if len({run.settings.get(name) for run in runs}) > 1]


def _each(all_: Sequence[Summary]) -> List[str]:
    return list(dict.fromkeys(name for s in all_ for name in s.losses))


def _columns(all_: Sequence[Summary]) -> List[Tuple[str, ...]]:
    """Each with its head."""
    first, differing = all_[0], _differing([s.run for s in all_])
    speed, remote = (" / ".join(dict.fromkeys(names)) for names in
                     ((s.speed_name for s in all_), (s.remote_name for s in all_)))
    workers = [{str(node.head.get("workers")) for node in s.run.nodes.values()} or {s.run.settings.get("--workers", "")} for s in all_]
    return [
        ("run", *(s.name for s in all_)),
        *[(DIFFERS, *(", ".join(f"{name} {s.run.settings.get(name, 'unknown')}" for name in differing) for s in all_))] * bool(differing),
        ("nodes", *(str(s.run.size or "none") for s in all_)),
        ("workers of each", *(" / ".join(sorted(each)) for each in workers)),
        (speed, *_alike([s.speed for s in all_])),
        (RATIO, *_alike([s.speed / first.speed if s.speed_name == first.speed_name and first.speed else NAN for s in all_], 3)),
        ("seconds", *_alike([s.run.seconds() for s in all_])),
        ("workers waited, %", *_alike([s.waited for s in all_], 3)),
        ("processor s", *_alike([s.cpu_s for s in all_])),
        ("of these shards", *_alike([s.shards_s for s in all_], 3)),
        *((f"{name}, last", *_alike([s.losses.get(name, NAN) for s in all_])) for name in _each(all_)),
        (remote, *_alike([s.remote for s in all_], 3)),
        ("MB sent in all", *(f"{1e-6 * sum(node.total('sent') for node in s.run.nodes.values()):.1f}" for s in all_))]


def _pictures(all_: Sequence[Summary]) -> List[str]:
    first, lines = all_[0], []
    out = [bars(first.speed_name, [(s.name, s.speed, f"  ({_show(s.speed / first.speed, 3)}x)" if first.speed else "")
                                   for s in all_ if s.speed_name == first.speed_name]),
           bars("Processor time, seconds of all nodes", [(s.name, s.cpu_s, f"  (shards {_show(s.shards_s, 3)})") for s in all_]),
           bars(first.remote_name.capitalize(), [(s.name, s.remote, "") for s in all_ if s.remote_name == first.remote_name])]
    for name in _each(all_):
        have = [s for s in all_ if name in s.losses]
        if all(len(y) == 1 for s in have for _, y in s.run.curves[name].values()):
            out.append(bars(name, [(s.name, s.losses[name], "") for s in have]))
        else:  # of several nodes the first
            series = [_curve(s.run, name)[0]._replace(label=s.name) for s in have]
            lines.append(chart(name, series, max(s.run.seconds() for s in all_), from_zero=False, size=WIDE))
    return out + lines


def comparison(all_: Sequence[Summary]) -> str:
    first, differing = all_[0].run, _differing([s.run for s in all_])
    same = [(name, value) for name, value in first.settings.items() if name not in differing and name not in FILES]
    head, *rows = zip(*_columns(all_))
    title = f"{len(all_)} runs of " + ", ".join(dict.fromkeys(s.run.program or "a program" for s in all_))
    body = (f"<h1>{_text(title)}</h1>\n<p class=\"dim\">the first: {_text(_when(first))}</p>\n"
            f"{_table(rows, head, 'runs numbers' if differing else 'numbers')}<div class=\"charts\">\n{''.join(_pictures(all_))}</div>\n"
            f"<h2>The same in all</h2>\n{_table(same)}")
    return PAGE % (_text(title), _style(), body)


def table(all_: Sequence[Summary]) -> str:
    """For people: as Markdown has it, a blank instead of what would end a cell."""
    columns = []
    for column in _columns(all_):
        cells = [re.sub(r"[|\s]+", " ", cell) for cell in column]
        wide = max(map(len, cells))
        cells.insert(1, "-" * wide)
        columns.append([cell.ljust(wide) if column[0] in ("run", DIFFERS) else cell.rjust(wide) for cell in cells])
    return "".join(f"| {' | '.join(row)} |\n" for row in zip(*columns))


# ---- the command ----

ABOUT = """Makes a page of a run: curves of loss, throughput, where accesses were served, age of replicas, bytes and load
over time, by node, and the settings. Of several runs: the table and the pictures of their speed, its ratio to the
first, processor time, loss, and what was remote in training."""
MORE = """A PREFIX is what LOCUS_REPORT was, or the page that a program's --report named, with or without
.html. While a run goes on, or after it failed, the page shows it so far.

for example:
  LOCUS_REPORT=/var/tmp/run locus run -n 4 -- trainer; locus report /var/tmp/run --out page.html
  locus report one.html two.html four.html --out talk.html
"""


def _prefix(word: str) -> str:
    """Of one of a run's files, or of the page that --report named, too."""
    word = re.sub(r"\.(\d+\.report|run)\.jsonl$", "", word)
    return next((each for each in (word, word + ".parts", word + ".html.parts")
                 if _ranks(each) or os.path.lexists(each + ".run.jsonl")), word)


def _page_name(word: str) -> str:
    if re.search(r"\.(png|svg|pdf|csv|json)$", word, re.I):
        raise argparse.ArgumentTypeError(f"{word}: a page is HTML: name it .html")
    return word


def report(told: argparse.Namespace) -> None:
    if np is None:
        raise ImportError(name="numpy")
    keep_others(told.out, rb'<!DOCTYPE html>.{,400}content="locus report"', "locus report")
    prefixes = list(dict.fromkeys(map(_prefix, told.prefix)))
    runs = [read(prefix) for prefix in prefixes]
    all_ = [_summary(name, run) for name, run in zip(_names(prefixes), runs)]
    Path(told.out).write_text(comparison(all_) if len(all_) > 1 else page(runs[0]), "utf-8", "replace")
    print(table(all_) if len(all_) > 1 else "".join(f"{line}\n" for line in advice(runs[0])), end="")


def main(words: Optional[List[str]] = None) -> int:
    of = parser("report", ABOUT, MORE)
    of.add_argument("prefix", metavar="PREFIX", nargs="+", help="a run's files are PREFIX.RANK.report.jsonl")
    of.add_argument("--out", metavar="FILE", required=True, type=_page_name, help="write the page there, HTML; of several runs the table is printed")
    return run_command("report", report, of.parse_args(words))


if __name__ == "__main__":
    sys.exit(main())
