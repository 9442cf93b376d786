# SPDX-License-Identifier: Apache-2.0
"""ONNX's checker accepts every exported network, and ONNX Runtime computes Cohort's outputs to 1e-5."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
import onnxruntime


def read_case(folder):
    data = (folder / "data.bin").read_bytes()
    inputs, outputs, lengths = {}, [], None
    for line in (folder / "case.txt").read_text().splitlines():
        role, name, kind, *extents = line.split()
        if role == "texts":
            inputs[name] = numpy.array([[text] for text in [kind, *extents]], object)
            continue
        extents = [int(extent) for extent in extents]
        size = 4 * int(numpy.prod(extents))
        values = numpy.frombuffer(data[:size], kind).reshape(extents)
        data = data[size:]
        if role in ("input", "lengths"):
            inputs[name] = values
            if role == "lengths":
                lengths = values
        else:
            outputs.append((name, values, role == "masked_output"))
    return inputs, outputs, lengths


class exported_networks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        done = subprocess.run([os.environ["COHORT_PROGRAM"], cls.folder.name], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.cases = sorted(pathlib.Path(cls.folder.name).iterdir())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_agree_with_onnx_runtime(self):
        self.assertGreater(len(self.cases), 100)
        for case in self.cases:
            with self.subTest(case.name):
                self.check(case)

    def check(self, case):
        model = onnx.load(case / "model.onnx")
        onnx.checker.check_model(model, full_check=True)
        self.assertEqual(model.ir_version, 8)
        self.assertEqual([(one.domain, one.version) for one in model.opset_import][0], ("", 17))
        session = onnxruntime.InferenceSession(str(case / "model.onnx"), providers=["CPUExecutionProvider"])
        inputs, outputs, lengths = read_case(case)
        self.assertEqual(sorted(one.name for one in session.get_inputs()), sorted(inputs))
        self.assertEqual([one.name for one in session.get_outputs()], [name for name, _, _ in outputs])
        for (name, expected, is_masked), got in zip(outputs, session.run(None, inputs)):
            self.assertEqual(got.shape, expected.shape, name)
            self.assertEqual(got.dtype, numpy.float32)
            if is_masked and lengths is not None:
                steps = numpy.arange(expected.shape[1])[None, :] < lengths[:, None]
                got, expected = got[steps], expected[steps]
            worst = float(numpy.max(numpy.abs(got - expected) / numpy.maximum(1, numpy.abs(expected))))
            self.assertLess(worst, 1e-5, name)


if __name__ == "__main__":
    unittest.main()
