"""A whole run on one page: by --report of a program, and by `locus report` from what nodes wrote. The page is read by a
parser of XML and, where there is one, by a browser."""
import os
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path
from signal import SIGKILL

import nodes
import support
from support import ENDLESS, LOCUS, MEMBER

MF = f"{support.program('mf')} --zipf 300x100x8000 --zipf-rank 3 --rank 6 --epochs 15 --batch 32"
TWO = f"{LOCUS} run -n 2 --"
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
        self.contains(page.rows, "nodes|2", "workers of each|1", "technique|adaptive", "--epochs|15",
                      "--zipf|300x100x8000")
        self.contains("\n".join(page.rows), "(rows x floats)|rows 300 x ", ", columns 100 x ")
        self.assertNotIn("it was killed", "\n".join(page.rows))

    def test_of_a_program_is_one_page(self):
        self.must(f"{TWO} {MF} --report {self.at}/page.html")
        self.assertEqual(os.listdir(self.at), ["page.html"])
        self.is_of_two(self.page())

    def test_is_made_of_what_nodes_wrote(self):
        """Nodes and program have written where LOCUS_REPORT says, and the files stay."""
        self.must(f"{TWO} {MF}", env={"LOCUS_REPORT": f"{self.at}/run"})
        self.assertEqual(sorted(os.listdir(self.at)), ["run.0.report.jsonl", "run.1.report.jsonl", "run.run.jsonl"])
        self.must(f"cd {self.at} && {LOCUS} report run > page.html")
        self.is_of_two(self.page())
        # A node that was killed, whose last line is cut, and one whose file is on another host.
        second = self.at / "run.1.report.jsonl"
        second.write_bytes(second.read_bytes()[:-20])
        (self.at / "run.0.report.jsonl").unlink()
        self.must(f"cd {self.at} && {LOCUS} report run > page.html")
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
                told = next(line for line in job.err.splitlines() if "of its parts it is made by: locus" in line)
                self.must(f"{LOCUS} {told.split('by: locus ')[1]}")
                self.contains(self.page().rows, "nodes|3")
                (self.at / "page.html").unlink()
        ended = self.run_command(f"{TWO} {MF} --report {self.at}/page.html", 0, env={"LOCUS_RESTART": "1"})
        self.assertIn("locus-mf: started again without --checkpoint: the training begins anew\n", ended.err)
        self.contains(self.page().rows, "nodes|2", "restarts|1: curves begin with the last")
        self.assertEqual(os.listdir(self.at), ["page.html"])

    def test_of_the_baseline_has_its_loss(self):
        self.must(f"{MF} --baseline --report {self.at}/page.html")
        page = self.page()
        self.assertEqual(len(page.panels), 3)
        self.are_drawn(page, "RMSE of the test cells")
        self.assertEqual(os.listdir(self.at), ["page.html"])

    def test_of_many_nodes_shows_the_most_and_the_least(self):
        """More than have a line each; of any program."""
        job = self.start_nodes(8, """locus.Table('<a & "b">', 50, 4)""", "shards=1",
                               env={"LOCUS_REPORT": f"{self.at}/run"})
        job.do(BODY)
        job.end()
        self.must(f"cd {self.at} && {LOCUS} report run > page.html")
        page = self.page()
        self.are_drawn(page, "Workers wait for other nodes, % of their time", "Age of replicas, ms", "my loss",
                       "Replicas held", "Replicas that came a second")
        self.contains("\n".join(page.texts), "most median node least")
        self.assertIn("nodes|8", page.rows)
        self.contains("\n".join(page.rows), "command|", "_a____b__ 50 x 4\n", "\n7|")

    def test_what_cannot_be_made_is_refused(self):
        (self.at / "x.0.report.jsonl").write_text("hello\n")
        (self.at / "y.0.report.jsonl").write_text('{"node":0,"nodes":1,"workers":1,"shards":1,"t":1e300}\n')
        self.refuses_all("", [
            (f"{LOCUS} report", 2, "which run?"), (f"{LOCUS} report --bogus", 2, 'there is no option "--bogus"'),
            (f"{LOCUS} report /no/such/run", 1, "there is no /no/such/run.RANK.report.jsonl"),
            (f"{LOCUS} report {self.at}/x", 1, "x.0.report.jsonl is not what LOCUS_REPORT makes a node write"),
            (f"{LOCUS} report {self.at}/y", 1, "y.0.report.jsonl is not what LOCUS_REPORT makes a node write"),
            # before a long run, not behind it
            (f"{MF} --report /no/such/folder/page.html", 1, "/no/such/folder/page.html"),
            (f"LOCUS_REPORT=/no/such/folder/run {MEMBER} > /dev/null", 1,
             "LOCUS_REPORT: cannot write /no/such/folder/run.0.report.jsonl")])

    def test_is_shown_by_a_browser(self):
        """It finds the same drawings as the parser, and paints something in them."""
        if not shutil.which("chromium"):
            self.skipTest("there is no chromium here")
        self.must(f"{MF} --report {self.at}/page.html")
        shown = self.must(f"cd {self.at} && HOME={self.at} timeout 140 chromium --headless --no-sandbox --disable-gpu "
                          f"--dump-dom file://{self.at}/page.html 2> /dev/null")
        self.assertGreaterEqual(sum("<svg" in line for line in shown.splitlines()), 10)
