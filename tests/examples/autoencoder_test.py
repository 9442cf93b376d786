# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# label: slow
"""The example autoencoder: its principal components equal numpy's, and the trained network restores unseen images better than the mean image."""
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

import numpy

PROGRAM = pathlib.Path(os.environ["COHORT_BUILD_DIR"]) / "examples/autoencoder"
COMPONENTS = 16


def write_images(folder, train, test):
    """MNIST's four files with random sums of 24 patterns whose weights decrease; returns both sets in [0, 1]."""
    random = numpy.random.default_rng(1)
    patterns = random.normal(size=(24, 784)) * 0.85 ** numpy.arange(24)[:, None]
    sets = []
    for name, count in (("train", train), ("t10k", test)):
        images = numpy.clip(128 + 20 * random.normal(size=(count, 24)) @ patterns, 0, 255).astype(numpy.uint8)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, count, 28, 28) + images.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) + bytes(count))
        sets.append(images / 255)
    return sets


class autoencoder(unittest.TestCase):
    def test_prints_the_errors_of_components_and_network(self):
        with tempfile.TemporaryDirectory() as folder:
            train, test = write_images(pathlib.Path(folder), 2000, 400)
            done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=300, env={**os.environ, "COHORT_DATA": folder})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2000 images to train, 400 to test; 16 numbers per image\n", done.stdout)
        printed = {name.strip(): float(error) for name, error in re.findall(r"^  ([a-z ]+) (\d\.\d+)$", done.stdout, re.MULTILINE)}
        mean = train.mean(axis=0)
        components = numpy.linalg.svd(train - mean, full_matrices=False)[2][:COMPONENTS]
        centred = test - mean
        self.assertAlmostEqual(printed["mean image"], (centred ** 2).mean(), delta=1e-5)
        self.assertAlmostEqual(printed["components"], ((centred - centred @ components.T @ components) ** 2).mean(), delta=1e-5)
        self.assertLess(printed["autoencoder"], 0.5 * printed["mean image"])


if __name__ == "__main__":
    unittest.main()
