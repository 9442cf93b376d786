# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib tcp
# ranks: 2
"""cohort import, export and describe: ONNX Runtime computes what Cohort computes, before and after."""
import csv
import json
import pathlib
import re
import sys
import tempfile
import unittest

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]


def write_onnx(path, last=(), extents=(4,), seed=1):
    """A network of 4 numbers, 8 hidden units and 3 outputs, with operators after them."""
    numbers = numpy.random.default_rng(seed)
    constants = {"w1": (8, 4), "b1": (8,), "w2": (3, 8), "b2": (3,)}
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["hidden"], transB=1), helper.make_node("Relu", ["hidden"], ["code"]),
             helper.make_node("Gemm", ["code", "w2", "b2"], ["logits"], transB=1)]
    output = "logits"
    for operator in last:
        nodes.append(helper.make_node(operator, [output], [operator.lower()], **({"axis": 1} if operator == "Softmax" else {})))
        output = operator.lower()
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *extents])],
                              [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["N", 3])],
                              [numpy_helper.from_array(numbers.normal(size=shape).astype("f4"), name) for name, shape in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def run_onnx(path, **inputs):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, inputs)[0]


def write_points(path, count=240, seed=1):
    """Rows of an id, four numbers and the class: the largest of three sums."""
    numbers = numpy.random.default_rng(seed)
    points = numbers.normal(size=(count, 4)).astype("f4")
    labels = numpy.argmax(points[:, :3] + points[:, 3:], axis=1)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "a", "b", "c", "d", "kind"])
        for number, (point, label) in enumerate(zip(points, labels)):
            writer.writerow([f"p{number:03d}", *(repr(float(value)) for value in point), ("north", "south", "west")[label]])
    return points


