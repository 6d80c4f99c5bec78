"""`locus top`, looking at a job: as JSON, as a table, and on a terminal."""
import json

import nodes
import support
from support import HANG_S, LOCUS

TOP = f"{LOCUS} top"
# Rank 0 reads all rows, again and again; rank 1 waits.
WORK = """
works = True
def work():
    while works:
        w[0].pull(np.arange(64))
        w[0].advance_clock()
        time.sleep(.001)
each(lambda worker: worker.intent(np.arange(16), 0, locus.FOREVER))
working = pool.submit(work)
"""


class Top(nodes.TestCase):
    under_sanitizers = False

    def start_job(self):
        self.job, self.base = self.start_metrics(2, 'locus.Table("rows", 64, 4)', "shards=1")
        self.job.do(WORK)

    def end_job(self):
        self.job.do("works = False; working.result()")
        self.job.end()

    def ranks(self, options="", status=0):
        ended = self.run_command(f"{TOP} --json {options} {self.base}", status)
        return [json.loads(line) for line in ended.out.splitlines()]

    def test_without_terminal_is_refused(self):
        """It would look again and again, as fast as it can, for a key that nobody can press."""
        self.start_job()
        self.refuses(f"TERM=xterm timeout -s KILL {HANG_S} {TOP} {self.base}", 1, "no terminal: use --once")

    def test_json_tells_what_a_job_does(self):
        self.start_job()

        def shows_work():
            self.shown = self.ranks()
            row = self.shown[0]
            local, remote = row["local_keys_per_second"], row["remote_keys_per_second"]
            return (local > 0 and remote > .3 * local and local > .3 * remote  # half of its rows are its own
                    and 0 < row["staleness_p50_seconds"] <= row["staleness_p99_seconds"]
                    and all(row[name] > 0 for name in ("clock", "sent_bytes_per_second", "shard_cores")))
        # On a busy machine nothing may happen for a second.
        support.wait_until(shows_work, lambda: f"no work in {self.shown}")
        self.assertEqual(sum(row["owned_rows"] for row in self.shown), 64)
        self.assertEqual([self.shown[1][name] for name in ("rank", "local_keys_per_second", "answers")], [1, 0, 1])
        self.end_job()
        row = self.ranks("--interval 0.1", status=1)[0]
        self.assertEqual(row["answers"], 0)
        self.assertIn("nobody answers at 127.0.0.1:", row["why"])

    def test_jobs_of_this_user_are_found(self):
        self.start_job()
        # A process with the variable, as whatever started a job's nodes has it.
        self.start(f"LOCUS_METRICS={self.base} exec sleep 600")
        support.wait_until(lambda: self.base in self.run_command(f"{TOP} --json --interval 0.1").out, "it is not found")
        port = self.base.split(":")[1]
        for form in port, f":{port}", f"localhost:{port}", f"0.0.0.0:{port}":
            with self.subTest(form=form):  # of the shell that asks: it is one job
                shown = self.run_command(f"LOCUS_METRICS={form} {TOP} --json --interval 0.1").out
                rows = [json.loads(line) for line in shown.splitlines()]
                self.assertEqual([row["rank"] for row in rows if row["address"].endswith(port)], [0, 1])

    def test_table_on_a_terminal(self):
        self.start_job()
        shown = self.start(f"exec {TOP} --interval 0.2 {self.base}", terminal=True)
        for key, texts in (("", ["2 nodes, by rank", "keys/s"]), ("s", ["accesses"]),
                           (" ", ["frozen"])):
            shown.type(key)
            for text in texts:
                shown.await_text(text)
        shown.type("q")
        self.assertEqual(shown.wait(), 0)
        self.contains(self.must(f"{TOP} --once --interval 0.1 {self.base}"), "\n   0 ", "\n   1 ")


class WithoutJob(nodes.TestCase):
    def test_wrong_arguments_are_refused(self):
        self.refuses_all(TOP, [
            ("--interval never", 2, "locus top: --interval takes a number from 0.05 to 3600"),
            ("--interval", 2, "--interval"), ("--wrong", 2, "--wrong")])

    def test_what_does_not_answer_is_told(self):
        nobody = f"127.0.0.1:{support.free_port()}"
        for arguments, part in ((f"--once {nobody}", f"0 nobody answers at {nobody}"),
                                ("--once nonsense", "nobody answers at nonsense: it is no HOST:PORT")):
            with self.subTest(arguments=arguments):
                self.assertIn(part, self.run_command(f"{TOP} --interval 0.1 {arguments}", 1).out)

    def test_answer_of_no_node_is_shown_as_text(self):
        """Nothing that it says moves the cursor."""
        for answer, shown in (("HTTP/1.0 500 Oh\r\n\r\nno \033[2Jmemory\n", r"no \x1b[2Jmemory (HTTP status 500)"),
                              ("HTTP/1.0 500 Oh\r\n\r\n", "answers with HTTP status 500"),
                              ("HTTP/1.0 404 Oh\r\n\r\nno\xC2\x9Bsuch path\n", r"no\xc2\x9bsuch path"),
                              ("HTTP/1.0 200 OK\r\n\r\nhello\n", "is no node of locus"),
                              ("220 mail\r\n", "is no server of metrics")):
            with self.subTest(answer=answer):
                out = self.run_command(f"{TOP} --once --interval 0.1 {nodes.serve(answer)}", 1).out
                self.assertIn(shown, out)
                self.assertNotIn("\033", out)

    def test_nodes_that_are_missing_are_counted(self):
        address = nodes.serve('HTTP/1.0 200 OK\r\n\r\n# \nlocus_nodes{rank="1"} 4\n')
        self.assertIn("3 more nodes do not answer at the next ports",
                      self.run_command(f"{TOP} --once --interval 0.1 {address}", 1).err)

    def test_workers_wait_no_longer_than_there_is_time(self):
        """Two, whose waits of 1000 seconds in all end within the second."""
        answers = ['HTTP/1.0 200 OK\r\n\r\n# \nlocus_nodes{rank="0"} 1\n'
                   f'locus_blocked_seconds_sum {waited}\nlocus_worker_clock{{worker="0"}} 1\n'
                   'locus_worker_clock{worker="1"} 1\n' for waited in (0, 1000)]
        self.assertIn(" 100.0% ", self.must(f"{TOP} --once --interval 1 {nodes.serve(answers[0], *answers)}"))
