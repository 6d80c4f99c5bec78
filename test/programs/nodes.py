"""A job for commands that look at one: nodes of a cluster in one process, which are told what to do.

    job = self.start_nodes(2, 'locus.Table("rows", 64, 4)', env={"LOCUS_METRICS": "127.0.0.1:9400"})
    job.do("w[0].pull(keys(1, 2))")
    job.end()

What they do is Python: `nodes` by rank, `w` a worker of each, `each(f)` calls f with each worker, all at once."""
import itertools
import socket
import sys
import threading

import support


class Job(support.Started):
    def __init__(self, count, tables, options="", env=None):
        rendezvous = f"127.0.0.1:{support.free_port()}"
        super().__init__([support.PYTHON, "-u", __file__, str(count), rendezvous, tables, options], stdin=-1,
                         env=dict(support.with_library(), **env or {}))
        self.heard = ""
        self.hear()

    def hear(self):
        support.wait_until(lambda: self.out.count("done\n") > self.heard.count("done\n")
                           or self.process.poll() is not None, self)
        assert self.process.returncode is None, self
        before, self.heard = self.heard, self.out
        return self.heard[len(before):-len("done\n")]

    def do(self, what):
        """What it prints."""
        self.process.stdin.write(f"{what!r}\n".encode())
        self.process.stdin.flush()
        return self.hear()

    def end(self):
        self.process.stdin.close()
        assert self.wait() == 0, self


def serve(*answers):
    """A server on loopback in place of a node; its address. To request n the n-th answer, to more of them the last."""
    server = socket.create_server(("127.0.0.1", 0))

    def run():
        for n in itertools.count():
            peer = server.accept()[0]
            with peer:
                request = b""
                while b"\r\n\r\n" not in request and (more := peer.recv(4096)):
                    request += more
                peer.sendall(answers[min(n, len(answers) - 1)].encode("latin-1"))
    threading.Thread(target=run, daemon=True).start()
    return "127.0.0.1:%d" % server.getsockname()[1]


class TestCase(support.TestCase):
    def start_nodes(self, *what, **more):
        job = Job(*what, **more)
        self.addCleanup(job.close)
        return job

    def start_metrics(self, count, *what):
        """Rank 0 serves at the address that is returned with it, the others at the ports behind."""
        address = f"127.0.0.1:{support.free_port(count)}"
        return self.start_nodes(count, *what, env={"LOCUS_METRICS": address}), address


def main(count, rendezvous, tables, options):
    import time
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    import locus
    count = int(count)
    pool = ThreadPoolExecutor(2 * count)
    nodes = list(pool.map(lambda rank: eval(
        f"locus.open([{tables}], rank=rank, size={count}, rendezvous={rendezvous!r}, {options})",
        {"locus": locus, "rank": rank}), range(count)))
    w = [node.worker() for node in nodes]

    def each(call):
        return list(pool.map(call, w))
    names = {"locus": locus, "np": np, "time": time, "pool": pool, "nodes": nodes, "w": w, "each": each,
             "keys": lambda *all: np.array(all, dtype=np.int64)}
    print("done")
    for line in sys.stdin:
        exec(eval(line), names)
        print("done")
    each(lambda worker: worker.close())
    list(pool.map(lambda node: node.close(), nodes))


if __name__ == "__main__":
    main(*sys.argv[1:])
