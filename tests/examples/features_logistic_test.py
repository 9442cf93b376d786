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


if __name__ == "__main__":
    unittest.main()
