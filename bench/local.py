#!/usr/bin/python3
"""What local accesses cost, as a table and a picture: by length of rows, keys a call and threads, beside plain arrays.

    bench/local.py                                  two minutes: build/bench-local/local.csv and local.svg
    bench/local.py --beside ../before/build/gcc     another build's or prefix's library in turn with this one, in pairs

Cells are those of `local_access --chart`, in rounds until the time is over; each round runs each library once. Shown are the
medians of all repetitions, in the picture from quartile to quartile. A ratio is of processor time, of a round's medians."""
import argparse
import csv
import glob
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report as tables

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "python"))
from locus import report as page  # noqa: E402

SECONDS, LENGTHS, KEYS = 110, (1, 16, 128, 1000), (1, 8, 64)
# What stands side by side: its name, what the array does meanwhile, and the steps: of the array, with mutexes, with 1, 8 and 64 keys.
KINDS = (("pull", "memcpy", "array-read", "mutex-read", "pull", "pull", "pull"),
         ("push", "racing additions", "array-add", "mutex-add", "push", "push", "push"),
         ("view", "sums in place", "array-sum", None, "view", "view-fetched", "view-fetched"),
         ("change", "racing additions", "array-add", "mutex-add", "change", "change-fetched", "change-fetched"))
WAYS = ("packed array", "array, 1000 mutexes", "1 key a call", "8 keys a call", "64 keys a call")
COLOURS, DASHED = ("ink", "c5", "c0", "c1", "c2"), ' stroke-dasharray="5 3"'
FIGURES = ("ns_per_key", "cpu_ns_per_key", "cycles_per_key", "cache_misses_per_key")


def name_of(kind, way, floats, threads):
    """Of a cell; None: there is none."""
    keys = f" keys={KEYS[way - 2]}" if way > 1 else ""
    return kind[2 + way] and f"{kind[2 + way]} length={floats}{keys} uniform threads={threads}"


class Rounds(list):
    """Of each round the cells of each library."""

    def values(self, cell, figure="ns_per_key", which=0):
        return [v for cells in self for v in cells[which].values(cell, figure)] if cell else []

    def median(self, cell, figure="ns_per_key"):
        return statistics.median(self.values(cell, figure))

    def ratios(self, cell):
        """This library's processor time to the other one's: who else runs here counts little."""
        return [this.median(cell, FIGURES[1]) / other.median(cell, FIGURES[1]) for this, other in self] if cell else []


# ---- measuring ----

def library_of(folder):
    """The folder that its library is in."""
    for found in (*Path(folder).glob("lib*/liblocus.so.0"), *Path(folder).glob("lib/*/liblocus.so.0")):
        return str(found.parent)
    sys.exit(f"local.py: {folder} is neither a build nor a prefix of locus: there is no liblocus.so.0 in its lib")


def text_of(path):
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return "not said"


def frequencies():
    """In MHz, of all processors; a virtual machine's are often what they are called."""
    khz = [text_of(path) for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")]
    return [int(k) / 1000 for k in khz if k.isdigit()] or list(map(float, re.findall(r"cpu MHz\s*: (.*)", text_of("/proc/cpuinfo"))))


def measure(options, folder, mhz):
    command = [f"{options.build}/bench/local_access", "--chart", *(["--quick"] if options.quick else ["--repetitions", "2"])]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={**os.environ, "LD_LIBRARY_PATH": library_of(folder)})
    mhz += frequencies()
    if done.returncode != 0:
        sys.exit(f"local.py: {command[0]} with the library of {folder}: status {done.returncode}: {done.stderr.strip()}")
    return tables.read(done.stdout.splitlines())["local_access"]


def measure_all(options, folders, mhz):
    """Of pairs at least two, so that each library is first once."""
    rounds, began, took = Rounds(), time.monotonic(), 0
    while len(rounds) < len(folders) or not options.quick and time.monotonic() - began + took < SECONDS:
        begins, cells = time.monotonic(), [None] * len(folders)
        for which in range(len(folders))[::-1 if len(rounds) % 2 else 1]:
            print(f"{time.monotonic() - began:3.0f} s, round {len(rounds) + 1}: {folders[which]}", file=sys.stderr, flush=True)
            cells[which] = measure(options, folders[which], mhz)
        rounds.append(cells)
        took = time.monotonic() - begins
    return rounds


