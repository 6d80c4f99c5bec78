"""A whole run on one page, and several side by side: by --report of a program, and by `locus report` from what nodes
wrote. Pages and pictures are read by a parser of XML and, where there is one, by a browser."""
import json
import os
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path
from signal import SIGKILL

import nodes
import support
from support import BUILD, ENDLESS, LOCUS, MEMBER

MF = f"{support.program('mf')} {support.made('mf', '300x100x8000', rank=3)} --rank 6 --epochs 15 --batch 32"
TWO = f"{LOCUS} run -n 2 --"
LONG = {"LOCUS_STEP_TIME": "10000"}  # half a second and more: nodes have written some lines
REPORT = f"PATH={BUILD}/bin:$PATH {LOCUS} report"
PARTS = ["0.report.jsonl", "1.report.jsonl", "run.jsonl"]
HTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
BODY = """
def train(node, worker):
    for i in range(100):
        key, now = keys(i % 10), worker.clock
        worker.intent(key, now, now + 20)
        worker.push(key, np.ones((1, 4), dtype=np.float32))
        worker.advance_clock()
        node.report_value("my loss", 1 / (1 + i))
        time.sleep(.003)
    worker.quiesce()
list(pool.map(train, nodes, w))
"""


def is_node(pid, rank):
    at = Path(f"/proc/{pid}")
    return at.joinpath("comm").read_text() == "locus-mf\n" and f"\0LOCUS_RANK={rank}\0" in at.joinpath("environ").read_text()


class Page:
    def __init__(self, path):
        root = xml.parse(path).getroot()
        assert root.tag == HTML + "html" and not list(root.iter(HTML + "script"))
        assert not any(name.endswith(("src", "href")) for element in root.iter() for name in element.attrib)
        self.panels, self.texts = {}, []  # by title: how many points each line has
        for svg in root.iter(SVG + "svg"):
            title, *texts = [element.text for element in svg.iter(SVG + "text")]
            self.panels[title] = [len(line.get("points").split()) for line in svg.iter(SVG + "polyline")]
            self.texts.append(" ".join(texts))
        self.rows = ["|".join(cell.text or "" for cell in row) for row in root.iter(HTML + "tr")]


