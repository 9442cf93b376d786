# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib keras tcp
# ranks: 2
"""Without C++, for a network of Keras, Caffe and Deeplearning4j: a document imports it, two ranks train it, then evaluate, predict,
export to ONNX, and ONNX Runtime computes the same outputs."""
import csv
import json
import pathlib
import struct
import sys
import tempfile
import unittest

import numpy
import onnxruntime

sys.path.extend(str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("examples", "tools/cohort"))
import reference_program  # noqa: E402
from train_records_test import write_tar  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
EXAMPLES = 120


def write_idx(path, values):
    header = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(header + values.tobytes())


class from_import_to_export(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.numbers = numpy.random.default_rng(3)

    def run_it(self, *words, **how):
        return reference_program.run("cohort", *words, cwd=self.folder, **how)

    def write(self, network, data, **more):
        document = {"version": 1, "network": network, "data": data, "optimizer": {"rule": {"adam": {"learning_rate": 0.01}}},
                    "training": {"epochs": 12, "batch": 8}, "output": {"model": "m.safetensors", "report": "train.json"}, **more}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")

    def train(self, *flags):
        done = self.run_it("run", "-n", "2", reference_program.COHORT, "train", "run.json", *flags)
        self.assertIn("2 ranks over tcp by allreduce", done.stdout)
        return self.read("train.json")

    def read(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def parameters(self, model):
        self.run_it("export", "--model", model, "--to", "p.npz")
        with numpy.load(self.folder / "p.npz") as arrays:
            return dict(arrays)

    def apply_model(self, inputs):
        """Evaluates, predicts and exports, and compares the predictions with those of ONNX Runtime on these inputs. Returns the report of
        the training."""
        trained = self.read("train.json")
        self.run_it("evaluate", "run.json", "--model", "m.safetensors", "--report", "e.json")
        self.assertEqual(self.read("e.json")["accuracy"], trained["accuracy"])
        self.run_it("predict", "run.json", "--model", "m.safetensors", "--output", "out.csv")
        with open(self.folder / "out.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
        predicted = numpy.array([row[1:] for row in rows], "f4")
        self.run_it("export", "--model", "m.safetensors", "--to", "m.onnx")
        session = onnxruntime.InferenceSession(str(self.folder / "m.onnx"), providers=["CPUExecutionProvider"])
        computed = session.run(None, inputs)[0].reshape(len(predicted), -1)
        self.assertLess(numpy.abs(computed - predicted).max(), 1e-5)
        return trained

    def test_of_a_keras_network_on_images_with_a_frozen_layer(self):
        labels = self.numbers.integers(0, 2, EXAMPLES).astype("u1")
        places = self.numbers.integers(0, 2, (EXAMPLES, 1, 1)) + numpy.where(labels[:, None, None], *numpy.indices((6, 6)))  # horizontal or vertical stripes
        images = (200 * (places % 2) + self.numbers.integers(0, 50, (EXAMPLES, 6, 6))).astype("u1")
        write_idx(self.folder / "images", images)
        write_idx(self.folder / "labels", labels)
        files = {"images": "images", "labels": "labels", "test_images": "images", "test_labels": "labels"}
        self.write({"import": {"file": str(GOLDEN / "keras/cnn.keras")}}, {"idx": files},
                   optimizer={"rule": {"adam": {"learning_rate": 0.03}}, "layers": [{"layer": "conv*", "frozen": True}]})
        self.assertIn("conv/conv2d", self.run_it("describe", "run.json").stdout)
        self.train()
        self.assertGreater(self.apply_model({"x": (images[:, None] / 255).astype("f4")})["accuracy"], 0.95)
        self.run_it("import", str(GOLDEN / "keras/cnn.keras"), "--to", "start.safetensors")
        start, end = self.parameters("start.safetensors"), self.parameters("m.safetensors")
        self.assertEqual({name for name in start if (start[name] == end[name]).all()}, {"conv/conv2d.weights", "conv/conv2d.bias"})

    def test_of_a_caffe_network_on_records_of_numbers(self):
        values = self.numbers.normal(size=(EXAMPLES, 3, 11, 13)).astype("f4")
        labels = self.numbers.integers(0, 5, EXAMPLES)
        for value, label in zip(values, labels):
            value += label
        write_tar(self.folder / "r.tar", list(zip(values, labels)),
                  lambda numbers, label: (("x", numbers.tobytes()), ("cls", f"{label}".encode())))
        content = {"numbers": {"extents": [3, 11, 13], "values": "x"}}
        network = {"file": str(GOLDEN / "caffe/convnet.prototxt"), "weights": str(GOLDEN / "caffe/convnet.caffemodel"),
                   "loss": "softmax_cross_entropy"}
        self.write({"import": network}, {"records": {"files": "r.tar", "test_files": "r.tar", "classes": 5, "content": content, "cache": "none"}})
        self.train("--set", "training.epochs=40")
        self.assertGreater(self.apply_model({"data": values})["accuracy"], 0.95)

    def test_of_a_deeplearning4j_network_on_a_table_continues_its_updater(self):
        names = "abcde"
        columns = self.numbers.normal(size=(EXAMPLES, 5)).astype("f4")
        kinds = numpy.argmax(columns[:, :3], axis=1)
        rows = [",".join([*(repr(float(value)) for value in row), "xyz"[kind]]) for row, kind in zip(columns, kinds)]
        (self.folder / "rows.csv").write_text("\n".join([",".join([*names, "kind"]), *rows]) + "\n", encoding="utf-8")
        rule = {"adam": {"learning_rate": 0.05, "epsilon": 0, "epsilon_hat": 1e-8}}
        self.write({"import": {"file": str(GOLDEN / "deeplearning4j/adam.zip")}, "optimizer_state": True},
                   {"table": {"file": "rows.csv", "target": "kind"}}, optimizer={"rule": rule, "l2": 0.01})
        self.assertGreater(self.train()["accuracy"], 0.8)
        # 12 epochs of 90 rows in batches of 2 × 8 follow the 3 steps and the epoch of the file.
        self.assertIn("trained: 75 steps, 13 epochs", self.run_it("describe", "m.safetensors").stdout)
        self.apply_model({name: columns[:, k:k + 1] for k, name in enumerate(names)})

    def test_an_import_in_a_document_gives_the_bits_of_cohort_import(self):
        self.test_of_a_deeplearning4j_network_on_a_table_continues_its_updater()
        first = self.read("train.json")["checksum"]
        self.run_it("import", str(GOLDEN / "deeplearning4j/adam.zip"), "--state", "--to", "start.safetensors")
        document = self.read("run.json")
        document["network"] = {"model": "start.safetensors", "optimizer_state": True}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
        self.assertEqual(self.train()["checksum"], first)


if __name__ == "__main__":
    unittest.main()
