# SPDX-License-Identifier: Apache-2.0
# needs: keras
"""A masked bidirectional model of Keras is imported, trained on two ranks, exported and run by ONNX Runtime: train_and_export.cpp."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import onnxruntime

GOLDEN = pathlib.Path(__file__).resolve().parent.parent.parent / "golden" / "keras"


class train_and_export(unittest.TestCase):
    def test_trains_a_keras_model_and_exports_it_to_onnx_runtime(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([os.environ["COHORT_PROGRAM"], GOLDEN / "tagger.keras", folder], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            first, last = map(float, done.stdout.split())
            self.assertLess(last, 0.8 * first)
            inputs = numpy.fromfile(folder + "/inputs", "float32").reshape(8, 5, 3)
            expected = numpy.fromfile(folder + "/outputs", "float32").reshape(8, 3)
            session = onnxruntime.InferenceSession(folder + "/model.onnx", providers=["CPUExecutionProvider"])
            self.assertEqual([one.name for one in session.get_inputs()], ["x"])
            self.assertEqual([one.name for one in session.get_outputs()], ["out"])
            made, = session.run(None, {"x": inputs})
            self.assertLess(float(abs(made - expected).max()), 1e-5)
            inputs[0, 1:] = 9  # no padding
            made, = session.run(None, {"x": inputs})
            self.assertGreater(float(abs(made - expected).max()), 1e-3)


if __name__ == "__main__":
    unittest.main()
