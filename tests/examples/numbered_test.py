# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# label: slow
"""The numbered examples run on a few noisy digits and learn them. The README shows the first one."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import lenet_mnist_program

EXAMPLES = pathlib.Path(os.environ["COHORT_BUILD_DIR"]) / "examples"
LONGEST = 120  # seconds a program may take


class numbered_examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.digits = pathlib.Path(cls.folder.name) / "digits"
        lenet_mnist_program.write_digits(cls.digits, train=1600, test=400)

    def run_example(self, name, *arguments):
        """Returns the program's output; fails if the program fails."""
        done = subprocess.run([EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True, timeout=LONGEST,
                              env={**os.environ, "COHORT_DATA": str(self.digits)})
        self.assertEqual(done.returncode, 0, f"{name} {arguments}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def accuracy(self, text):
        return float(re.search(r"(\d+\.\d+) %", text).group(1))

    def test_01_lenet_learns(self):
        self.assertGreater(self.accuracy(self.run_example("01_lenet")), 90)

    def test_02_custom_loop_learns(self):
        text = self.run_example("02_custom_loop")
        losses = [float(loss) for loss in re.findall(r"epoch \d: loss (\d+\.\d+)", text)]
        self.assertEqual(len(losses), 2)
        self.assertLess(losses[1], losses[0])
        self.assertGreater(self.accuracy(re.search("accuracy on .*", text).group()), 90)

    def test_03_predict_and_04_serve_use_a_saved_model(self):
        model = pathlib.Path(self.folder.name) / "lenet.safetensors"
        self.run_example("lenet_mnist", "--epochs", 1, "--save", model, "--data", self.digits)
        self.assertTrue(self.run_example("03_predict", model))
        served = self.run_example("04_serve", model)
        for way in ("one by one", "in batches"):
            self.assertIn(way, served)


if __name__ == "__main__":
    unittest.main()
