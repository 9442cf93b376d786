# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
"""cohort import recognises files of Deeplearning4j by their contents, and a run continues from the state of their updaters."""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program  # noqa: E402

FILES = pathlib.Path(__file__).resolve().parents[2] / "golden/deeplearning4j"


class deeplearning4j_files(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def imported(self, name, *flags):
        done = reference_program.run("cohort", "import", FILES / name, "--to", self.folder / "m.safetensors", *flags)
        self.assertRegex(done.stdout, r"m.safetensors: \d+ layers, \d+ parameters; inputs input; outputs \w+\n")
        return reference_program.run("cohort", "describe", self.folder / "m.safetensors").stdout

    def test_are_imported_under_every_name(self):
        shutil.copy(FILES / "images.zip", self.folder / "model.bin")
        self.assertEqual(self.imported(self.folder / "model.bin"), self.imported("images.zip"))
        self.assertIn("second", self.imported("images.zip"))
        self.imported("sequences.zip", "--input", "input=4x2")
        refused = reference_program.run("cohort", "import", FILES / "sequences.zip", "--to", self.folder / "m.safetensors", expect=1)
        self.assertIn("the number of steps of the input input is unknown", refused.stderr)
        refused = reference_program.run("cohort", "import", FILES / "images.zip", "--to", self.folder / "m.safetensors", "--state", expect=1)
        self.assertIn("the file does not contain the state of a training (--state): expected a file of Deeplearning4j", refused.stderr)

    def test_train_on_from_the_state_of_their_updaters(self):
        self.imported("adam.zip", "--state")
        rows = "".join(f"{i % 5},{i % 3},{i % 2},1,{i % 7},{'abc'[i % 3]}\n" for i in range(24))
        (self.folder / "rows.csv").write_text("a,b,c,d,e,kind\n" + rows, encoding="utf-8")
        table = {"file": str(self.folder / "rows.csv"), "target": "kind", "inputs": ["a", "b", "c", "d", "e"]}
        network = {"model": str(self.folder / "m.safetensors"), "optimizer_state": True}
        rule = {"adam": {"learning_rate": 0.05, "epsilon": 0, "epsilon_hat": 1e-8}}
        document = {"version": 1, "network": network, "data": {"table": table}, "backend": "reference",
                    "optimizer": {"rule": rule, "l2": 0.01}, "training": {"epochs": 3, "batch": 8},
                    "output": {"report": str(self.folder / "report.json")}}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
        reference_program.run("cohort", "train", self.folder / "run.json")
        # 3 epochs of 3 steps follow the 3 steps and the epoch of the file.
        self.assertEqual(json.loads((self.folder / "report.json").read_text(encoding="utf-8"))["steps"], 9)


if __name__ == "__main__":
    unittest.main()
