"""Embeddings in the forms of DGL and TorchRec, beside torch's own: by value, and as scripts on two nodes."""
import types
import unittest

from embeddings import lt, step, torch
import locus
from locus.torch import dgl, torchrec
from support import passes, run_nodes


class Collections(unittest.TestCase):
    TABLES = [torchrec.EmbeddingBagConfig(name="a", embedding_dim=4, num_embeddings=20, feature_names=["x", "y"]),
              torchrec.EmbeddingBagConfig(name="b", embedding_dim=3, num_embeddings=9, feature_names=["y"],
                                          pooling=torchrec.PoolingType.MEAN)]
    # Two examples: x has 2 and 0 indices, y 1 and 3.
    VALUES, LENGTHS = torch.tensor([1, 19, 5, 7, 8, 7]), torch.tensor([2, 0, 1, 3])
    BAGS = {"x": (VALUES[:2], torch.tensor([0, 2])), "y": (VALUES[2:], torch.tensor([0, 1]))}

    def test_embedding_bag_collection_is_as_bags_of_torch(self):
        for weights in (None, torch.arange(1., 7)):
            tables = self.TABLES if weights is None else self.TABLES[:1]
            ours = torchrec.EmbeddingBagCollection(tables, is_weighted=weights is not None)
            features = torchrec.KeyedJaggedTensor.from_lengths_sync(["x", "y"], self.VALUES, self.LENGTHS, weights)
            same = torchrec.KeyedJaggedTensor.from_offsets_sync(["x", "y"], self.VALUES, torch.tensor([0, 2, 2, 3, 6]), weights)
            self.assertTrue(torch.equal(same.lengths(), features.lengths()))
            self.assertEqual((ours.embedding_bag_configs(), ours.is_weighted()), (tables, weights is not None))  # as DLRM asks
            with lt.open(optimizer := lt.SGD(ours, 0.1)) as job:
                self.assertEqual(list(job.node.tables), [f"embedding_bags.{each.name}" for each in tables])
                theirs = {each.name: torch.nn.EmbeddingBag.from_pretrained(
                    ours.embedding_bags[each.name].weight_of(torch.arange(each.num_embeddings)), freeze=False,
                    mode=each.pooling.value.lower()) for each in tables}
                peer = torch.optim.SGD([each.weight for each in theirs.values()], 0.1)
                for _ in range(3):
                    found, sums = ours(features), []
                    for table, feature in (("a", "x"), ("a", "y"), ("b", "y"))[:len(found.keys())]:
                        indices, offsets = self.BAGS[feature]
                        of = None if weights is None else weights[:2] if feature == "x" else weights[2:]
                        sums.append(theirs[table](indices, offsets, of))
                        key = feature + "@" + table if feature == "y" and len(tables) > 1 else feature
                        self.assertTrue(torch.allclose(found[key], sums[-1], atol=1e-6), key)
                    self.assertTrue(torch.equal(found.values(), ours(same).values()))
                    step(optimizer, found.values().square().sum())
                    step(peer, torch.cat(sums, 1).square().sum())

    def test_collection_indices_and_refusals(self):
        ours = torchrec.EmbeddingBagCollection(self.TABLES)
        features = torchrec.KeyedJaggedTensor(["y", "x"], self.VALUES, lengths=torch.tensor([1, 3, 2, 0]))
        self.assertEqual({ours.embedding_bags["a"]: [7, 7, 1, 19, 5, 8], ours.embedding_bags["b"]: [1, 19, 5, 7]}, {
            bag: sorted(found.tolist(), key=[7, 1, 19, 5, 8].index) if len(found) > 4 else found.tolist()
            for bag, found in ours.indices(features).items()})
        with lt.open(lt.SGD(ours, 0.1)), self.assertRaisesRegex(locus.ArgumentError, "indices of .* must be 0 to 8"):
            ours(features)  # 19 is none of b
        with self.assertRaisesRegex(locus.ArgumentError, "feature 'x' of table 'a' is not among"):
            ours.indices(torchrec.KeyedJaggedTensor(["y"], self.VALUES, lengths=self.LENGTHS))
        weighted = torchrec.EmbeddingBagCollection(self.TABLES[:1], is_weighted=True)
        self.assertRaisesRegex(locus.ArgumentError, "these features have no weights", weighted.indices, features)
        self.assertRaisesRegex(locus.ArgumentError, "give one", torchrec.KeyedJaggedTensor, ["x"], self.VALUES)
        with self.assertRaisesRegex(locus.ArgumentError, "two tables have the name 'a'"):
            torchrec.EmbeddingBagCollection(self.TABLES[:1] * 2)


    def test_collection_first_values_are_as_configured(self):
        def values(**said):
            ours = torchrec.EmbeddingBagCollection([torchrec.EmbeddingBagConfig(10000, 4, "a", ["x"], **said)])
            return ours.embedding_bags["a"].initial(torch.arange(10000), 4)
        for said, least, most in (({}, -0.01, 0.01), (dict(weight_init_min=0.5, weight_init_max=2), 0.5, 2), (
                dict(weight_init_max=3), -0.01, 3), (dict(init_fn=lambda values: values.uniform_(4, 5)), 4, 5), (
                dict(init_fn=torch.nn.init.ones_), 1, 1), (dict(init_fn=lambda values: [values.zero_(), None][1]), 0, 0)):
            found, width = values(**said), (most - least) * 0.01
            self.assertTrue(least <= found.min() <= least + width and most - width <= found.max() <= most, said)

    def test_collection_refuses_what_only_torchrec_has(self):
        """And not ignored."""
        for said, sentence in ((dict(need_pos=True), "need_pos of table 'a' is True"), (dict(total_num_buckets=3), "is 3"),
                               (dict(data_type=types.SimpleNamespace(name="FP16")), "data_type of table 'a' is 'FP16'")):
            table = types.SimpleNamespace(num_embeddings=10, embedding_dim=4, name="a", feature_names=["x"],
                                          pooling=torchrec.PoolingType.SUM, **said)
            self.assertRaisesRegex(locus.ArgumentError, sentence, torchrec.EmbeddingBagCollection, [table])
        table.data_type = types.SimpleNamespace(name="BF16")
        self.assertEqual(torchrec.EmbeddingBagCollection([table]).embedding_bags["a"].element, "bf16")