def machine(rounds, folders, mhz):
    """What it was measured on, in lines."""
    first, last, one = rounds[0][0], rounds[-1][-1], name_of(KINDS[0], 0, 128, 1)
    huge = [", ".join(f"{100 * first.median(f'memory length={n}', name):.0f}" for n in LENGTHS)
            for name in ("in_huge_pages", "array_in_huge_pages")]
    nodes = sorted(Path("/sys/devices/system/node").glob("node[0-9]*"), key=lambda path: int(path.name[4:]))
    missing = [name for name in FIGURES[2:] if math.isnan(rounds.median(one, name))]
    return [f"processors: {first.head['machine']}; threads are pinned, to one of each core first",
            f"pages: {os.sysconf('SC_PAGE_SIZE') // 1024} KiB; huge ones: {text_of('/sys/kernel/mm/transparent_hugepage/enabled')}; "
            f"rows of 1, 16, 128 and 1000 floats have {huge[0]} % in huge ones, arrays {huge[1]} %",
            "NUMA nodes: " + ("; ".join(f"{n.name[4:]} has processors {text_of(n / 'cpulist')}" for n in nodes) or "not said"),
            "frequencies: " + (f"{min(mhz):.0f} to {max(mhz):.0f} MHz" if mhz else "not said") +
            (f"; {rounds.median(one, FIGURES[2]) / rounds.median(one, FIGURES[1]):.2f} GHz counted" if FIGURES[2] not in missing else "") +
            f"; governor: {text_of('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')}",
            f"counters: nobody counts {' and '.join(missing)} here, their columns are empty; perf_event_paranoid is "
            f"{text_of('/proc/sys/kernel/perf_event_paranoid')}" if missing else "counters: cycles, cache misses",
            f"measured: {' beside '.join(folders)}; rounds: {len(rounds)}, repetitions in each: {first.head['repetitions']}; load "
            f"{first.head['load']:.1f} before, {last.head['load_after']:.1f} after" +
            "; quick: it runs, and says nothing of how fast" * first.head["quick"]]


# ---- the table, for programs and for people ----

def write_table(out, rounds, folders):
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["build", "round", "repetition", "operation", "floats", "keys_per_call", "threads", "keys_per_second",
                     "times_array", *FIGURES])
    for turn, both in enumerate(rounds):
        for folder, cells in zip(folders, both):
            for name, cell in cells.items():
                floors = cells.values(cell.get("floor"), FIGURES[0])
                for i, (floor, *of) in enumerate(zip(floors, *(cells.values(name, figure) for figure in FIGURES))):
                    writer.writerow([folder, turn + 1, i + 1, cell["operation"], cell["length"], cell["keys_per_call"] or "",
                                     cell["threads"], f"{1e9 / of[0] * cell['threads']:.0f}", f"{of[0] / floor:.3f}",
                                     *("" if math.isnan(v) else v for v in of)])


def print_table(rounds, threads):
    def show(cell):
        return f"{rounds.median(cell):.1f}" + (f" ({statistics.median(rounds.ratios(cell)):.2f})" if len(rounds[0]) > 1 else "")
    tables.print_table([f"ns a key (this / other, of processors), threads: {threads}", *(f"floats: {n}" for n in LENGTHS)],
                       [[f"{kind[0]}, {name}", *(show(name_of(kind, way, n, threads)) for n in LENGTHS)]
                        for kind in KINDS for way, name in enumerate(WAYS) if kind[2 + way]])


# ---- the picture ----

WIDTH, HEIGHT, LEFT, EACH, ABOVE, STEP = 228, 150, 62, 256, 106, 244  # of panels; where they are


def panel(left, top, ticks, lines, ends, is_log):
    """lines: of each way and each tick, quartiles or nothing."""
    scale = math.log if is_log else float

    def at(value):
        return top + HEIGHT * (scale(ends[1]) - scale(value)) / (scale(ends[1]) - scale(ends[0]))
    marks = page._ticks(*ends) if not is_log else [
        mark for power in range(-1, 7) for mark in (10.0 ** power, 2 * 10.0 ** power, 5 * 10.0 ** power) if ends[0] <= mark <= ends[1]]
    places = [left + (i + 0.5) * WIDTH / len(ticks) for i in range(len(ticks))]
    out = [page._put(x, top + HEIGHT + 16, tick, anchor="middle") for x, tick in zip(places, ticks)]
    for mark in marks:
        out.append(f'<path class="grid" stroke="currentColor" d="M{left} {at(mark):.1f}h{WIDTH}"/>\n')
        out += [page._put(left - 6, at(mark) + 4, page._show(mark), anchor="end")] * (left == LEFT)
    for way, line in enumerate(lines):
        shown = [(x + 2 * way - 4, *map(at, y)) for x, y in zip(places, line) if y]
        out += [f'<g class="{COLOURS[way]}" stroke="currentColor" fill="currentColor">\n<polyline fill="none" stroke-width="1.6"'
                f'{DASHED * (way < 2)} points="{" ".join(f"{x:.1f},{middle:.1f}" for x, _, middle, _ in shown)}"/>\n',
                *(f'<path d="M{x:.1f} {a:.1f}V{b:.1f}"/>\n<circle cx="{x:.1f}" cy="{m:.1f}" r="2.4"/>\n' for x, a, m, b in shown), "</g>\n"]
    return "".join(out)


