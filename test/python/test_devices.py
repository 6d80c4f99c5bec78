"""Embeddings of a model that lies on another device. torch's meta device has shapes and no values: it shows what goes where,
on every machine; that values come out right is shown by a GPU, where there is one."""
import contextlib
import copy
import io
import unittest
import unittest.mock

import locus
import numpy as np
from embeddings import lt, step, torch
from locus.torch import ahead, devices

ROWS, DIMENSION = 100, 4


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = lt.Embedding(ROWS, DIMENSION)
        self.bags = lt.EmbeddingBag(ROWS, DIMENSION, mode="sum")
        self.out = torch.nn.Linear(2 * DIMENSION, 1)

    def forward(self, words, bags, weights):
        found = [self.words(words), self.bags(bags, per_sample_weights=weights)]
        return self.out(torch.cat(found, 1))


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(0, ROWS, (12,), generator=generator), torch.randint(0, ROWS, (12, 3), generator=generator),
            torch.rand(12, 3, generator=generator))


class Meta(unittest.TestCase):
    def test_values_are_returned_where_the_model_is(self):
        model = Model()
        with lt.open(lt.SGD(model, 0.1)):
            self.assertEqual(model(*batch(1)).device.type, "cpu")
            model.to("meta")
            self.assertEqual(model.words.device.type, "meta")
            result = model(*batch(1))
            self.assertEqual((result.device.type, tuple(result.shape)), ("meta", (12, 1)))
            bags = model.bags(torch.arange(6), torch.tensor([0, 2]), torch.ones(6))
            self.assertEqual((bags.device.type, tuple(bags.shape)), ("meta", (2, DIMENSION)))
        made = [lt.Embedding(ROWS, DIMENSION, device=device).device.type for device in (None, "cpu", "meta")]
        self.assertEqual(made, 3 * ["cpu"])  # "meta" is where models are made before they have a place

    def test_a_module_comes_back_as_it_was(self):
        words = lt.Embedding(ROWS, DIMENSION)
        with lt.open(lt.SGD(words, 0.1)):
            before = words(torch.arange(ROWS))
            words.to("meta")
            words.double()  # a type is none of its business
            self.assertEqual((words.device.type, words(torch.arange(3)).dtype), ("meta", torch.float32))
            words.to_empty(device="cpu")
            self.assertTrue(torch.equal(words(torch.arange(ROWS)), before))

    def test_gradients_gather_on_the_device(self):
        words = lt.Embedding(ROWS, DIMENSION)
        with lt.open(lt.SGD(words, 0.1)):
            words.to("meta")
            words(torch.tensor([3, 5, 3])).sum().backward()
            gradient = words.gradients.sum().values
            self.assertEqual((gradient.device.type, tuple(gradient.shape)), ("meta", (2, DIMENSION)))

    def test_indices_stay_in_memory(self):
        words = lt.Embedding(ROWS, DIMENSION)
        with lt.open(lt.SGD(words, 0.1)):
            words.to("meta")
            with self.assertRaisesRegex(locus.ArgumentError, "must be integers on the CPU"):
                words(torch.zeros(3, dtype=torch.long, device="meta"))
            self.assertEqual(words.weight_of(torch.arange(3)).device.type, "cpu")
            self.assertEqual(words.state_dict()["weight"].device.type, "cpu")


class Defaults(unittest.TestCase):
    """A script's own: what the library reads and writes stays float32 and int64 in memory, and the values are the same."""

    def trained(self):
        words = torch.nn.ModuleDict({"a": lt.Embedding(ROWS, DIMENSION, padding_idx=3, initial=lt.Normal(seed=1)),
                                     "b": lt.EmbeddingBag(ROWS, DIMENSION, initial=lt.Uniform(0.5, seed=2)),
                                     "c": lt.NgramTable(ROWS + 4, DIMENSION).table})
        optimizer, each = lt.Adagrad(words, 0.1), torch.from_numpy(np.arange(2 * ROWS).reshape(-1, 10) * 7 % ROWS)
        with lt.open(optimizer):
            for batch in lt.Prefetch(each, keys=lambda batch: {embedding: batch for embedding in words.values()}, ahead=2):
                optimizer.zero_grad()
                for name, embedding in words.items():
                    embedding(batch.view(1, -1) if name == "b" else batch).sum().backward()
                optimizer.step()
            torch.save(optimizer.state_dict(), io.BytesIO())
            return list(words.state_dict().values())

    def test_default_dtype_and_device_change_nothing(self):
        before, types = self.trained(), (torch.float64, torch.bfloat16)
        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())
        for each in types:
            torch.set_default_dtype(each)
            for expected, found in zip(before, self.trained()):
                self.assertTrue(found.dtype == torch.float32 and torch.equal(expected, found), each)
        if hasattr(torch, "set_default_device"):  # since torch 2.0
            self.addCleanup(torch.set_default_device, None)
            torch.set_default_device("meta")
            found = self.trained()
            torch.set_default_device(None)
            self.assertTrue(all(map(torch.equal, before, found)))


