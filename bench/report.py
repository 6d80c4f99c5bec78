#!/usr/bin/env python3
"""Tables and targets of what benchmarks have measured.

    bench/report.py [FILE...]

FILE: lines of JSON, as a benchmark prints them; without any, stdin. Figures are medians of the repetitions; a ratio is taken
within a repetition, so that a noisy moment meets both sides.
"""
import fileinput
import json
import math
import statistics

NAN = math.nan


class Cells(dict):
    """A benchmark's cells by name; `head` says on what they were measured."""

    def __init__(self):
        super().__init__()
        self.head = {}

    def values(self, cell, name):
        """Of each repetition; [] when it was not measured."""
        found = self.get(cell, {}).get(name, [])
        found = found if isinstance(found, list) else [found]
        return [NAN if v is None else v for v in found]

    def median(self, cell, name):
        values = self.values(cell, name)
        return statistics.median(values) if values else NAN

    def ratio(self, cell, name, floors, floor_name, best=min, together=statistics.median):
        """Times the best floor of the same repetition; of all of these the median."""
        floors = [self.values(f, floor_name) for f in floors if f in self]
        values = self.values(cell, name)
        ratios = [v / best(f) for v, *f in zip(values, *floors)] if values and floors else []
        return together(ratios) if ratios else NAN


def show(value, digits=2, unit=""):
    return "-" if math.isnan(value) else f"{value:.{digits}f}{unit}"


def print_table(heads, rows):
    if not rows:
        return
    rows = [heads, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    for row in rows:
        print("  ".join(text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths))).rstrip())
    print()


def table(cells, title, columns, wanted=lambda c: True):
    """columns: (head, what it shows of a cell)"""
    print_table([title, *(head for head, _ in columns)],
                [[name, *(of(name) for _, of in columns)] for name, cell in cells.items() if wanted(cell)])


def column(cells, head, name, digits=2, scale=1, unit=""):
    return head, lambda cell: show(cells.median(cell, name) * scale, digits, unit)


def targets(cells, rows):
    """rows: what, aim, measured, its text, whether the aim is met. Short runs are not judged."""
    shown = []
    for what, aim, value, text, is_met in rows:
        if not math.isnan(value):
            shown.append([what, aim, text, "quick" if cells.head.get("quick") else "met" if is_met else "not met"])
    print_table(["targets", "", "measured", ""], shown)


def at_most(what, most, value, unit="x", digits=2):
    """Judged as printed."""
    return what, f"at most {most:g}{unit}", value, show(value, digits, unit), round(value, digits) <= most \
        if not math.isnan(value) else False


def at_least(what, least, value, unit="", digits=2):
    return what, f"at least {least:.3g}{unit}", value, show(value, digits, unit), value >= least


# ---- local_access ----

FLOATS = (16, 128, 1000)
LOCAL = (("pull", 1, (3.5, 1.8, 1.3)), ("pull", 64, (1.4, 1, 1)), ("push", 1, (5, 2.5, 1.3)), ("push", 64, (2, 1, 1)),
         ("view", 1, (1.1, 1.1, 1.1)), ("view", 64, (1.1, 1.1, 1.1)), ("view-fetched", 64, (1.1, 1.1, 1.1)))


def local_ratio(c, name):
    return c.ratio(name, "ns_per_key", [c.get(name, {}).get("floor")], "ns_per_key")


def local_targets(c):
    many = max((cell.get("threads", 1) for cell in dict.values(c)), default=1)
    for keys, threads in (("uniform", 1), ("zipf-1.1", many)):
        for step, per_call, aims in LOCAL:
            for floats, aim in zip(FLOATS, aims):
                name = f"{step} length={floats} keys={per_call} {keys} threads={threads}"
                yield at_most(name, aim, local_ratio(c, name))
        for floats in FLOATS:
            for per_call in (1, 64):
                name = f"intent length={floats} keys={per_call} {keys} threads={threads}"
                yield at_most(name, 30, c.median(name, "ns_per_key"), " ns")
    for floats in FLOATS:
        name = f"latency length={floats} keys=1 one-row writer"
        yield at_most(f"p99.9, {name}", 10, c.median(name, "p999_ns") / 1e3, " us")
        yield at_most(f"memory beside a key's values, {floats} floats", 24,
                      c.median(f"memory length={floats}", "bytes_beside_values_per_key"), " B")


