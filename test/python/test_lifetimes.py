"""Closing in any order, threads, forks, signals and the interpreter's end: an error each, and never a hang or a crash."""
import contextlib
import ctypes
import os
import signal
import subprocess
import tempfile
import sys
import threading
import time
import unittest
from pathlib import Path

import locus
import numpy as np
from support import environment, free_port, interrupted_at, passes, run, run_nodes, script

OPEN = "node = locus.open([locus.Table('a', 1000, 4)], workers=2)\nw, v = node.worker(), node.worker()\nk = np.arange(8)\n"
# Until a call that was interrupted has ended.
AWAIT_USE = """
while w._unusable:
    try: w.clock
    except locus.UsageError: time.sleep(.01)
"""


class Lifetimes(unittest.TestCase):
    def test_a_closed_worker_makes_room_for_another(self):
        with locus.open([locus.Table("a", 10, 4)]) as node:
            for _ in range(3):
                with node.worker() as worker, worker.loader():
                    worker.push_async(np.array([1]), np.ones((1, 4), np.float32))
            self.assertEqual(node.worker().pull(np.array([1])).tolist(), [[3] * 4])

    def test_two_threads_in_one_worker(self):
        with locus.open([locus.Table("a", 10, 4)], workers=2) as node, node.worker() as worker, node.worker() as other:
            waits = threading.Thread(target=worker.barrier)
            waits.start()
            while not worker._guard:
                pass
            self.assertRaisesRegex(locus.UsageError, "another thread", worker.pull, np.array([1]))
            self.assertRaisesRegex(locus.BusyError, "worker 0 is in a call", node.close)
            other.barrier()
            waits.join()
            worker.pull(np.array([1]))

    def test_interpreter_exits_with_all_open(self):
        for end in ("", "sys.exit(0)", "os._exit(0)", "del node, w, v", "v.close()", "node.close()", "w.pull_async(k)",
                    "l = w.loader(); d = node.distribution('a'); w.prepare_sample(d, 5, 0, 9)",
                    "threading.Thread(target=v.barrier, daemon=True).start(); time.sleep(.1)"):
            with self.subTest(end=end):
                self.assertEqual(passes(self, run(OPEN + end, "-X", "dev")), "")

    def test_exception_within_open_ends_the_program(self):
        ended = run("with locus.open([locus.Table('a', 10, 4)]) as n, n.worker() as w, w.loader() as l:\n    1 / 0\n")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("ZeroDivisionError", ended.stdout.splitlines()[-1])

    def test_cycles_leak_nothing(self):
        said = passes(self, run("""
            from support import leaks_nothing
            def cycle():
                with locus.open([locus.Table('a', 1000, 16)]) as node, node.worker() as w:
                    with w.loader() as l:
                        l.intent(np.arange(10), 1, 2)
                    node.distribution('a', np.ones(1000))
                    w.push(np.arange(10), np.ones((10, 16), np.float32))
                    w.pull_async(np.arange(10)).wait()
            sys.stdout.write(leaks_nothing(cycle, 100, 300))"""))
        self.assertIn("descriptors", said)


