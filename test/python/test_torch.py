"""locus.torch against torch itself."""
import contextlib
import copy
import functools
import importlib
import io
import pickle
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock
import warnings
from pathlib import Path

import locus
import numpy as np
from embeddings import lt, step, torch, weights
from locus.torch import prefetch
from locus.torch.ahead import Ahead as Pulled
from support import BIN, finish, interrupted_at, leaks_nothing, passes, run, run_nodes
from tensors import read as safetensors

ROWS, DIMENSION = 200, 8


def optimizers():
    """Ours, torch's, and whether torch's wants sparse gradients."""
    own = torch.optim
    return {
        "sgd": (lambda m: lt.SGD(m, 0.1), lambda p: own.SGD(p, 0.1), False),
        "adagrad": (lambda m: lt.Adagrad(m, 0.1), lambda p: own.Adagrad(p, 0.1), False),
        "adagrad from 0.5": (lambda m: lt.Adagrad(m, 0.1, 0.5), lambda p: own.Adagrad(
            p, 0.1, initial_accumulator_value=0.5), False),
        "sparse adagrad": (lambda m: lt.Adagrad(m, 0.1), lambda p: own.Adagrad(p, 0.1), True),
        "row-wise adagrad": (lambda m: lt.RowAdagrad(m, 0.1), lambda p: RowAdagrad(p, 0.1), False),
        "adam": (lambda m: lt.Adam(m, 0.01), lambda p: own.SparseAdam(list(p), 0.01), True),
    }


class RowAdagrad(torch.optim.Optimizer):
    """torch has none: as its Adagrad, with the mean square of each row."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        if closure:
            with torch.enable_grad():
                closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                sums = self.state[p].setdefault("sums", torch.zeros(len(p), 1))
                sums += p.grad.pow(2).mean(1, keepdim=True)
                p -= group["lr"] * p.grad / (sums.sqrt() + 1e-10)


class Steps(unittest.TestCase):
    def train(self, ours, theirs, own, other, loss_of):
        """Both step by step, with indices that repeat and a row that all batches have."""
        generator = torch.Generator().manual_seed(1)
        for number in range(25):
            indices = torch.randint(0, ROWS // 4 * (1 + number % 4), (12, 3), generator=generator)
            indices[0, 0] = 7
            for module, optimizer in ((ours, own), (theirs, other)):
                step(optimizer, loss_of(module, indices))
            self.assertTrue(torch.allclose(weights(ours), theirs.weight.detach(), atol=1e-6, rtol=1e-6), number)

    def compare(self, kind, options, loss_of):
        for name, (own, other, sparse) in optimizers().items():
            with self.subTest(optimizer=name):
                mine = getattr(lt, kind)(ROWS, DIMENSION, **options)
                with lt.open(optimizer := own(mine)):
                    peer = getattr(torch.nn, kind)(ROWS, DIMENSION, sparse=sparse, **options)
                    with torch.no_grad():
                        peer.weight.copy_(weights(mine))
                    self.train(mine, peer, optimizer, other(peer.parameters()), loss_of)

    def test_embedding(self):
        for loss_of in (lambda module, indices: (module(indices).sin().sum(1) ** 2).mean(),  # two passes a step:
                        lambda module, indices: (module(indices[:, 0]) * module(indices[:, 1])).sum(1).sigmoid().mean()):
            self.compare("Embedding", {}, loss_of)

    def test_bag_means(self):
        self.compare("EmbeddingBag", {}, lambda module, indices: module(indices).sin().sum())

    def test_bag_weighted_sums_with_offsets(self):
        offsets, factors = torch.tensor([0, 5, 5, 20]), torch.linspace(-1, 1, 36)
        self.compare("EmbeddingBag", {"mode": "sum"}, lambda module, indices: module(
            indices.reshape(-1), offsets, per_sample_weights=factors).sin().sum())

    def train_all(self, ours, own, theirs, other):
        """Steps of all rows: where torch's step is that of every row, too."""
        indices = torch.arange(ours.num_embeddings)
        for number in range(10):
            for module, optimizer in ((ours, own), (theirs, other)):
                step(optimizer, (module(indices).sin().sum(1) * torch.linspace(-1, 2, len(indices))).sum())
            self.assertTrue(torch.allclose(weights(ours), theirs.weight.detach(), atol=2e-6, rtol=2e-6), number)

    def test_all_rows_and_state_to_torch_and_back(self):
        own = torch.optim
        for ours, theirs, sparse in (
                (lambda m: lt.SGD(m, 0.01, 0.9), lambda p: own.SGD(p, 0.01, 0.9), False),
                (lambda m: lt.AdamW(m, 0.01, weight_decay=0.1), lambda p: own.AdamW(p, 0.01, weight_decay=0.1), False),
                (lambda m: lt.Adagrad(m, 0.1, 0.5), lambda p: own.Adagrad(p, 0.1, initial_accumulator_value=0.5), False),
                (lambda m: lt.Adam(m, 0.01), lambda p: own.SparseAdam(list(p), 0.01), True)):
            # no value near pi/2, where a rounding turns a gradient that Adam makes large
            embedding = lt.Embedding(30, 8, initial=lt.Normal(seed=0))
            peer = torch.nn.Embedding(30, 8, sparse=sparse)
            optimizer, other = ours(embedding), theirs(peer.parameters())
            with self.subTest(optimizer=type(other).__name__), lt.open(optimizer):
                peer.load_state_dict(embedding.state_dict())
                self.train_all(embedding, optimizer, peer, other)
                after = theirs(peer.parameters())
                after.load_state_dict(optimizer.state_dict())
                self.train_all(embedding, optimizer, peer, after)
            again = lt.Embedding(30, 8)
            optimizer = ours(again)
            with self.subTest(optimizer=type(other).__name__), lt.open(optimizer):
                optimizer.load_state_dict(after.state_dict())
                again.load_state_dict(peer.state_dict())
                self.train_all(again, optimizer, peer, after)
                again.load_state_dict({"weight": torch.linspace(-0.5, 0.5, 240).reshape(30, 8)})
                again(torch.arange(30)).sum().backward()
                optimizer.step()
                with torch.no_grad():
                    peer.weight.copy_(weights(again))
                anew = theirs(peer.parameters())
                optimizer.load_state_dict(anew.state_dict())  # what is not in it begins anew
                self.train_all(again, optimizer, peer, anew)


