"""`locus explain`, asking a job in which a key moves, is copied, follows its last intent, and is localized; and what it
says where there is nothing to ask."""
import nodes
import support
from support import LOCUS

EXPLAIN = f"{LOCUS} explain"
TABLES = 'locus.Table("users", 40, 4), locus.Table("a:b c", 40, 4)'
# `key` is of the second table, and its home is node 0.
BEGIN = """
key = np.array([k for k in nodes[0].owned() if k >= 40][:1])
def to_clock(worker, clock):
    while worker.clock < clock:
        worker.advance_clock()
def await_local(worker):
    while worker.pull_local(int(key[0])) is None:
        time.sleep(.001)
quiesce = lambda: each(lambda worker: worker.quiesce())
print(key[0] - 40)
"""
MOVE = "to_clock(w[2], 118); w[2].intent(key, 118, 140); await_local(w[2]); quiesce()"
COPY = "w[1].intent(key, 0, 900); await_local(w[1]); w[1].push(key, np.ones((1, 4), dtype=np.float32)); quiesce()"


class Job(nodes.TestCase):
    def setUp(self):
        self.job, self.base = self.start_metrics(3, TABLES, "shards=2")
        self.row = int(self.job.do(BEGIN))

    def ask(self, options=""):
        return self.must(f"{EXPLAIN} {options} 'a:b c:{self.row}' {self.base}")

    def await_answer(self, text):
        """What is decided in rounds may take a moment."""
        def says():
            self.answer = self.ask()
            return text in self.answer
        support.wait_until(says, lambda: f"{text} is not in {self.answer}")
        return self.answer

    def test_life_of_a_key_is_told(self):
        self.contains(self.ask(), "table a:b c, row ", "main copy   node 0; it has never moved, its home\n",
                      "replicas    none\nintended    by nobody\ndecisions   none is remembered")
        self.job.do(MOVE)
        self.contains(self.ask(), "main copy   node 2; moved 1 time; home is node 0\n",
                      "intended    node 2: 1 active intent, clocks 118 to 140\n",
                      "node 2 asked node 0 for it, clocks 118 to 140\n", "moved 0 -> 2: node 2 alone intends it\n")
        self.job.do(COPY)
        self.contains(self.ask(), "replicas    node 1: its owner was heard ",
                      "\n            node 1: row brought ", "node 1: 1 active intent, clocks 0 to 900\n",
                      "copied 2 -> 1: node 2 intends it, too\n")
        self.job.do("to_clock(w[2], 140); quiesce()")
        answer = self.await_answer("moved 2 -> 1: node 1 alone still intends it\n")
        self.assertIn("main copy   node 1; moved 2 times; home is node 0\nreplicas    none\n", answer)
        self.assertNotIn("node 2: 1 active", answer)
        self.assertEqual([answer.count("  moved "), answer.count("  copied ")], [2, 1])  # each by one of its two nodes
        self.job.do("to_clock(w[1], 900); quiesce()")
        self.await_answer("intended    by nobody\n")
        self.job.do("w[0].localize(key); quiesce()")
        self.contains(self.ask(), "main copy   node 0; moved 3 times, its home\n",
                      "moved 1 -> 0: node 0 asked for it by locus_localize, and no intent is against it\n")
        self.assertIn("moved 2 -> 1: node 1 alone still", self.must(f"{EXPLAIN} {self.row + 40} {self.base}"))

    def test_what_only_the_receiver_knows_is_told(self):
        self.job.do(MOVE)
        host, port = self.base.split(":")
        out = self.run_command(f"{EXPLAIN} 'a:b c:{self.row}' {host}:{int(port) + 2}", 1).out
        self.contains(out, "main copy   node 2; moved 1 time", "moved 0 -> 2\n", "1 of 3 nodes have answered")

    def test_what_is_not_there_is_refused(self):
        self.refuses_all(EXPLAIN, [
            (f"items:7 {self.base}", 1, 'locus explain: there is no table "items"; there are: users, a:b c\n'),
            (f"users:40 {self.base}", 1, 'table "users" has no row 40: its rows are 0 to 39\n'),
            (f"80 {self.base}", 1, "there is no key 80: keys are 0 to 79\n")])
        # rank 1 alone: what is missing is said, and the status is that of top
        host, port = self.base.split(":")
        self.assertIn("1 of 3 nodes have answered: give HOST:PORT of the others, too\n",
                      self.run_command(f"{EXPLAIN} 0 {host}:{int(port) + 1}", 1).out)
        self.job.end()
        self.refuses(f"{EXPLAIN} 7 {self.base}", 1, "nobody answers at 127.0.0.1:")


class WithoutJob(nodes.TestCase):
    def test_wrong_arguments_are_refused(self):
        self.refuses_all(EXPLAIN, [
            ("", 2, "which key?"), ("seven", 2, '"seven" is no key: write a number, or TABLE:ROW'),
            ("users: 127.0.0.1:1", 2, '"users:" is no key'), ("99999999999999999999", 2, "is no key"),
            ("--bogus", 2, 'there is no option "--bogus"')])

    def test_job_without_metrics_has_no_port(self):
        self.start_nodes(1, TABLES)
        ended = self.run_command(f"{EXPLAIN} 7")
        # other tests' jobs may serve metrics here, and may just have ended
        if not ended.out and not any(text in ended.err for text in ("several jobs", "nobody answers", "is no key")):
            self.assertIn("start it with LOCUS_METRICS=127.0.0.1:9400", ended.err)

    def says(self, answer, status, part):
        ended = self.run_command(f"{EXPLAIN} 7 {nodes.serve(answer)}", status)
        self.assertIn(part, ended.err if status else ended.out)
        self.assertNotIn("\033", ended.out + ended.err)
        return ended.out

    def test_answer_of_no_node_is_a_sentence(self):
        for answer, status, part in (
                ("500 Oh\r\n\r\n", 1, "answers with HTTP status 500"),
                ("503 Oh\r\n\r\nshard \0331 sleeps\n", 1, r"shard \x1b1 sleeps (HTTP status 503)"),
                ("200 OK\r\n\r\nlocus-key 9\n", 1, "is not to be understood"),
                ("200 OK\r\n\r\nlocus-key 1\nnode 0 1 adaptive\nkey 7 7 us\033[2Jers\nhome 0\nplace main\nowner 0 0\n"
                 "intends 0\nend\n", 0, r"table us\x1b[2Jers, row 7")):
            with self.subTest(answer=answer):
                self.says(f"HTTP/1.0 {answer}", status, part)

    def test_hot_key_is_a_dozen_lines(self):
        """As many as a person reads, and how many there are."""
        holders = "".join(f"holder {i + 1} {1000000 * (1 + i * 7 % 64)} {'behind' if i < 5 else 'current'}\n"
                          for i in range(64))
        out = self.says("HTTP/1.0 200 OK\r\n\r\nlocus-key 1\nnode 0 1 adaptive\nkey 7 7 users\nhome 0\nplace main\n"
                        f"owner 0 0\nintends 16\nintent clocks 7 11\n{holders}more-holders 6\nend\n", 0,
                        "replicas    \n            node 10: row brought 64.0 s ago")
        self.contains(out, "s ago, all updates sent\n            and 67 more; 70 in all, updates are waiting to be "
                      "sent to 5 or more\n", "intended    node 0: 16 active intents, the latest of clocks 7 to 11\n")
        self.assertEqual(out.count("\n"), 9)
