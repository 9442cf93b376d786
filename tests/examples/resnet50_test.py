# SPDX-License-Identifier: Apache-2.0
# needs: onednn
# label: slow
"""ResNet-50's program: it is the network of that name, and its loss falls on what it draws."""
import os
import re
import tempfile
import unittest

import reference_program as program


class resnet50(program.cases, unittest.TestCase):
    name = "resnet50"
    defaults = ("8", "0.01", "123")

    def test_learns_what_it_draws(self):
        with tempfile.TemporaryDirectory() as folder:
            made, done = program.report(self.name, folder, "--threads", "2", "--epochs", "2")
            if os.environ.get("COHORT_LONG_TESTS") == "1":
                less, said = program.report(self.name, folder, "--threads", "2", "--epochs", "2", "--recompute")
                self.assertEqual(less["checksum"], made["checksum"])
                self.assertRegex(said.stderr, r"; recomputation: \d+ kernels run again, ")
        self.assertEqual(done.stdout.splitlines()[0],
                         "These images are synthetic; the accuracy is not that of ImageNet.")
        self.assertEqual((made["steps"], made["data"]), (8, "drawn"))
        first = re.search(r"epoch 1: loss ([\d.]+),", done.stderr)
        self.assertLess(made["loss"], float(first.group(1)))

    def test_has_no_folder_of_data(self):
        program.run(self.name, "--data", ".", expect=2)


if __name__ == "__main__":
    unittest.main()