class Interrupts(unittest.TestCase):
    def await_sleep(self, program):
        """All its threads: who waits for a processor or for a disk does not sleep, and may have the interpreter."""
        looks = 0
        while looks < 10:
            time.sleep(.01)
            self.assertIsNone(program.poll())
            try:
                states = {Path(f"/proc/{program.pid}/task/{task}/stat").read_text().rsplit(") ", 1)[1][0]
                          for task in os.listdir(f"/proc/{program.pid}/task")}
            except OSError:  # a thread ended meanwhile
                states = set()
            looks = looks + 1 if states == {"S"} else 0

    def interrupted(self, wait, then="", interrupt=lambda pid: os.kill(pid, signal.SIGINT)):
        """Sends SIGINT to a program that says that it waits, as Ctrl-C does; whoever started us may ignore it."""
        with tempfile.TemporaryDirectory() as folder:
            text = "signal.signal(signal.SIGINT, signal.default_int_handler)\n" \
                "try:\n    print('waits', flush=True)\n    " + wait + "\nexcept KeyboardInterrupt:\n    pass\n" \
                "else:\n    print('was not interrupted')\n" + then + "\nprint('good')\n"
            with subprocess.Popen([sys.executable, "-X", "dev", script(OPEN + text, folder)], env=environment(),
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
                try:
                    self.assertEqual(program.stdout.readline(), "waits\n")
                    self.await_sleep(program)
                    interrupt(program.pid)
                    said = program.communicate(timeout=100)[0]
                finally:
                    program.kill()
            said = [line for line in said.splitlines() if " s for worker" not in line]  # who waits for 10 s says so
            self.assertEqual((said, program.returncode), (["good"], 0))

    def test_ctrl_c_ends_a_barrier(self):
        self.interrupted("w.barrier()", """
for use in (w.barrier, lambda: w.pull(k), node.close):
    try: use()
    except locus.UsageError as fault: assert "interrupted" in str(fault), fault
    else: raise SystemExit("no error")""")

    def test_ctrl_c_is_noticed_whichever_thread_gets_it(self):
        """As it may when the process was stopped, or the main thread traced."""
        def interrupt(pid):
            other = next(int(task) for task in os.listdir(f"/proc/{pid}/task") if int(task) != pid)
            self.assertEqual(ctypes.CDLL(None).tgkill(pid, other, signal.SIGINT), 0)
        self.interrupted("w.barrier()", interrupt=interrupt)

    def test_worker_is_usable_again_when_its_interrupted_call_has_ended(self):
        self.interrupted("w.quiesce()", "v.quiesce()" + AWAIT_USE + "w.pull(k); node.close()")

    def test_ctrl_c_between_two_instructions_leaves_nothing_taken(self):
        keys, values = np.arange(3), np.ones((3, 4), np.float32)
        with locus.open([locus.Table("a", 10, 4, optimizer="sgd")], workers=2) as node, node.worker() as worker:
            node.worker().close()
            loader, draw, used = worker.loader(), node.distribution("a"), []

            def use_all():
                while worker._waiting.left:  # the call itself goes on
                    with contextlib.suppress(locus.UsageError):
                        worker.clock
                used.append((worker.pull(keys), worker.clock, loader.intent(keys, 1, 2), node.length(1)))
            for use in (lambda: worker.pull(keys), lambda: worker.push(keys, values), lambda: worker.set(keys, values),
                        lambda: worker.set_state(keys, worker.pull_state(keys)), lambda: worker.pull_async(keys).wait(),
                        lambda: worker.push_async(keys, values).done(), lambda: worker.pull_local(1), worker.barrier,
                        lambda: worker.intent(keys, 1, 2), worker.advance_clock, lambda: worker.clock, worker.wait_all,
                        lambda: worker.localize(keys), lambda: loader.intent(keys, 1, 2), lambda: worker.loader().close(),
                        lambda: worker.prepare_sample(draw, 3, 0, 9).finish(), node.stats, node.owned,
                        lambda: node.length(1), lambda: node.set_rate("a", 0.1), lambda: node.histogram("hops")):
                number = 1
                while interrupted_at(number, use):
                    number += 1
                    another = threading.Thread(target=use_all, daemon=True)
                    another.start()
                    another.join()
                self.assertGreater(number, 3)
                self.assertEqual(len(used), number - 1, use)
                used.clear()

    def test_ctrl_c_ends_joining(self):
        self.interrupted("locus.open([locus.Table('a', 10, 4)], rank=0, size=2, "
                         f"rendezvous='127.0.0.1:{free_port()}')")


class Clusters(unittest.TestCase):
    def test_rows_are_shared_with_each_technique(self):
        for technique in ("adaptive", "static", "relocate", "replicate", "full_replication"):
            with self.subTest(technique=technique):
                said = passes(self, run_nodes(2, f"""
                    with locus.open([locus.Table('a', 20000, 4)], technique={technique!r}) as n, n.worker() as w:
                        k = np.arange(20000)
                        w.push(k, np.ones((20000, 4), np.float32))
                        w.push(k[:10], np.ones((10, 4), np.float32))
                        for part in np.split(k, 200):
                            w.push_async(part, np.ones((100, 4), np.float32))
                        assert 0 < len(w._tickets) < 64 or {technique!r} == "full_replication", len(w._tickets)
                        w.quiesce()
                        assert w.pull(k[10:]).sum() == 4 * 4 * 19990
                        assert w.pull_async(k[:10]).wait().sum() == 10 * 4 * 6
                        w.localize(k[:5])
                        w.barrier()
                        with w.prepare_sample(n.distribution('a'), 50, 0, 1) as s: s.pull()
                        sys.stdout.write('2\\n' if n.size == 2 else 'no')"""))
                self.assertEqual(said, "2\n2\n")

    def test_clusters_one_after_the_other_leak_nothing(self):
        said = passes(self, run_nodes(2, """
            from support import leaks_nothing
            k = np.arange(1000)
            def cycle():
                with locus.open([locus.Table('a', 1000, 16)]) as n, n.worker() as w:
                    w.use_threads(2)
                    w.intent(k[:10], 0, 2)
                    w.push(k, np.ones((1000, 16), np.float32))
                    w.pull_async(k).wait()
                    w.checkpoint(os.path.dirname(sys.argv[0]))
            sys.stdout.write(leaks_nothing(cycle, 10, 20))"""))
        self.assertEqual(said.count("descriptors"), 2)

    def test_an_exception_ends_the_cluster(self):
        ended = run_nodes(2, """
            with locus.open([locus.Table('a', 10, 4)]) as n, n.worker() as w:
                w.barrier()
                if n.rank == 1: raise ValueError("of rank 1")
                try: w.barrier()
                except locus.LostError as fault: print(fault)
                else: print("nobody said it")""")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("of rank 1", ended.stdout)
        self.assertNotIn("nobody said it", ended.stdout)

    def test_a_lost_node_is_in_the_books_of_the_others(self):
        said = passes(self, run_nodes(3, """
            with locus.open([locus.Table('a', 3000, 4)], technique='relocate', survives=True) as n, n.worker() as w:
                before = n.losses()
                assert (before['survives'], before['members'], before['lost'], before['last']) == (1, 3, 0, -1), before
                w.push(k := n.owned(), np.ones((len(k), 4), np.float32))
                [lost] = w.sum([len(k) if n.rank == 2 else 0])
                while n.losses()['saves'] < len(k): time.sleep(.01)
                w.barrier()
                if n.rank == 2: os.kill(os.getpid(), signal.SIGKILL)
                while n.losses()['last_s'] == 0: time.sleep(.01)
                after = n.losses()
                assert (after['members'], after['lost'], after['last'], after['is_newcomer']) == (2, 1, 2, 0), after
                assert time.time() - 300 < after['last_at_s'] <= time.time() and after['save_age_s'] > 0, after
                assert after['last_age_s'] > 0 or not after['rows_from_saves'], after
                rows = w.sum([after['rows_from_replicas'], after['rows_from_saves'], after['rows_zero']])
                assert list(rows) == [0, lost, 0], (rows, lost)
                assert w.pull(np.arange(3000)).sum() == 4 * 3000
                sys.stdout.write('2\\n')""", LOCUS_SURVIVES="1"))
        self.assertEqual(said.splitlines().count("2"), 2, said)
        self.assertEqual(said.count("node 2 was ended by signal 9"), 1, said)

    def test_a_node_leaves_and_nothing_is_lost(self):
        said = passes(self, run_nodes(3, """
            node = locus.open([locus.Table('a', 3000, 4)], survives=True)
            with node.worker() as w:
                w.push(np.arange(3000), np.ones((3000, 4), np.float32))
                w.barrier()
            if node.rank == 0:
                try: node.leave()
                except locus.UsageError as fault: assert 'only a node but rank 0' in str(fault)
                else: raise AssertionError('rank 0 has left')
            if node.rank == 2:
                node.leave()
                node.leave()
            else:
                with node.worker() as w:
                    while node.losses()['left'] == 0 or node.losses()['last_s'] == 0: time.sleep(.01)
                    w.barrier()
                    after = node.losses()
                    assert (after['members'], after['rows_from_replicas'], after['rows_from_saves']) == (2, 0, 0), after
                    assert w.sum([after['rows_handed_over']])[0] > 0, after
                    assert w.pull(np.arange(3000)).sum() == 3 * 4 * 3000
                node.close()
            sys.stdout.write('left\\n' if node.rank == 2 else 'closed\\n')"""))
        self.assertEqual((said.splitlines().count("left"), said.splitlines().count("closed")), (1, 2), said)

    def test_ctrl_c_ends_a_remote_pull(self):
        """The peer is stopped, so that nothing answers."""
        said = passes(self, run_nodes(2, """
            import ctypes
            with locus.open([locus.Table('a', 20000, 4)], technique='static', peer_timeout=300) as n, n.worker() as w:
                owned = n.owned()
                other = np.setdiff1d(np.arange(20000), owned)
                pids = os.path.join(os.path.dirname(sys.argv[0]), 'pid')
                if n.rank == 1: open(pids, 'w').write(str(os.getpid()))
                w.barrier()
                if n.rank == 1:
                    w.barrier()
                else:
                    pid = int(open(pids).read())
                    os.kill(pid, signal.SIGSTOP)
                    while not all(open(f"/proc/{pid}/task/{task}/stat").read().rsplit(") ", 1)[1].startswith("T")
                                  for task in os.listdir(f"/proc/{pid}/task")): time.sleep(.01)
                    try:
                        def stop(*_): raise KeyboardInterrupt
                        signal.signal(signal.SIGALRM, stop)
                        for few in (True, False):
                            try:
                                signal.setitimer(signal.ITIMER_REAL, 0.3)
                                w.pull(other[:10] if few else other)
                            except KeyboardInterrupt: print("ended")
                    finally: os.kill(pid, signal.SIGCONT)
                    while w._unusable:
                        try: w.clock
                        except locus.UsageError: time.sleep(.01)
                    w.wait_all()
                    w.barrier()"""))
        self.assertEqual(said, "ended\nended\n")

    def test_several_workers_in_threads(self):
        said = passes(self, run_nodes(2, """
            with locus.open([locus.Table('a', 100, 4)], workers=2) as n:
                def train(worker):
                    with worker:
                        k = np.arange(100)
                        for _ in range(100):
                            worker.push(k, np.ones((100, 4), np.float32))
                        worker.quiesce()
                        assert (worker.pull(k) == 400).all()
                        sys.stdout.write('sum\\n')
                threads = [threading.Thread(target=train, args=(n.worker(),)) for _ in range(2)]
                for t in threads: t.start()
                for t in threads: t.join()"""))
        self.assertEqual(said, "sum\n" * 4)
