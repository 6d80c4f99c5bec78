"""What training programs read: the same data in each of its forms, from a file or stdin, give the same."""
import re

import tensors
from support import made
from trainers import Trainers


class Inputs(Trainers):
    def test_mf_reads_what_it_wrote(self):
        """From stdin, too, and as if it had held it back itself."""
        for data in (f"{made('mf', '300x100x8000', rank=3)} --write parts", "--data parts/train.txt --test parts/test.txt",
                     "--data - --test parts/test.txt < parts/train.txt"):
            ended = self.train("mf", f"--rank 6 --lr 0.1 --epochs 15 {data}")
            self.assertIn("300 rows, 100 columns; 7219 cells to train with, 781 to test with", ended.out)
            self.assertLess(ended.number("test        RMSE"), 0.5)

    def test_ctr_reads_two_forms(self):
        """Whether somebody clicks follows from the second feature."""
        clicks = [(click, i) for i in range(1, 10) for click in (1, 0)]
        self.write("libsvm", (f"{click or -1} {i}:1 {21 - click}:1" for click, i in clicks))
        self.write("libffm", (f"{click} 0:{i}:1 1:{21 - click}:1" for click, i in clicks))
        for data in "--data libsvm --test libsvm", "--data libffm --test libffm", "--data - --test libffm < libffm":
            ended = self.train("ctr", "--epochs 50 --dim 2 --hidden 4 --lr 0.1 --batch 4 --validate 0 --out model " + data)
            self.contains(ended.out, "18 examples to train with, 0 to validate with, 18 to test with", "AUC 1.00000")
            _, model = tensors.read(self.here / "model")
            self.assertEqual((model["wide"].shape, model["vectors"].shape), ((22,), (22, 2)))

    def test_gnn_reads_features(self):
        """Two circles of ten with an edge between them; a circle is a class, and a feature says which, but for one node
        in five."""
        edges = [(i + c, (i + 1) % 10 + c) for i in range(10) for c in (0, 10)] + [(3, 13)]
        self.write("edges", (f"{a}\t{b}" for a, b in edges))
        self.write("classes", (f"{i}\tc{i // 10}" for i in range(20)))
        self.write("nodes", (f"{i}\t{i // 10 if i % 5 else 2}:1" for i in range(20)))
        self.write("split", (f"{i}\t{('train', 'test')[i % 2]}" for i in range(20)))
        said = []
        for data in "--data edges", "--data - < edges":
            ended = self.train("gnn", f"--labels classes --features nodes --split split --epochs 20 --batch 4 --out model {data}")
            self.contains(ended.out, "20 nodes, 21 edges, 2 classes; 10 nodes to train with, 0 to val", "test 1.0000")
            said.append(re.sub(r"^(edges|-): | [0-9.]+ s.*", "", ended.out, flags=re.M))
            _, model = tensors.read(self.here / "model")
            self.assertEqual((model["layer1.weight"].shape, bytes(model["classes"])), ((3, 64), b"c0\nc1\n"))
        self.assertEqual(*said)

    def test_lda_reads_two_forms(self):
        self.write("ldac", ["3 0:2 1:1 2:1", "2 0:1 3:3"])
        self.write("docword", [2, 4, 5, "1 1 2", "1 2 1", "1 3 1", "2 1 1", "2 4 3"])
        self.write("words", "abcd")
        said = []
        for data in "--data ldac", "--data docword", "--data - < ldac":
            ended = self.train("lda", "--vocabulary words --topics 2 --epochs 5 --out model --hold-back 0 --top 2 " + data)
            self.assertIn("2 documents, 4 words, 8 tokens", ended.out)
            said.append([line for line in re.sub(r"^[a-z-]*: [^,]*, ", "", ended.out).splitlines()
                         if " s " not in line and "log p" not in line])
            self.assertEqual(tensors.read(self.here / "model")[1]["word_topics"].shape, (4, 2))
        self.assertEqual(said, 3 * said[:1])
