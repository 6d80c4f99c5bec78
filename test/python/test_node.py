"""One node: values, shapes, errors before the call."""
import tempfile
import unittest

import locus
import numpy as np


class Node(unittest.TestCase):
    def setUp(self):
        self.node = locus.open([locus.Table("a", 1000, 4)])
        self.addCleanup(self.node.close)
        self.worker = self.node.worker()

    def test_rows_are_zero_then_what_is_written(self):
        keys = np.array([3, 999, 3])
        self.assertEqual(self.worker.pull(keys).tolist(), [[0] * 4] * 3)
        self.worker.push(keys, np.arange(12, dtype=np.float32).reshape(3, 4))
        self.assertEqual(self.worker.pull(keys[:2]).tolist(), [[8, 10, 12, 14], [4, 5, 6, 7]])
        self.worker.set(keys[:1], np.full((1, 4), 2, np.float32))
        out = np.empty((1, 4), np.float32)
        self.assertIs(self.worker.pull(keys[:1].astype(np.uint64), out), out)
        self.assertEqual(out.tolist(), [[2] * 4])
        self.assertEqual(self.worker.pull_local(999).tolist(), [4, 5, 6, 7])

    def test_push_async_pull_async_set_async(self):
        keys = np.array([1, 2])
        self.worker.push_async(keys, np.ones((2, 4), np.float32)).wait()
        ticket = self.worker.pull_async(keys)
        self.assertEqual(ticket.wait().tolist(), [[1] * 4] * 2)
        self.assertTrue(ticket.done())
        self.worker.set_async(keys, np.zeros((2, 4), np.float32))
        self.worker.wait_all()
        self.worker.localize(keys)
        self.assertEqual(self.worker.pull(keys).sum(), 0)

    def test_push_and_pull_refuse_wrong_arrays(self):
        keys, values = np.array([1, 2]), np.ones((2, 4), np.float32)
        for wrong, sentence in (([1, 2], "`keys` is a list.*write numpy.ascontiguousarray"),
                                (keys.astype(np.int32), "int32 of shape"), (keys[::-1], "not contiguous"),
                                (keys.reshape(1, 2), "one dimension"), (keys.astype(">i8"), "int64"),
                                (np.array([1, 1000]), "key 1000"), (np.array([-1, 0]), "out of range")):
            self.assertRaisesRegex(locus.ArgumentError, sentence, self.worker.push, wrong, values)
        for wrong, sentence in ((values.astype(np.float64), "float64 of shape.*dtype=numpy.float32"),
                                (values.T, "not contiguous"), (values[:1], r"write numpy.empty\(\(2, 4\)"),
                                (1.0, "a float"), (values.reshape(4, 2), r"shape \(4, 2\): must have 8 floats"),
                                (np.ma.array(values, mask=values > 0), "masked")):
            self.assertRaisesRegex(locus.ArgumentError, sentence, self.worker.push, keys, wrong)
        frozen = np.ones((2, 4), np.float32)
        frozen.flags.writeable = False
        self.worker.push(keys, frozen)
        self.assertRaisesRegex(locus.ArgumentError, "read-only", self.worker.pull, keys, frozen)
        self.assertEqual(self.worker.pull(keys).tolist(), [[1] * 4] * 2)
        self.assertEqual(self.worker.pull(np.array([], np.int64)).shape, (0, 4))

    def test_numbers_must_be_integers_in_range(self):
        keys, node = np.array([1]), locus.open([locus.Table("a", 9, 1)], workers=2)  # whose waits another thread makes
        worker, draw = node.worker(), node.distribution("a")
        calls = [(worker.intent, (keys, None, 9)), (worker.intent, (keys, 0, None)), (worker.bound, (None,)),
                 (worker.loader().intent, (keys, 0, None)), (worker.prepare_sample, (draw, 1, 0, None)),
                 (worker.prepare_sample, (draw, None, 0, 9)), (worker.loader().prepare_sample, (draw, 1, None, 9)),
                 (worker.prepare_sample(draw, 2, 0, 9).keys, (None,)), (worker.pull_local, (None,))]
        for call, arguments in calls:
            for wrong in (1.5, 2**64 + 1, keys.repeat(2)):
                with self.assertRaisesRegex(locus.ArgumentError, "must be (an integer|-?[0-9]+ to)"):
                    call(*[wrong if each is None else each for each in arguments])
        self.assertRaisesRegex(locus.ArgumentError, "`tables` has a tuple", locus.open, [("a", 1, 1)])
        node.close()

    def test_intent_clock_stats_histogram(self):
        self.worker.intent(np.array([1, 2, 3]), 1, 2)
        with self.worker.loader() as loader:
            loader.intent(np.array([4]), 1, 2)
            self.assertRaisesRegex(locus.ArgumentError, "end", loader.intent, np.array([4]), 2, 2)
        self.assertEqual(self.worker.advance_clock(), 1)
        self.assertEqual(self.worker.clock, 1)
        self.worker.pull(np.arange(10))
        stats = self.node.stats()
        self.assertEqual((stats["pulled_local"], stats["intents_signaled"]), (10, 4))
        self.assertEqual(self.node.histogram("hops").sum, 0)
        self.assertEqual(self.node.histogram("staleness").sum, 0)  # there are no replicas
        self.assertEqual(len(self.node.histogram("blocked_time").count), 40)
        self.assertEqual(self.node.owned().tolist(), list(range(1000)))
        self.worker.barrier()
        self.worker.quiesce()

    def test_bound_and_unintend(self):
        keys = np.array([1, 2])
        self.worker.intent(keys, 0, locus.FOREVER)
        self.worker.unintend(keys)
        self.worker.advance_clock()
        self.worker.bound(0)
        self.assertRaisesRegex(locus.ArgumentError, "staleness", self.worker.bound, -1)
        self.assertEqual(self.node.stats()["bounds_waited"], 0)

    def test_sum(self):
        self.assertEqual(self.worker.sum([0.5, 2]).tolist(), [0.5, 2])  # alone
        self.assertEqual(self.worker.meet([0.5, 2]).tolist(), [0.5, 2])
        self.assertEqual(self.worker.meet().tolist(), [])
        self.assertRaisesRegex(locus.ArgumentError, "at most 64", self.worker.sum, np.ones(65))

    def test_checkpoint_and_restore(self):
        with tempfile.TemporaryDirectory() as folder:
            self.worker.set(np.array([5]), np.full((1, 4), 3, np.float32))
            self.worker.checkpoint(folder, b"\0\xff")
            self.worker.set(np.array([5, 6]), np.ones((2, 4), np.float32))
            self.assertEqual(self.worker.restore(folder), b"\0\xff")
            self.assertEqual(self.worker.pull(np.array([5, 6])).tolist(), [[3] * 4, [0] * 4])

    def test_prepare_sample_and_distribution(self):
        self.worker.set(np.array([7]), np.full((1, 4), 7, np.float32))
        weights = np.zeros(1000)
        weights[7] = 1
        with self.worker.prepare_sample(self.node.distribution("a", weights, seed=3), 5, 0, 1) as sample:
            self.assertEqual(sample.pull(2)[0].tolist(), [7, 7])
            keys, rows = sample.pull()
            self.assertEqual((keys.tolist(), rows.sum()), ([7] * 3, 84))
            self.assertRaisesRegex(locus.ArgumentError, "n is 1", sample.pull, 1)
        uniform = self.node.distribution("a", conformity="bounded", replace=False)
        with self.worker.loader() as loader:
            keys = loader.prepare_sample(uniform, 100, 0, 1).pull()[0]
        self.assertEqual(len(set(keys.tolist())), 100)
        for wrong in ({"table": "b"}, {"table": "a", "weights": weights[:5]}, {"table": "a", "conformity": "most"},
                      {"table": "a", "seed": -1}, {"table": "a", "seed": "x"}):
            self.assertRaises(locus.ArgumentError, self.node.distribution, **wrong)

    def test_errors_have_classes_and_numbers(self):
        with self.assertRaisesRegex(locus.BusyError, "workers") as caught:
            self.node.worker()
        self.assertEqual(caught.exception.errno, 16)
        self.assertIsInstance(caught.exception, locus.Error)