class Orders(unittest.TestCase):
    """Each letter is a call: see Trainer. Those before | are what tutorials write, then what torch allows besides."""

    ORDERS = ["zfbs" * 3, "fzbs" * 3, "fbsz" * 3, "fbs" * 3, "ffbbs" * 2, "ffbzbs" * 2, "fbfbszz" * 2, "fnnbzs" * 2,
              "fbsfbss", "fbsZsfbs", "fRRsbs", "fffzs", "ffsbsbs", "ccc", "fbcs", "ZfZbZZs", "sss", "eZses", "fbsfSbs"]

    class Trainer:
        def __init__(self, module, optimizer):
            self.module, self.optimizer, self.results = module, optimizer, []
            self.generator = torch.Generator().manual_seed(5)

        def forward(self, count=12):
            indices = torch.randint(0, ROWS // 8, (count,), generator=self.generator)
            return self.module(indices).sin().sum().square() / 10

        def closure(self):
            self.optimizer.zero_grad()
            loss = self.forward()
            loss.backward()
            return loss

        def do(self, letter):
            if letter == "f":
                self.results.append(self.forward())
            elif letter == "n":
                with torch.no_grad():
                    self.forward()
            elif letter == "e":  # a batch without indices
                self.forward(0).backward()
            elif letter in "bR" and self.results:  # R: and keep the graph
                self.results[0].backward(retain_graph=letter == "R")
                self.results = self.results[letter == "b":]
            elif letter in "zZ":
                self.optimizer.zero_grad(set_to_none=letter == "z")
            elif letter == "s":
                self.optimizer.step()
            elif letter == "c":
                loss = self.optimizer.step(self.closure)
                assert loss is None or loss.requires_grad
            elif letter == "S":  # weights set between a pass and its step
                with torch.no_grad():
                    state = self.module.state_dict()
                    self.module.load_state_dict({name: weight + 1 for name, weight in state.items()})

    def compare(self, own, other, sparse, order):
        ours, theirs = lt.Embedding(ROWS, DIMENSION), torch.nn.Embedding(ROWS, DIMENSION, sparse=sparse)
        with lt.open(optimizer := own(ours)):
            theirs.load_state_dict(ours.state_dict())
            one, two = self.Trainer(ours, optimizer), self.Trainer(theirs, other(theirs.parameters()))
            for place, letter in enumerate(order):
                try:
                    two.do(letter)
                except RuntimeError:  # torch refuses some passes that were forward before a step
                    if letter in "sc":  # and steps of its SparseAdam by no rows, up to torch 1.13
                        return
                    one.results, two.results = one.results[1:], two.results[1:]
                    continue
                one.do(letter)
                self.assertTrue(torch.allclose(weights(ours), theirs.weight.detach(), atol=1e-5, rtol=1e-5), place)

    def test_any_order_gives_the_values_of_torch(self):
        random = np.random.default_rng(3)
        drawn = ["".join(random.choice(list("ffffbbbbRnzzZsssce"), 24)) for _ in range(40)]
        for name, (own, other, sparse) in optimizers().items():
            for order in self.ORDERS + drawn:
                with self.subTest(optimizer=name, order=order):
                    self.compare(own, other, sparse, order)

    def test_schedulers_and_states_with_other_constants_are_refused(self):
        """A scheduler that changes others than the rate is told so, and a state that has others."""
        from torch.optim.lr_scheduler import OneCycleLR
        for make, other, name in ((lambda m: lt.SGD(m, 0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, 0.8), "momentum"),
                                  (lt.Adam, lambda p: torch.optim.SparseAdam(p, betas=(0.8, 0.9)), "betas")):
            embedding = lt.Embedding(ROWS, DIMENSION)
            with lt.open(optimizer := make(embedding)):
                for cycles in (False, True):
                    scheduler = OneCycleLR(optimizer, 0.1, total_steps=10, cycle_momentum=cycles)
                    embedding(torch.arange(3)).sum().backward()
                    with self.assertRaisesRegex(locus.ArgumentError, f"{name} of .*cycle_momentum=False") if cycles else \
                            contextlib.nullcontext():
                        optimizer.step()
                        scheduler.step()
                state = other([torch.nn.Parameter(torch.zeros(ROWS, DIMENSION))]).state_dict()
                with self.assertRaisesRegex(locus.ArgumentError, f"{name} of the embeddings' optimizer is to be"):
                    optimizer.load_state_dict(state)

    def test_passes_without_a_step_are_told_once(self):
        embedding, linear = lt.Embedding(ROWS, DIMENSION), torch.nn.Linear(DIMENSION, 1)
        others = torch.optim.SGD(linear.parameters(), 0.1)
        with lt.open(optimizer := lt.SGD(embedding, 1)):
            for steps, told in ((False, 1), (True, 0)):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    for _ in range(600):
                        step(others, linear(embedding(torch.arange(5))).sum())
                        if steps:
                            step(optimizer, embedding(torch.arange(5)).sum())
                self.assertEqual([str(each.message).split(":")[0] for each in said], told * [
                    "the embedding 'embedding' got gradients 256 times, and no step changed its rows"])

    def test_passes_without_backward_take_no_memory(self):
        embedding = lt.Embedding(ROWS, DIMENSION)
        with lt.open(optimizer := lt.SGD(embedding, 1)):
            for _ in range(100):
                embedding(torch.arange(50))
            self.assertIsNone(embedding.gradients.sum())
            for _ in range(200):
                embedding(torch.arange(50)).sum().backward()
                self.assertLess(len(embedding.gradients._gathered), 40)
            optimizer.step()
            moved = weights(embedding) - embedding.initial(torch.arange(ROWS), DIMENSION)
            self.assertTrue((moved[:50] == -200).all() and (moved[50:] == 0).all())


class Modules(unittest.TestCase):
    def setUp(self):
        self.model = torch.nn.ModuleDict({"a": lt.Embedding(ROWS, DIMENSION), "b": lt.EmbeddingBag(10, 4),
                                          "dense": torch.nn.Linear(3, 2)})
        self.optimizer = lt.Adagrad(self.model, 0.1)

    def test_tables_have_the_names_and_state_of_their_modules(self):
        with lt.open(self.optimizer) as job:
            self.assertEqual([(t.name, t.rows, t.length) for t in job.node.tables.values()],
                             [("a", ROWS, 8), ("b", 10, 4)])
            self.assertEqual(job.worker.pull_state(torch.tensor([0])).shape, (1, 16))
            before = weights(self.model["b"])
            self.assertTrue((self.model["b"](torch.tensor([[1, 1], [2, 3]]))[0] - before[1]).abs().max() < 1e-6)
            self.assertEqual(sum(1 for _ in self.model.parameters()), 2)

    def test_tables_begin_with_different_values(self):
        """Without a seed, also where they share one function; the same ones in every process and run."""
        shared = lt.Uniform(1.0)
        model = torch.nn.ModuleDict({**{name: lt.Embedding(5, 4) for name in "ab"},
                                     **{name: lt.Embedding(5, 4, padding_idx=0, initial=shared) for name in "cd"},
                                     **{name: lt.Embedding(5, 4, initial=lt.Normal(seed=3)) for name in "ef"}})
        with lt.open(lt.SGD(model)):
            first = {name: weights(each) for name, each in model.items()}
        for one, other, is_same in (("a", "b", False), ("c", "d", False), ("e", "f", True)):
            self.assertEqual(torch.equal(first[one], first[other]), is_same)
        with lt.open(lt.SGD(model)):
            self.assertTrue(all(torch.equal(weights(each), first[name]) for name, each in model.items()))

    def test_state_dict_is_that_of_torch(self):
        peer = torch.nn.ModuleDict({"a": torch.nn.Embedding(ROWS, DIMENSION), "b": torch.nn.EmbeddingBag(10, 4),
                                    "dense": torch.nn.Linear(3, 2)})
        with lt.open(self.optimizer):
            self.model.load_state_dict(peer.state_dict())
            self.assertTrue(torch.allclose(weights(self.model["a"]), peer["a"].weight, atol=1e-6))
            saved = self.model.state_dict()
            self.assertEqual(list(saved), list(peer.state_dict()))
            peer.load_state_dict(saved)
            self.assertTrue(torch.equal(weights(self.model["b"]), peer["b"].weight))
            with self.assertRaisesRegex(RuntimeError, "a.weight has shape"):
                self.model.load_state_dict(dict(saved, **{"a.weight": torch.zeros(3, 3)}))

    def test_copies_and_saved_models_are_those_of_torch(self):
        """Before there are rows, they are what they were."""
        self.assertIsInstance(copy.deepcopy(self.model)["a"], lt.Embedding)
        self.model["c"] = lt.EmbeddingBag(20, 4, mode="sum", padding_idx=3)
        with lt.open(lt.Adagrad(self.model, 0.1)):
            self.model["a"](torch.arange(50)).sum().backward()
            self.model.eval()
            saved = io.BytesIO()
            torch.save(self.model, saved)
            saved.seek(0)
            for made in (copy.deepcopy(self.model), torch.load(saved, weights_only=False)):
                self.assertEqual([type(made[name]) for name in "abc"], [torch.nn.Embedding] + 2 * [torch.nn.EmbeddingBag])
                self.assertFalse(made["a"].training)
                for name in "abc":
                    self.assertTrue(torch.equal(made[name].weight, weights(self.model[name])))
                self.assertEqual((made["c"].mode, made["c"].padding_idx, made["b"].mode), ("sum", 3, "mean"))
                self.assertTrue(all(parameter.requires_grad for parameter in made.parameters()))
                made["a"].weight.data.zero_()  # values of its own
            for use in (copy.copy, copy.deepcopy, pickle.dumps, lambda made: torch.save(made, io.BytesIO()),
                        lambda made: copy.deepcopy((self.model, made))):
                self.assertRaisesRegex(locus.UsageError, r"neither copied nor saved.* state_dict\(\)", use, self.optimizer)
            self.assertGreater(float(weights(self.model["a"]).abs().sum()), 0)

    def test_a_second_job_begins_anew(self):
        embedding = lt.Embedding(9, 4)
        for optimizer in (lt.Adam(embedding, 0.1), lt.Adagrad(embedding, 0.1), lt.SGD(embedding, 0.1, 0.9)):
            for _ in range(2):
                with lt.open(optimizer):
                    self.assertEqual(optimizer.state_dict()["state"], {})
                    first = weights(embedding)
                    step(optimizer, embedding(torch.arange(9)).sum())
                    self.assertLess(float((first - weights(embedding) - 0.1).abs().max()), 1e-5)
                    for _ in range(200):
                        step(optimizer, embedding(torch.arange(5)).sum())

    def test_jobs_one_after_the_other_leak_nothing(self):
        batches = [torch.arange(9)] * 4

        def cycle():
            embedding = lt.Embedding(1000, 16)
            optimizer, negatives = lt.Adagrad(embedding, 0.1), lt.Negatives(embedding)
            with lt.open(optimizer, threads=2):
                for batch in lt.Prefetch(batches, keys=lambda batch: {embedding: batch, negatives: 4}, ahead=2):
                    step(optimizer, embedding(torch.cat([batch, negatives.take(4)])).sum())
        self.assertIn("descriptors", leaks_nothing(cycle, 10, 40))

    def test_compilers_leave_lookups_as_they_are(self):
        """Where torch has torch.compiler, as from 2.1 on: all that look up rows are excepted."""
        excepted = []
        compiler = types.SimpleNamespace(disable=lambda call: excepted.append(call.__qualname__) or call)
        with unittest.mock.patch.dict(sys.modules), unittest.mock.patch.object(locus, "torch", lt), \
                unittest.mock.patch.object(torch, "compiler", compiler, create=True):
            for name in [name for name in sys.modules if name.startswith("locus.torch")]:
                del sys.modules[name]
            importlib.import_module("locus.torch")
        self.assertEqual(sorted(excepted), [name + ".forward" for name in (
            "Embedding", "EmbeddingBag", "NgramTable")])

    def test_open_and_rules_refuse_wrong_arguments(self):
        model = self.model
        for wrong in (model, torch.optim.Adagrad(model.parameters()), None):
            with self.assertRaisesRegex(locus.ArgumentError, r"write locus.torch.open\(locus.torch.Adagrad\(model"):
                lt.open(wrong)
        for wrong in (model.parameters(), [3], torch.ones(3)):
            self.assertRaisesRegex(locus.ArgumentError, "must be a torch.nn.Module", lt.SGD, wrong, 0.1)
        for wrong, sentence in ((dict(seed="a"), "seed is 'a'"), (dict(seed=1 << 70), f"must be {-1 << 63} to"),
                                (dict(std="1"), "std is '1'"), (dict(std=float("nan")), "std is nan")):
            self.assertRaisesRegex(locus.ArgumentError, sentence, lt.Normal, **wrong)
        self.assertRaisesRegex(locus.ArgumentError, "bound is -1", lt.Uniform, -1)
        for wrong, sentence in ((dict(lr="1"), "lr is '1': must be a number, at least 0 and finite"), (dict(lr=-1), "lr"),
                                (dict(lr=float("inf")), "lr is inf"), (dict(eps=-1), "eps is -1"),
                                (dict(betas=(1.5, 0.9)), "a beta is 1.5: must be a number, at least 0 and below 1"),
                                (dict(betas=0.9), "betas is 0.9: must be two numbers")):
            self.assertRaisesRegex(locus.ArgumentError, sentence, lt.Adam, model, **wrong)
        for wrong in (dict(weight_decay=0.1), dict(amsgrad=True), dict(maximize=True), dict(foreach=True)):
            for make in (lt.SGD, lt.Adagrad, lt.RowAdagrad, lt.Adam, lt.AdamW):
                if "weight_decay" not in wrong or make is not lt.AdamW:
                    self.assertRaisesRegex(TypeError, next(iter(wrong)), make, model, **wrong)
        for wrong in ((2.0, 4), (2, 4.5), ("2", 4), (0, 4), (1 << 50, 4)):
            self.assertRaisesRegex(locus.ArgumentError, "must be (an integer|1 to)", lt.Embedding, *wrong)
        lt.Normal(seed=np.int64(-3))(torch.arange(3), 2)
        for wrong in (lambda indices, dimension: torch.zeros(dimension), lambda indices, dimension: torch.zeros(
                len(indices), dimension).double()):
            embedding = lt.Embedding(10, 4, initial=wrong)
            with lt.open(lt.SGD(embedding, 1)), self.assertRaisesRegex(locus.ArgumentError, "must be torch.float32 of"):
                embedding(torch.tensor([1]))
        self.assertRaisesRegex(locus.ArgumentError, "initial is 3", lt.Embedding, 10, 4, initial=3)

    def test_initial_function_keeps_its_tensor(self):
        own = torch.ones(10, 4)
        embedding = lt.Embedding(10, 4, initial=lambda indices, dimension: own if len(indices) == 10 else own[indices])
        with lt.open(optimizer := lt.SGD(embedding, 1)):
            embedding(torch.arange(10)).sum().backward()
            optimizer.step()
            for _ in range(2):
                self.assertEqual(float(embedding(torch.arange(10)).abs().sum()), 0)
            self.assertEqual(float(own.sum()), 40)

    def test_checkpoint_takes_paths_alone(self):
        with tempfile.TemporaryDirectory() as folder, lt.open(self.optimizer) as job:
            for path in (Path(folder), folder):
                job.checkpoint(path)
                job.restore(path)
            self.assertRaisesRegex(locus.ArgumentError, "zero byte", job.checkpoint, folder + "\0/elsewhere")
            self.assertRaisesRegex(TypeError, "os.PathLike", job.checkpoint, 3)

    def test_restore_between_forward_and_step(self):
        """Also where the forward pass was before."""
        embedding = lt.Embedding(10, 4)
        optimizer = lt.Adagrad(embedding, 1)
        with tempfile.TemporaryDirectory() as folder, lt.open(optimizer) as job:
            job.checkpoint(folder)
            for _ in range(2):
                optimizer.zero_grad()
                embedding(torch.arange(10)).sum().backward()
                job.restore(folder)
                optimizer.step()
                moved = weights(embedding) - embedding.initial(torch.arange(10), 4)
                self.assertTrue(torch.allclose(moved, -torch.ones(10, 4), atol=1e-5), moved)
                embedding(torch.arange(10)).sum().backward()
                optimizer.step()

    def test_export_writes_values_not_differences(self):
        with tempfile.TemporaryDirectory() as folder, lt.open(self.optimizer, tables=[locus.Table("own", 5, 2)]) as job:
            self.model["a"](torch.arange(50)).sum().backward()
            self.optimizer.step()
            job.worker.set(torch.arange(5) + job.node.tables["own"].first, torch.full((5, 2), 7.))
            job.export(Path(folder) / "out")
            read = {}
            for name in ("a", "b", "own"):
                _, tensors = safetensors(Path(folder) / "out" / f"{name}.safetensors")
                self.assertEqual(list(tensors), [name])
                read[name] = torch.tensor(tensors[name])
            self.assertTrue(torch.equal(read["a"], weights(self.model["a"])))
            self.assertTrue(torch.equal(read["b"], weights(self.model["b"])))
            self.assertTrue(torch.equal(read["own"], torch.full((5, 2), 7.)))
            # The rows themselves are differences, with sums of squares behind them.
            job.checkpoint(folder)
            if (BIN / "locus").exists():
                ended = finish([str(BIN / "locus"), "checkpoint", "export", folder, folder + "/raw"])
                self.assertEqual(ended.returncode, 1)
                self.assertIn("table \"a\" holds differences to first values", ended.stdout)

    def test_bf16_rows(self):
        model = torch.nn.ModuleDict({"a": lt.Embedding(ROWS, DIMENSION, dtype=torch.bfloat16), "b": lt.EmbeddingBag(10, 4),
                                     "c": lt.Embedding.from_pretrained(torch.randn(5, 4).bfloat16(), freeze=False)})
        optimizer, first = lt.Adagrad(model, 0.1), {}
        with tempfile.TemporaryDirectory() as folder, lt.open(optimizer) as job:
            self.assertEqual([table.element for table in job.node.tables.values()], ["bf16", "f32", "bf16"])
            for name, each in model.items():
                first[name] = weights(each)
                values = each(torch.arange(each.num_embeddings).view(-1, 1))
                self.assertEqual(values.dtype, torch.float32)
                values.sin().sum().backward()
            optimizer.step()
            for name, each in model.items():
                moved = (weights(each) - first[name]).abs()
                self.assertTrue((moved - 0.1).abs().le(1e-6 if name == "b" else first[name].abs().add(0.1) / 64).all())
                for values in (first[name], weights(each)):
                    self.assertEqual(torch.equal(values.bfloat16().float(), values), name != "b")
            job.export(folder)
            for name, each in model.items():
                read = torch.tensor(safetensors(Path(folder) / f"{name}.safetensors")[1][name])
                self.assertEqual((read.dtype, read.shape), (torch.float32 if name == "b" else torch.int16, weights(each).shape))
                if name != "b":
                    self.assertTrue(torch.equal(read.view(torch.bfloat16), weights(each).bfloat16()))
        with self.assertRaisesRegex(locus.ArgumentError, "dtype is torch.float16: must be torch.float32 or"):
            lt.EmbeddingBag(10, 4, dtype=torch.float16)
        self.assertEqual(lt.NgramTable(100, 4, dtype=torch.bfloat16).table.element, "bf16")

    def test_bf16_goes_on_from_a_checkpoint_with_the_same_bits(self):
        batches = torch.randint(0, ROWS, (8, 30)).split(1)
        for make in (lambda m: lt.Adam(m, 0.01), lambda m: lt.AdamW(m, 0.01), lambda m: lt.Adagrad(m, 0.1, 0.5)):
            optimizer = make(embedding := lt.Embedding(ROWS, DIMENSION, dtype=torch.bfloat16))

            def train(some):
                for batch in some:
                    step(optimizer, embedding(batch).sin().sum())
                return weights(embedding)
            with tempfile.TemporaryDirectory() as folder:
                with lt.open(optimizer) as job:
                    train(batches[:5])
                    job.checkpoint(folder)
                    state = copy.deepcopy(optimizer.state_dict())
                    end = train(batches[5:])
                with lt.open(optimizer) as job:
                    job.restore(folder)
                    optimizer.load_state_dict(state)
                    self.assertTrue(torch.equal(train(batches[5:]), end), type(optimizer))

    def test_bf16_holds_what_is_given(self):
        """As torch rounds it, whatever the first values were; and first values likewise."""
        model = torch.nn.ModuleDict({"a": lt.Embedding(ROWS, DIMENSION, dtype=torch.bfloat16, padding_idx=3),
                                     "b": lt.EmbeddingBag(ROWS, DIMENSION, dtype=torch.bfloat16, initial=lt.Uniform(0.01)),
                                     "c": lt.Embedding(ROWS, DIMENSION, dtype=torch.bfloat16, initial=lt.Zeros())})
        first = {name: lt.initial.of_table(each.initial, name)(torch.arange(ROWS), DIMENSION) for name, each in model.items()}
        for optimizer in (lt.SGD(model, 1), lt.Adagrad(model, 0.1, 0.5), lt.SGD(model, 1)):
            with lt.open(optimizer) as job:
                self.assertEqual({name: bool(job.worker.pull(each.keys_of(torch.arange(ROWS))).any())
                                  for name, each in model.items()}, {"a": True, "b": True, "c": False})
                for name, each in model.items():
                    self.assertTrue(torch.equal(weights(each), first[name].bfloat16().float()))
                    given = torch.randn(ROWS, DIMENSION) * 0.02
                    each.load_state_dict({"weight": given})
                    self.assertTrue(torch.equal(weights(each), given.bfloat16().float()))
                    each.set_weight(torch.arange(ROWS), torch.zeros(ROWS, DIMENSION))
                    self.assertFalse(weights(each).any())

    def test_lookups_refuse_wrong_indices_and_closed_jobs(self):
        indices = torch.tensor([1])
        self.assertRaisesRegex(locus.UsageError, "no rows yet", self.model["a"], indices)
        with lt.open(self.optimizer):
            for wrong, sentence in ((torch.tensor([0, ROWS]), f"must be 0 to {ROWS - 1}"), (torch.tensor([-1]), "-1"),
                                    (torch.tensor([1.0]), "integers"), (torch.tensor([True]), "integers")):
                self.assertRaisesRegex(locus.ArgumentError, sentence, self.model["a"], wrong)
            with self.assertRaisesRegex(locus.ArgumentError, "`input` is a list: must be a tensor of integers"):
                self.model["a"]([1])
            self.assertRaisesRegex(locus.UsageError, "'a' has its rows in a job that is open", lt.open, self.optimizer)
        self.assertRaisesRegex(locus.UsageError, "closed", self.model["a"], indices)
        self.assertRaisesRegex(locus.ArgumentError, "no embedding", lt.SGD, torch.nn.Linear(1, 1), 0.1)

    def test_tensors_are_passed_without_a_copy_or_refused(self):
        with locus.open([locus.Table("a", 10, 4)]) as node, node.worker() as worker:
            keys, out = torch.tensor([1, 2]), torch.empty(2, 4)
            worker.push(keys, torch.ones(2, 4))
            self.assertIs(worker.pull(keys, out), out)
            self.assertTrue(torch.equal(worker.pull(keys), torch.ones(2, 4)))
            for wrong, sentence in ((keys.int(), "torch.int32.*to\\(torch.int64\\)"), (keys[::2][:1].expand(2), "contig")):
                self.assertRaisesRegex(locus.ArgumentError, sentence, worker.pull, wrong)
            for wrong, sentence in ((torch.ones(2, 4).double(), "float64"), (torch.ones(4, 2).t(), "not contiguous"),
                                    (torch.ones(2, 4, requires_grad=True), "autograd"), (torch.ones(3), "shape")):
                self.assertRaisesRegex(locus.ArgumentError, sentence, worker.push, keys, wrong)


    def test_lookups_of_nothing_beside_rows_of_another_length(self):
        none, model = torch.tensor([], dtype=torch.long), self.model
        with lt.open(lt.Adagrad(model, 0.1)) as job:
            for prefetch in ([none, none], [none.view(3, 0)] * 2):
                for batch in lt.Prefetch(prefetch, keys=lambda batch: {model["a"]: batch, model["b"]: batch}):
                    found = model["a"](batch)
                    self.assertEqual(found.shape, (*batch.shape, DIMENSION))
                    found.sum().backward()
            self.assertEqual(model["b"](none, torch.tensor([0, 0])).tolist(), [[0.0] * 4] * 2)
            self.assertEqual(model["a"].weight_of(none).shape, (0, DIMENSION))
            model["a"].set_weight(none, torch.empty(0, DIMENSION))
            self.assertEqual(job.worker.pull_async(none, torch.empty(0, DIMENSION)).wait().shape, (0, DIMENSION))


class Batch(unittest.TestCase):
    def test_distinct_is_as_in_torch(self):
        from locus.torch import batch
        for n in (0, 1, 50, 10000):
            indices = torch.randint(0, 300, (n,))
            different, places = batch.distinct(indices, 300)
            self.assertTrue(torch.equal(different[places], indices))
            self.assertTrue(torch.equal(different.sort()[0], torch.unique(indices)))

    def test_threads_are_checked(self):
        for threads in (0, 65, 1.5):
            with self.assertRaisesRegex(locus.ArgumentError, "threads is "):
                lt.open(lt.SGD(lt.Embedding(10, 3), lr=1), threads=threads)

    def test_backward_of_any_layout_and_after_close(self):
        table = lt.Embedding(10, 3)
        with lt.open(optimizer := lt.SGD(table, lr=1)):
            loss = table(torch.tensor([[1, 1], [2, 1]])).transpose(0, 2).sum()
        loss.backward()  # which needs no rows
        gradient = table.gradients.sum()
        self.assertEqual(dict(zip(gradient.indices.tolist(), gradient.values.tolist())), {1: [3.0] * 3, 2: [1.0] * 3})


class MixedPrecision(unittest.TestCase):
    def losses(self, table, optimizer):
        torch.manual_seed(1)
        linear, losses = torch.nn.Linear(8, 4), []
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = linear(table(torch.tensor([[1, 2], [2, 3]]))).float().pow(2).sum()
            loss.backward(retain_graph=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def test_autocast_and_two_backward_passes_are_as_in_torch(self):
        weight = torch.randn(10, 8)
        ours = lt.Embedding.from_pretrained(weight, freeze=False)
        theirs = torch.nn.Embedding.from_pretrained(weight.clone(), freeze=False)
        with lt.open(optimizer := lt.SGD(ours, lr=0.1)):
            losses = self.losses(ours, optimizer)
        self.assertLess(losses[2], losses[0])
        for a, b in zip(losses, self.losses(theirs, torch.optim.SGD(theirs.parameters(), lr=0.1))):
            self.assertAlmostEqual(a, b, delta=1e-4 * b)


class Initial(unittest.TestCase):
    def test_initial_moments(self):
        indices = torch.arange(20000)
        normal, uniform = lt.Normal(0.5)(indices, 16), lt.Uniform(0.5)(indices, 16)
        self.assertLess(abs(float(normal.mean())), 0.005)
        self.assertLess(abs(float(normal.std()) - 0.5), 0.005)
        self.assertLess(abs(float(uniform.std()) - 1 / 12 ** 0.5), 0.005)
        self.assertLessEqual(float(uniform.abs().max()), 0.5)
        correlations = np.corrcoef(normal[:500].numpy())[np.triu_indices(500, 1)]
        self.assertLess(np.abs(correlations).mean(), 0.22)  # of independent ones it is 0.206

    def test_initial_is_a_function_of_the_index(self):
        initial = lt.Normal(seed=5)
        self.assertTrue(torch.equal(initial(torch.tensor([9, 4]), 8)[1], lt.Normal(seed=5)(torch.tensor([4]), 8)[0]))
        self.assertEqual(len(torch.unique(initial(torch.arange(50000), 8), dim=0)), 50000)
        self.assertFalse(torch.equal(initial(torch.tensor([4]), 8), lt.Normal(seed=6)(torch.tensor([4]), 8)))

    def test_lookups_write_nothing(self):
        embedding = lt.Embedding(100, 4)
        with lt.open(lt.SGD(embedding, 1)) as job, torch.no_grad():
            embedding(torch.arange(100))
            self.assertEqual(job.worker.pull(torch.arange(100)).abs().sum(), 0)


class Prefetch(unittest.TestCase):
    def setUp(self):
        self.embedding = lt.Embedding(ROWS, DIMENSION)
        self.job = lt.open(lt.SGD(self.embedding, 1))
        self.addCleanup(self.job.close)

    def test_prefetch_gives_each_batch_its_clock(self):
        batches = [torch.randint(0, ROWS, (20,)) for _ in range(50)]
        for epoch in range(2):
            for number, batch in enumerate(lt.Prefetch(batches, keys=lambda batch: {self.embedding: batch})):
                self.assertTrue(torch.equal(batch, batches[number]))
                self.assertEqual(self.job.worker.clock, 50 * epoch + number + 1)
        signaled = self.job.node.stats()["intents_signaled"]
        self.assertEqual(signaled, 2 * sum(len(torch.unique(batch)) for batch in batches))

    def test_prefetch_takes_batches_ahead(self):
        """Half of `ahead` at least, though the loader is slower than the training; all before the first."""
        for ahead in (1, 2, 9):
            taken = []

            def loader():
                for number in range(40):
                    time.sleep(.001)
                    taken.append(number)
                    yield torch.tensor([number])

            behind = [len(taken) - number - 1 for number, _ in enumerate(
                lt.Prefetch(loader(), keys=lambda batch: {self.embedding: batch}, ahead=ahead))]
            self.assertEqual(len(behind), 40)
            self.assertGreaterEqual(behind[0], ahead)
            self.assertGreaterEqual(min(behind[:40 - ahead]), ahead // 2, behind)
            self.assertLessEqual(max(behind), ahead + 2)  # the thread has one more in its hands

    def test_prefetch_ends_early_and_on_faults(self):
        for batch in lt.Prefetch(iter(lambda: torch.tensor([1]), None), keys=lambda batch: {self.embedding: batch}):
            break
        with self.assertRaisesRegex(locus.ArgumentError, "must be 0 to"):
            list(lt.Prefetch([torch.tensor([ROWS])], keys=lambda batch: {self.embedding: batch}))
        self.assertRaisesRegex(ZeroDivisionError, "division", list, lt.Prefetch([1], keys=lambda batch: 1 / 0))
        self.assertEqual(self.job.worker._loaders, [])

    def test_ctrl_c_between_two_instructions_ends_it(self):
        optimizer, names = lt.SGD(embedding := lt.Embedding(ROWS, DIMENSION), 1), ("locus prefetch", "locus values")

        def epoch():
            for batch in lt.Prefetch([torch.arange(5)] * 3, keys=lambda batch: {embedding: batch}, ahead=1):
                step(optimizer, embedding(batch).sum())
        with lt.open(optimizer) as job:
            points = 0
            while interrupted_at(1 + 3 * points, epoch):
                points += 1
                deadline = time.monotonic() + 100  # if it came within the wait for a thread, that ends in a moment
                while job.worker._lent or any(each.name in names and each.is_alive() for each in threading.enumerate()):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(.001)
                torch.set_grad_enabled(True)  # torch's own switch may have stayed
                job.worker.pull(torch.arange(3))
            self.assertGreater(points, 30)


class ValuesAhead(unittest.TestCase):
    def setUp(self):
        self.embedding = lt.Embedding(ROWS, DIMENSION)
        self.optimizer = lt.SGD(self.embedding, 1)
        self.job = lt.open(self.optimizer, workers=2)
        self.job.node.worker().close()  # which nobody waits for
        self.addCleanup(self.job.close)
        self.pulled, pull = [], Pulled.pull

        def counted(ahead, *before):
            pull(ahead, *before)
            self.pulled.append(ahead)

        unittest.mock.patch.object(Pulled, "pull", counted).start()
        self.addCleanup(unittest.mock.patch.stopall)

    def step(self, indices):
        step(self.optimizer, self.embedding(indices).square().sum())

    def writes(self):
        """Of another worker, too, and of other rows as well."""
        keys, values, worker = torch.tensor([199, 5, 3, 5]), torch.randn(4, DIMENSION), self.job.worker

        def by_another():
            with self.job.node.worker() as other:
                other.push(keys, values)
        return [by_another, lambda: worker.set_state(keys, values)] + [
            functools.partial(call, *told) for call in (worker.push, worker.set, worker.push_async, worker.set_async)
            for told in ((keys, values), (keys.numpy().astype(np.uint64), values.numpy()))]

    def test_a_batch_that_is_changed_looks_up_what_it_is(self):
        for indices in (torch.tensor([3, 5, 7]), torch.tensor([[4, 4, 6]])):
            ahead = Pulled(self.embedding, indices)
            ahead.pull()
            indices[..., :2] = 0
            self.assertIsNone(ahead.take(indices.view(-1)))

    def test_restored_values_are_pulled_again(self):
        with tempfile.TemporaryDirectory() as folder:
            self.job.checkpoint(folder)
            self.step(torch.tensor([3]))
            ahead = Pulled(self.embedding, torch.tensor([3]))
            ahead.pull()
            self.job.worker.restore(folder)
            self.assertIsNone(ahead.take(torch.tensor([3])))

    def test_values_ahead_that_changed_are_pulled_again(self):
        indices = torch.tensor([[3, 5], [3, 7]])
        for change, known in ((lambda: None, True), (lambda: self.step(torch.tensor([5, 9])), True),
                              (lambda: [self.step(torch.tensor([number])) for number in range(6)], True),
                              (lambda: [self.step(torch.tensor([5])) for _ in range(40)], False),
                              (lambda: self.embedding.set_weight(torch.arange(5, 9), torch.ones(4, DIMENSION)), True),
                              *((write, True) for write in self.writes()), (self.job.quiesce, False),
                              (lambda: self.job.worker.bound(0), False)):
            over, coming, ahead = (Pulled(self.embedding, each) for each in (torch.tensor([9]), torch.tensor([8, 5]), indices))
            self.embedding.changes.add(over.indices)
            ahead.pull(over, coming)  # which will change row 5
            change()
            self.assertIsNone(ahead.take(indices.view(-1) + 1))
            found = ahead.take(indices.view(-1))
            self.assertEqual((ahead._here, found is not None), (2, known))
            self.assertIsNone(ahead.take(indices.view(-1)))  # a step may use its memory
            if found:
                self.assertTrue(torch.equal(found.values, weights(self.embedding)[found.indices]))
                self.assertTrue(torch.equal(found.indices[found.places], indices.view(-1)))

    def test_training_with_values_ahead_is_the_same(self):
        batches = [torch.randint(0, 30, (20,)) for _ in range(30)]
        for number, batch in enumerate(lt.Prefetch(batches, keys=lambda batch: {self.embedding: batch})):
            if number == 0:
                first = self.embedding.ahead.pulled is not None  # else it came before its values
            while len(self.pulled) < min(number + 1, 29) + first:
                time.sleep(.001)  # until the next one's have come
            before = self.embedding.ahead
            self.step(batch)
            self.assertIsNone(before.pulled)
        values = weights(self.embedding)
        self.embedding.set_weight(torch.arange(ROWS), self.embedding.initial(torch.arange(ROWS), DIMENSION))
        for batch in batches:
            self.step(batch)
        self.assertTrue(torch.equal(values, weights(self.embedding)) and self.pulled[-1]._put_off)
        self.assertEqual((self.job.worker._lent, self.embedding.ahead), (0, None))

    def test_prefetch_within_a_prefetch(self):
        """As an evaluation does: both are intended for the clock at which they come, and keep their values ahead."""
        keys, intended = lambda batch: {self.embedding: batch}, {}  # of each key, the last start

        def noted(intend):
            return lambda of, keys, start, end: (intended.update({int(key): start for key in keys}),
                                                 intend(of, keys, start, end))[1]
        for of in (locus.Worker, locus.Loader):
            patch = unittest.mock.patch.object(of, "intent", noted(of.intent))
            patch.start()
            self.addCleanup(patch.stop)
        for number, batch in enumerate(lt.Prefetch(torch.arange(60).split(5), keys=keys, ahead=3)):
            clock = self.job.worker.clock
            self.embedding.ahead.pull()  # should it have come before its values
            self.assertEqual([intended[int(key)] for key in batch], 5 * [clock])
            for inner in lt.Prefetch((100 + torch.arange(20)).split(5), keys=keys, ahead=2) if number % 3 == 1 else ():
                clock += 1
                self.assertEqual(([intended[int(key)] for key in inner], self.job.worker.clock), (5 * [clock], clock))
                self.step(inner)
            self.step(batch)
            self.assertEqual([line.useless for line in prefetch._lines if line.useless], [])

    def test_values_that_are_not_looked_up_are_not_pulled_ahead(self):
        for batch in lt.Prefetch([torch.arange(10)] * 60, keys=lambda batch: {self.embedding: batch}, ahead=3):
            self.step(batch[:5])
        self.assertLess(len(self.pulled), 6)

    def test_calls_of_a_worker_that_is_lent_wait(self):
        worker, done = self.job.worker, threading.Event()
        worker._lend(1)
        worker._guard[0] = None
        thread = threading.Thread(target=lambda: (worker.pull(torch.arange(3)), done.set()))
        thread.start()
        self.assertFalse(done.wait(.02))
        del worker._guard[0]
        self.assertTrue(done.wait(100))
        thread.join()
        worker._lend(-1)


class Ngrams(unittest.TestCase):
    def test_rows_are_those_of_the_last_tokens(self):
        table = lt.NgramTable(6000, 4, orders=(1, 3), heads=2, seed=5)
        tokens = torch.randint(0, 50, (3, 40))
        rows = table.indices(tokens)
        self.assertEqual(rows.shape, (3, 40, 4))
        self.assertEqual((rows // 1500).view(-1, 4).unique(dim=0).tolist(), [[0, 1, 2, 3]])  # each in its part
        for start in (0, 7):  # only the last three count; before the first there is none that a text has
            self.assertTrue(torch.equal(table.indices(tokens[:, start:])[:, 2:], rows[:, start + 2:]))
        self.assertFalse(torch.equal(table.indices(tokens[:, 7:])[:, 0, 2:], rows[:, 7, 2:]))
        self.assertTrue(torch.equal(table.indices(tokens.int()), rows))
        swapped = table.indices(tokens.flip(-1)).flip(-2)[:, 1:-1]  # the same tokens in another order
        self.assertLess(float((swapped[..., 2:] == rows[:, 1:-1, 2:]).float().mean()), 0.1)
        self.assertTrue(torch.equal(swapped[..., :2], rows[:, 1:-1, :2]))

    def test_hashes_spread_over_all_rows(self):
        table = lt.NgramTable(4096, 4, orders=(2,), heads=1)
        pairs = torch.stack([torch.arange(40960) // 256, torch.arange(40960) % 256], 1)
        counts = torch.bincount(table.indices(pairs)[:, 1, 0], minlength=4096)
        self.assertLess(float(counts.float().var() / counts.float().mean()), 1.2)  # 1 if at random
        two = lt.NgramTable(8192, 4, orders=(2,), heads=2).indices(pairs)[:, 1]
        same = two[:, :1] == two[:1, :1]
        self.assertLess(len(two[same[:, 0], 1].unique()) / int(same.sum()), 1.01)
        self.assertGreater(len(two[same[:, 0], 1].unique()) / int(same.sum()), 0.7)  # heads do not collide together

    def test_a_state_of_other_rows_is_refused(self):
        table, saved = lt.NgramTable(1000, 4, seed=5), io.BytesIO()
        with lt.open(lt.SGD(table, 1)):
            torch.save(table.state_dict(), saved)
            saved.seek(0)
            state = torch.load(saved)
            table.load_state_dict(state)
        for other in (dict(seed=6), dict(heads=2), dict(orders=(2, 4)), dict(rows=1008)):
            with self.assertRaisesRegex(locus.ArgumentError, "n-grams would have each other's rows"):
                lt.NgramTable(**{**dict(rows=1000, embedding_dim=4, seed=5), **other}).load_state_dict(state)

    def test_values_learn(self):
        table = lt.NgramTable(1000, 4, orders=(1, 2), heads=2)
        self.assertEqual(table.width, 16)
        optimizer = lt.SGD(table, 1)
        tokens = torch.tensor([[1, 2, 1, 2]])
        with lt.open(optimizer) as job:
            self.assertEqual(list(job.node.tables), ["table"])
            self.assertEqual(float(table(tokens).abs().sum()), 0)
            table(tokens)[0, 3].sum().backward()
            optimizer.step()
            values = table(tokens)
            self.assertEqual(values.shape, (1, 4, 16))
            self.assertTrue((values[0, 3] == -1).all() and torch.equal(values[0, 1, :8], values[0, 3, :8]))
            self.assertTrue((values[0, 0] == 0).all())

    def test_wrong_ngram_tables_are_refused(self):
        for wrong in (dict(rows=3), dict(orders=()), dict(orders=(0,)), dict(heads=65), dict(seed=1.5)):
            self.assertRaises(locus.ArgumentError, lt.NgramTable, **{**dict(rows=100, embedding_dim=4), **wrong})


class Negatives(unittest.TestCase):
    def setUp(self):
        self.before, self.embedding = lt.Embedding(50, 4), lt.Embedding(ROWS, DIMENSION)
        self.job = lt.open(lt.SGD([self.before, self.embedding], 1))
        self.addCleanup(self.job.close)

    def drawn(self, negatives, count=10, batches=6):
        """What is taken of each batch."""
        return [negatives.take(2, count // 2) for _ in lt.Prefetch(
            [torch.tensor([1])] * batches, keys=lambda batch: {self.embedding: batch, negatives: count}, ahead=3)]

    def test_negatives_for_each_batch(self):
        taken = self.drawn(lt.Negatives(self.embedding, seed=5))
        self.assertEqual([(each.shape, each.dtype) for each in taken], [((2, 5), torch.int64)] * 6)
        values = torch.stack(taken)
        self.assertTrue(0 <= values.min() and values.max() < ROWS)
        self.assertGreater(len(torch.unique(values)), 30)  # of 60, of 200 that are equally likely: 52
        self.assertTrue(torch.equal(values, torch.stack(self.drawn(lt.Negatives(self.embedding, seed=5)))))
        self.assertEqual(self.embedding(values).shape, (6, 2, 5, DIMENSION))

    def test_negatives_by_weight(self):
        weights = torch.zeros(ROWS)
        weights[[3, 7]] = torch.tensor([1., 3.])
        values = torch.stack(self.drawn(lt.Negatives(self.embedding, weights, seed=1), count=400)).flatten()
        self.assertEqual(sorted(torch.unique(values).tolist()), [3, 7])
        self.assertLess(abs(float((values == 7).float().mean()) - 0.75), 0.05)
        without = lt.Negatives(self.embedding, replace=False)
        self.assertEqual(len(torch.unique(self.drawn(without, ROWS, 1)[0])), ROWS)

    def test_negatives_without_prefetch(self):
        values = lt.Negatives(self.embedding, seed=5).take(20)
        self.assertEqual((values.shape, values.dtype), ((20,), torch.int64))
        self.assertTrue(0 <= values.min() and values.max() < ROWS)

    def test_wrong_negatives_are_refused(self):
        negatives = lt.Negatives(self.embedding)
        with self.assertRaisesRegex(locus.ArgumentError, "must have 200, one for each"):
            lt.Negatives(self.embedding, torch.ones(3))
        with self.assertRaisesRegex(locus.ArgumentError, "conformity is 'most'"):
            lt.Negatives(self.embedding, conformity="most").take(1)
        with self.assertRaisesRegex(locus.UsageError, "4 indices are asked for, but 3 are left"):
            for _ in lt.Prefetch([0], keys=lambda batch: {negatives: 10}):
                negatives.take(7)
                negatives.take(4)
        self.assertEqual(negatives.take(4).shape, (4,))  # of its own again

    def test_a_second_job_draws_anew(self):
        negatives = lt.Negatives(self.before)
        line = iter(lt.Prefetch([0] * 9, keys=lambda batch: {negatives: 10}, ahead=2))
        next(line)
        self.job.close()
        with lt.open(lt.SGD(self.before, 1)):
            self.assertEqual(negatives.take(4).shape, (4,))
        line.close()

    def test_negatives_close_their_samples(self):
        negatives, samples = lt.Negatives(self.embedding), []
        prepare = negatives.prepare
        negatives.prepare = lambda *told: samples.append(prepare(*told)) or samples[-1]
        for _ in lt.Prefetch([0] * 20, keys=lambda batch: {negatives: 10}, ahead=3):
            if len(samples) > 8:
                break
        self.assertGreater(len(samples), 8)
        self.assertEqual([sample for sample in samples if sample._open], [])


class Processes(unittest.TestCase):
    def test_worker_processes_of_the_data_loader(self):
        said = passes(self, run("""
            from embeddings import lt, step, torch
            embedding = lt.Embedding(100, 4)
            with lt.open(optimizer := lt.SGD(embedding, 0.1)):
                for epoch in range(2):
                    loader = torch.utils.data.DataLoader(torch.arange(100), batch_size=10, num_workers=2)
                    for batch in lt.Prefetch(loader, keys=lambda batch: {embedding: batch}):
                        step(optimizer, embedding(batch).sum())
                moved = embedding.weight_of(torch.arange(100)) - embedding.initial(torch.arange(100), 4)
                assert torch.allclose(moved, torch.full((100, 4), -0.2)), moved
                print("good")"""))
        self.assertEqual(said, "good\n")

    def test_adam_steps_the_same_rows_on_several_nodes(self):
        """Towards 1, at a rate that falls: whatever nodes see of each other, they end there."""
        said = passes(self, run_nodes(3, """
            from embeddings import lt, step, torch
            embedding = lt.Embedding(20, 4)
            with lt.open(optimizer := lt.Adam(embedding)) as job:
                for number in range(300):
                    optimizer.lr = 0.05 * (1 - number / 300) ** 2
                    step(optimizer, (embedding(torch.arange(20)) - 1).square().sum())
                job.quiesce()
                far = float((embedding.weight_of(torch.arange(20)) - 1).abs().max())
                sys.stdout.write(f"far {far}\\n")
                job.barrier()"""))
        ends = [float(line.split()[1]) for line in said.splitlines()]
        self.assertEqual(len(ends), 3)
        self.assertLess(max(ends), 0.01)

    def test_process_that_is_killed_is_let_in_again_and_learns_its_share(self):
        """It ends when all three train, and every row is where it shall be; first values have been written by those who
        were there, and are not again."""
        said = passes(self, run_nodes(3, """
            from embeddings import lt, step, torch
            embedding = lt.Embedding(30, 4)
            own, full = slice(int(os.environ["LOCUS_RANK"]), None, 3), 0
            with lt.open(optimizer := lt.AdamW(embedding, lr=0.1, weight_decay=0)) as job:
                others = 0.0 if job.rank == 0 else float("inf")  # what others than process 0 say counts for nothing
                met = job.meet(0, False, optimizer.lr, others)
                if job.node.losses()["is_newcomer"]:
                    assert optimizer.steps == {"embedding": 20 * int(met[0])} and met[0] > 1, (optimizer.steps, met)
                    assert optimizer.lr == met[2] < 0.1, optimizer.lr
                    sys.stdout.write("let in\\n")
                while met and not met[1]:
                    epoch = met[0] + 1
                    for number in range(20):
                        step(optimizer, (embedding(torch.arange(30)[own]) - 1).square().sum())
                    optimizer.lr = max(0.98 * optimizer.lr, 0.01)
                    if job.rank == 1 and epoch == 2 and not job.node.losses()["is_newcomer"]:
                        os.kill(os.getpid(), signal.SIGKILL)
                    there = job.worker.sum([1])[0]
                    full += there == 3 and job.node.losses()["joined"] > 0
                    assert met[3] == 0, met
                    met = job.meet(epoch, full > 20, optimizer.lr, others)
                job.quiesce()
                far = float((embedding.weight_of(torch.arange(30)) - 1).abs().max())
                sys.stdout.write(f"far {far:.5f}\\n")""", "--survives", "--restarts", "3"))
        self.assertEqual(said.count("let in\n"), 1, said)
        ends = [float(line.split()[1]) for line in said.splitlines() if line.startswith("far ")]
        self.assertEqual(len(ends), 3, said)
        self.assertLess(max(ends), 0.01, said)

    def test_nodes_share_the_rows(self):
        """And they come in time: also to the first batches, though all are intended within a moment."""
        said = passes(self, run_nodes(2, """
            from embeddings import lt, step, torch
            first, embedding = lt.Embedding(8000, 4), lt.Embedding(5000, 4)
            with lt.open(optimizer := lt.SGD([first, embedding], 0.1)) as job:
                remote = []
                for attempt in range(4):
                    batches = torch.arange(1000 * (2 * attempt + job.rank), 1000 * (2 * attempt + job.rank + 1))
                    job.barrier()
                    before = job.node.stats()["pulled_remote"]
                    for batch in lt.Prefetch(batches.reshape(2, -1), keys=lambda batch: {first: batch}, ahead=1):
                        with torch.no_grad(): first(batch)
                        break
                    remote.append(job.node.stats()["pulled_remote"] - before)
                job.barrier()
                before = job.node.stats()
                batches = torch.arange(5000).reshape(-1, 10)
                batches = [batches[i] for i in range(len(batches)) if i % 3 != job.rank]
                negatives = lt.Negatives(embedding, conformity="bounded")
                for epoch in range(3):
                    for batch in lt.Prefetch(batches, keys=lambda batch: {embedding: batch, negatives: 20}):
                        step(optimizer, embedding(batch).sum())
                        with torch.no_grad(): embedding(negatives.take(4, 5))
                        time.sleep(.001)
                stats = job.node.stats()
                job.quiesce()
                moved = embedding.weight_of(torch.arange(5000)) - embedding.initial(torch.arange(5000), 4)
                visits = torch.tensor([3 * sum(i % 3 != rank for rank in range(2)) for i in range(500)])
                assert torch.allclose(moved, -0.1 * visits.repeat_interleave(10)[:, None].float(), atol=1e-5)
                counts = [stats[name] - before[name] for name in ("pulled_remote", "pushed_remote")]
                sys.stdout.write(f"remote {sum(remote) / 2000} {sum(counts) / (40 * 3 * len(batches))}\\n")
                job.barrier()"""))
        shares = [[float(share) for share in line.split()[1:]] for line in said.splitlines()]
        self.assertEqual(len(shares), 2)
        for first, all_of_them in shares:
            self.assertLess(first, 0.15, shares)  # 0; half of them, if nobody waited for them
            self.assertLess(all_of_them, 0.05, shares)  # 0.001; about a half without intent