class converted_models(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_it(self, *flags, **how):
        return reference_program.run("cohort", *flags, cwd=self.folder, **how)

    def refused(self, *flags, status=2):
        return self.run_it(*flags, expect=status).stderr

    def document(self, **more):
        table = {"file": "points.csv", "target": "kind", "inputs": ["a", "b", "c", "d"]}
        document = {"version": 1, "network": {"model": "start.safetensors"}, "data": {"table": table}, "backend": "reference",
                    "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"epochs": 12, "batch": 8}, **more}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
        return "run.json"

    def outputs(self, name):
        with open(self.folder / name, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        return rows[0], [row[0] for row in rows[1:]], numpy.array([row[1:] for row in rows[1:]], "f4")

    # ---- the whole road without C++ ------------------------------------------------------------------------
    def test_a_caffe_network_is_imported_and_exported(self):
        golden = ROOT / "tests" / "golden"
        self.run_it("import", str(golden / "caffe" / "branches.prototxt"), "--weights", str(golden / "caffe" / "branches.caffemodel"),
                    "--to", "start.safetensors")
        self.run_it("export", "--model", "start.safetensors", "--to", "net.onnx")
        lines = (golden / "caffe.txt").read_text(encoding="utf-8").split("case branches")[1].split("case ")[0].splitlines()
        values = {line.split(" ")[0]: line.split(" ") for line in lines}
        x = numpy.array(values["input"][1:], "f4").reshape(2, 4, 6, 5)
        numpy.testing.assert_allclose(run_onnx(self.folder / "net.onnx", data=x).ravel(), numpy.array(values["output"][2:], "f4"),
                                      atol=1e-5)
        self.assertIn("--weights: expected a file that ends in .prototxt", self.refused(
            "import", "net.onnx", "--weights", "w.caffemodel", "--to", "b.safetensors"))

    def test_train_an_onnx_model_on_two_ranks_and_export_it(self):
        points = write_points(self.folder / "points.csv")
        write_onnx(self.folder / "net.onnx")
        page = (ROOT / "docs/without_cpp.md").read_text(encoding="utf-8")
        page = page[page.index("\n## From a network"):page.index("\n## Models")]
        (self.folder / "run.json").write_text(re.search(r"```json\n(.*?)```", page, re.DOTALL).group(1), encoding="utf-8")
        printed = {}
        for line in re.findall(r"^    cohort (.*)$", page, re.MULTILINE):
            words = [reference_program.COHORT if word == "cohort" else word for word in line.split()]
            printed[words[0]] = self.run_it(*words).stdout
        self.assertEqual(printed["import"], "start.safetensors: 5 layers, 67 parameters; inputs x; outputs logits\n")
        self.assertIn("memory: ", printed["describe"])
        self.assertIn("2 ranks over tcp by allreduce", printed["run"])
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        self.assertGreater(report["accuracy"], 0.9)
        self.assertIn(f"checksum {report['checksum']}", printed["evaluate"])
        self.assertEqual(numpy.load(self.folder / "code.npy").shape, (240, 8))
        header, keys, outputs = self.outputs("out.csv")
        self.assertEqual([name.rsplit(".", 1)[-1] for name in header], ["key", "north", "south", "west"])
        self.assertEqual(keys[:2], ["p000", "p001"])
        columns = {name: points[:, k:k + 1] for k, name in enumerate("abcd")}
        self.assertLess(numpy.abs(run_onnx(self.folder / "trained.onnx", **columns) - outputs).max(), 1e-5)

    # ---- import --------------------------------------------------------------------------------------------
    def test_import_keeps_the_outputs(self):
        points = write_points(self.folder / "points.csv")
        write_onnx(self.folder / "net.onnx", ["Softmax"])
        self.run_it("import", "net.onnx", "--to", "start.safetensors")
        self.run_it("predict", self.document(), "--output", "out.csv")
        self.assertLess(numpy.abs(run_onnx(self.folder / "net.onnx", x=points) - self.outputs("out.csv")[2]).max(), 1e-5)
        self.run_it("features", self.document(), "--layers", "code", "--output", "code.npy")
        self.assertEqual(numpy.load(self.folder / "code.npy").shape, (240, 8))
        for field, value in (("impute", "mean"), ("indexed", '["a"]'), ("other", "true")):
            refused = self.refused("predict", "run.json", "--output", "x.csv", "--set", f"data.table.{field}={value}", status=1)
            self.assertRegex(refused, rf"the rows are prepared by the model, which contains no encoder \(.*data.table.{field}\): expected no such field")

    def test_import_replaces_an_activation_that_the_loss_contains(self):
        points = write_points(self.folder / "points.csv")
        write_onnx(self.folder / "net.onnx", ["Softmax"])
        self.run_it("import", "net.onnx", "--to", "start.safetensors", "--loss", "softmax_cross_entropy")
        described = self.run_it("describe", "start.safetensors").stdout
        self.assertRegex(described, r"softmax_cross_entropy")
        self.assertNotRegex(described, r"softmax:|softmax\s")
        self.run_it("predict", self.document(), "--output", "out.csv")
        self.assertLess(numpy.abs(run_onnx(self.folder / "net.onnx", x=points) - self.outputs("out.csv")[2]).max(), 1e-5)

    def test_import_gets_open_extents_from_a_flag(self):
        write_onnx(self.folder / "open.onnx", extents=("width",))
        self.assertIn("x", self.refused("import", "open.onnx", "--to", "m.safetensors", status=1))
        self.run_it("import", "open.onnx", "--to", "m.safetensors", "--input", "x=4")
        self.assertIn("x", self.run_it("describe", "m.safetensors").stdout)

    def test_import_refuses_what_it_does_not_know(self):
        write_points(self.folder / "points.csv")
        write_onnx(self.folder / "net.onnx")
        self.assertEqual(self.refused("import", "net.pt", "--to", "m.safetensors"),
                         "cohort import: expected a file that ends in .onnx, .keras, .h5, .hdf5 or .prototxt, or a zip file of Deeplearning4j, got 'net.pt'\n")
        self.assertEqual(self.refused("import", "net.onnx"), "cohort import: --to: expected a file that ends in .safetensors, got none\n")
        self.assertEqual(self.refused("import", "net.onnx", "--to", "m.onnx"),
                         "cohort import: --to: expected a file that ends in .safetensors, got 'm.onnx'\n")
        refused = self.refused("import", "net.onnx", "--to", "m.safetensors", "--loss", "softmax_cross_entrop")
        self.assertRegex(refused, r"^cohort import: --loss: expected one of .*; the nearest name is softmax_cross_entropy, got 'softmax_")
        for value in ("x", "x=", "x=4x", "x=0", "x=4y4", "x=1x1x1x1x1x1x1"):
            self.assertEqual(self.refused("import", "net.onnx", "--to", "m.safetensors", "--input", value),
                             f"cohort import: --input: expected NAME=DIMS, such as x=3x224x224, got '{value}'\n")
        self.run_it("import", "net.onnx", "--to", "m.safetensors")
        refused = self.refused("predict", self.document(data={"table": {"file": "points.csv", "target": "kind"}}), "--model", "m.safetensors",
                               "--output", "out.csv", status=1)
        self.assertIn("an input column contains texts, but the model contains no encoder of tables", refused)
        (self.folder / "m.safetensors").unlink()
        write_onnx(self.folder / "sign.onnx", ["Sign"])
        self.assertIn("Sign", self.refused("import", "sign.onnx", "--to", "m.safetensors", status=1))
        self.assertFalse((self.folder / "m.safetensors").exists())

    # ---- export --------------------------------------------------------------------------------------------
    def test_export_writes_the_parameters_by_name(self):
        write_onnx(self.folder / "net.onnx")
        self.run_it("import", "net.onnx", "--to", "start.safetensors")
        self.run_it("export", "--model", "start.safetensors", "--to", "p.npz")
        constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(self.folder / "net.onnx").graph.initializer}
        arrays = numpy.load(self.folder / "p.npz")
        self.assertEqual(len(arrays.files), 4)
        for values in constants.values():
            self.assertTrue(any(array.shape == values.shape and (array == values).all() for array in arrays.values()))
        self.run_it("export", "--model", "start.safetensors", "--to", "copy.safetensors")
        self.assertEqual((self.folder / "copy.safetensors").read_bytes(), (self.folder / "start.safetensors").read_bytes())
        self.assertEqual(self.refused("export", "--model", "start.safetensors", "--to", "m.pt"),
                         "cohort export: --to: expected a file that ends in .onnx, .safetensors or .npz, got 'm.pt'\n")
        trained = (self.folder / "start.safetensors").read_bytes()
        self.assertEqual(self.refused("export", "--model", "start.safetensors", "--to", "./start.safetensors"),
                         "cohort export: --to: expected another file than those that the command reads, got './start.safetensors'\n")
        self.assertEqual((self.folder / "start.safetensors").read_bytes(), trained)
        self.assertEqual(self.refused("export", "--to", "m.npz"), "cohort export: --model: expected a model file, got none\n")

    # ---- describe ------------------------------------------------------------------------------------------
    def test_describe_prints_network_memory_and_preparation(self):
        write_points(self.folder / "points.csv")
        layers = [{"input": [4]}, {"dense": {"units": 8, "name": "code"}}, "relu", {"dense": 3}, "softmax_cross_entropy"]
        path = self.document(network={"layers": layers})
        described = self.run_it("describe", path).stdout
        for part in ("code", "40", "softmax_cross_entropy", "memory: parameters ", "; total "):
            self.assertIn(part, described)
        self.run_it("train", path, "--set", "output.model=m.safetensors")
        described = self.run_it("describe", "m.safetensors").stdout
        self.assertIn("trained: 276 steps, 12 epochs; contains the optimizers' state\n", described)
        self.assertIn("table: inputs a, b, c, d; target kind, classes north, south, west\n", described)
        self.assertIn("cannot open", self.refused("describe", "none.safetensors", status=1))


if __name__ == "__main__":
    unittest.main()