class Tables(unittest.TestCase):
    def test_rows_of_different_lengths(self):
        with locus.open([locus.Table("a", 10, 2), locus.Table("b", 10, 3)]) as node, node.worker() as worker:
            self.assertEqual((node.tables["b"].first, node.keys, node.length(10)), (10, 20, 3))
            mixed = np.array([9, 10, 0])
            self.assertEqual(worker.pull(mixed).shape, (7,))
            worker.push(mixed, np.arange(7, dtype=np.float32))
            self.assertEqual(worker.pull(np.array([10, 11])).tolist(), [[2, 3, 4], [0, 0, 0]])
            self.assertEqual(worker.pull(np.array([9, 0])).tolist(), [[0, 1], [5, 6]])
            for wrong in ([5, 20], [-1]):
                self.assertRaisesRegex(locus.ArgumentError, "out of range", worker.pull, np.array(wrong))

    def test_open_refuses_wrong_tables_and_options(self):
        table = locus.Table("a", 10, 2)
        for tables, more, sentence in (([], {}, "no table: at least one"), ([table, table], {}, "its own"),
                                       ([locus.Table("a", 0, 2)], {}, "table 0 has no rows"),
                                       ([locus.Table("a", 1, 1 << 21)], {}, "rows of 2097152 floats: `length` must be"),
                                       ([locus.Table("a", 1.5, 2)], {}, "is 1.5: must be an integer"),
                                       ([locus.Table(3, 1, 2)], {}, "name is a int"),
                                       ([locus.Table("a\0b", 1, 2)], {}, "zero byte"),
                                       ([table], {"rank": "1", "size": 2}, "rank is '1'"),
                                       ([table], {"rendezvous": 7}, "rendezvous is a int"),
                                       ([table], {"technique": "best"}, "adaptive"),
                                       ([table], {"workers": -1}, "workers is -1"),
                                       ([table], {"size": 2}, "rendezvous")):
            self.assertRaisesRegex(locus.ArgumentError, sentence, locus.open, tables, **more)


