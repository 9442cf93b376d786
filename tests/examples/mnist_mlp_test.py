# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# label: slow
"""The perceptron's program: learns, also by several ranks, and saves a model that another run loads."""
import os
import unittest

import reference_program as program
from lenet_mnist_program import write_digits


class mnist_mlp(program.cases, unittest.TestCase):
    name = "mnist_mlp"
    defaults = ("32", "0.02", "12345")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.few = ("--data", write_digits(os.path.join(cls.folder, "digits"), train=640), "--epochs", "2")

    def test_learns_and_reloads_a_saved_model(self):
        model = os.path.join(self.folder, "mlp.safetensors")
        once, _ = program.report(self.name, self.folder, *self.few, "--save", model)
        self.assertEqual((once["steps"], once["learning_rate"], once["seed"]), (40, 0.02, 12345))
        self.assertLess(once["loss"], 2)  # from ln 10
        loaded, _ = program.report(self.name, self.folder, *self.few, "--load", model, "--epochs", "0")
        self.assertEqual((loaded["checksum"], loaded["accuracy"]), (once["checksum"], once["accuracy"]))

    def test_learns_on_two_ranks(self):
        two, _ = program.report(self.name, self.folder, *self.few, "--ranks", "2")
        self.assertEqual((two["strategy"], two["steps"]), ("allreduce", 20))
        self.assertLess(two["loss"], 2)

    def test_refuses_the_flag_original(self):
        program.run(self.name, "--original", expect=2)


if __name__ == "__main__":
    unittest.main()
