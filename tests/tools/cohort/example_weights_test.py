# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
"""Weights of examples in documents: a column of a table, a field of records. They apply to the loss of the training set only."""
import json
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.extend(str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("examples", "tools/cohort"))
import reference_program  # noqa: E402
from convert_test import write_onnx  # noqa: E402
from protobuf_fields import content as text, integer  # noqa: E402
from train_records_test import write_tar, write_tfrecord  # noqa: E402

ROWS = [(x / 20 - 1, ("a", "b")[k], 2 * k + 1) for x in range(40) for k in (0, 1)]  # each x with both classes; b weighs three times as much
LAYERS = [{"input": [1]}, {"dense": 2}, "softmax_cross_entropy"]


class example_weights(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_it(self, *words, **how):
        return reference_program.run("cohort", *words, cwd=self.folder, **how)

    def train(self, data, *flags, expect=0, **more):
        document = {"version": 1, "backend": "reference", "network": {"layers": LAYERS}, "data": data,
                    "optimizer": {"rule": {"adam": {"learning_rate": 0.05}}}, "training": {"epochs": 30, "batch": 16},
                    "output": {"model": "m.safetensors", "report": "r.json"}, **more}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
        done = self.run_it("train", "run.json", *flags, expect=expect)
        return done.stderr if expect else json.loads((self.folder / "r.json").read_text(encoding="utf-8"))

    def probabilities(self):
        """The probabilities of class b."""
        self.run_it("predict", "run.json", "--model", "m.safetensors", "--output", "out.csv", "--restart")
        return [float(row.split(",")[2]) for row in (self.folder / "out.csv").read_text(encoding="utf-8").splitlines()[1:]]

    def table(self, rows=ROWS, **more):
        lines = "".join(f"{x},{kind},{weight}\n" for x, kind, weight in rows)
        (self.folder / "t.csv").write_text("x,kind,w\n" + lines, encoding="utf-8")
        return {"table": {"file": "t.csv", "target": "kind", "test_fraction": 0, "weight": "w", **more}}

    def test_of_a_column_change_what_the_network_learns(self):
        self.train(self.table())
        for probability in self.probabilities():
            self.assertAlmostEqual(probability, 0.75, delta=0.03)
        self.train(self.table(weight=""), "--set", 'data.table.inputs=["x"]')
        for probability in self.probabilities():
            self.assertAlmostEqual(probability, 0.5, delta=0.03)

    def test_follow_their_rows_through_splits_and_pipelines(self):
        steps = {"schema": [{"name": "x"}, {"name": "kind", "type": "category", "values": ["a", "b"]}], "steps": [{"filter": {"keep": "x > -0.5"}}]}
        rows = [(x, kind, weight if x > -0.5 else 100) for x, kind, weight in ROWS]
        self.train(self.table(rows, transform=steps, test_fraction=0.25))
        for probability in self.probabilities():
            self.assertAlmostEqual(probability, 0.75, delta=0.09)

    def test_do_not_change_the_results_on_the_test_set(self):
        data = self.table(test_fraction=0.25, split_seed=3)
        training = {"training": {"epochs": 0}}
        weighted = self.train(data, **training)
        data["table"] |= {"weight": "", "inputs": ["x"]}
        plain = self.train(data, **training)
        self.assertEqual((weighted["accuracy"], weighted["checksum"]), (plain["accuracy"], plain["checksum"]))

    def test_of_records_change_what_the_network_learns(self):
        examples = [((struct.pack("<f", x), weight), "ab".index(kind)) for x, kind, weight in ROWS]
        write_tar(self.folder / "r.tar", examples,
                  lambda pair, label: (("x", pair[0]), ("cls", f"{label}".encode()), ("w", f"{pair[1]}.0\n".encode())))
        write_tfrecord(self.folder / "r.tfrecord", examples, lambda pair, label: (
            (b"x", text(2, text(1, pair[0]))), (b"label", text(3, integer(1, label))), (b"w", text(2, text(1, struct.pack("<f", pair[1]))))))
        for format, file, problem in (
                ("webdataset", "r.tar", r"the records do not have this field \(r.tar\): expected one of x, cls, w, got none"),
                ("tfrecord", "r.tfrecord", r"\(r.tfrecord, record \d+, none\): expected a feature of one number, got none")):
            source = {"format": format, "files": file, "classes": ["a", "b"], "cache": "none", "weight": "w",
                      "content": {"numbers": {"extents": [1], "values": "x"}}}
            self.train({"records": source})
            for probability in self.probabilities():
                self.assertAlmostEqual(probability, 0.75, delta=0.03)
            self.train({"records": {**source, "weight": ""}})
            for probability in self.probabilities():
                self.assertAlmostEqual(probability, 0.5, delta=0.03)
            self.assertRegex(self.train({"records": {**source, "weight": "none"}}, expect=1), problem)
        refused = self.train({"records": {**source, "format": "lmdb", "content": {"numbers": {"extents": [1]}}}}, expect=2)
        self.assertIn("data.records.weight): expected no such field, because a Datum of Caffe has no weight, got w", refused)

    def test_are_no_inputs_of_an_imported_model(self):
        write_onnx(self.folder / "net.onnx")
        self.run_it("import", "net.onnx", "--to", "m.safetensors")
        (self.folder / "t.csv").write_text("a,b,c,d,kind,w\n1,2,3,4,x,5\n2,3,4,5,y,0\n", encoding="utf-8")
        data = {"table": {"file": "t.csv", "target": "kind", "test_fraction": 0, "weight": "w"}}
        document = {"version": 1, "backend": "reference", "network": {"model": "m.safetensors"}, "data": data}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
        self.assertEqual(len(self.probabilities()), 2)
        expected = (self.folder / "out.csv").read_text(encoding="utf-8")
        data["table"] |= {"weight": "", "inputs": ["a", "b", "c", "d"]}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
        self.probabilities()
        self.assertEqual((self.folder / "out.csv").read_text(encoding="utf-8"), expected)

    def test_that_are_invalid_are_refused_or_skipped(self):
        for weight, problem in (("inf", 'a field is not a number (t.csv:82:5, column w): expected a number, got "inf"'),
                                ("x", 'a field is not a number (t.csv:82:5, column w): expected a number, got "x"'),
                                ("", "a value is missing (t.csv:82:5, column w): expected a number")):
            self.assertIn(problem, self.train(self.table([*ROWS, (0, "a", weight)]), expect=1))
        self.assertIn("(t.csv, column w, row 81): expected a finite number of at least 0, got -1", self.train(self.table([*ROWS, (0, "a", -1)]), expect=1))
        examples = [((struct.pack("<f", 0), weight), 0) for weight in (1, 2, -1, 3)]
        write_tar(self.folder / "r.tar", examples, lambda pair, label: (("x", pair[0]), ("cls", b"0"), ("w", f"{pair[1]}".encode())))
        source = {"files": "r.tar", "classes": 2, "cache": "none", "weight": "w", "content": {"numbers": {"extents": [1], "values": "x"}}}
        self.assertIn("(r.tar, record 2, 0002, w): expected a finite number of at least 0, got -1", self.train({"records": source}, expect=1))
        self.assertEqual(self.train({"records": {**source, "bad": "skip"}}, "--set", "training.epochs=2")["skipped_records"], 2)


if __name__ == "__main__":
    unittest.main()
