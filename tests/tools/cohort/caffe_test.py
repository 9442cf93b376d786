# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib image keras
# ranks: 2
"""cohort train --caffe and cohort caffe: the curves of Caffe's formulas, ranks, snapshots, tests, features and refusals."""
import csv
import json
import pathlib
import re
import struct
import sys
import tempfile
import unittest

import lmdb
import numpy

sys.path.extend(str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("examples", "golden", "tools/cohort"))
import caffe_curves  # noqa: E402
import reference_program  # noqa: E402
from protobuf_fields import content, integer, varint  # noqa: E402

GOLDEN = {line.split()[0]: [float(word) for word in line.split()[1:]]
          for line in pathlib.Path(caffe_curves.__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()}


def datum(pixels, label):
    return b"".join(integer(k + 1, extent) for k, extent in enumerate(pixels.shape)) + content(4, pixels.tobytes()) + integer(5, int(label))


def blob(values, extents):
    shape = content(7, content(1, b"".join(varint(extent) for extent in extents)))
    return shape + content(5, numpy.ascontiguousarray(values, dtype="<f4").tobytes())


def caffemodel(parameters, types):
    return b"".join(content(100, content(1, name.encode()) + content(2, types[name].encode())
                            + b"".join(content(7, blob(part, part.shape)) for part in parts)) for name, parts in parameters.items())


def write_lmdb(path, pixels, labels):
    with lmdb.open(str(path), map_size=1 << 26) as environment, environment.begin(write=True) as transaction:
        for number, (image, label) in enumerate(zip(pixels, labels)):
            transaction.put(f"{number:08d}".encode(), datum(image, label))


class case:
    """The files of a network of caffe_curves."""

    def __init__(self, folder, net):
        self.folder, self.net = pathlib.Path(folder) / net.name, net
        self.folder.mkdir()
        write_lmdb(self.folder / "images_lmdb", *net.images())
        (self.folder / "mean.binaryproto").write_bytes(blob(net.mean()[None], (1, net.channels, net.side, net.side)))
        (self.folder / "net.prototxt").write_text(net.prototxt("images_lmdb", "mean.binaryproto"), encoding="utf-8")
        types = {name: "Convolution" if kind == "conv" else "InnerProduct" for kind, name, *_ in net.layers}
        (self.folder / "start.caffemodel").write_bytes(caffemodel(net.parameters(), types))

    def solver(self, name="solver.prototxt", **more):
        (self.folder / name).write_text(self.net.solver_text("net.prototxt", **({"snapshot_prefix": name.split(".")[0]} | more)), encoding="utf-8")
        return name

    def run(self, *flags, **how):
        return reference_program.run("cohort", *flags, cwd=self.folder, **how)

    def report(self, *flags, **how):
        self.run("train", *flags, "--set", "output.report=report.json", **how)
        return json.loads((self.folder / "report.json").read_text(encoding="utf-8"))


class caffe_command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.cases = {net.name: case(cls.scratch.name, net) for net in caffe_curves.NETWORKS}
        cls.lenet = cls.cases["lenet"]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_the_curves_are_those_of_caffes_formulas(self):
        for name, one in self.cases.items():
            with self.subTest(name):
                solver = one.solver("curve.prototxt", weights='"start.caffemodel"', test_iter=1, test_interval=1)
                losses = one.report("--caffe", solver)["history"]["loss"]
                self.assertEqual(len(losses), caffe_curves.STEPS)
                numpy.testing.assert_allclose(losses, GOLDEN[name], rtol=1e-4)

    def test_two_ranks_use_two_batches_in_each_step(self):
        # Ranks of half the batch use the examples of one rank.
        solver = self.lenet.solver("ranks.prototxt", test_iter=1, test_interval=1, max_iter=4)
        one = self.lenet.report("--caffe", solver)["history"]["loss"]
        solver = self.lenet.solver("halves.prototxt", test_iter=1, test_interval=1, max_iter=4)
        two = self.lenet.report("--caffe", solver, "--set", f"caffe.train.batch_size={self.lenet.net.batch // 2}", "--ranks", "2")["history"]["loss"]
        numpy.testing.assert_allclose(two, one, rtol=1e-4)

    def test_a_snapshot_continues_as_if_not_interrupted(self):
        solver = self.lenet.solver("whole.prototxt", test_iter=2, test_interval=2, max_iter=8)
        whole = self.lenet.run("train", "--caffe", solver).stdout
        solver = self.lenet.solver("parts.prototxt", test_iter=2, test_interval=2, max_iter=4, snapshot=2)
        self.lenet.run("train", "--caffe", solver)
        rest = self.lenet.run("train", "--caffe", solver, "--resume", "--set", "caffe.max_iter=8").stdout
        self.assertIn("resumed", rest)
        checksum = re.compile(r"checksum (\w+)")
        self.assertEqual(checksum.search(rest)[1], checksum.search(whole)[1])
        self.assertTrue((self.lenet.folder / "parts_iter_8.caffemodel").exists())

    def test_learns_digits(self):
        folder = self.lenet.folder
        numbers = numpy.random.RandomState(3)
        labels = numpy.arange(600) % 10
        pixels = numbers.randint(0, 80, (600, 1, 28, 28)).astype(numpy.uint8)
        for image, label in zip(pixels, labels):
            image[0, 2 * label + 3:2 * label + 6, 4:24] += 150
        write_lmdb(folder / "digits_lmdb", pixels[:500], labels[:500])
        write_lmdb(folder / "tests_lmdb", pixels[500:], labels[500:])
        solver = self.lenet.solver("digits.prototxt", base_lr=0.01, gamma=0.0001, max_iter=60, test_iter=4, test_interval=30)
        found = self.lenet.report("--caffe", solver, "--set", "caffe.train.source=digits_lmdb", "--set", "caffe.train.batch_size=32",
                                  "--set", "caffe.test.source=tests_lmdb", "--set", "caffe.test.batch_size=25")
        self.assertGreater(found["accuracy"], 0.95)

        done = self.lenet.run("caffe", "-conf", solver, "-test", "-model", "digits_iter_60.caffemodel", "-output", "tested", "-devices", "1",
                              "-connection", "ethernet", "-lmdb_partitions", "3", "--set", "caffe.test.source=tests_lmdb",
                              "--set", "caffe.test.batch_size=25")
        tested = json.loads((folder / "tested/test.json").read_text(encoding="utf-8"))
        self.assertEqual((tested["examples"], tested["accuracy"]), (100, found["accuracy"]))
        self.assertIn("-connection: not used", done.stderr)
        self.assertIn("-lmdb_partitions: not used", done.stderr)
        self.assertIn("data: test data, 100 examples\n", done.stdout)

        self.lenet.run("caffe", "-conf", solver, "-features", "ip1,ip2", "-label", "label", "-model", "digits_iter_60.caffemodel", "-output", "features",
                       "-clusterSize", "2", "--set", "caffe.test.source=tests_lmdb")
        with open(folder / "features/features.csv", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        self.assertEqual((len(rows), len(rows[1])), (101, 1 + 500 + 10))
        self.assertEqual((rows[0][0], rows[0][1], rows[0][501]), ("key", "ip1.0", "ip2.0"))  # tops, also of layers that compute in place
        self.assertEqual(rows[1][0], "00000000")
        wanted = [max(range(10), key=lambda k: float(row[501 + k])) for row in rows[1:]]
        with open(folder / "features/label.csv", encoding="utf-8") as file:
            given = [int(row[1]) for row in list(csv.reader(file))[1:]]
        self.assertEqual(given, labels[500:].tolist())
        self.assertAlmostEqual(numpy.mean([a == b for a, b in zip(wanted, given)]), found["accuracy"])

        # The command of CaffeOnSpark's first page: tops with one number, and paths that begin with file:
        self.lenet.run("caffe", "-conf", f"file:{folder / solver}", "-features", "accuracy,loss", "-label", "label", "-model", "file:digits_iter_60.caffemodel",
                       "-output", f"file://{folder}/numbers", "-clusterSize", "2", "--set", "caffe.test.source=tests_lmdb")
        numbers = {}
        for name in ("accuracy", "loss", "label"):
            with open(folder / f"numbers/{name}.csv", encoding="utf-8") as file:
                head, *lines = csv.reader(file)
            self.assertEqual((head, lines[7][0]), (["key", name], "00000007"))
            numbers[name] = [float(line[1]) for line in lines]
        scores = numpy.array([[float(number) for number in row[501:]] for row in rows[1:]])
        losses = numpy.log(numpy.exp(scores).sum(1)) - scores[range(100), given]
        numpy.testing.assert_allclose(numbers["loss"], losses, rtol=1e-4, atol=1e-6)
        self.assertEqual(numbers["accuracy"], [float(a == b) for a, b in zip(wanted, given)])
        self.assertEqual(numbers["label"], given)
        self.assertFalse((folder / "numbers/features.csv").exists())

        # Tops that are no names of files, and a loss with another weight in the phase TEST.
        net = (folder / "net.prototxt").read_text(encoding="utf-8")
        *layers, loss = net.rstrip().splitlines()
        loss = loss.replace('top: "loss"', 'top: "../loss"')
        weighted = "".join(f"{loss[:-1]} loss_weight: {weight} include {{ phase: {phase} }} }}\n" for weight, phase in ((3, "TEST"), (2, "TRAIN")))
        net = "\n".join(layers).replace('top: "accuracy"', 'top: "loss3/top-1"') + "\n" + weighted
        (folder / "named.prototxt").write_text(net, encoding="utf-8")
        self.lenet.run("caffe", "-conf", solver, "-features", "loss3/top-1,../loss", "-model", "digits_iter_60.caffemodel", "-output", "named",
                       "--set", "caffe.net=named.prototxt", "--set", "caffe.test.source=tests_lmdb")
        self.assertEqual(sorted(path.name for path in (folder / "named").iterdir()), ["_._loss.csv", "loss3_top-1.csv"])
        for file, top, wanted in (("loss3_top-1.csv", "loss3/top-1", numbers["accuracy"]), ("_._loss.csv", "../loss", numbers["loss"])):
            with open(folder / "named" / file, encoding="utf-8") as opened:
                head, *lines = csv.reader(opened)
            self.assertEqual(head, ["key", top])
            numpy.testing.assert_allclose([float(line[1]) for line in lines], wanted, rtol=1e-5, atol=1e-6)

    def test_evaluates_each_test_network(self):
        folder = self.lenet.folder
        pixels, labels = self.lenet.net.images()
        write_lmdb(folder / "others_lmdb", pixels[::-1], (labels + 1) % 10)
        single = self.lenet.solver("single.prototxt", test_iter=3, test_interval=2, max_iter=4)
        wanted = self.lenet.report("--caffe", single, "--set", "caffe.test.source=others_lmdb")["history"]
        both = self.lenet.solver("both.prototxt", test_iter=2, test_interval=2, max_iter=4, test_initialization="true")
        with open(folder / both, "a", encoding="utf-8") as file:
            file.write("test_iter: 3\n")
        for ranks in (1, 2):
            done = self.lenet.run("train", "--caffe", both, "--set", "caffe.test2.source=others_lmdb", "--set", "output.report=both.json", "--ranks", ranks,
                                  "--set", f"output.checkpoints=both_{ranks}",
                                  "--set", f"caffe.train.batch_size={self.lenet.net.batch // ranks}").stdout
            found = json.loads((folder / "both.json").read_text(encoding="utf-8"))["history"]
            self.assertEqual(found["test 2 accuracy"], wanted["accuracy"])
            numpy.testing.assert_allclose(found["test 2 validation loss"], wanted["validation loss"], rtol=1e-4)
            self.assertNotEqual(found["validation loss"], found["test 2 validation loss"])
            for when in ("before", "after"):
                self.assertIn(f"test 2, {when} training: accuracy", done)
        self.lenet.run("caffe", "-conf", both, "-test", "-model", "both_iter_4.caffemodel", "-output", "both", "--set", "caffe.test2.source=others_lmdb")
        tested = json.loads((folder / "both/test.json").read_text(encoding="utf-8"))
        self.assertEqual((tested["examples"], tested["test 2"]["examples"]), (2 * self.lenet.net.batch, 3 * self.lenet.net.batch))
        self.assertEqual(tested["test 2"]["accuracy"], wanted["accuracy"][-1])
        refused = self.lenet.run("train", "--caffe", both, "--set", "caffe.test3.source=others_lmdb", expect=2).stderr
        self.assertIn("caffe.test3.source: expected a test from 1 to 2", refused)

    def test_refuses_tops_of_the_same_file(self):
        net = (self.lenet.folder / "net.prototxt").read_text(encoding="utf-8")
        solver = self.lenet.solver("files.prototxt")
        for accuracy, loss, features, words in (("a/b", "a_b", "a/b,a_b", ("'a/b' and 'a_b'", "both a_b.csv")),
                                                ("features", "loss", "ip1,features", ("features.csv, the file of the layers, got 'features'",)),
                                                ("accuracy", "loss", "loss,loss", ("'loss' and 'loss'", "both loss.csv"))):
            named = net.replace('top: "accuracy"', f'top: "{accuracy}"').replace('top: "loss"', f'top: "{loss}"')
            (self.lenet.folder / "files_net.prototxt").write_text(named, encoding="utf-8")
            refused = self.lenet.run("caffe", "-conf", solver, "-features", features, "-label", "label", "-model", "start.caffemodel", "-output", "files",
                                     "--set", "caffe.net=files_net.prototxt", expect=2).stderr
            for word in words:
                self.assertIn(word, refused)
            self.assertFalse(list((self.lenet.folder / "files").glob("*")))

    def test_resizes_as_caffe_on_spark(self):
        # Bytes of cv2.resize of OpenCV 5.0, which CaffeOnSpark calls with INTER_LINEAR.
        folder = self.lenet.folder
        for name, extents, side, encoded, expected in (
                ("grey", (1, 9, 7), (5, 6), False, "4484578edc922cc05642ac2d92b6411f50d3844441888031ac4c6e889da5"),
                ("colour", (3, 4, 6), (6, 7), True,
                 "0064553c4f8eec517f865e62b8dfb1959f7f7dc2c2ed88417d98448085a0405698879b0ebb563091e8c6d84e839c859bd4993c516e89b5b764432d4f9dcc"
                 "848aa7658de0bf2e8d824b66ada9338644243068964e30498c7c3c293c61439d7e304f8f9650b58a2f6bc7a89fd8b25c495b95c9d7b693824b7edfcdb0bf"
                 "c456")):
            index = numpy.arange(numpy.prod(extents))
            pixels = ((97 * index + 31 * index ** 2) % 256).astype(numpy.uint8).reshape(extents)  # planes blue, green, red
            record = datum(pixels, 1)
            if encoded:
                record = content(4, reference_program.png(extents[2], extents[1], pixels[::-1].transpose(1, 2, 0).tobytes())) + integer(5, 1) + integer(7, 1)
            with lmdb.open(str(folder / f"{name}_lmdb"), map_size=1 << 20) as environment, environment.begin(write=True) as transaction:
                transaction.put(b"0", record)
            (folder / f"{name}.prototxt").write_text(
                f'''layer {{ name: "data" type: "MemoryData" top: "data" top: "label" memory_data_param {{ source: "{name}_lmdb" batch_size: 1
                     channels: {extents[0]} height: {side[0]} width: {side[1]} }} }}
                   layer {{ name: "copy" type: "Pooling" bottom: "data" top: "copy" pooling_param {{ pool: MAX kernel_size: 1 }} }}
                   layer {{ name: "ip" type: "InnerProduct" bottom: "copy" top: "ip" inner_product_param {{ num_output: 2 }} }}
                   layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }}''', encoding="utf-8")
            count = extents[0] * side[0] * side[1]
            (folder / f"{name}.caffemodel").write_bytes(
                caffemodel({"ip": [numpy.zeros((2, count)), numpy.zeros(2)]}, {"ip": "InnerProduct"}))
            solver = self.lenet.solver(f"{name}_solver.prototxt", test_iter=1, test_interval=1)
            arguments = ("caffe", "-conf", solver, "-features", "copy", "-model", f"{name}.caffemodel", "-output", name, "--set", f"caffe.net={name}.prototxt")
            self.lenet.run(*arguments, "-resize")
            with open(folder / name / "features.csv", encoding="utf-8") as file:
                row = list(csv.reader(file))[1]
            self.assertEqual(bytes(int(float(number)) for number in row[1:]).hex(), expected)
            self.assertIn("expected", self.lenet.run(*arguments, expect=(1, 2)).stderr)  # without -resize: other extents

    def test_an_accuracy_refuses_a_label_that_only_the_loss_ignores(self):
        folder = self.lenet.folder
        pixels, labels = self.lenet.net.images()
        labels = labels.copy()
        labels[3] = 255
        write_lmdb(folder / "ignored_lmdb", pixels, labels)
        net = (folder / "net.prototxt").read_text(encoding="utf-8").rstrip()
        (folder / "ignored.prototxt").write_text(net[:-1] + "loss_param { ignore_label: 255 } }\n", encoding="utf-8")
        solver = self.lenet.solver("ignored_solver.prototxt")
        for ranks in ("1", "2"):  # of two ranks, only one reads the label
            done = self.lenet.run("caffe", "-conf", solver, "-features", "accuracy", "-model", "start.caffemodel", "-output", "ignored",
                                  "--set", "caffe.net=ignored.prototxt", "--set", "caffe.test.source=ignored_lmdb", "-devices", ranks, expect=(1, 2))
            for words in ("example '00000003'", "expected 0 to 9", "got 255"):
                self.assertIn(words, done.stderr)

    def test_trains_and_tests_by_the_command_line_of_caffe_on_spark(self):
        solver = self.lenet.solver("spark.prototxt", max_iter=4, test_iter=2, test_interval=2)
        done = self.lenet.run("caffe", "-conf", solver, "-train", "-test", "-weights", "start.caffemodel", "-model", "trained.caffemodel", "-output", "out",
                              "-devices", "2", "-clusterSize", "1")
        self.assertIn("2 ranks", done.stdout)
        self.assertTrue((self.lenet.folder / "trained.caffemodel").exists())
        self.assertTrue((self.lenet.folder / "out/test.json").exists())

    def test_a_write_that_fails_leaves_no_file_and_fails_on_all_ranks(self):
        folder = self.lenet.folder
        solver = self.lenet.solver("writes.prototxt", max_iter=1, test_iter=1)
        full = ("bash", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "bash")  # every write of a file fails
        for ranks in ("1", "2"):
            for flags, words in {("-features", "ip1"): "File too large",
                                 ("-features", "accuracy", "-label", "label"): "accuracy.csv",
                                 ("-test",): "test.json"}.items():
                done = self.lenet.run("caffe", "-conf", solver, *flags, "-model", "start.caffemodel", "-output", "full", "-devices", ranks, expect=1, before=full)
                self.assertIn(words, done.stderr)
                self.assertFalse([path for path in (folder / "full").glob("**/*") if path.is_file()], flags)

        (folder / "taken/label.csv").mkdir(parents=True)
        arguments = ("-conf", solver, "-features", "accuracy", "-label", "label", "-model", "start.caffemodel", "-output")
        self.lenet.run("run", "-n", 2, "--output", "logs", reference_program.COHORT, "caffe", *arguments, "taken", expect=1)
        for rank in range(2):
            log = (folder / f"logs/{rank}.log").read_text(encoding="utf-8")
            self.assertIn("label.csv): expected a path that does not exist, or a regular file, got a directory", log)
        self.assertIn("-output: expected a folder that can be written", self.lenet.run("caffe", *arguments, "start.caffemodel", expect=2).stderr)

    def test_a_network_for_training_is_imported_with_the_name_of_its_loss(self):
        done = self.lenet.run("import", "net.prototxt", "--weights", "start.caffemodel", "--to", "net.safetensors", "--input", "data=1x28x28")
        self.assertRegex(done.stdout, r"; inputs data; outputs loss\n")

    def test_refuses_by_name(self):
        for flags, words in {("-conf", "solver.prototxt"): "-train, -test or -features",
                             ("-train",): "-conf",
                             ("-conf", "solver.prototxt", "-test"): "-model",
                             ("-conf", "solver.prototxt", "-train", "-snapshot", "a.solverstate"): "solverstate",
                             ("-conf", "solver.prototxt", "-train", "-imageRoot", "a"): "-imageRoot",
                             ("-conf", "solver.prototxt", "-test", "-features", "ip1"): "-features",
                             ("-conf", "solver.prototxt", "-train", "-devices", "two"): "-devices",
                             ("-conf", "solver.prototxt", "-train", "-devices", "65536", "-clusterSize", "65536"): "1024, got 4294967296",
                             ("-conf", "solver.prototxt", "-train", "-model", "hdfs:///a"): "hdfs dfs -get"}.items():
            self.lenet.solver()
            self.assertIn(words, self.lenet.run("caffe", *flags, expect=2).stderr)

    def test_a_training_without_tests_reads_no_test_data(self):
        solver = self.lenet.solver("untested.prototxt", max_iter=1, test_iter=0, test_interval=0)
        self.lenet.run("train", "--caffe", solver, "--set", "caffe.test.source=missing")

    def test_refuses_sources_that_cannot_be_read(self):
        folder = self.lenet.folder
        (folder / "level").mkdir()
        (folder / "level/CURRENT").write_text("MANIFEST", encoding="utf-8")
        (folder / "frame").mkdir()
        (folder / "frame/part-0.parquet").write_bytes(b"PAR1" + bytes(20))
        self.lenet.solver()
        for source, words in {"level": "LevelDB", "frame": "Parquet", "missing": "does not exist", "hdfs:///a": "hdfs dfs -get"}.items():
            done = self.lenet.run("train", "--caffe", "solver.prototxt", "--set", f"caffe.train.source={source}", expect=2)
            self.assertIn(words, done.stderr)
        for setting, words in {"train.sorce=a": "field sorce", "tset.source=a": "tset.source", "iter_size=2000000000": "iter_size: expected at most 16777216 examples"}.items():
            done = self.lenet.run("train", "--caffe", "solver.prototxt", "--set", f"caffe.{setting}", expect=2)
            self.assertIn(words, done.stderr)

    def test_reads_sequence_files_of_caffe_on_spark_and_lists_of_images(self):
        one, net = self.cases["cifar10_quick"], self.cases["cifar10_quick"].net
        pixels, labels = net.images()
        solver = one.solver("sources.prototxt", test_iter=1, test_interval=1, max_iter=2, weights='"start.caffemodel"', iter_size=1)
        expected = one.report("--caffe", solver)["history"]["loss"]

        word = lambda text: varint(len(text)) + text
        kind = b"org.apache.hadoop.io.BytesWritable"
        sequence = b"SEQ\6" + word(kind) + word(kind) + b"\0\0" + struct.pack(">I", 0) + bytes(range(16))
        for number, (image, label) in enumerate(zip(pixels, labels)):
            key, value = (struct.pack(">I", len(part)) + part for part in (str(number).encode(), datum(image, label)))
            sequence += struct.pack(">II", len(key) + len(value), len(key)) + key + value
        (one.folder / "sequence").mkdir()
        (one.folder / "sequence/part-00000").write_bytes(sequence)
        (one.folder / "sequence/_SUCCESS").write_bytes(b"")
        one.solver("sequence.prototxt", test_iter=1, test_interval=1, max_iter=2, weights='"start.caffemodel"', iter_size=1)
        found = one.report("--caffe", "sequence.prototxt", "--set", "caffe.train.source=sequence", "--set", "caffe.train.mirror=false")
        self.assertEqual(found["history"]["loss"], expected)

        lines = ""
        for number, (image, label) in enumerate(zip(pixels, labels)):
            name = f"image_{number}.png"
            rgb = image[::-1].transpose(1, 2, 0).tobytes()  # Caffe's order is blue, green, red
            (one.folder / name).write_bytes(reference_program.png(net.side, net.side, rgb))
            lines += f"{one.folder / name} {label}\n"
        (one.folder / "list.txt").write_text(lines, encoding="utf-8")
        text = (one.folder / "net.prototxt").read_text(encoding="utf-8")
        text = text.replace('type: "Data"', 'type: "ImageData"').replace("data_param", "image_data_param").replace(" backend: LMDB", "")
        (one.folder / "list.prototxt").write_text(text.replace('"images_lmdb"', '"list.txt"'), encoding="utf-8")
        one.solver("list_solver.prototxt", test_iter=1, test_interval=1, max_iter=2, weights='"start.caffemodel"', iter_size=1)
        found = one.report("--caffe", "list_solver.prototxt", "--set", "caffe.net=list.prototxt")
        self.assertEqual(found["history"]["loss"], expected)


if __name__ == "__main__":
    unittest.main()