def report_local_access(c):
    table(c, "", [column(c, "ns a key", "ns_per_key", 1),
                  ("min", lambda n: show(min(c.values(n, "ns_per_key")), 1)),
                  ("max", lambda n: show(max(c.values(n, "ns_per_key")), 1)),
                  ("M keys/s", lambda n: show(1e3 / c.median(n, "ns_per_key") * c[n]["threads"])),
                  ("x floor", lambda n: show(local_ratio(c, n), 2, "x"))], lambda cell: "ns_per_key" in cell)
    table(c, "one key a call, ns", [column(c, "p50", "p50_ns", 0), column(c, "p99", "p99_ns", 0),
                                    column(c, "p99.9", "p999_ns", 0), column(c, "longest us", "longest_ns", 0, 1e-3),
                                    column(c, "pushes a pull", "pushes_per_pull")], lambda cell: "p50_ns" in cell)
    targets(c, local_targets(c))


# ---- two_nodes ----

SPINNING = ("pingpong spinning", "pingpong spinning pinned")
PINNED = ("stream write=64KiB pinned", "stream write=1MiB pinned")
STREAMS = (*PINNED, "stream write=64KiB", "stream write=1MiB")


def beside(c, name, floors):
    """The floors of the same setting."""
    cell = c[name]
    rest = f" length={cell.get('length')}" + (f" keys={cell['keys_per_call']}" if "keys_per_call" in cell else "")
    return [floor + rest for floor in floors]


def of_pingpong(c, name):
    return c.ratio(name, "p50_ns", beside(c, name, SPINNING), "p50_ns") if name in c else NAN


def of_stream(c, name, floors=STREAMS):
    if name not in c:
        return NAN
    rows = c.ratio(name, "rows_per_second", beside(c, name, floors), "bytes_per_second", max)
    return rows * c[name]["row_bytes"]


def each(c, name, figure, scale=1):
    """Of a row that moved where rows move, else of a call."""
    cell = c[name]
    count = cell["node0_relocated_in"] + cell["node1_relocated_in"] or cell.get("calls", 0)
    return cell.get(figure, NAN) / count * scale if count else NAN


def two_nodes_targets(c):
    one = "pull flight=1 length=128 keys=1"
    yield at_most(f"{one}, p50", 3, of_pingpong(c, one), "x ping-pong")
    if one in c:
        best = c.ratio(one, "p99_ns", beside(c, one, SPINNING), "p50_ns", together=min)
        yield at_most(f"{one}, p99 of the best repetition", 6, best, "x that")
    for name in ("pull flight=8 length=128 keys=1024", "push flight=8 length=128 keys=1024"):
        for floor in (STREAMS, PINNED):
            yield at_least(f"{name}, of the best {'pinned ' if floor is PINNED else ''}stream", 60,
                           100 * of_stream(c, name, floor), " %", 0)
    for node in ("node0", "node1"):
        share = c.median("idle", f"{node}_cpu_ns") / 1e7 / c.median("idle", "seconds")
        yield at_most(f"nothing to do, {node}", 0.5, share, " % of a core")
    sent, all_bytes = (sum(c.median("idle", f"node0_{what}_{way}") for way in ("sent", "received")) for what in ("messages", "bytes"))
    yield "nothing to do, messages", "heartbeats only", sent, show(sent, 0), all_bytes == 40 * sent
    for floats in (16, 128, 1000):
        name = f"localize keys=1 length={floats}"
        yield at_most(name, 5, of_pingpong(c, name), "x ping-pong")
        name = f"localize keys=1000 length={floats}"
        yield at_most(name, 1000, c.median(name, "p50_ns") / 1e3, " us", 0)
        for step in ("blocks", "exchange"):
            name = f"{step} length={floats}"
            rate, share = c.median(name, "rows_per_second") / 1e6, of_stream(c, name)
            yield name, "above 1 M rows/s or 50 % of stream", rate, f"{rate:.2f} M, {100 * share:.0f} %", rate > 1 or share > 0.5