class Ahead(unittest.TestCase):
    """What CUDA would be told, with the meta device as the GPU."""

    def test_ahead_copies_on_a_stream_of_its_own(self):
        told, cuda = [], unittest.mock.Mock()
        cuda.stream.return_value = contextlib.nullcontext()
        stream, event, current = cuda.Stream.return_value, cuda.Stream.return_value.record_event.return_value, \
            cuda.current_stream.return_value
        stream.record_event.side_effect = lambda: told.append("copied") or event
        current.wait_event.side_effect = lambda of: told.append("waits" if of is event else "waits for another")
        words = lt.Embedding(ROWS, DIMENSION)
        optimizer, indices = lt.SGD(words, 0.1), torch.tensor([3, 5, 3])
        with lt.open(optimizer), unittest.mock.patch.object(devices, "_cuda", cuda), unittest.mock.patch.object(
                devices, "_is_gpu", lambda device: device.type == "meta"), unittest.mock.patch.object(
                torch.Tensor, "pin_memory", lambda values: told.append("pinned") or values), unittest.mock.patch.object(
                torch.Tensor, "record_stream", lambda values, of: told.append("used" if of is current else "lost")):
            words.to("meta")
            first = ahead.Ahead(words, indices)
            first.pull()
            self.assertEqual(told, ["pinned", "copied"])
            words.changes.add(torch.tensor([5, 9]))
            found = first.take(indices)
            self.assertEqual((told[2:4], found.values.device.type, tuple(found.values.shape)),
                             (["waits", "used"], "meta", (2, DIMENSION)))
            self.assertEqual(told[4:], 2 * ["pinned"])  # which was changed since, and its place
            self.assertIs(devices.to_device(found.values, words.device), found.values)
            first.pull()
            words.to_empty(device="cpu")  # meanwhile: pulled anew
            self.assertIsNone(first.take(indices))


class Gpu(unittest.TestCase):
    """Two models, one here and one there, see the same batches."""

    def setUp(self):
        if not torch.cuda.is_available():
            self.skipTest("there is no GPU here")

    def train(self, model, device, start):
        model.out.load_state_dict(start)
        model.to(device)
        optimizer = lt.Adagrad(model, 0.1)
        dense = torch.optim.Adagrad(model.out.parameters(), 0.1)
        with lt.open(optimizer):
            for seed in range(30):
                words, bags, weights = batch(seed)
                dense.zero_grad()
                optimizer.zero_grad()
                for _ in range(1 + seed % 2):  # two passes a step, now and then
                    model(words, bags, weights.to(device)).square().mean().backward()
                optimizer.step()
                dense.step()
            return [each.weight_of(torch.arange(ROWS)).numpy() for each in (model.words, model.bags)]

    def test_steps_are_those_of_the_cpu(self):
        start = copy.deepcopy(Model().out.state_dict())
        for here, there in zip(self.train(Model(), "cpu", start), self.train(Model(), "cuda", start)):
            np.testing.assert_allclose(here, there, atol=1e-4)

    def test_values_ahead_are_those_of_the_cpu(self):
        words = lt.Embedding(ROWS, DIMENSION)
        words.to("cuda")
        optimizer, batches = lt.SGD(words, 0.1), [batch(seed)[0] for seed in range(60)]
        with lt.open(optimizer):
            for each in lt.Prefetch(batches, keys=lambda each: {words: each}):
                expected = words.weight_of(each)
                values = words(each)
                self.assertTrue(torch.equal(values.detach().cpu(), expected))
                step(optimizer, values.sum())

    def test_a_forward_pass_waits_for_no_copy(self):
        """Pinned buffers are used again only when their copy has ended: values of many passes at once are right."""
        words = lt.Embedding(ROWS, DIMENSION)
        words.to("cuda")
        with lt.open(lt.SGD(words, 0.1)), torch.no_grad():
            expected = words.weight_of(torch.arange(ROWS))
            each = [words(torch.arange(number, number + 10)) for number in range(ROWS - 10)]
            for number, values in enumerate(each):
                self.assertTrue(torch.equal(values.cpu(), expected[number:number + 10]))
