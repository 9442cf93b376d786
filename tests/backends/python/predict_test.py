# SPDX-License-Identifier: Apache-2.0
"""The Python module: outputs of the library, arrays of NumPy and DLPack in place, threads, and errors with their text."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(os.environ["COHORT_BUILD_DIR"]) / "backends/python"))
import cohort_predict  # noqa: E402


def numbers(*shape):
    return ((numpy.arange(numpy.prod(shape)) * 37 % 17) / 8 - 1).astype("float32").reshape(shape)


def indices(*shape):
    return (numpy.arange(numpy.prod(shape)) * 5 % 7).astype("int32").reshape(shape)


class exported:
    """An object of another framework: nothing but DLPack."""

    def __init__(self, array):
        self.array, self.calls = array, 0

    def __dlpack__(self, **settings):
        self.calls += 1
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class module(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="cohort_")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        subprocess.run([os.environ["COHORT_PROGRAM"], cls.folder], check=True, timeout=60)

    def model(self, name, **settings):
        return cohort_predict.Model(self.folder / f"{name}.safetensors", **{"backend": "onednn", **settings})

    def expected(self, name):
        return numpy.load(self.folder / f"{name}.npy")

    def refused(self, code, text, call, *arguments, **more):
        with self.assertRaises(cohort_predict.Error) as caught:
            call(*arguments, **more)
        self.assertEqual((caught.exception.code, str(caught.exception)), (code, text))

    def test_describes_a_model(self):
        model = self.model("image", backend="reference", threads=2)
        self.assertEqual(model.backend, "reference<float>")
        self.assertEqual(repr(model.inputs), "[TensorInfo(name='pixels', shape=(1, 6, 6), dtype='float32')]")
        self.assertEqual([(one.name, one.shape) for one in model.outputs], [("digit", (3,)), ("even", (2,))])
        one = self.model("series").inputs[0]
        self.assertEqual((one.name, one.shape, one.dtype, one.masked), ("series", (5, 2), "float32", True))
        self.assertEqual(self.model("words").inputs[0].dtype, "int32")
        self.assertRegex(cohort_predict.__version__, r"^\d+\.\d+\.\d+$")

    def test_has_the_outputs_of_the_library(self):
        digits, even = self.model("image").predict(numbers(33, 1, 6, 6))
        numpy.testing.assert_array_equal(digits, self.expected("digits"))
        numpy.testing.assert_array_equal(even, self.expected("even"))
        self.assertEqual((digits.dtype, digits.shape), (numpy.float32, (33, 3)))
        series, mask = self.model("series"), numpy.arange(5) < 3
        numpy.testing.assert_array_equal(series.predict(numbers(3, 5, 2)), self.expected("series"))
        for masks in (numpy.tile(mask, (3, 1)), [numpy.tile(mask, (3, 1)).astype("uint8")]):
            numpy.testing.assert_array_equal(series.predict(numbers(3, 5, 2), masks), self.expected("masked"))
        numpy.testing.assert_array_equal(self.model("words").predict([indices(5, 4)]), self.expected("words"))

    def test_outputs_own_their_memory(self):
        model = self.model("words")
        first = model.predict(indices(5, 4))
        kept = first.copy()
        del model
        self.assertTrue(first.flags.writeable and first.flags.c_contiguous)
        numpy.testing.assert_array_equal(first, kept)

    def test_reads_dlpack_and_read_only_memory(self):
        model, given = self.model("words"), exported(indices(5, 4))
        numpy.testing.assert_array_equal(model.predict(given), self.expected("words"))
        self.assertEqual(given.calls, 1)
        fixed = indices(5, 4)
        fixed.flags.writeable = False
        numpy.testing.assert_array_equal(model.predict(fixed), self.expected("words"))
        numpy.testing.assert_array_equal(numpy.from_dlpack(model.predict(fixed)), self.expected("words"))

    def test_reads_tensors_of_torch(self):
        try:
            import torch
        except ImportError:
            return  # also covered by `exported`
        made = self.model("words").predict(torch.from_numpy(indices(5, 4)))
        numpy.testing.assert_array_equal(torch.from_dlpack(made).numpy(), self.expected("words"))

    def test_streams_continue_sequences(self):
        whole, wanted = numbers(3, 5, 2), self.expected("series")
        stream = self.model("series").stream(3)
        for _ in range(2):
            first = stream.advance(numpy.ascontiguousarray(whole[:, :2]))
            second = stream.advance(numpy.ascontiguousarray(whole[:, 2:]), numpy.ones((3, 3), bool))
            numpy.testing.assert_allclose(numpy.concatenate([first, second], 1), wanted, rtol=1e-6, atol=1e-7)
            stream.reset()
        self.refused("shape_error", "the array has another shape (input series): expected 3xkx2, got 2x5x2", stream.advance, whole[:2])
        self.refused("argument_error", "an argument is out of range (sequence): expected -1 to 2, got 3", stream.reset, 3)
        self.refused("argument_error", "an argument is out of range (sequences): expected 1 to 16777216, got 0", self.model("series").stream, 0)

    def test_threads_run_without_the_lock_of_the_interpreter(self):
        model, wanted, wrong = self.model("image"), self.expected("digits"), []

        def call():
            for _ in range(50):
                if not numpy.array_equal(model.predict(numbers(33, 1, 6, 6))[0], wanted):
                    wrong.append(1)

        threads = [threading.Thread(target=call) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
        self.assertEqual(wrong, [])

    def test_the_program_of_the_page_runs(self):
        page = (pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "docs/predict_from_c_and_python.md").read_text(encoding="utf-8")
        program = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1)
        program = program.replace("lenet.safetensors", str(self.folder / "image.safetensors")).replace("28", "6")
        made = {}
        exec(program, made)  # a model of smaller images, with two outputs
        self.assertEqual([one.shape for one in made["probabilities"]], [(32, 3), (32, 2)])

    def test_errors_have_code_and_text(self):
        self.refused("file_error", "cannot open the file (/no/such): No such file or directory", cohort_predict.Model, "/no/such")
        self.refused("backend_error", "the backend is unknown: expected auto, onednn, onednn_bf16 or reference, got gpu", self.model, "image",
                     backend="gpu")
        self.refused("argument_error", "an argument is out of range (threads): expected 1 to 1024, got 0", self.model, "image", threads=0)
        predict = self.model("image").predict
        image = numbers(1, 1, 6, 6)
        self.refused("shape_error", "the array has another type (input pixels): expected float32, which is read without a copy, got float64",
                     predict, image.astype("float64"))
        self.refused("shape_error", "the array has another shape (input pixels): expected nx1x6x6, got 1x36", predict, image.reshape(1, 36))
        self.refused("shape_error", "the array is not contiguous (input pixels): expected numpy.ascontiguousarray(…), because it is read "
                     "without a copy, got strides", predict, numbers(1, 1, 6, 12)[..., ::2])
        self.refused("argument_error", "the argument is no array (input pixels): expected a NumPy array or an object with __dlpack__, got "
                     "<class 'str'>", predict, "image")
        self.refused("shape_error", "a call has the wrong number of inputs: expected 1, got 2", predict, [image, image])
        self.refused("shape_error", "a call has the wrong number of masks: expected 0, one for each masked input, or none, got 1", predict, image,
                     [image])
        self.refused("argument_error", "an argument is out of range (count): expected 1 to 16777216, got 0", predict, image[:0])
        series = self.model("series").predict
        self.refused("shape_error", "the array has another type (mask of series): expected bool or uint8, which is read without a copy, got "
                     "float32", series, numbers(3, 5, 2), numbers(3, 5))
        self.refused("shape_error", "the array has another shape (mask of series): expected 3x5, got 2x5", series, numbers(3, 5, 2),
                     numpy.ones((2, 5), bool))
        with self.assertRaises(cohort_predict.Error) as caught:
            self.model("words").predict(indices(5, 4) + 3)
        self.assertEqual(caught.exception.code, "data_error")


if __name__ == "__main__":
    unittest.main()
