# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
"""network.import of a document: open extents, added losses, constants, starting weights by a table of names, and refusals."""
import json
import pathlib
import sys
import tempfile
import unittest

import numpy

sys.path.extend(str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("examples", "tools/cohort"))
import reference_program  # noqa: E402
from convert_test import write_onnx, write_points  # noqa: E402


class imports_in_documents(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        write_points(self.folder / "points.csv")

    def train(self, network, *flags, expect=0, command="train", **more):
        table = {"file": "points.csv", "target": "kind", "inputs": ["a", "b", "c", "d"]}
        document = {"version": 1, "network": network, "data": {"table": table}, "backend": "reference", "training": {"epochs": 2, "batch": 8},
                    "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "output": {"model": "m.safetensors"}, **more}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
        return reference_program.run("cohort", command, "run.json", *flags, cwd=self.folder, expect=expect)

    def parameters(self):
        reference_program.run("cohort", "export", "--model", "m.safetensors", "--to", "p.npz", cwd=self.folder)
        with numpy.load(self.folder / "p.npz") as arrays:
            return dict(arrays)

    def test_have_extents_and_a_loss(self):
        write_onnx(self.folder / "open.onnx", ["Softmax"], extents=("width",))
        loss = {"loss": "softmax_cross_entropy"}
        extents = [{"name": "x", "extents": [4]}]
        done = self.train({"import": {"file": "open.onnx", "inputs": extents, **loss}}, "--ranks", 2)
        self.assertIn("2 ranks over threads", done.stdout)
        refused = self.train({"import": {"file": "open.onnx", **loss}}, expect=1).stderr
        self.assertIn("network.import.inputs", refused)
        refused = self.train({"import": {"file": "open.onnx", "inputs": extents}}, expect=1).stderr
        self.assertIn("network.import.loss", refused)
        refused = self.train({"import": {"file": "open.onnx", "inputs": extents, "loss": "softmax"}}, expect=2).stderr
        self.assertIn("network.import.loss: expected one of ", refused)

    def test_start_from_weights_by_a_table_of_names(self):
        write_onnx(self.folder / "net.onnx")
        write_onnx(self.folder / "other.onnx", seed=5)
        reference_program.run("cohort", "import", "other.onnx", "--to", "other.safetensors", cwd=self.folder)
        loss = {"loss": "softmax_cross_entropy"}
        (self.folder / "names.map").write_text("hidden.* hidden.*\nlogits.* -\n- *\n", encoding="utf-8")
        names = {"weights": "other.safetensors", "names": "names.map"}
        self.train({"import": {"file": "net.onnx", **loss}, **names}, "--set", "training.epochs=0")
        mixed = self.parameters()
        for file, layer in (("net.onnx", "logits"), ("other.onnx", "hidden")):
            self.train({"import": {"file": file, **loss}}, "--set", "training.epochs=0")
            start = self.parameters()
            for part in ("weights", "bias"):
                numpy.testing.assert_array_equal(mixed[f"{layer}.{part}"], start[f"{layer}.{part}"])

    def test_keep_the_constants_of_the_file_unless_the_document_trains_them(self):
        (self.folder / "net.prototxt").write_text("""
            layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 4 } } }
            layer { name: "power" type: "Power" bottom: "x" top: "power" power_param { scale: 0.5 shift: 0.25 power: 1 } }
            layer { name: "out" type: "InnerProduct" bottom: "power" top: "out"
                    inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }""", encoding="utf-8")
        network = {"import": {"file": "net.prototxt", "loss": "softmax_cross_entropy"}}
        optimizer = {"rule": {"adam": {"learning_rate": 0.02}}}
        trained = []
        for layers in ([], [{"layer": "power*", "frozen": False}]):
            self.train(network, "--set", "training.epochs=0")
            start = self.parameters()
            self.train(network, optimizer={**optimizer, "layers": layers})
            end = self.parameters()
            trained.append({name.split("/")[0].split(".")[0] for name in start if (start[name] != end[name]).any()})
        self.assertEqual(trained, [{"out"}, {"out", "power"}])

    def test_are_refused_by_name(self):
        layers = {"layers": [{"input": [4]}, {"dense": 3}, "softmax_cross_entropy"]}
        model = {"import": {"file": "net.onnx"}}
        for network, message in (({**layers, **model}, "network): expected one of layers, model and import, got 2"),
                                 ({}, "network): expected one of layers, model and import, got none"),
                                 ({"import": {}}, "network.import.file): expected a file of another library, got none"),
                                 ({**model, "parameters": False}, "network.parameters): expected true, because an imported network")):
            self.assertIn(message, self.train(network, expect=2).stderr)
        self.assertIn("network.import.file: expected a file that ends in .onnx, .keras, .h5, .hdf5 or .prototxt, or a zip file of Deeplearning4j, got",
                      self.train({"import": {"file": "points.csv"}}, expect=2).stderr)
        self.assertIn("network.import.weights: expected a file that ends in .prototxt, got",
                      self.train({"import": {"file": "net.onnx", "weights": "w.caffemodel"}}, expect=2).stderr)
        for file in ("net.onnx", "net.zip"):
            self.assertIn(f"cannot open the file ({file})", self.train({"import": {"file": file}}, expect=1).stderr)
        write_onnx(self.folder / "net.onnx")
        self.assertIn("network.optimizer_state): expected a file of Deeplearning4j with updaterState.bin, or no such setting",
                      self.train({"import": {"file": "net.onnx", "loss": "softmax_cross_entropy"}, "optimizer_state": True}, expect=1).stderr)
        self.assertIn("--model: expected a model file, got none; output.model of a training, and cohort import, write one",
                      self.train(model, command="evaluate", expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