class Optimizers(unittest.TestCase):
    def test_rows_step_and_have_state(self):
        keys = np.array([3, 7])
        with locus.open([locus.Table("a", 10, 2, optimizer="adagrad", rule={"rate": 0.5})]) as node, node.worker() as worker:
            worker.push(keys, np.full((2, 2), 3, np.float32))
            np.testing.assert_allclose(worker.pull(keys), -0.5)
            np.testing.assert_allclose(worker.pull_state(keys), [[-0.5, -0.5, 9, 9]] * 2)
            worker.set_state(keys, np.array([[1, 1, 16, 16]] * 2, np.float32))
            node.set_rate("a", 0.25)
            worker.push(keys, np.full((2, 2), 3, np.float32))
            np.testing.assert_allclose(worker.pull_state(keys), [[0.85, 0.85, 25, 25]] * 2)

    def test_wrong_rules_are_refused(self):
        for wrong, sentence in ((dict(optimizer="best"), "is 'best': must be one of sgd"),
                                (dict(optimizer="sgd", rule={"speed": 1}), "'speed': must be one of rate"),
                                (dict(optimizer="sgd", rule={"rate": -1}), "rate -1"), (dict(rule={"rate": 1}), "rate 1")):
            self.assertRaisesRegex(locus.ArgumentError, sentence, locus.open, [locus.Table("a", 10, 2, **wrong)])
        with locus.open([locus.Table("a", 10, 2)]) as node:
            self.assertRaisesRegex(locus.ArgumentError, "the table is 'b'", node.set_rate, "b", 1)
            self.assertRaises(locus.ArgumentError, node.set_rate, "a", 1)
