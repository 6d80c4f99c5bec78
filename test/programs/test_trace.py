"""Tracing from end to end: a cluster that was asked to by its environment, and the Chrome trace events of what it wrote."""
import json
from pathlib import Path

import nodes
from support import LOCUS, MEMBER

TRACE = f"{LOCUS} trace"
# Each node in turn intends a key that is traced and one that is not, and the first pulls without.
BODY = """
import os
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
while '"w":' not in open(os.environ["LOCUS_TRACE"] + ".1.jsonl").read():
    w[1].push(both[:1], np.ones((1, 4), dtype=np.float32))
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
          '{"n":1,"t":4500,"k":5,"s":"O","i":2}\n{"n":1,"t":2500,"h":0,"b":2}\n{"n":1,"t":4000,"h":0,"b":0}\n'
          '{"t":5000,"end":0,"lost":0}\n')


class Trace(nodes.TestCase):
    def setUp(self):
        self.at = Path(self.folder())
        self.trace = f"cd {self.at} && {TRACE}"

    def write(self, **texts):
        for name, text in texts.items():
            (self.at / name.replace("__", ".")).write_text(text)

    def events(self, files):
        """Those of each (process, thread), by their names; a process is a key."""
        told = json.loads(self.must(f"{self.trace} {files}"))
        names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in told["traceEvents"] if e["ph"] == "M"}
        found = {}
        for e in told["traceEvents"]:
            if e["ph"] != "M":
                thread = names.get((e["pid"], e["tid"]), "counts")
                found.setdefault((names[e["pid"], None], thread), []).append(
                    (e["ts"], e["dur"], e["name"]) if e["ph"] == "X" else (e["ts"], e["name"], *e["args"].values()))
        return told["otherData"], found

    def test_events_of_a_cluster(self):
        job = self.start_nodes(3, """locus.Table('a "name"', 20, 4)""", "shards=2",
                               env={"LOCUS_TRACE": f"{self.at}/run", "LOCUS_TRACE_KEYS": "7"})
        job.do(BODY)
        job.end()
        self.assertEqual(self.run_command(f"{self.trace} run.*.jsonl", 0).err, "")
        about, found = self.events("run.*.jsonl")
        self.assertEqual(about, {"nodes": 3, "technique": "adaptive", "lost": 0})
        key = "key 7, a__name_ row 7"
        self.assertTrue(all(process in (key, "workers") for process, _ in found), found)
        self.assertTrue(all(any(name == "main copy" for *_, name in found[key, f"node {node}"]) for node in range(3)))
        self.assertEqual(found[key, "node 1, intents"][-1][2], "kept")
        counted = found[key, "counts"]
        self.assertEqual(sum(pulls[0] for _, name, *pulls in counted if name == "node 0, at other nodes"), 3, counted)
        self.assertTrue(any(name == "node 1, changes here" for _, name, *_ in counted), counted)

    def test_what_is_no_trace_is_refused(self):
        self.write(empty="", bad=header(0, 2) + '{"x":"</script>"}\n')
        for name, us in (("late", 2**63 - 1), ("early", -2**63), ("later", 2**70)):
            self.write(**{name: header(0, 2) + f'{{"n":0,"t":{us},"k":0,"s":"O","i":0}}\n'})
        self.refuses_all(self.trace, [
            ("later", 1, "line 2 is not of a trace"), ("", 2, "which files?"), ("/dev/null", 1, "cannot read /dev/null: it is not a regular file"),
            ("/no/such/file", 1, "cannot read /no/such/file"), ("bad", 1, "line 2 is not of a trace"),
            ("late", 1, "line 2 is not of a trace"), ("early", 1, "line 2 is not of a trace"),
            ("empty", 1, "is empty"), ("--bogus", 2, 'there is no option "--bogus"')])

    def test_files_of_one_run_and_nodes_that_did_not_close(self):
        """Of one that was killed there is only the beginning; files of earlier runs may lie beside those of this."""
        self.write(**{"0": header(0, 3) + '{"t":5,"end":0,"lost":7}\n', "1": header(1, 3), "old": header(1, 4)})
        ended = self.run_command(f"{self.trace} 0 1", 0)
        self.contains(ended.err, "node 1 did not close", "files of 1 of 3 nodes are not among", "7 events did not fit")
        self.assertNotIn("node 0 did not close", ended.err)
        self.assertEqual(json.loads(ended.out)["otherData"]["lost"], 7)
        # LOCUS_REPORT and LOCUS_TRACE may be the same, and a shell finds all of PREFIX.*.jsonl.
        self.write(run__0__jsonl=header(0, 1), run__0__report__jsonl=header(0, 1, ',"workers":1'),
                   run__run__jsonl='{"program":"kge"}\n')
        self.must(f"{self.trace} run.*.jsonl")
        self.refuses_all(self.trace, [
            ("0 1 old", 1, "old is of a cluster of 4 nodes"), ("1 1", 1, "are both of node 1"),
            ("run.*.report.jsonl", 2, "these are files of a report: locus report PREFIX shows them")])

    def test_events_are_what_the_files_say(self):
        """One slice for as long as the place is the same; a count stands for the millisecond before it."""
        self.write(**{"0": FIRST, "1": SECOND})
        about, found = self.events("1 0")
        self.assertEqual(about, {"nodes": 2, "technique": "adaptive", "lost": 0})
        key = "key 5, b row 1"
        self.assertEqual(found, {
            (key, "node 0"): [(0, 2000, "main copy")],
            (key, "node 1"): [(1000, 1000, "replica"), (2000, 2000, "main copy")],
            (key, "node 1, intents"): [(1000, 2500, "intent"), (3500, 500, "kept")],
            (key, "counts"): [(0, "node 0, changes here", 4), (1000, "node 0, changes here", 0),
                              (2000, "node 1, at other nodes", 1, 2), (3000, "node 1, at other nodes", 0, 0)],
            ("workers", "node 1, shard 0"): [(1500, 1500, "waits for clocks")]})
