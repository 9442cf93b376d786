# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# label: slow
"""The program features_logistic: the accuracy of a logistic regression on LeNet's features, and the saved models."""
import os
import re
import unittest

import reference_program as program
from lenet_mnist_program import write_digits


class features_logistic(program.cases, unittest.TestCase):
    name = "features_logistic"
    defaults = ("32", "0.02", "123")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.few = ("--data", write_digits(os.path.join(cls.folder, "digits"), train=640))

    def regression(self, *flags):
        """Returns the regression's accuracy, the run's numbers, and the finished process."""
        numbers, done = program.report(self.name, self.folder, *self.few, *flags)
        found = re.search(r"^logistic regression on the 200 features: accuracy ([\d.]+) %$", done.stdout, re.MULTILINE)
        self.assertTrue(found, done.stdout)
        return float(found.group(1)), numbers, done

    def test_learns_from_the_features_and_saves_both(self):
        model = os.path.join(self.folder, "lenet.safetensors")
        accuracy, first, done = self.regression("--epochs", "2", "--save", model)
        self.assertGreater(accuracy, 50)  # in %, of ten classes
        self.assertIn(f"saved in {model}.logistic\n", done.stdout)
        self.assertGreater(os.path.getsize(f"{model}.logistic"), 4 * 2010)
        again, loaded, _ = self.regression("--epochs", "0", "--load", model)
        self.assertEqual((again, loaded["checksum"]), (accuracy, first["checksum"]))  # LeNet is unchanged

    def test_two_ranks_agree_on_a_regression(self):
        accuracy, _, _ = self.regression("--epochs", "2", "--ranks", "2")
        self.assertGreater(accuracy, 50)

    def test_writes_the_same_features_on_any_number_of_ranks(self):
        model = os.path.join(self.folder, "for_features.safetensors")
        self.regression("--epochs", "1", "--save", model)
        made = []
        for ranks in ("1", "2", "3"):
            path = os.path.join(self.folder, f"features{ranks}.csv")
            _, _, done = self.regression("--epochs", "0", "--load", model, "--ranks", ranks, "--features", path)
            self.assertIn(f"images in {path}\n", done.stdout)
            with open(path, encoding="utf-8") as file:
                made.append(file.read())
        lines = made[0].splitlines()
        self.assertTrue(lines[0].startswith("example,features.0,features.1,"))
        self.assertTrue(all(line.count(",") == 200 for line in lines))
        self.assertEqual(made[1:], made[:1] * 2)
        path = os.path.join(self.folder, "features.npy")
        self.regression("--epochs", "0", "--load", model, "--ranks", "2", "--features", path)
        self.assertEqual(os.path.getsize(path), 128 + 4 * 200 * (len(lines) - 1))


if __name__ == "__main__":
    unittest.main()
