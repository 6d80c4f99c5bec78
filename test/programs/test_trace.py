"""Tracing from end to end: a cluster that was asked to by its environment, and the page of what it wrote."""
import os
from pathlib import Path

import nodes
from support import LOCUS, MEMBER

TRACE = f"{LOCUS} trace"
# Each node in turn intends a key that is traced and one that is not, and the first pulls without.
BODY = """
both = keys(7, 8)
def await_local(worker):
    while worker.pull_local(7) is None:
        time.sleep(.0005)
for turn, worker in enumerate(w):
    worker.intent(both, turn, turn + 1)
    await_local(worker)
    worker.push(both, np.ones((2, 4), dtype=np.float32))
    each(lambda other: (other.advance_clock(), other.quiesce()))
for _ in range(3):
    w[0].pull(both)
w[1].intent(both[:1], 0, locus.FOREVER)
await_local(w[1])
each(lambda worker: worker.quiesce())
"""


def header(node, of, more=""):
    return f'{{"node":{node},"nodes":{of}{more},"keys":1}}\n'


# A key that moves from node 0 to node 1 after 2 ms, where a replica was before; and a write.
HEAD = '"nodes":2,"technique":"adaptive","keys":9,"tables":[["a",0],["b",4]]}\n'
FIRST = ('{"node":0,' + HEAD + '{"n":0,"t":1000,"k":5,"s":"O","i":0}\n{"n":0,"t":2000,"k":5,"w":4,"p":0,"q":0}\n'
         '{"n":0,"t":3000,"k":5,"s":".","i":0}\n{"t":5000,"end":0,"lost":0}\n')
SECOND = ('{"node":1,' + HEAD + '{"n":1,"t":1000,"k":5,"s":".","i":0}\n{"n":1,"t":2000,"k":5,"s":"r","i":1}\n'
          '{"n":1,"t":3000,"k":5,"s":"O","i":1}\n{"n":1,"t":4000,"k":5,"w":0,"p":1,"q":2}\n'
          '{"t":5000,"end":0,"lost":0}\n')


class Trace(nodes.TestCase):
    def setUp(self):
        self.at = Path(self.folder())
        self.trace = f"cd {self.at} && {TRACE}"

    def write(self, **texts):
        for name, text in texts.items():
            (self.at / name.replace("__", ".")).write_text(text)

    def picture(self, options):
        self.must(f"{self.trace} --svg p {options} 0 1")
        return (self.at / "p").read_text()

    def test_page_and_picture_of_a_cluster(self):
        job = self.start_nodes(3, """locus.Table('a "name"', 20, 4)""", "shards=2",
                               env={"LOCUS_TRACE": f"{self.at}/run", "LOCUS_TRACE_KEYS": "7"})
        job.do(BODY)
        job.end()
        ended = self.run_command(f"{self.trace} run.*.jsonl", 0)
        self.contains(ended.out, "<!doctype html>", '{"node":2,"nodes":3,"technique":"adaptive","keys":20,'
                      '"tables":[["a__name_",0]]},', '"k":7,"s":"O","i":1},', '"w":0,"p":', '"k":7,"s":"r","i":2},',
                      "</html>")
        self.assertNotIn('"k":8', ended.out)
        self.assertEqual(ended.err, "")
        self.must(f"{self.trace} --svg p run.*.jsonl")
        self.contains((self.at / "p").read_text(), "<svg", "3 nodes, technique adaptive",
                      "key 7, a__name_ row 7 (moves: ", "</svg>")

    def test_cluster_of_one_says_that_it_has_none(self):
        ended = self.run_command(MEMBER, 0, env={"LOCUS_TRACE": f"{self.at}/run"})
        self.assertIn("locus: LOCUS_TRACE writes nothing: in a cluster of one no row moves", ended.err)

    def test_what_is_no_trace_is_refused(self):
        self.write(empty="", bad=header(0, 2) + '{"x":"</script>"}\n')
        for name, us in (("late", 2**63 - 1), ("early", -2**63), ("later", 2**70)):
            self.write(**{name: header(0, 2) + f'{{"n":0,"t":{us},"k":0,"s":"O","i":0}}\n'})
        self.refuses_all(self.trace, [
            ("late", 1, "line 2 is not of a trace"), ("--svg p early", 1, "line 2 is not of a trace"),
            ("later", 1, "line 2 is not of a trace"), ("", 2, "which files?"), ("/dev/null", 1, "cannot read /dev/null: it is not a regular file"),
            ("/no/such/file", 1, "cannot read /no/such/file"), ("bad", 1, "line 2 is not of a trace"),
            ("empty", 1, "is empty"), ("--bogus", 2, 'there is no option "--bogus"'),
            ("--svg", 2, "--svg needs a value: PICTURE"), ("--to 3 file", 2, "--from and --to are for --svg"),
            ("--svg p.svg --from x file", 2, "--from takes a number from 0"),
            ("--svg p.svg --to", 2, "--to needs a value: MS"), ("--to -1 file", 2, "--to takes a number from 0")])

    def test_files_of_one_run_and_nodes_that_did_not_close(self):
        """Of one that was killed there is only the beginning; files of earlier runs may lie beside those of this."""
        self.write(**{"0": header(0, 2) + '{"t":5,"end":0,"lost":0}\n', "1": header(1, 2), "old": header(1, 4)})
        out = self.must(f"{self.trace} 0 1")
        self.assertIn('{"unended":1},', out)
        self.assertNotIn('{"unended":0},', out)
        # LOCUS_REPORT and LOCUS_TRACE may be the same, and a shell finds all of PREFIX.*.jsonl.
        self.write(run__0__jsonl=header(0, 1), run__0__report__jsonl=header(0, 1, ',"workers":1'),
                   run__run__jsonl='{"program":"kge"}\n')
        self.assertNotIn('"workers"', self.must(f"{self.trace} run.*.jsonl"))
        self.refuses_all(self.trace, [
            ("0 1 old", 1, "old is of a cluster of 4 nodes"), ("1 1", 1, "are both of node 1"),
            ("run.*.report.jsonl", 2, "these are files of a report: locus report PREFIX shows them")])

    def test_picture_of_a_time(self):
        self.write(**{"0": FIRST, "1": SECOND})
        # 640 pixels for 4 ms, from the 62nd on: the main copy is 2 ms here, and 2 there.
        self.contains(self.picture(""), "2 nodes, technique adaptive, 0 to 4 ms",
                      "key 5, b row 1 (moves: 1, replicas: 1, writes in place: 4, remote accesses: 3)",
                      '<path fill="#3b76b8" d="M62 122h321v11h-321z"/>',
                      '<path fill="#a8d08d" d="M222 135h161v11h-161z"/>',
                      '<path fill="#3b76b8" d="M383 135h319v11h-319z"/>')
        part = self.picture("--from 2.5 --to 3")
        self.contains(part, "2.5 to 3 ms", "(moves: 0, replicas: 0, writes in place: 0, remote accesses: 3)")
        self.assertNotIn('#a8d08d" d=', part)
        self.refuses(f"{self.trace} --svg q --from 4 0 1", 1, "nothing was traced then")
        self.refuses(f"{self.trace} --svg 0 0 1", 1, "")  # it is a file of the trace
        self.assertEqual(sorted(os.listdir(self.at)), ["0", "1", "p"])