def report_two_nodes(c):
    is_timed = lambda cell: "p50_ns" in cell or "bytes_per_second" in cell
    is_single = lambda name: "p50_ns" in c[name] and name.startswith(("pingpong", "localize keys=1 ")) or "flight=1" in name
    few = lambda name, n: c[name].get("calls", 0) < n * c.head.get("repetitions", 1)
    table(c, "time of a call, us",
          [column(c, "min", "shortest_ns", 1, 1e-3), column(c, "p50", "p50_ns", 1, 1e-3),
           ("p99", lambda n: "-" if few(n, 100) else show(c.median(n, "p99_ns") / 1e3, 1)),
           ("p99.9", lambda n: "-" if few(n, 1000) else show(c.median(n, "p999_ns") / 1e3, 1)),
           ("x", lambda n: show(of_pingpong(c, n), 2, "x") if is_single(n) else "-"),
           column(c, "k rows/s", "rows_per_second", 1, 1e-3),
           ("GB/s", lambda n: show((c.median(n, "bytes_per_second") if "bytes_per_second" in c[n]
                                    else c.median(n, "rows_per_second") * c[n]["row_bytes"]) / 1e9, 3)),
           ("of stream", lambda n: show(100 * of_stream(c, n), 0, " %")),
           column(c, "M accesses/s", "accesses_per_second", 2, 1e-6)], is_timed)
    table(c, "cost of a call, or of a row that moved",
          [(head, lambda n, figure=figure, scale=scale: show(each(c, n, figure, scale), 3))
           for head, figure, scale in (("cpu us", "node0_cpu_ns", 1e-3), ("there", "node1_cpu_ns", 1e-3),
                                       ("sleeps", "node0_sleeps", 1), ("there", "node1_sleeps", 1),
                                       ("switches", "node0_switches", 1), ("there", "node1_switches", 1),
                                       ("frames out", "node0_messages_sent", 1), ("in", "node0_messages_received", 1))],
          lambda cell: "p50_ns" in cell)
    targets(c, two_nodes_targets(c))


# ---- adaptive ----

OFFSETS = (1, 3, 10, 30, 100, 300, 1000)


def share_of_core(c, name):
    return 100 * c.median(name, "shards_cpu_seconds") / c.median(name, "seconds")


def adaptive_targets(c):
    yield at_most("remote share, 3 nodes, 100 clocks ahead", 0.1,
                  100 * c.median("skewed nodes=3 adaptive offset=100 pace=1ms", "remote_share"), " %", 4)
    yield at_most("replicas when nodes take turns", 0, c.median("turns nodes=3 adaptive", "replicas_created"), "", 0)
    for nodes in (2, 4):
        for workload, aim in (("skewed", 4 / 3), ("own", 5)):
            sent = [c.median(f"{workload} nodes={nodes} {t} offset=100 pace=1ms", "bytes_sent") for t in ("replicate", "adaptive")]
            yield at_least(f"bytes of replication by adaptive's, {workload}, {nodes} nodes", aim, sent[0] / sent[1], "x")
    for pace, name in (("free", "seconds"), ("free", "bytes_sent"), ("free", "cpu_seconds"), ("1ms", "bytes_sent"), ("1ms", "cpu_seconds")):
        figures = [c.median(f"skewed nodes=2 adaptive offset={o} pace={pace}", name) for o in OFFSETS]
        known = [f for f in figures if not math.isnan(f)]
        yield at_most(f"offset 1000 beside the best, pace={pace}, {name}", 5, 100 * (figures[-1] / min(known) - 1) if known else NAN, " %")
    for name in ("idle keys=10000 length=128", "idle keys=1000000 length=16"):
        yield at_most(f"{name}, of a core", 1, share_of_core(c, name), " %")
    yield at_least("pushed keys=100000 length=128, M pushes/s", 1.1, c.median("pushed keys=100000 length=128", "pushes_per_second") / 1e6)
    yield at_most("a sudden intent until local, 1 key", 100, c.median("arrival keys=1 busy", "p50_seconds") * 1e6, " us")
    yield at_most("a sudden intent until local, 1000 keys", 1000, c.median("arrival keys=1000 busy", "p50_seconds") * 1e6, " us")
    for name, aims in (("costs keys=1000000 length=16", (1.4, 4, 3.5, 10)), ("costs keys=1000000 length=128", (1, 2, 1.8, 5))):
        for what, aim in zip(("pull_64", "push_64", "pull_1", "push_1"), aims):
            yield at_most(f"{name}, {what}", aim, c.median(name, f"{what}_ratio_to_array"))
    yield at_most("single-key pull of replicas, p99.9", 20, c.median("costs keys=100000 length=128", "p999_seconds") * 1e6, " us")