class Dgl(unittest.TestCase):
    def test_sparse_optimizers_step_as_torch(self):
        for make, other in ((dgl.optim.SparseAdagrad, torch.optim.Adagrad),
                            (dgl.optim.SparseAdam, lambda weights, lr: torch.optim.SparseAdam(weights, lr))):
            emb = dgl.DistEmbedding(40, 6, "emb", init_func=lambda shape, dtype: torch.randn(shape, dtype=dtype))
            self.assertRaisesRegex(locus.UsageError, "has an optimizer yet", emb, torch.tensor([1]))
            optimizer = make([emb], lr=0.1)
            before = emb.weight[torch.arange(40)]
            self.assertEqual(emb.weight.shape, (40, 6))
            theirs = torch.nn.Embedding(40, 6, sparse=make is dgl.optim.SparseAdam)
            theirs.weight.data.copy_(before)
            peer = other(list(theirs.parameters()), 0.1)
            for ids in (torch.tensor([3, 5, 3]), torch.tensor([5, 9])):
                emb(ids).square().sum().backward()
                optimizer.step()  # and forgets the gradients
                step(peer, theirs(ids).square().sum())
            self.assertTrue(torch.allclose(emb.weight[:], theirs.weight, atol=1e-6))
            self.assertEqual(list(dgl.job().node.tables), ["emb"])
            self.assertEqual(emb.weight[torch.empty(0, 2, dtype=torch.long)].shape, (0, 2, 6))
            self.assertEqual((emb.weight[[[3, 5]]].shape, emb.weight[3].shape), ((1, 2, 6), (6,)))
            mask = torch.arange(40) % 7 == 3
            self.assertTrue(torch.equal(emb.weight[mask], emb.weight.cpu()[mask]))
            with self.assertRaisesRegex(IndexError, "mask"):
                emb.weight[mask[1:]]
            self.assertRaisesRegex(locus.ArgumentError, "`indices` is torch.bool", emb.weight_of, mask)
            dgl.exit_client()

    def test_init_func_values_are_drawn_from_those_that_were_made(self):
        emb = dgl.DistEmbedding(100000, 16, init_func=lambda shape, dtype: torch.rand(shape, dtype=dtype) + 5)
        values = emb.initial(torch.arange(2000), 16)
        self.assertEqual(len(values.unique(dim=0)), 2000)
        self.assertTrue(5 <= values.min() and values.max() <= 6)
        self.assertLess(abs(float(values.mean()) - 5.5), 0.01)
        self.assertTrue(torch.equal(emb.initial(torch.tensor([77]), 16)[0], values[77]))
        with self.assertRaisesRegex(locus.ArgumentError, "init_func made no tensor of shape"):
            dgl.DistEmbedding(10, 4, init_func=lambda shape, dtype: torch.zeros(2)).initial(torch.tensor([1]), 4)


