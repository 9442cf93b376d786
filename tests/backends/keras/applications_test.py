# SPDX-License-Identifier: Apache-2.0
# needs: keras onednn
# label: slow
"""Networks of keras.applications with random weights compute the same outputs in Cohort as in Keras: applications.cpp.

The preset full runs them if COHORT_KERAS_PYTHON names a Python with Keras and a backend:
    COHORT_KERAS_PYTHON=venv/bin/python KERAS_BACKEND=torch cmake --workflow --preset full
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ.get("COHORT_PROGRAM")
PYTHON = os.environ.get("COHORT_KERAS_PYTHON")
GOLDEN = pathlib.Path(__file__).resolve().parent.parent.parent / "golden" / "keras"
# Networks and the extents of their images.
NETWORKS = {"ResNet50": (64, 64, 3), "MobileNet": (64, 64, 3), "VGG16": (32, 32, 3), "DenseNet121": (64, 64, 3)}
SCRIPT = """
import sys, numpy, keras
name, folder = sys.argv[1:3]
shape = tuple(map(int, sys.argv[3:]))
keras.utils.set_random_seed(1)
model = getattr(keras.applications, name)(weights=None, input_shape=shape, include_top=True, classes=10, classifier_activation=None)
images = numpy.random.default_rng(1).random((2, *shape), dtype="float32")
norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
for layer in norms:  # the statistics of these images: with those of a new network the signal vanishes
    layer.momentum = 0.0
model(images, training=True)
for layer in norms:
    layer.momentum = 0.99
model.save(folder + "/model.keras")
images.transpose(0, 3, 1, 2).copy().tofile(folder + "/images")
keras.ops.convert_to_numpy(model(images, training=False)).astype("float64").tofile(folder + "/single")
keras.config.set_floatx("float64")
keras.config.set_dtype_policy("float64")
wide = getattr(keras.applications, name)(weights=None, input_shape=shape, include_top=True, classes=10, classifier_activation=None)
wide.set_weights(model.get_weights())
keras.ops.convert_to_numpy(wide(images.astype("float64"), training=False)).astype("float64").tofile(folder + "/double")
print(sum(int(numpy.prod(w.shape)) for w in model.trainable_variables), "parameters")
"""


class applications(unittest.TestCase):
    def test_the_program_writes_predictions(self):
        with tempfile.TemporaryDirectory() as folder:
            images = pathlib.Path(folder, "images")
            images.write_bytes(bytes(4 * 36))
            done = subprocess.run([PROGRAM, GOLDEN / "cnn.keras", images, folder + "/made"], check=True, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.stdout, "56 parameters\n")
            self.assertEqual(os.path.getsize(folder + "/made"), 8)

    if os.environ.get("COHORT_LONG_TESTS") == "1" and PYTHON:
        def test_networks_match_the_outputs_of_keras(self):
            import numpy
            for name, shape in NETWORKS.items():
                with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                    keras = subprocess.run([PYTHON, "-c", SCRIPT, name, folder, *map(str, shape)], check=True, capture_output=True, text=True, timeout=280)
                    done = subprocess.run([PROGRAM, folder + "/model.keras", folder + "/images", folder + "/made"], check=True, capture_output=True, text=True, timeout=280)
                    self.assertEqual(done.stdout.splitlines()[-1], keras.stdout.splitlines()[-1])
                    made = numpy.fromfile(folder + "/made", dtype="float32")
                    single, double = (numpy.fromfile(f"{folder}/{one}", dtype="float64") for one in ("single", "double"))
                    self.assertEqual(made.size, double.size)
                    # Compares logits, because a softmax of random weights is 0 or 1, whatever the preceding
                    # layers compute. Statistics of two images amplify rounding, so the bound is relative to
                    # Keras' error in single precision.
                    largest = abs(double).max()
                    of_cohort, of_keras = float(abs(made - double).max() / largest), float(abs(single - double).max() / largest)
                    print(f"{name}: {done.stdout.strip()}; logits up to {largest:.3g}; from double precision, relative to it: "
                          f"Cohort {of_cohort:.2g}, Keras {of_keras:.2g}", file=sys.stderr)
                    self.assertLess(of_cohort, max(1e-5, 3 * of_keras))


if __name__ == "__main__":
    unittest.main()
