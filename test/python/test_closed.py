"""Every method of every object, after it was closed and in a forked child: an exception with a sentence, or nothing."""
import inspect
import threading
import unittest

import locus
import numpy as np

from support import FORKS, passes, run

try:
    import locus.torch as lt
    import torch
except ImportError:
    torch = None

DRAWN = object()
KEYS, ROWS = np.array([1, 2]), np.ones((2, 4), np.float32)
# What each takes; a method that is not here fails the test.
ARGUMENTS = {
    "Node": {"worker": (), "length": (1,), "set_rate": ("a", 0.1), "set_steps": ("a", 1), "owned": (), "stats": (), "losses": (),
             "histogram": ("hops",),
             "report_value": ("loss", 0.5), "distribution": ("a",)},
    "Worker": {"pull": (KEYS,), "push": (KEYS, ROWS), "set": (KEYS, ROWS), "pull_state": (KEYS,),
               "set_state": (KEYS, ROWS), "pull_async": (KEYS,), "push_async": (KEYS, ROWS), "set_async": (KEYS, ROWS),
               "pull_local": (1,), "wait_all": (), "intent": (KEYS, 0, 9), "unintend": (KEYS,), "advance_clock": (),
               "clock": None, "localize": (KEYS,), "localize_async": (KEYS,), "loader": (),
               "prepare_sample": (DRAWN, 3, 0, 9), "barrier": (), "quiesce": (), "bound": (1,), "use_threads": (2,),
               "checkpoint": ("/nowhere",), "restore": ("/nowhere",), "sum": ([1.0],), "meet": ([1.0],)},
    "Loader": {"intent": (KEYS, 0, 9), "prepare_sample": (DRAWN, 3, 0, 9)},
    "Sample": {"pull": (), "keys": ()},
    "Job": {"barrier": (), "quiesce": (), "meet": (1.0,), "checkpoint": ("/nowhere",), "restore": ("/nowhere",), "stats": (),
            "export": ("/tmp",)},
    "Embedding": {"forward": None, "weight_of": None, "set_weight": None},
    "Distribution": {}, "Ticket": {},
}
HARMLESS = {"close", "leave", "free", "finish", "done", "wait"}  # again: does nothing, or says what was


class Objects:
    """One of each, and a batch's pass of the embedding."""

    def __init__(self):
        if torch:
            self.embedding = lt.Embedding(10, 4)
            self.optimizer = lt.SGD(self.embedding, 1)
            job = lt.open(self.optimizer, tables=[locus.Table("a", 10, 4)])
            self.node, self.worker = job.node, job.worker
            self.embedding(torch.tensor([1, 2])).sum().backward()
            self.negatives = lt.Negatives(self.embedding)
            self.negatives.take(3)
        else:
            self.node = locus.open([locus.Table("a", 10, 4)])
            self.worker = self.node.worker()
        self.distribution = self.node.distribution("a")
        self.all = [self.node, self.worker, self.worker.loader(), self.distribution, self.worker.pull_async(KEYS),
                    self.worker.prepare_sample(self.distribution, 3, 0, 9)] + ([job] if torch else [])

    def uses(self):
        """(what, a call of it) for every public method and property."""
        for each in self.all:
            kind = type(each).__name__
            for name, what in inspect.getmembers(type(each), lambda w: callable(w) or isinstance(w, property)):
                if name.startswith("_") or name in HARMLESS:
                    continue
                given = ARGUMENTS[kind][name]  # a new method? say what it takes
                if isinstance(what, property):
                    yield f"{kind}.{name}", lambda each=each, name=name: getattr(each, name)
                else:
                    given = [self.distribution if value is DRAWN else value for value in given]
                    yield f"{kind}.{name}", lambda what=what, each=each, given=given: what(each, *given)
        if torch:
            yield "Embedding", lambda: self.embedding(torch.tensor([1]))
            yield "Embedding.weight_of", lambda: self.embedding.weight_of(torch.tensor([1]))
            yield "Embedding.set_weight", lambda: self.embedding.set_weight(torch.tensor([1]), torch.ones(1, 4))
            yield "Embedding.state_dict", self.embedding.state_dict
            yield "Optimizer.step", self.optimizer.step
            yield "Negatives.take", lambda: self.negatives.take(3)
            yield "Prefetch", lambda: list(lt.Prefetch([torch.tensor([1])], lambda batch: {self.embedding: batch}))

    def close(self):
        self.node.close()
        for each in self.all:
            for name in HARMLESS & set(dir(each)):
                getattr(each, name)()


def refused(uses, sentence):
    """The names of those that raised no UsageError with that word."""
    wrong = []
    for name, use in uses:
        try:
            use()
        except locus.UsageError as fault:
            if sentence in str(fault):
                continue
            wrong.append(f"{name}: {fault}")
        else:
            wrong.append(f"{name}: no error")
    return wrong