def panels(top, title, x_name, ticks, of, is_log, seen):
    """of(kind, way, tick): values. The axes have what is seen, too."""
    def quartiles(v):
        return v and (3 * v if len(v) == 1 else statistics.quantiles(v, method="inclusive"))
    lines = [[[quartiles(of(kind, way, tick)) for tick in ticks] for way in range(len(WAYS))] for kind in KINDS]
    every = [v for of_kind in lines for line in of_kind for y in line for v in y] + seen
    out = [page._put(12, top - 32, title, 13, "ink")]
    for i, kind in enumerate(KINDS):
        left = LEFT + i * EACH
        out += [page._put(left, top - 10, f"{kind[0]} (array: {kind[1]})", 12, "ink"),
                panel(left, top, ticks, lines[i], (min(every) * 0.95, max(every) * 1.05), is_log),
                page._put(left + WIDTH / 2, top + HEIGHT + 31, x_name, anchor="middle")]
    return "".join(out)


def picture(rounds, lines, threads):
    ends = {t: f"{t} thread{'s' * (t > 1)}" for t in (threads[0], threads[-1])}
    rows = [(f"Nanoseconds a key, {name}", "floats of a row", LENGTHS, lambda kind, way, n, t=t: rounds.values(name_of(kind, way, n, t)),
             True, []) for t, name in ends.items()]
    rows.append(("Million keys a second, all threads together, rows of 16 floats", "threads", threads, lambda kind, way, t: [
        1e3 * t / ns for ns in rounds.values(name_of(kind, way, 16, t))], False, [0]))
    rows += [(f"This library's processor time / the other's, {name}: below 1 this one is faster (shown from 0.5 to 2)", "floats of a row",
              LENGTHS, lambda kind, way, n, t=t: [min(max(r, 0.5), 2) for r in rounds.ratios(name_of(kind, way, n, t))], False,
              [0.8, 1.2]) for t, name in ends.items() if len(rounds[0]) > 1]
    width, foot = LEFT + 4 * EACH, ABOVE + len(rows) * STEP - 26
    out = [page._svg(width, foot + 16 * len(lines)), f"<style>{page._style()} text {{ font-family: sans-serif; }}</style>\n",
           f'<rect class="paper" fill="currentColor" width="{width}" height="{foot + 16 * len(lines)}"/>\n',
           page._put(12, 22, "locus: accesses of rows that the worker's own node holds", 16, "ink")]
    for way, name in enumerate(WAYS):
        out += [f'<path class="{COLOURS[way]}" stroke="currentColor" stroke-width="3"{DASHED * (way < 2)} d="M{12 + 170 * way} 42h24"/>\n',
                page._put(42 + 170 * way, 46, name, 12, "ink")]
    out += [panels(ABOVE + i * STEP, *row) for i, row in enumerate(rows)]
    return "".join([*out, *(page._put(12, foot + 16 * i, line) for i, line in enumerate(lines)), "</svg>\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", metavar="PREFIX")
    parser.add_argument("--build", default=os.path.relpath(ROOT / "build" / "gcc"), metavar="FOLDER", help="default build/gcc")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="default build/bench-local, with --quick build/bench-quick")
    parser.add_argument("--quick", action="store_true", help="small sizes, only to see that it runs")
    options = parser.parse_args()
    out = options.out or ROOT / "build" / ("bench-quick" if options.quick else "bench-local")
    folders, mhz = [folder for folder in (options.build, options.beside) if folder and library_of(folder)], []
    if not os.access(f"{options.build}/bench/local_access", os.X_OK):
        sys.exit(f"local.py: there is no {options.build}/bench/local_access: run make benches first")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out) as new:
            rounds = measure_all(options, folders, mhz)
            threads = sorted({cell["threads"] for cell in dict.values(rounds[0][0]) if "threads" in cell})
            lines = machine(rounds, folders, mhz)
            with open(f"{new}/local.csv", "w", encoding="utf-8") as file:
                write_table(file, rounds, folders)
            Path(f"{new}/local.svg").write_text(picture(rounds, lines, threads), encoding="utf-8")
            for name in ("local.csv", "local.svg"):
                os.replace(f"{new}/{name}", out / name)
    except OSError as error:
        sys.exit(f"local.py: cannot write to {out}: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit("local.py: interrupted: nothing is written")
    for t in sorted({threads[0], threads[-1]}):
        print_table(rounds, t)
    print("\n".join([*lines, f"written: {out}/local.csv, {out}/local.svg"]))


if __name__ == "__main__":
    main()
