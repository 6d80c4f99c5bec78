"""Training programs of this build as a user would start them, in a folder with small data for them."""
import contextlib
import json
import os
import random
import re
import subprocess
from pathlib import Path

import support
from support import BUILD


def steady(printed):
    """That without times, counts of the cluster, and what the run was told."""
    return re.sub(r'^\{"event":"(?:run|stats|waits)".*|"[a-z_]*(?:second|flops)[a-z_]*":[^,}]*'
                  r'|[0-9.]+ (?:s|[a-z]+/s|GFLOP/s)', "", printed, flags=re.M)


class Ended:
    """What a command printed, and the events that are among its lines with --json."""

    def __init__(self, line, ended):
        self.line, self.status, self.out, self.err = line, ended.status, ended.out, ended.err
        self.events = [json.loads(line) for line in self.out.splitlines() if line.startswith('{"event":')]

    def __str__(self):
        return f"{self.line}\nends with {self.status}, and says\n{self.out[-4000:]}{self.err[-4000:]}"

    def named(self, name, **fields):
        """The events with this name, and these fields."""
        return [each for each in self.events if each["event"] == name and fields.items() <= each.items()]

    def last(self, field, **fields):
        """This field of the last event that has it, and these."""
        found = [each[field] for each in self.events if field in each and fields.items() <= each.items()]
        assert found, f"no {field} of {fields} in\n{self}"
        return found[-1]

    def number(self, part):
        """That behind `part` in what was printed for people."""
        found = re.search(re.escape(part) + r"\s*(-?[0-9.]+(e[-+]?[0-9]+)?)", self.out)
        assert found, f"no {part} in\n{self}"
        return float(found[1])


def command(nodes, program, options=""):
    """The line that runs a program alone (0 nodes: without the launcher), or on so many nodes. Of an option that comes again
    the last is told: programs refuse both."""
    options = re.sub(r"(?:^| )(--[a-z-]+)(?![\w=-])(?: (?!--)\S+)?(?=.* \1(?: |$))", "", options)
    return f"locus run -n {nodes} -- locus-{program} {options}" if nodes else f"locus-{program} {options}"


class Trainers(support.TestCase):
    """Commands begin in a folder of the test's, `here`, and have the programs in their path."""
    limit_s = 1200  # a table of trainings, with a sanitizer

    def setUp(self):
        self.here = Path(self.folder())

    def start(self, command, env=None, **more):
        env = dict(env or {}, PATH=f"{BUILD}/bin:{os.environ['PATH']}")
        return super().start(f"cd {self.here} && {command}", env=env, **more)

    def sh(self, line, status=0, **variables):
        """Runs it to its end, with that status unless that is None."""
        started = self.start(line, env=variables)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.process.wait(600)  # a training with a sanitizer, on a machine that has much to do
        started.wait()
        ended = Ended(line, started)
        self.assertIn(status, (ended.status, None), ended)
        return ended

    def train(self, program, options, nodes=0, status=0):
        return self.sh(command(nodes, program, options), status)

    def program_refuses(self, program, status, options, part):
        """Nothing on stdout, and a sentence that begins with the program's name and has this part."""
        ended = self.train(program, options, status=status)
        self.assertTrue(ended.err.startswith(f"locus-{program}: ") and part in ended.err and ended.out == "",
                        f"no {part} from\n{ended}")

    def write(self, name, lines):
        (self.here / name).write_text("".join(f"{line}\n" for line in lines))

    def write_data(self):
        support.write_data(self.here)

    def write_circles(self):
        """`edges`, `classes` and a `split` of two circles with edges between them. A fourth of the nodes has
        the other's class: what is learned by heart makes validation worse."""
        draw, edges, classes = random.Random(7), [], []
        for i in range(120):
            edges.append(f"n{i}\tn{(i + 1) % 60 if i < 60 else 60 + (i - 59) % 60}")
            if i % 5 == 0:
                edges.append(f"n{i}\tn{(i + 60) % 120}")
            classes.append(f"n{i}\t{'x' if (draw.random() < 0.25) != (i < 60) else 'y'}")
        self.write("edges", edges)
        self.write("classes", classes)
        self.write("split", (f"n{i}\t{('train', 'val', 'test')[i % 3]}" for i in range(120)))

    def write_noise(self):
        """`train` and `test` for ctr, whose labels follow nothing: the best epoch is not the last."""
        draw = random.Random(5)
        lines = [f"{int(draw.random() < 0.4)} {draw.randrange(40)}:1 {draw.randrange(40, 100)}:1 "
                 f"{draw.randrange(100, 109)}:0.5" for _ in range(900)]
        self.write("train", lines[:600])
        self.write("test", lines[600:])

    def write_documents(self, count):
        """`documents` of three words each, of one of 5 topics, and their `words`: 15."""
        draw, lines = random.Random(3), []
        for _ in range(count):
            topic = 3 * draw.randrange(5)
            counts = [(topic + word, draw.randrange(12)) for word in range(3)]
            lines.append(f"3 {' '.join(f'{word}:{times}' for word, times in counts)}")
        self.write("documents", lines)
        self.write("words", (f"w{word}" for word in range(15)))