def report_adaptive(c):
    per_s = lambda name, scale: lambda n: show(c.median(n, name) / c.median(n, "seconds") * scale, 2)
    table(c, "a node", [column(c, "s", "seconds"), column(c, "remote %", "remote_share", 3, 100),
                        column(c, "replica %", "replica_share", 1, 100), column(c, "MB sent", "bytes_sent", 2, 1e-6),
                        column(c, "messages", "messages_sent", 0), column(c, "moved", "relocated_in", 0),
                        column(c, "copied", "replicas_created", 0), column(c, "left", "replicas_left", 0),
                        column(c, "rounds", "rounds", 0), column(c, "heard ms", "seconds_since_heard", 2, 1e3),
                        column(c, "shards s", "shards_cpu_seconds", 3), column(c, "cpu s", "cpu_seconds", 3)],
          lambda cell: cell["cell"].startswith(("skewed", "own", "turns")))
    table(c, "a node", [column(c, "M pushes/s", "pushes_per_second", 2, 1e-6), column(c, "stale ms", "staleness_seconds", 1, 1e3),
                        column(c, "heard ms", "seconds_since_heard", 2, 1e3), ("MB/s", per_s("bytes_sent", 1e-6)),
                        ("rounds/s", per_s("rounds", 1)), ("shards", lambda n: show(share_of_core(c, n), 2, " %")),
                        *(column(c, what.replace("_", " "), f"{what}_ratio_to_array") for what in ("pull_64", "push_64", "pull_1", "push_1")),
                        *(column(c, f"{what} us", f"{what}_seconds", 1, 1e6) for what in ("shortest", "p50", "p99", "p999"))],
          lambda cell: not cell["cell"].startswith(("skewed", "own", "turns")))
    targets(c, adaptive_targets(c))


# ---- scale ----

SCALE = (("clocks", "clocks_per_second", 0, 1), ("remote %", "remote_share", 3, 100), ("replica %", "replica_share", 1, 100),
         ("copies", "replicas_of_a_key", 2, 1), ("of hottest", "replicas_of_the_hottest_key", 0, 1),
         ("MB sent", "bytes_sent_per_second", 2, 1e-6), ("messages", "messages_sent_per_second", 0, 1), ("rounds", "rounds_per_second", 0, 1),
         ("shard %", "shard_seconds_per_second", 1, 100), ("busiest %", "shard_seconds_per_second_of_the_busiest", 1, 100),
         ("stale ms", "hot_rows_staleness_seconds", 2, 1e3), ("heard ms", "seconds_since_heard", 2, 1e3))
