"""What scripts of torch use beside the plain calls, against torch itself."""
import copy
import math
import tempfile
import unittest
import warnings

import locus
import numpy as np
from embeddings import lt, torch, weights

ROWS, DIMENSION = 60, 4


def batches(count=12, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(0, ROWS, (8, 3), generator=generator) for _ in range(count)]


class Ported(unittest.TestCase):
    def train(self, module, optimizer, between=lambda: None, after=lambda: None, loss_of=None):
        for indices in batches():
            optimizer.zero_grad()
            values = module(indices)
            (loss_of or (lambda values: values.sin().sum().square() / 50))(values).backward()
            between()
            optimizer.step()
            after()

    def same(self, ours, theirs, own, other, **hooks):
        """Trains both; `hooks` are given the module's parameters and the optimizer."""
        with lt.open(optimizer := own(ours)):
            theirs.load_state_dict(ours.state_dict())
            peer = other(theirs.parameters())
            for module, each in ((ours, optimizer), (theirs, peer)):
                made = {name: hook(each) for name, hook in hooks.items()}
                self.train(module, each, **made)
            self.assertTrue(torch.allclose(weights(ours), theirs.weight.detach(), atol=1e-6, rtol=1e-5))
            self.assertFalse(torch.allclose(weights(ours), ours.initial(torch.arange(ROWS), DIMENSION), atol=1e-2))

    def test_padding(self):
        for own, other, sparse in ((lambda m: lt.Adagrad(m, 0.1, 0.1), lambda p: torch.optim.Adagrad(
                p, 0.1, initial_accumulator_value=0.1), False),
                                   (lambda m: lt.Adam(m, 0.05), lambda p: torch.optim.SparseAdam(list(p), 0.05), True)):
            for padding in (0, 7, -1):
                with self.subTest(padding=padding, sparse=sparse):
                    ours = lt.Embedding(ROWS, DIMENSION, padding, sparse=sparse)
                    self.assertEqual(ours.padding_idx, padding % ROWS)
                    self.same(ours, torch.nn.Embedding(ROWS, DIMENSION, padding, sparse=sparse), own, other)
                    self.assertEqual(float(ours.initial(torch.tensor([padding % ROWS]), DIMENSION).abs().sum()), 0)
        for mode in ("sum", "mean"):
            self.same(lt.EmbeddingBag(ROWS, DIMENSION, mode=mode, padding_idx=7), torch.nn.EmbeddingBag(
                ROWS, DIMENSION, mode=mode, padding_idx=7), lambda m: lt.SGD(m, 0.1), lambda p: torch.optim.SGD(p, 0.1))

    def test_bag_include_last_offset(self):
        ours = lt.EmbeddingBag(ROWS, DIMENSION, mode="sum", include_last_offset=True)
        with lt.open(lt.SGD(ours, 1)):
            theirs = torch.nn.EmbeddingBag(ROWS, DIMENSION, mode="sum", include_last_offset=True)
            theirs.load_state_dict(ours.state_dict())
            given = torch.tensor([1, 2, 3, 1]), torch.tensor([0, 1, 4])
            self.assertTrue(torch.allclose(ours(*given), theirs(*given)))

    def test_from_pretrained(self):
        given = torch.randn(ROWS, DIMENSION)
        before = given.clone()
        for frozen in (True, False):
            for ours, kind in ((lt.Embedding, torch.nn.Embedding), (lt.EmbeddingBag, torch.nn.EmbeddingBag)):
                mine, theirs = (each.from_pretrained(given.clone(), freeze=frozen, padding_idx=3) for each in (ours, kind))
                with lt.open(optimizer := lt.SGD([mine], 0.5)):
                    self.assertTrue(torch.equal(weights(mine), given))
                    for indices in batches():
                        for module in (mine, theirs):
                            loss = module(indices).square().sum()
                            self.assertEqual(loss.requires_grad, not frozen)
                            if not frozen:
                                loss.backward()
                    optimizer.step()
                    if not frozen:
                        torch.optim.SGD(theirs.parameters(), 0.5).step()
                    self.assertTrue(torch.allclose(weights(mine), theirs.weight.detach(), atol=1e-4, rtol=1e-5))
        self.assertTrue(torch.equal(given, before))

    def test_requires_grad_freezes(self):
        embedding = lt.Embedding(ROWS, DIMENSION).requires_grad_(False)
        with lt.open(lt.SGD(embedding, 1)):
            self.assertFalse(embedding(torch.tensor([1])).requires_grad)
            self.assertFalse(copy.deepcopy(embedding).weight.requires_grad)
            self.assertTrue(embedding.requires_grad_()(torch.tensor([1])).requires_grad)

    def test_options_that_there_are_not_are_refused(self):
        for make, sentence in ((lambda: lt.Embedding(9, 2, max_norm=1.0), "max_norm is 1.0: locus.torch has nothing"),
                               (lambda: lt.EmbeddingBag(9, 2, scale_grad_by_freq=True), "scale_grad_by_freq is True"),
                               (lambda: lt.EmbeddingBag(9, 2, "sum"), "max_norm is 'sum'"),
                               (lambda: lt.EmbeddingBag(9, 2, mode="max"), "mode is 'max'"),
                               (lambda: lt.Embedding(9, 2, 9), "padding_idx is 9: must be one of the 9"),
                               (lambda: lt.Embedding(9, 2, lt.Zeros()), "by name, initial="),
                               (lambda: lt.Embedding.from_pretrained(torch.ones(3)), "must be a tensor of shape")):
            self.assertRaisesRegex(locus.ArgumentError, sentence, make)

    def test_schedulers(self):
        schedules = torch.optim.lr_scheduler
        for make in (lambda o: schedules.StepLR(o, 3, 0.5), lambda o: schedules.CosineAnnealingLR(o, 10),
                     lambda o: schedules.LambdaLR(o, lambda step: 1 / (1 + step)), lambda o: schedules.OneCycleLR(
                         o, 0.2, 12, cycle_momentum=False), lambda o: schedules.ExponentialLR(o, 0.8)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # "scheduler.step() before optimizer.step()"
                self.same(lt.Embedding(ROWS, DIMENSION), torch.nn.Embedding(ROWS, DIMENSION), lambda m: lt.SGD(m, 0.1),
                          lambda p: torch.optim.SGD(p, 0.1), after=lambda optimizer: make(optimizer).step)
        embedding = lt.Embedding(ROWS, DIMENSION)
        with lt.open(optimizer := lt.SGD(embedding, 0.4)):
            scheduler = schedules.ReduceLROnPlateau(optimizer, patience=0)
            scheduler.step(1.0), scheduler.step(2.0)
            self.assertTrue(math.isclose(optimizer.lr, 0.04))
            saved = optimizer.state_dict()
            optimizer.lr = 7.0
            self.assertEqual(optimizer.param_groups[0]["lr"], 7.0)
            optimizer.load_state_dict(saved)
            self.assertTrue(math.isclose(optimizer.lr, 0.04))

    def test_clipping(self):
        clip = torch.nn.utils
        for how in (lambda p: clip.clip_grad_norm_(p, 0.5), lambda p: clip.clip_grad_norm_(p, 0.1, math.inf),
                    lambda p: clip.clip_grad_value_(p, 0.02)):
            self.same(lt.Embedding(ROWS, DIMENSION), torch.nn.Embedding(ROWS, DIMENSION), lambda m: lt.SGD(m, 1.0),
                      lambda p: torch.optim.SGD(p, 1.0),
                      between=lambda optimizer: lambda: how(optimizer.param_groups[0]["params"]))

    def test_clip_grad_norm_is_that_of_the_whole_model(self):
        """Dense parameters and embeddings, of passes that have indices in common."""
        norms = []
        ours = torch.nn.ModuleDict({"words": lt.Embedding(ROWS, DIMENSION), "out": torch.nn.Linear(DIMENSION, 2)})
        with lt.open(optimizer := lt.SGD(ours, 0.1)):
            theirs = copy.deepcopy(ours)
            for model in (ours, theirs):
                for indices in batches(3):
                    model["out"](model["words"](indices)).square().sum().backward()
            for parameters in ([*ours.parameters(), *optimizer.param_groups[0]["params"]], theirs.parameters()):
                norms.append(float(torch.nn.utils.clip_grad_norm_(parameters, 1.0)))
            weight, = optimizer.param_groups[0]["params"]
            with self.assertRaisesRegex(locus.ArgumentError, "change it in place"):
                weight.grad = torch.ones(3)
            weight.grad = None
            self.assertIsNone(weight.grad)
        self.assertTrue(math.isclose(norms[0], norms[1], rel_tol=1e-5), norms)

    def test_scalers(self):
        """torch's, which up to 2.2 there are none of for CPUs, and one that does the same in Python; all those that are on
        see a gradient that is not finite."""
        class Scaler:
            scale_by = 1024.0

            def scale(self, loss):
                return loss * self.scale_by

            def unscale_(self, optimizer):
                gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
                self.is_finite = all(bool(torch.isfinite(each).all()) for each in gradients)
                for each in gradients:
                    each.mul_(1 / self.scale_by)

            def step(self, optimizer):
                if self.is_finite:
                    optimizer.step()

            def update(self):
                self.scale_by *= 1 if self.is_finite else 0.5

        makes = [Scaler, lambda: torch.cuda.amp.GradScaler(enabled=False)]
        if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
            makes[1:] = [lambda: torch.amp.GradScaler("cpu"), lambda: torch.amp.GradScaler("cpu", enabled=False)]
        for make in makes:
            ours, theirs = lt.Embedding(ROWS, DIMENSION), torch.nn.Embedding(ROWS, DIMENSION)
            with lt.open(optimizer := lt.SGD(ours, 0.1)):
                theirs.load_state_dict(ours.state_dict())
                for module, each in ((ours, optimizer), (theirs, torch.optim.SGD(theirs.parameters(), 0.1))):
                    scaler = make()
                    for number, indices in enumerate(batches()):
                        each.zero_grad()
                        loss = module(indices).sin().sum() * (math.inf if number == 5 and make in makes[:-1] else 1)
                        scaler.scale(loss).backward()
                        scaler.unscale_(each)
                        torch.nn.utils.clip_grad_norm_(each.param_groups[0]["params"], 2.0)
                        scaler.step(each)
                        scaler.update()
                self.assertTrue(torch.allclose(weights(ours), theirs.weight.detach(), atol=1e-6))
                self.assertFalse(torch.allclose(weights(ours), ours.initial(torch.arange(ROWS), DIMENSION), atol=1e-2))

    def test_weight_attribute_is_refused_with_a_sentence(self):
        embedding = lt.Embedding(ROWS, DIMENSION)
        self.assertFalse(hasattr(embedding, "weight"))
        with self.assertRaisesRegex(AttributeError, "first values are given by initial="):
            torch.nn.init.xavier_uniform_(embedding.weight)
        with self.assertRaisesRegex(AttributeError, "has no attribute 'wait'"):
            embedding.wait

    def test_the_whole_model_in_distributed_data_parallel(self):
        distributed, losses = torch.distributed, []
        if not distributed.is_available():
            self.skipTest("this torch has no torch.distributed")
        with tempfile.TemporaryDirectory() as folder:
            distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
            self.addCleanup(distributed.destroy_process_group)
            for wrap in (lambda model: model, torch.nn.parallel.DistributedDataParallel):
                torch.manual_seed(1)
                model = wrap(torch.nn.Sequential(lt.EmbeddingBag(ROWS, DIMENSION, initial=lt.Normal(seed=1)),
                                                 torch.nn.Linear(DIMENSION, 1)))
                rows, dense = lt.Adagrad(model, 0.1), torch.optim.Adagrad(model.parameters(), 0.1)
                with lt.open(rows):
                    for indices in batches():
                        rows.zero_grad(), dense.zero_grad()
                        loss = (model(indices) - 1).square().mean()
                        loss.backward()
                        rows.step(), dense.step()
                        losses.append(loss.item())
        self.assertLess(losses[11], losses[0])
        np.testing.assert_allclose(losses[:12], losses[12:], rtol=1e-5)

    def test_job_rank_size_stats(self):
        embedding = lt.Embedding(ROWS, DIMENSION)
        with lt.open(lt.SGD(embedding, 1)) as job:
            embedding(torch.tensor([1, 2, 1]))
            self.assertEqual((job.rank, job.size, job.stats()["pulled_local"]), (0, 1, 2))