class Closed(unittest.TestCase):
    def test_every_method_is_refused_after_close(self):
        objects = Objects()
        objects.close()
        self.assertEqual(refused(objects.uses(), "closed"), [])

    def test_every_method_of_a_closed_worker_is_refused(self):
        objects = Objects()
        self.addCleanup(objects.node.close)
        objects.worker.close()
        uses = [(name, use) for name, use in objects.uses()
                if not name.startswith(("Node.", "Negatives")) and name not in ("Job.stats",)]
        self.assertEqual(refused(uses, "closed"), [])

    def test_close_while_other_threads_call(self):
        """They get an answer or the sentence; the node is not freed in the middle of a call."""
        for _ in range(30):
            node = locus.open([locus.Table("a", 100000, 4)])
            worker, faults, asked = node.worker(), [], threading.Barrier(4)

            def ask(call):
                asked.wait()
                try:
                    while True:
                        call()
                except locus.UsageError as fault:
                    if "closed" not in str(fault):
                        faults.append(fault)
                except Exception as fault:
                    faults.append(fault)

            threads = [threading.Thread(target=ask, args=(call,)) for call in (
                node.owned, lambda: worker.clock, lambda: worker.loader().intent(KEYS, 1, 2))]
            for thread in threads:
                thread.start()
            asked.wait()
            while True:
                try:
                    node.close()
                    break
                except locus.BusyError:
                    pass
            for thread in threads:
                thread.join()
            self.assertEqual(faults, [])


class Forked(unittest.TestCase):
    def test_every_method_is_refused_in_a_forked_child(self):
        """Threads of the parent hold locks all the while; what waits is ended by SIGALRM."""
        said = passes(self, run("""
            import test_closed
            objects = test_closed.Objects()
            guards, claims = [objects.node._guard], [objects.worker._guard, objects.worker._shared, objects.all[2]._guard]
            if test_closed.torch: guards.append(objects.negatives._guard)
            held, done = threading.Event(), threading.Event()
            def hold():
                for guard in guards: guard.acquire()
                for each in claims: each[0] = None
                held.set(), done.wait()
                for guard in guards: guard.release()
                for each in claims: del each[0]
            holder = threading.Thread(target=hold)
            holder.start(), held.wait()
            pid = os.fork()
            if pid == 0:
                signal.alarm(30)
                wrong = test_closed.refused([*objects.uses(), (
                    "locus.open", lambda: locus.open([locus.Table("a", 10, 4)]))], "process")
                print(*wrong, sep="\\n", end="", flush=True)
                for each in (objects.all[2], objects.worker, objects.node): each.close()
                sys.exit(len(wrong))
            status = os.waitpid(pid, 0)[1]
            done.set(), holder.join()
            objects.worker.pull(test_closed.KEYS)
            objects.node.close()
            print("status", status)""", *FORKS))
        self.assertEqual(said, "status 0\n")

    def test_forks_of_multiprocessing_and_data_loader_are_refused(self):
        if not torch:
            self.skipTest("there is no torch here (python3-torch)")
        said = passes(self, run("""
            import multiprocessing, torch, locus.torch as lt
            signal.alarm(100)
            embedding = lt.Embedding(100, 4)
            class Looks(torch.utils.data.Dataset):
                def __len__(self): return 8
                def __getitem__(self, at): return embedding(torch.tensor([at]))
            def look(at): return embedding(torch.tensor([at])).sum().item()
            job = lt.open(lt.SGD(embedding, 1))
            # One that is in the middle of an epoch, whose thread the child has not.
            more = threading.Event()
            def loader():
                for at in range(100):
                    if at == 3: more.wait()
                    yield torch.tensor([1])
            batches = iter(lt.Prefetch(loader(), lambda batch: {embedding: batch}, ahead=2))
            next(batches), next(batches)  # the next one comes when there are more
            def go_on(queue):
                try: next(batches)
                except locus.UsageError as fault: queue.put(str(fault))
            context = multiprocessing.get_context("fork")
            with context.Pool(2) as pool:
                try: pool.map(look, range(4))
                except locus.UsageError as fault: assert "another process'" in str(fault), fault
            queue = context.Queue()
            child = context.Process(target=go_on, args=(queue,))
            child.start()
            assert "another process'" in queue.get()
            child.join()
            assert child.exitcode == 0
            more.set()
            assert len(list(batches)) == 98
            try: list(torch.utils.data.DataLoader(Looks(), num_workers=2))
            except locus.UsageError as fault: assert "another process'" in str(fault), fault
            embedding(torch.arange(100))
            job.close()
            print("good")"""))
        self.assertEqual(said, "good\n")