class Report(nodes.TestCase):
    def setUp(self):
        self.at = Path(self.folder())

    def page(self):
        return Page(self.at / "page.html")

    def are_drawn(self, page, *titles):
        """Panels of titles that begin so, whose lines have points."""
        for title in titles:
            self.assertTrue(any(name.startswith(title) and sum(points) for name, points in page.panels.items()),
                            f"{title}: {page.panels}")

    def is_of_two(self, page):
        self.are_drawn(page, "RMSE of the cells trained with", "Cells trained a second",
                       "Keys accessed a second, all nodes", "Accesses without the network, %", "Bytes sent a second",
                       "Shards' load, % of a core each", "Cores that the process takes", "Rows owned", "Memory, MB",
                       "Clock of the slowest worker")
        self.contains("\n".join(page.texts), "node 0 node 1")
        self.contains("\n".join(page.rows), "\nremote in training, %|")
        self.contains(page.rows, "nodes|2", "workers of each|1", "technique|adaptive", "--epochs|15",
                      "--hold-back|0.1", "command|locus-mf")
        self.contains("\n".join(page.rows), "(rows x floats)|rows 300 x ", ", columns 100 x ")
        self.assertNotIn("it was killed", "\n".join(page.rows))

    def test_of_a_program_is_one_page(self):
        self.must(f"{TWO} {MF} --report {self.at}/page.html", env=LONG)
        self.assertEqual(sorted(os.listdir(self.at)), ["page.html", *(f"page.html.parts.{part}" for part in PARTS)])
        self.is_of_two(self.page())
        self.must(f"{REPORT} {self.at}/page.html --out {self.at}/again.html")  # of its parts
        self.assertEqual((self.at / "again.html").read_text(), (self.at / "page.html").read_text())

    def test_without_the_command_its_parts_stay(self):
        shutil.copy(support.program("mf"), self.at)
        ended = self.run_command(f"PATH=/usr/bin:/bin {self.at}/locus-mf {MF.split(' ', 1)[1]} --report {self.at}/page.html", 0)
        self.contains(ended.err, "there is no locus-report here", f"locus report {self.at}/page.html.parts --out "
                      f"{self.at}/page.html makes it")
        self.assertFalse((self.at / "page.html").exists())
        self.must(f"{REPORT} {self.at}/page.html.parts --out {self.at}/page.html")
        self.contains(self.page().rows, "nodes|1")

    def test_is_made_of_what_nodes_wrote(self):
        """Nodes and program have written where LOCUS_REPORT says."""
        self.must(f"{TWO} {MF}", env={"LOCUS_REPORT": f"{self.at}/run", **LONG})
        self.assertEqual(sorted(os.listdir(self.at)), [f"run.{part}" for part in PARTS])
        self.must(f"cd {self.at} && {REPORT} run --out page.html")
        self.is_of_two(self.page())
        # A node that was killed, whose last line is cut, and one whose file is on another host.
        second = self.at / "run.1.report.jsonl"
        second.write_bytes(second.read_bytes()[:-20])
        (self.at / "run.0.report.jsonl").unlink()
        self.must(f"cd {self.at} && {REPORT} run --out page.html")
        rows = self.page().rows
        self.assertIn("0|its file is not here", rows)
        self.assertTrue(any(row.endswith("|no: it was killed, or still runs") for row in rows), rows)

    def test_of_a_job_that_lost_a_node_is_made_as_it_says(self):
        """Whichever node it was; whoever is started again has no old parts, and says that it was."""
        for rank in 0, 2:
            with self.subTest(rank=rank):
                job = self.start(f"exec {LOCUS} run -n 3 -- {ENDLESS} --report {self.at}/page.html")
                job.await_text("epoch ")
                os.kill(next(pid for pid in job.marked() if is_node(pid, rank)), SIGKILL)
                self.assertEqual(job.wait(), 128 + SIGKILL, job)
                self.assertFalse((self.at / "page.html").exists())
                told = next(line for line in job.err.splitlines() if "was not written; locus report" in line)
                self.must(f"{REPORT} {told.split('; locus report ')[1].split(' makes it')[0]}")
                self.contains(self.page().rows, "nodes|3")
                (self.at / "page.html").unlink()
        ended = self.run_command(f"{TWO} {MF} --report {self.at}/page.html", 0, env={"LOCUS_RESTART": "1"})
        self.assertIn("locus-mf: started again without --checkpoint: the training begins anew\n", ended.err)
        self.contains(self.page().rows, "nodes|2", "restarts|1: curves begin with the last")

    def test_of_the_baseline_has_its_loss(self):
        """And nothing of a cluster that ran under the same name."""
        for more in ("", "--baseline"):
            self.must(f"{MF} {more} --report {self.at}/page.html")
        page = self.page()
        self.assertEqual(len(page.panels), 2)  # the test is of one point, which is in the table
        self.contains("\n".join(page.rows), "RMSE of the test cells, last|")

    def test_of_many_nodes_shows_the_most_and_the_least(self):
        """More than have a line each; of any program."""
        job = self.start_nodes(8, """locus.Table('<a & "b">', 50, 4)""", "shards=1",
                               env={"LOCUS_REPORT": f"{self.at}/run"})
        job.do(BODY)
        job.end()
        self.must(f"cd {self.at} && {REPORT} run --out page.html")
        page = self.page()
        self.are_drawn(page, "Workers wait for other nodes, % of their time", "Age of replicas, ms", "my loss",
                       "Replicas held", "Replicas that came a second")
        self.contains("\n".join(page.texts), "most median node least")
        self.assertIn("nodes|8", page.rows)
        # No other words of it: some may be secret.
        self.assertEqual([row for row in page.rows if row.startswith("command|")], ["command|python3 nodes.py"])
        self.contains("\n".join(page.rows), "_a____b__ 50 x 4\n", "\n7|")

    def write_run(self, name, nodes, speed, seconds, **settings):
        """Of two epochs; in its evaluation a node accesses 60 keys at other nodes, and in training 10 of 100."""
        def write(part, *lines):
            (self.at / f"{name}.{part}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

        def point(curve, at, y):
            return {"curve": curve, "t": int(1e15 + 1e6 * at * seconds), "y": y}
        write("run", {"program": "locus-mf", "t": int(1e15), "nodes": nodes},
              *({"setting": f"--{key}", "value": value} for key, value in settings.items()),
              *(point(curve, at, y) for at in (.4, .8) for curve, y in
                (("Loss", 3 - at), ("Cells trained a second", speed))), point("RMSE of the test cells", 1, .25))
        for rank in range(nodes):
            head = {"node": rank, "nodes": nodes, "technique": "adaptive", "workers": 2, "shards": 1, "tables": "", "command": ""}
            write(f"{rank}.report", {**head, "t": int(1e15)}, *(
                {"t": int(1e15 + 1e6 * at * seconds), "local": 90 * at, "remote": 70 * at, "cpu_s": 3 * seconds * at,
                 "shards_s": seconds * at, "waits_s": .1 * seconds * at, "sent": 5e6 * at} for at in (0, .5, 1)),
                point("Accesses in training", .8, 100), point("Remote accesses in training", .8, 10))

    def test_of_several_runs_is_a_table_and_pictures(self):
        long = "a-long-name-of-a-run-on-%s-nodes-that-goes-on"
        names = ["one", long % "two", long % "four", "\u904b<&\" \u884c"]
        for nodes, name in enumerate(names, 1):
            self.write_run(name, nodes, 1000 * nodes, 50 / nodes, lr=f"0.{nodes}", epochs="2")
        words = " ".join(f"'{self.at}/{name}'" for name in names)
        table = self.must(f"{REPORT} {words} --out {self.at}/page.html").splitlines()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
        self.assertEqual(dict(zip(rows[0], rows[3])), {
            "run": f"2: {names[1]}", "what differs": "--lr 0.2", "nodes": "2", "workers of each": "2",
            "Cells trained a second": "2000", "ratio to the first": "2", "seconds": "25.00", "workers waited, %": "5", "processor s": "150",
            "of these shards": "50", "Loss, last": "2.2", "RMSE of the test cells, last": "0.25", "remote in training, %": "10",
            "MB sent in all": "10.0"})
        self.assertEqual([row[6] for row in rows[2:]], ["50.00", "25.00", "16.67", "12.50"])  # seconds, as many decimals each
        self.assertIn(f"4: {names[3]}", rows[5])
        page = self.page()
        self.contains("|".join(page.rows), "what differs|nodes", "--epochs|2")
        self.assertEqual(page.panels["Loss"], [2, 2, 2, 2])
        self.assertEqual({len(points) for title, points in page.panels.items() if title != "Loss"}, {0})  # bars
        self.contains("\n".join(page.texts), "2000  (2x)", "150  (shards 50)")
        self.must(f"{REPORT} {self.at}/one --out {self.at}/page.html")
        self.contains(self.page().rows, "workers waited, %|5", "0|100|90.00|0|0|5.0|150.0|50.0|0|no: it was killed, or still runs")
        self.contains(page.texts[0], "2: a-l\u2026s-that-goes-on", "3: a-l\u2026s-that-goes-on")

    def test_of_runs_that_do_not_differ_has_no_column_of_that(self):
        """Whose figures have one unit, too. A run is found by its page's name without .html."""
        for name, nodes, speed in ("a.html.parts", 1, 9500), ("b.html.parts", 2, 12345):
            self.write_run(name, nodes, speed, 1, lr="0.1")
        table = self.must(f"{REPORT} {self.at}/a {self.at}/b --out {self.at}/page.html").splitlines()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
        self.assertEqual([row[:5] for row in rows if row[0] in "run a b"],
                         [["run", "nodes", "workers of each", "Cells trained a second", "ratio to the first"],
                          ["a", "1", "2", "9.50k", "1.0"], ["b", "2", "2", "12.35k", "1.3"]])
        self.assertNotIn("what differs", "\n".join(self.page().rows))

    def test_draws_one_value_and_a_million(self):
        """Of many no peak is lost; of one there is no picture: it is in the table."""
        with open(self.at / "run.run.jsonl", "w", encoding="utf-8") as file:
            file.write('{"program":"mine","t":0}\n{"curve":"one","t":500000,"y":1234.5}\n{"setting":"--x","value":"\\u0001<"}\n')
            for i in range(100000):
                file.write('{"curve":"many","t":%d,"y":%r}\n' % (10 * i, 9e6 if i == 77777 else i % 10))
        self.must(f"{REPORT} {self.at}/run --out {self.at}/page.html")
        page = self.page()
        self.contains(page.rows, "--x|\ufffd<")
        self.assertEqual(list(page.panels), ["many"])
        self.contains(page.rows, "one, last|1234")
        self.assertLess(page.panels["many"][0], 500)
        self.contains(page.texts[list(page.panels).index("many")], "8M")
        points = max(xml.parse(self.at / "page.html").getroot().iter(SVG + "polyline"), key=lambda e: len(e.get("points")))
        heights = [float(point.split(",")[1]) for point in points.get("points").split()]
        self.assertEqual(sum(height < max(heights) - 100 for height in heights), 1)

    def test_says_what_would_help(self):
        """Of a node of two workers and ten seconds: the end of the sentence, or nothing."""
        lots = {"local": 50000, "remote": 50000, "waits": 1000, "waits_s": 9.0, "signaled": 90000, "clock": 100}
        for end, counts in [
                ("no intent was signaled", {"signaled": 0}), ("no intent was signaled", {"signaled": 0, "waits_s": 0}),
                ("no clock was advanced", {"clock": 0}), ("came too late: signal them more steps ahead;", {"late": 25000}),
                ("came too late: has each thread a core?", {"late": 25000, "program": "locus-mf"}), ("no intent named them", {}),
                ("", {"remote": 7000, "waits_s": 1.0}), ("no intent named them", {"remote": 8000, "waits_s": 3.0}),
                ("", {"remote": 7000, "waits_s": 3.0}), ("came too late", {"remote": 7000, "waits_s": 3.0, "late": 4000}),
                ("came too late", {"remote": 7000, "waits_s": 3.0, "late": 1000}),  # as many as there were waits
                ("others no intent named", {"remote": 7000, "waits_s": 3.0, "late": 999}), ("no intent named them", {"late": 24999}),
                ("", {"remote": 7000, "waits_s": 3.0, "waits": 31}), ("", {"local": 100, "remote": 100, "waits": 4}),
                ("", {"local": 150000, "waits_s": 1.0}), ("no intent was signaled", {"local": 150000, "waits_s": 1.0, "signaled": 0}),
                ("", {"technique": "static"})]:
            with self.subTest(counts=counts):
                counts = {**lots, **counts}
                head = {"node": 0, "nodes": 1, "technique": counts.pop("technique", "adaptive"), "workers": 2, "shards": 1}
                (self.at / "slow.run.jsonl").write_text(json.dumps({"program": counts.pop("program", ""), "t": int(1e15), "nodes": 1}))
                lines = [{**head, "t": int(1e15)}, {"t": int(1e15)}, {"t": int(1e15 + 1e7), **counts}]
                (self.at / "slow.0.report.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
                said = self.must(f"{REPORT} {self.at}/slow --out {self.at}/page.html")
                self.assertEqual(said.count("node 0: "), bool(end), said)
                self.contains(said + (self.at / "page.html").read_text(), end)

    def test_what_cannot_be_made_is_refused(self):
        (self.at / "x.0.report.jsonl").write_text("hello\n")
        (self.at / "y.0.report.jsonl").write_text('{"node":0,"nodes":1,"workers":1,"shards":1,"t":1e300}\n')
        os.mkfifo(self.at / "pipe.run.jsonl")
        for name, nodes in (("old", 2), ("new", 3)):
            self.write_run(name, nodes, 1, 1)
        (self.at / "old.run.jsonl").unlink()
        (self.at / "new.1.report.jsonl").rename(self.at / "old.1.report.jsonl")
        (self.at / "mine").write_text("<!DOCTYPE html>\n<title>notes</title>\n")
        self.refuses_all("", [
            (f"{REPORT}", 2, "PREFIX"), (f"{REPORT} x", 2, "--out"),
            (f"{REPORT} x --out p --out q", 2, "--out is given twice, and has one value: leave one out"),
            (f"{REPORT} x --out p.svg", 2, "p.svg: a page is HTML: name it .html"),
            (f"{MF} --report /no/such/folder/p.PDF", 2, "--report /no/such/folder/p.PDF: a page is HTML: name it .html"),
            (f"{REPORT} /no/such/run --out p", 1, "locus report: there is no /no/such/run.RANK.report.jsonl"),
            (f"{REPORT} {self.at}/x --out p", 1, "x.0.report.jsonl is not what LOCUS_REPORT makes a node write"),
            (f"{REPORT} {self.at}/y --out p", 1, "y.0.report.jsonl is not what LOCUS_REPORT makes a node write"),
            (f"{REPORT} {self.at}/pipe --out p", 1, "pipe.run.jsonl cannot be read: it is not a regular file"),
            (f"{REPORT} {self.at}/old --out p", 1, "is of a cluster of 3 nodes, others of 2: give each run a prefix"),
            (f"{REPORT} {self.at}/new --out /no/such/folder/p", 1, "locus report: /no/such/folder/p: No such file or directory"),
            (f"{REPORT} {self.at}/new --out {self.at}/mine", 1, "mine is there, and locus report has not written it: name another"),
            # before a long run, not after it
            (f"{MF} --report /no/such/folder/page.html", 1, "/no/such/folder/page.html"),
            (f"{MF} --report {self.at}/mine", 1, "mine is there, and locus has not written it: write another file"),
            (f"{MF} --out {self.at}/mine", 1, "mine is there, and locus has not written it"),
            (f"LOCUS_REPORT=/no/such/folder/run {MEMBER} > /dev/null", 1,
             "LOCUS_REPORT: cannot write /no/such/folder/run.0.report.jsonl")])
        self.assertIn("notes", (self.at / "mine").read_text())
        self.assertNotIn("makes it", self.run_command(f"{MF} --report {self.at}", 1).err)  # nothing makes a file of a folder

    def test_is_shown_by_a_browser(self):
        """It finds the same drawings as the parser, and paints something in them."""
        if not shutil.which("chromium"):
            self.skipTest("there is no chromium here")
        self.must(f"{MF} --report {self.at}/page.html", env=LONG)
        shown = self.must(f"cd {self.at} && HOME={self.at} timeout 140 chromium --headless --no-sandbox --disable-gpu "
                          f"--dump-dom file://{self.at}/page.html 2> /dev/null")
        self.assertGreaterEqual(sum("<svg" in line for line in shown.splitlines()), 10)
