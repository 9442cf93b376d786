# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
"""cohort evaluate, predict and features: the numbers of the training, keys, rows without a target, and ranks."""
import csv
import io
import json
import pathlib
import random
import struct
import sys
import tarfile
import tempfile
import unittest

import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program  # noqa: E402

TABLE = {"version": 1, "backend": "reference",
         "network": {"layers": [{"input": [3]}, {"dense": {"units": 8, "name": "code"}}, "relu", {"dense": 2}, "softmax_cross_entropy"]},
         "normalise": {"inputs": "standardise"},
         "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"epochs": 10}}
DIGITS = {"version": 1, "network": {"layers": [{"input": [1, 28, 28]}, "flatten", {"dense": 10}, "softmax_cross_entropy"]},
          "data": {"digits": {"train": 96, "test": 64}}}


class applied_models(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, document, name="run.json"):
        (self.folder / name).write_text(json.dumps(document), encoding="utf-8")
        return name

    def run_it(self, *flags, **how):
        return reference_program.run("cohort", *flags, cwd=self.folder, **how)

    def refused(self, *flags, status=2):
        return self.run_it(*flags, expect=status).stderr.splitlines()[-1]

    def rows(self, name, count=120, seed=1, target=True, columns=("id", "x", "colour")):
        numbers = random.Random(seed)
        lines = [",".join(columns + (("kind",) if target else ()))]
        for number in range(count):
            x, colour = numbers.uniform(90, 110), numbers.choice(["blue", "red"])
            values = {"id": f"{7 * number:04d}", "x": f"{x:.4f}", "colour": colour}
            fields = [values[column] for column in columns]
            lines.append(",".join(fields + (["high" if x + 10 * (colour == "blue") > 105 else "low"] if target else [])))
        (self.folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return name

    def trained_on_a_table(self, **more):
        table = {"file": self.rows("train.csv"), "target": "kind", "inputs": ["x", "colour"], **more}
        path = self.write({**TABLE, "data": {"table": table}})
        self.run_it("train", path, "--set", "output.model=m.safetensors", "--set", "output.report=trained.json")
        return path

    def read(self, name):
        with open(self.folder / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def report(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    # ---- evaluate ------------------------------------------------------------------------------------------
    def test_evaluate_gives_the_numbers_of_the_training(self):
        path = self.trained_on_a_table()
        for ranks in ("1", "2"):
            done = self.run_it("evaluate", path, "--model", "m.safetensors", "--ranks", ranks, "--report", "again.json")
            trained, again = self.report("trained.json"), self.report("again.json")
            self.assertEqual((again["accuracy"], again["checksum"], again["examples"]), (trained["accuracy"], trained["checksum"], 30))
            self.assertIn(f"checksum {trained['checksum']}\n", done.stdout)
            self.assertEqual(again["ranks"], int(ranks))

    def test_evaluate_reports_regressions(self):
        network = {"layers": [{"input": [2]}, {"dense": 1}, "mean_squared_error"]}
        table = {"file": self.rows("numbers.csv", columns=("x", "colour", "id"), target=False), "target": "id", "regression": True,
                 "inputs": ["x", "colour"]}
        path = self.write({**TABLE, "network": {**network, "layers": [{"input": [3]}, *network["layers"][1:]]}, "data": {"table": table}})
        self.run_it("train", path, "--set", "output.model=r.safetensors", "--set", "output.report=trained.json")
        self.run_it("evaluate", path, "--model", "r.safetensors", "--report", "again.json")
        for number in ("rmse", "mae", "r2"):
            self.assertAlmostEqual(self.report("again.json")[number], self.report("trained.json")[number], places=6)

    def test_evaluate_writes_no_report_to_the_file_of_the_training(self):
        path = self.trained_on_a_table()
        before = (self.folder / "trained.json").read_bytes()
        self.run_it("evaluate", path, "--model", "m.safetensors", "--set", "output.report=trained.json")
        self.assertEqual((self.folder / "trained.json").read_bytes(), before)
        for report in ("train.csv", "m.safetensors", path):
            self.assertEqual(self.refused("evaluate", path, "--model", "m.safetensors", "--report", report),
                             f"cohort evaluate: --report: expected another file than those that the command reads, got '{report}'")

    def test_commands_that_apply_a_model_use_its_preparation_also_if_a_training_would_not(self):
        path = self.trained_on_a_table()
        initial = ("--set", "network.parameters=false")
        outputs = {}
        for flags in ((), initial):
            self.run_it("evaluate", path, "--model", "m.safetensors", "--report", "again.json", *flags)
            self.assertEqual(self.report("again.json")["accuracy"], self.report("trained.json")["accuracy"])
            new = self.rows("new.csv", 50, seed=2, target=False)
            self.run_it("predict", path, "--model", "m.safetensors", "--output", "out.csv", "--set", f"data.table.file={new}", *flags)
            self.run_it("features", path, "--model", "m.safetensors", "--layers", "code", "--output", "f.npy", *flags)
            outputs[flags] = ((self.folder / "out.csv").read_bytes(), (self.folder / "f.npy").read_bytes())
        self.assertEqual(outputs[()], outputs[initial])

    def test_the_flag_for_a_model_sets_its_parameters(self):
        self.trained_on_a_table()
        table = {"file": "train.csv", "target": "kind", "inputs": ["x", "colour"]}
        path = self.write({**TABLE, "normalise": {}, "network": {"model": "m.safetensors", "parameters": False}, "data": {"table": table}})
        none = ("--set", "training.epochs=0", "--set", "output.report=again.json")
        self.run_it("train", path, "--model", "m.safetensors", *none)
        self.assertEqual(self.report("again.json")["checksum"], self.report("trained.json")["checksum"])
        self.run_it("train", path, "--model", "m.safetensors", "--set", "network.parameters=false", *none)
        self.assertNotEqual(self.report("again.json")["checksum"], self.report("trained.json")["checksum"])

    def test_evaluate_refuses_texts_whose_tokens_differ_between_files_and_ranks(self):
        (self.folder / "words.txt").write_text("the king sees the sea. " * 60, encoding="utf-8")
        layers = [{"input": [16]}, {"embedding": {"vocabulary": 256, "width": 4}}, {"lstm": 8}, {"dense": 256}, "softmax_cross_entropy"]
        text = self.write({"version": 1, "network": {"layers": layers}, "data": {"text": {"file": "words.txt", "length": 16, "tokens": "bytes"}},
                           "training": {"epochs": 1}}, "text.json")
        self.run_it("train", text, "--set", "output.model=t.safetensors")
        self.run_it("evaluate", text, "--model", "t.safetensors")
        self.assertEqual(self.refused("evaluate", text, "--model", "t.safetensors", "--set", "training.sharding=local"),
                         "cohort evaluate: training.sharding: expected global for a text, whose tokens come from one file, got local; use "
                         "table, idx, images, audio, series or records")
        for command in (("evaluate",), ("predict", "--output", "x.npy")):
            refused = self.refused(*command, text, "--model", "t.safetensors", "--set", "data.text.tokens=characters", status=1)
            self.assertRegex(refused, rf"^cohort {command[0]}: the tokens of a text .*, got tokens that are learned from the file$")

    def test_evaluate_needs_a_model_and_a_test_set(self):
        path = self.write(DIGITS)
        self.assertEqual(self.refused("evaluate", path), "cohort evaluate: --model: expected a model file, got none; output.model of a "
                         "training, and cohort import, write one")
        self.run_it("train", path, "--set", "output.model=d.safetensors", "--set", "training.epochs=0")
        self.assertEqual(self.refused("evaluate", path, "--model", "d.safetensors", "--set", "data.digits.test=0"),
                         "cohort evaluate: data: expected a test set, got none; set a test file, or test_fraction above 0")
        self.assertIn("cannot open", self.refused("evaluate", path, "--model", "none.safetensors", status=1))

    # ---- predict -------------------------------------------------------------------------------------------
    def test_predict_writes_rows_without_a_target_by_the_texts_of_a_column(self):
        path = self.trained_on_a_table()
        flags = ("predict", path, "--model", "m.safetensors", "--key", "id", "--set")
        self.run_it(*flags, f"data.table.file={self.rows('new.csv', 50, seed=2, target=False)}", "--output", "new.csv.out.csv")
        rows = self.read("new.csv.out.csv")
        self.assertEqual([row["key"] for row in rows], [f"{7 * number:04d}" for number in range(50)])
        names = [name for name in rows[0] if name != "key"]
        self.assertEqual([name.rsplit(".", 1)[1] for name in names], ["high", "low"])
        guesses = [max(names, key=lambda name: float(row[name])).rsplit(".", 1)[1] for row in rows]
        self.rows("labelled.csv", 50, seed=2)
        kinds = [row["kind"] for row in self.read("labelled.csv")]
        self.assertGreater(sum(map(str.__eq__, guesses, kinds)), 40)
        # The target's column, its order and the number of ranks change nothing.
        self.run_it(*flags, "data.table.file=labelled.csv", "--output", "labelled.out.csv", "--ranks", "2")
        self.assertEqual((self.folder / "labelled.out.csv").read_bytes(), (self.folder / "new.csv.out.csv").read_bytes())

    def test_predict_numbers_the_rows_of_a_table_without_a_key(self):
        path = self.trained_on_a_table()
        done = self.run_it("predict", path, "--model", "m.safetensors", "--output", "out.csv")
        self.assertEqual([row["key"] for row in self.read("out.csv")], [str(number) for number in range(1, 121)])
        self.assertIn("data: train.csv, 120 examples\n", done.stdout)
        self.assertIn("120 examples: out.csv\n", done.stdout)

    def test_predict_prepares_rows_by_the_pipeline_of_the_model(self):
        pipeline = {"schema": [{"name": "x", "lowest": 91}, {"name": "colour", "type": "text"},
                               {"name": "kind", "type": "category", "values": ["high", "low"], "optional": True}],
                    "steps": [{"categories": {"columns": ["colour"]}}, {"one_hot": {"columns": ["colour"]}},
                              {"normalise": {"columns": ["x"]}}]}
        table = {"file": self.rows("train.csv"), "target": "kind", "transform": pipeline, "bad": "skip"}
        path = self.write({**TABLE, "data": {"table": table}, "normalise": {}})
        self.run_it("train", path, "--set", "output.model=m.safetensors")
        new = self.rows("new.csv", 60, seed=3, target=False)
        done = self.run_it("predict", path, "--model", "m.safetensors", "--key", "id", "--set", f"data.table.file={new}", "--output", "out.csv")
        kept = [row["id"] for row in self.read(new) if float(row["x"]) >= 91]
        self.assertLess(len(kept), 60)
        self.assertEqual([row["key"] for row in self.read("out.csv")], kept)
        self.assertIn(f"rows: 60 read, 0 removed by filters, {60 - len(kept)} skipped\n", done.stdout)

    def test_predict_refuses_preparations_that_the_model_does_not_contain(self):
        path = self.trained_on_a_table()
        transform = {"schema": [{"name": "x"}, {"name": "colour", "type": "text"}, {"name": "kind", "type": "text"}],
                     "steps": [{"normalise": {"columns": ["x"]}}]}
        for field, value in (("transform", json.dumps(transform)), ("bad", "skip")):
            for command in (("predict",), ("features", "--layers", "code")):
                refused = self.refused(*command, path, "--model", "m.safetensors", "--output", "x.csv", "--set", f"data.table.{field}={value}", status=1)
                self.assertRegex(refused, rf"the rows are prepared by the model, which contains no pipeline \(.*data.table.{field}\): expected no such field")
        self.assertFalse((self.folder / "x.csv").exists())

    def test_predict_reads_only_the_columns_of_the_encoder_and_reports_dropped_rows(self):
        path = self.trained_on_a_table()
        lines = (self.folder / "train.csv").read_text(encoding="utf-8").splitlines()
        fields = [line.split(",") for line in lines]
        fields[3][1] = fields[120][1] = ""  # x, an input
        fields[5][3] = ""                   # kind, the target
        (self.folder / "gaps.csv").write_text("\n".join(map(",".join, fields)) + "\n", encoding="utf-8")
        flags = ("predict", path, "--model", "m.safetensors", "--output", "out.csv", "--set", "data.table.file=gaps.csv")
        self.assertIn("a value is missing", self.refused(*flags, status=1))
        for key in ((), ("--key", "id")):
            done = self.run_it(*flags, *key, "--set", "data.table.format.missing=drop")
            self.assertIn("2 of 120 rows dropped because of missing values\n", done.stderr)
            kept = [number for number in range(1, 121) if number not in (3, 120)]
            self.assertEqual([row["key"] for row in self.read("out.csv")], [fields[number][0] if key else str(number) for number in kept])
        (self.folder / "gaps.csv").write_text("\n".join(lines[:5] + [lines[5].rsplit(",", 1)[0] + ","]) + "\n", encoding="utf-8")
        self.assertNotIn("dropped", self.run_it(*flags).stderr)
        self.assertEqual(len(self.read("out.csv")), 5)

    def test_predict_overwrites_none_of_its_inputs(self):
        path = self.trained_on_a_table()
        (self.folder / "link.csv").symlink_to("train.csv")
        (self.folder / "m.npy").write_bytes((self.folder / "m.safetensors").read_bytes())
        for model, output in (("m.safetensors", "train.csv"), ("m.safetensors", "./train.csv"), ("m.safetensors", "link.csv"), ("m.npy", "m.npy")):
            before = (self.folder / output).read_bytes()
            self.assertEqual(self.refused("predict", path, "--model", model, "--output", output),
                             f"cohort predict: --output: expected another file than those that the command reads, got '{output}'")
            self.assertEqual((self.folder / output).read_bytes(), before)

    def test_predict_discards_the_parts_of_an_interrupted_call_by_a_flag(self):
        path = self.trained_on_a_table()
        parts = self.folder / "out.csv.parts"
        parts.mkdir()
        self.run_it("predict", path, "--model", "m.safetensors", "--output", "whole.csv")
        (parts / "run.json").write_text(json.dumps({name: "" for name in ("network", "parameters", "normalisation", "data", "outputs", "columns",
                                                                            "format", "keys", "chunk", "sharding")}), encoding="utf-8")
        flags = ("predict", path, "--model", "m.safetensors", "--output", "out.csv")
        for ranks in ("1", "2"):
            refused = self.refused(*flags, "--ranks", ranks, status=1)
            self.assertIn("repeat the interrupted call, or discard its part files by the flag --restart", refused)
            self.assertNotIn(".resume", refused)
        self.run_it(*flags, "--restart", "--ranks", "2")
        self.assertFalse(parts.exists())
        self.assertEqual((self.folder / "out.csv").read_bytes(), (self.folder / "whole.csv").read_bytes())

    def test_predict_uses_the_examples_for_training_in_their_order(self):
        path = self.write(DIGITS)
        self.run_it("train", path, "--set", "output.model=d.safetensors")
        self.run_it("predict", path, "--model", "d.safetensors", "--output", "out.npy")
        outputs = numpy.load(self.folder / "out.npy")
        self.assertEqual(outputs.shape, (96, 10))
        self.assertTrue(numpy.allclose(outputs.sum(1), 1, atol=1e-5))
        self.run_it("predict", path, "--model", "d.safetensors", "--output", "out.csv")
        self.assertEqual([row["example"] for row in self.read("out.csv")], [str(number) for number in range(96)])

    def test_predict_keys_records_by_their_keys(self):
        numbers = random.Random(1)
        with tarfile.open(self.folder / "r.tar", "w") as archive:
            for name in ("b", "a", "c", "d"):
                for field, content in (("x", struct.pack("<4f", *[numbers.random() for _ in range(4)])), ("cls", b"1")):
                    entry = tarfile.TarInfo(f"{name}.{field}")
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        records = {"format": "webdataset", "files": "r.tar", "test_files": "r.tar", "classes": 2, "cache": "none",
                   "content": {"numbers": {"extents": [4], "values": "x", "type": "f32"}}}
        path = self.write({"version": 1, "network": {"layers": [{"input": [4]}, {"dense": 2}, "softmax_cross_entropy"]},
                           "data": {"records": records}, "output": {"model": "m.safetensors"}})
        self.run_it("train", path)
        self.run_it("predict", path, "--model", "m.safetensors", "--output", "out.csv")
        self.assertEqual([row["key"] for row in self.read("out.csv")], ["b", "a", "c", "d"])
        refused = self.refused("predict", path, "--model", "m.safetensors", "--output", "x.csv", "--set", "data.records.bad=skip", status=1)
        self.assertRegex(refused, r"a damaged example has no outputs that could be written \(.*data.records.bad\): expected stop; remove the "
                                  r"damaged files or records, got skip$")

    # ---- features ------------------------------------------------------------------------------------------
    def test_features_writes_the_outputs_of_named_layers(self):
        path = self.trained_on_a_table()
        self.run_it("features", path, "--model", "m.safetensors", "--layers", "code,relu_1", "--output", "f.npy", "--key", "id")
        code, rectified = numpy.load(self.folder / "f.code.npy"), numpy.load(self.folder / "f.relu_1.npy")
        self.assertEqual(code.shape, (120, 8))
        self.assertTrue((numpy.maximum(code, 0) == rectified).all())
        self.assertEqual(numpy.load(self.folder / "f.key.npy")[1], b"0007")

    def test_refuses_invalid_flags(self):
        path = self.trained_on_a_table()
        model = ("--model", "m.safetensors")
        for flags, sentence in (
                (("predict", path, *model), "predict: --output: expected a file that ends in .csv or .npy, got none"),
                (("predict", path, *model, "--output", "x.txt"), "predict: --output: expected a file that ends in .csv or .npy, got 'x.txt'"),
                (("predict", path, "--output", "x.csv"), "predict: --model: expected a model file, got none; output.model of a training, "
                                                         "and cohort import, write one"),
                (("features", path, *model, "--output", "x.csv"), "features: --layers: expected names of layers, such as dense_1, got none"),
                (("predict", path, *model, "--output", "/no/such/x.csv"), "predict: --output: expected a folder that can be written, got "
                                                                          "'/no/such': No such file or directory"),
                (("predict", path, *model, "--layer", "x"), "predict: unknown flag '--layer'; --help lists the flags")):
            self.assertEqual(self.refused(*flags), f"cohort {sentence}")
        for ranks in ("1", "2"):
            refused = self.refused("features", path, *model, "--layers", "cod", "--output", "x.csv", "--ranks", ranks)
            self.assertRegex(refused, "--layers: .*code")
        digits = self.write(DIGITS, "digits.json")
        self.run_it("train", digits, "--set", "output.model=d.safetensors", "--set", "training.epochs=0")
        self.assertEqual(self.refused("predict", digits, "--model", "d.safetensors", "--key", "id", "--output", "x.csv"),
                         "cohort predict: --key: expected data.table, because only tables have columns, got other data")
        refused = self.refused("predict", digits, *model, "--output", "x.csv", status=1)
        self.assertRegex(refused, r"the model was trained on the rows of a table \(.*data\): expected table")


if __name__ == "__main__":
    unittest.main()