class Scripts(unittest.TestCase):
    def said_by_two(self, script):
        said = passes(self, run_nodes(2, script))
        self.assertEqual(sorted(said.split("\n")), ["", "good 0", "good 1"])

    def test_scripts_of_dgl_on_two_nodes(self):
        """As its example of embeddings that are trained with a graph's layers is built."""
        self.said_by_two("""
            import torch
            from locus.torch.dgl import DistEmbedding, job, optim as rows
            class Layer(torch.nn.Module):
                def __init__(self, num_nodes, emb_size, dev_id):
                    super().__init__()
                    self.dev_id = dev_id
                    self.sparse_emb = DistEmbedding(num_nodes, emb_size, name="sage", init_func=torch.zeros)
                def forward(self, idx):
                    return self.sparse_emb(idx.cpu(), device=self.dev_id)
            device = torch.device("cpu")
            emb_layer = Layer(100, 4, device)
            emb_optimizer = rows.SparseAdagrad([emb_layer.sparse_emb], lr=0.1)
            for step in range(3):
                inputs = emb_layer(torch.arange(50) + 50 * job().rank).to(device)
                emb_optimizer.zero_grad()
                inputs.sum().backward()
                emb_optimizer.step()
            job().quiesce()
            told = -0.1 * (1 + 2 ** -.5 + 3 ** -.5)
            with torch.no_grad():
                assert torch.allclose(emb_layer(torch.arange(100)), torch.full((100, 4), told), atol=1e-5)
            job().barrier()
            sys.stdout.write(f"good {job().rank}\\n")""")

    def test_scripts_of_torchrec_on_two_nodes(self):
        """As its example of DLRM is built: tables on "meta", a model that holds their collection, a rule for the rows."""
        self.said_by_two("""
            import torch, locus.torch as lt
            from locus.torch.torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor
            class Sparse(torch.nn.Module):
                def __init__(self, embedding_bag_collection):
                    super().__init__()
                    self.embedding_bag_collection = embedding_bag_collection
                    self.names = [name for config in embedding_bag_collection.embedding_bag_configs()
                                  for name in config.feature_names]
                def forward(self, features):
                    found = self.embedding_bag_collection(features)
                    return torch.cat([found[name] for name in self.names], 1).reshape(-1, len(self.names), 8)
            configs = [EmbeddingBagConfig(name=f"t_{name}", embedding_dim=8, num_embeddings=50, feature_names=[name],
                                          init_fn=torch.nn.init.zeros_) for name in ("cat_0", "cat_1")]
            model = Sparse(EmbeddingBagCollection(tables=configs, device=torch.device("meta")))
            with lt.open(rows := lt.RowAdagrad(model, lr=0.1)) as job:
                values = torch.arange(25).repeat(2) + 25 * job.rank
                features = KeyedJaggedTensor(keys=["cat_0", "cat_1"], values=values, lengths=torch.ones(50, dtype=torch.int32))
                keys = model.embedding_bag_collection.indices
                for batch in lt.Prefetch([features] * 3, keys=keys):
                    rows.zero_grad()
                    model(batch).sum().backward()
                    rows.step()
                job.quiesce()
                told = -0.1 * (1 + 2 ** -.5 + 3 ** -.5)
                for bag in model.embedding_bag_collection.embedding_bags.values():
                    assert torch.allclose(bag.weight_of(torch.arange(50)), torch.full((50, 8), told), atol=1e-5)
                job.barrier()
                sys.stdout.write(f"good {job.rank}\\n")""")
