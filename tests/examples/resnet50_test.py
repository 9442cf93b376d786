# SPDX-License-Identifier: Apache-2.0
# needs: onednn
# label: slow long
"""ResNet-50's program: its network is ResNet-50, and its loss falls on synthetic images."""
import os
import pathlib
import re
import tempfile
import unittest

import numpy
import reference_program as program
import safetensors.numpy

MAP = pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "examples/torchvision_resnet.map"


def torchvision_state():
    """A state of torchvision's resnet50, with its names and shapes."""
    state, draw = {}, numpy.random.default_rng(1)

    def convolution(name, norm, outputs, inputs, kernel):
        shape = (outputs, inputs, kernel, kernel)
        state[f"{name}.weight"] = draw.normal(0, (2 / (inputs * kernel * kernel)) ** 0.5, shape).astype("f4")
        for key, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            state[f"{norm}.{key}"] = numpy.full(outputs, value, "f4")
        state[f"{norm}.num_batches_tracked"] = numpy.zeros((), "i8")

    convolution("conv1", "bn1", 64, 3, 7)
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            at = f"layer{stage + 1}.{block}."
            for k, (outputs, reads, kernel) in enumerate(((width, inputs, 1), (width, width, 3), (4 * width, width, 1)), start=1):
                convolution(f"{at}conv{k}", f"{at}bn{k}", outputs, reads, kernel)
            if block == 0:
                convolution(f"{at}downsample.0", f"{at}downsample.1", 4 * width, inputs, 1)
            inputs = 4 * width
    state["fc.weight"], state["fc.bias"] = draw.normal(0, 0.02, (1000, inputs)).astype("f4"), numpy.zeros(1000, "f4")
    return state


class resnet50(program.cases, unittest.TestCase):
    name = "resnet50"
    defaults = ("8", "0.01", "123")

    def test_learns_synthetic_images(self):
        with tempfile.TemporaryDirectory() as folder:
            made, done = program.report(self.name, folder, "--threads", "2", "--epochs", "2")
            if os.environ.get("COHORT_LONG_TESTS") == "1":
                less, said = program.report(self.name, folder, "--threads", "2", "--epochs", "2", "--recompute")
                self.assertEqual(less["checksum"], made["checksum"])
                self.assertRegex(said.stderr, r"; recomputation: \d+ kernels run again, ")
        self.assertEqual(done.stdout.splitlines()[0],
                         "These images are synthetic; the accuracy is not that of ImageNet.")
        self.assertEqual((made["steps"], made["data"]), (8, "synthetic"))
        first = re.search(r"epoch 1 of \d+: loss ([\d.]+),", done.stderr)
        self.assertLess(made["loss"], float(first.group(1)))

    def test_reads_the_parameters_of_torchvision(self):
        state = torchvision_state()
        with tempfile.TemporaryDirectory() as folder:
            file, other = pathlib.Path(folder) / "torchvision.safetensors", pathlib.Path(folder) / "other.map"
            safetensors.numpy.save_file(state, file)
            done = program.run(self.name, "--weights", file, "--map", MAP, "--epochs", "0", "--threads", "2")
            other.write_text("fc.bias  head.bias\n" + MAP.read_text(encoding="utf-8"), encoding="utf-8")
            failed = program.run(self.name, "--weights", file, "--map", other, "--epochs", "0", expect=1)
        self.assertIn(f"267 parameters from {file}, 0 kept, 53 tensors ignored\n", done.stdout)
        self.assertEqual(failed.stderr.splitlines()[-1],
                         f"resnet50: the tensors do not fit the network ({file}, by {other}): expected a line of the map for "
                         "each parameter (NAME - keeps its value) and each tensor (- NAME ignores it), and all tensors that these lines "
                         "name, got missing tensors: head.bias for fc.bias; unused tensors: fc.bias")

    def test_requires_weights_and_map_together(self):
        for given, other in (("--weights", "--map"), ("--map", "--weights")):
            done = program.run(self.name, given, "x", expect=2)
            self.assertEqual(done.stderr, f"resnet50: {given}: expected {other} FILE as well, got none\n")

    def test_refuses_the_flag_data(self):
        program.run(self.name, "--data", ".", expect=2)


if __name__ == "__main__":
    unittest.main()