DETAILS = (("k entries", "entries_per_second", 1, 1e-3), ("answers", "answers_per_second", 1, 1e-3), ("refreshes", "refreshes_per_second", 1, 1e-3),
           ("rows", "rows_per_second", 1, 1e-3), ("others", "other_entries_per_second", 1, 1e-3), ("moved", "relocated_in_per_second", 0, 1),
           ("copied", "replicas_created_per_second", 0, 1), ("busiest MB", "bytes_sent_per_second_of_the_busiest", 2, 1e-6),
           ("late us", "seconds_until_served", 1, 1e6), ("peers", "peers_spoken_with", 0, 1), ("quiesce ms", "quiesce_seconds", 2, 1e3),
           ("messages", "quiesce_messages", 0, 1), ("polls %", "polling_seconds_per_second", 1, 100),
           ("here %", "engine_seconds_per_second_here", 1, 100), ("MiB", "bytes_of_memory", 1, 2 ** -20), ("took s", "took_seconds", 1, 1))
TREES = (("shard %", "shard_seconds_per_second", 1, 100), ("stale ms", "hot_rows_staleness_seconds", 2, 1e3),
         ("doubling", "tree_staleness_seconds", 2, 1e3), ("times", "staler_than_by_tree", 2, 1),
         ("MB sent", "bytes_sent_per_second", 2, 1e-6), ("doubling", "tree_bytes_sent_per_second", 2, 1e-6))


def scale_targets(c):
    for workload in ("skewed", "own"):
        for nodes in (16, 64, 256):
            for what in ("shard_seconds_per_second", "bytes_sent_per_second"):
                few, many = (c.median(f"{workload} nodes={n}", what) for n in (4, nodes))
                yield at_most(f"{workload} nodes={nodes} beside 4, {what}", 1.5, many / few)


def report_scale(c):
    for title, columns, wanted in (("a node, a second", SCALE, None), ("a node, a second", DETAILS, None),
                                   ("owners, and recursive doubling", TREES, "tree_staleness_seconds")):
        table(c, title, [column(c, *of) for of in columns], lambda cell, wanted=wanted: not wanted or cell.get(wanted) is not None)
    targets(c, scale_targets(c))


# ---- steps, checkpoint ----

def report_steps(c):
    table(c, "an epoch of 640,000 keys a node", [column(c, "seconds", "seconds", 3), column(c, "calls waited s", "waited_s", 3),
                                                 column(c, "remote %", "remote_share", 2, 100)])
    targets(c, [at_most(f"adaptive keys={n}, of static", 1.1, c.ratio(f"adaptive keys={n}", "seconds", [f"static keys={n}"], "seconds"))
                for n in (20, 80, 640, 5120)])


def report_checkpoint(c):
    table(c, "", [column(c, "seconds", "seconds", 3), ("GB/s", lambda n: show(c[n]["bytes"] / 1e9 / c.median(n, "seconds"))),
                  column(c, "of a processor", "cpu_s", 3), column(c, "MiB beside", "bytes_beside", 1, 2 ** -20)])
    both = [r + s for r, s in zip(c.values("read", "seconds"), c.values("locus_set", "seconds"))]
    restore = [100 * b / r for b, r in zip(both, c.values("locus_restore", "seconds"))]
    targets(c, [at_least("checkpoint, of writing", 80, 100 / c.ratio("locus_checkpoint", "seconds", ["write and sync"], "seconds"), " %", 0),
                at_least("restore, of reading and setting", 80, statistics.median(restore) if restore else NAN, " %", 0)])


REPORTS = {"local_access": report_local_access, "two_nodes": report_two_nodes, "adaptive": report_adaptive, "scale": report_scale,
           "steps": report_steps, "checkpoint": report_checkpoint}


def read(lines):
    """Of each benchmark its cells."""
    found = {}
    for line in map(json.loads, lines):
        cells = found.setdefault(line["benchmark"], Cells())
        if "cell" in line:
            cells[line["cell"]] = line
        else:
            cells.head.update(line)
    return found


def main():
    for name, cells in read(fileinput.input()).items():
        head = cells.head
        print(f"{name}: {head.get('machine')}; load {head.get('load')} before, {head.get('load_after')} after; "
              f"medians of {head.get('repetitions')}" + ("; quick: it runs, and says nothing of how fast" if head.get("quick") else "") + "\n")
        REPORTS[name](cells)


if __name__ == "__main__":
    main()
