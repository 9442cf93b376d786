# SPDX-License-Identifier: Apache-2.0
"""The Python module: outputs of the library, arrays of NumPy and DLPack in place, threads, and errors with their text."""
import ast
import ctypes
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


class on_a_gpu(exported):
    """An array that claims to be in the memory of a GPU."""

    def __dlpack__(self, **settings):
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = 2  # DLTensor::device, kDLCUDA
        return capsule


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

    def test_names_the_most_probable_classes(self):
        model = self.model("image")
        self.assertEqual(model.classes, ["null", "eins", "zwölf"])
        self.assertEqual([one.classes for one in model.outputs], [model.classes, []])
        self.assertEqual((self.model("words").classes, model.inputs[0].classes), ([], []))
        digits = model.predict(numbers(33, 1, 6, 6), outputs="digit")
        wanted = [model.classes[k] for k in digits.argmax(axis=1)]
        self.assertEqual([name for ((name, _),) in model.top_classes(digits)], wanted)
        self.assertEqual(model.top_classes(digits), model.top_classes(digits, output="digit"))
        some = numpy.array([[0.25, 0.5, 0.25], [0, 0, 1]], "float32")
        self.assertEqual(model.top_classes(some, count=2), [[("eins", 0.5), ("null", 0.25)], [("zwölf", 1.0), ("null", 0.0)]])
        self.assertEqual(model.top_classes(some[:0]), [])
        self.assertEqual(model.top_classes(some, output=["digit"]), model.top_classes(some))
        for names, count in (([], 0), (["digit", "even"], 2)):
            self.refused("argument_error", f"an argument is out of range (output): expected the name of one output, got {count} names",
                         model.top_classes, some, output=names)
        unknown = numpy.array([[numpy.nan, 0.25, 0.5], [0.5, numpy.nan, numpy.nan], [numpy.nan] * 3], "float32")
        self.assertEqual([[name for name, _ in best] for best in model.top_classes(unknown, count=3)],
                         [["zwölf", "eins", "null"], ["null", "eins", "zwölf"], ["null", "eins", "zwölf"]])
        self.refused("argument_error", "an argument is out of range (count): expected 1 to 3, got 4", model.top_classes, some, 4)
        self.refused("shape_error", "the array has another shape (probabilities): expected nx3, got 2x2", model.top_classes,
                     numpy.ones((2, 2), "float32"))
        self.refused("data_error", "the model has no names of classes (output even): expected a model that was trained on data with class "
                     "names, got none", model.top_classes, numpy.ones((2, 2), "float32"), output="even")
        self.refused("argument_error", "there is no output of this name: expected digit, even, got odd", model.top_classes, some, output="odd")

    def test_accepts_inputs_and_outputs_by_name(self):
        pair, wanted = self.model("pair"), self.expected("pair")
        left, right = numbers(5, 3), indices(5, 2)
        self.assertEqual([(one.name, one.dtype) for one in pair.inputs], [("left", "float32"), ("right", "int32")])
        for given in ([left, right], (left, right), {"right": right, "left": left}):
            numpy.testing.assert_array_equal(pair.predict(given), wanted)
        self.refused("argument_error", "there is no input of this name: expected left, right, got up", pair.predict, {"up": left})
        self.refused("argument_error", "an input is missing: expected left, right, got no right", pair.predict, {"left": left})
        self.refused("shape_error", "the array has another shape (input right): expected 5x2, got 4x2", pair.predict, [left, right[:4]])
        series, mask = self.model("series"), numpy.tile(numpy.arange(5) < 3, (3, 1))
        numpy.testing.assert_array_equal(series.predict({"series": numbers(3, 5, 2)}, {"series": mask}), self.expected("masked"))

        image, pixels = self.model("image"), numbers(33, 1, 6, 6)
        numpy.testing.assert_array_equal(image.predict(pixels, outputs="even"), self.expected("even"))
        (even,) = image.predict(pixels, outputs=["even"])
        numpy.testing.assert_array_equal(even, self.expected("even"))
        even, digits = image.predict(pixels, outputs=("even", "digit"))
        numpy.testing.assert_array_equal(even, self.expected("even"))
        numpy.testing.assert_array_equal(digits, self.expected("digits"))
        self.refused("argument_error", "there is no output of this name: expected digit, even, got odd", image.predict, pixels, outputs="odd")
        self.refused("argument_error", "an argument is out of range (output_count): expected 1 to 2, got 0", image.predict, pixels, outputs=[])

    def test_refuses_closed_models_and_streams(self):
        with self.model("series") as model, model.stream(3) as stream:
            self.assertEqual(stream.sequences, 3)
            model.close()
            self.refused("argument_error", "the handle does not refer to an open model: expected a handle that was not closed, got another number; open the model again", model.predict,
                         numbers(3, 5, 2))
            self.refused("argument_error", "the handle does not refer to an open model: expected a handle that was not closed, got another number; open the model again", model.stream)
            model.close()
            stream.advance(numbers(3, 5, 2))
        self.refused("argument_error", "the handle does not refer to an open stream: expected a handle that was not closed, got another number; open the stream again", stream.advance,
                     numbers(3, 5, 2))
        stream.close()

    def test_a_model_may_be_closed_during_calls(self):
        model, wanted, series, wrong = self.model("series"), self.expected("series"), numbers(3, 5, 2), []
        begun = threading.Semaphore(0)

        def call():
            while True:
                try:
                    made = model.predict(series)
                except cohort_predict.Error as problem:
                    wrong.extend([] if "does not refer to an open model" in str(problem) else [problem])
                    return
                wrong.extend([] if numpy.array_equal(made, wanted) else [made])
                begun.release()

        threads = [threading.Thread(target=call) for _ in range(2)]
        for one in threads:
            one.start()
        for _ in range(6):
            self.assertTrue(begun.acquire(timeout=60))
        for _ in range(10):
            model.stream(2).close()
        model.close()
        for one in threads:
            one.join(60)
            self.assertFalse(one.is_alive())
        self.assertEqual(wrong, [])

    def test_refuses_concurrent_calls_of_a_stream(self):
        stream, long, stop = self.model("series").stream(1), numbers(1, 4000, 2), threading.Event()

        def advance():
            while not stop.is_set():
                try:
                    stream.advance(long)
                except cohort_predict.Error as problem:
                    codes.add(problem.code)

        codes, seen = set(), None
        thread = threading.Thread(target=advance)
        thread.start()
        while seen is None:
            try:
                stream.advance(numbers(1, 1, 2))
            except cohort_predict.Error as problem:
                seen = problem
        stop.set()
        thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertEqual((seen.code, str(seen)), ("busy_error", "another thread advances this stream: expected one call at a time, got a second one; open a stream for each thread"))
        self.assertLessEqual(codes, {"busy_error"})

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

    def test_streams_of_indices_have_the_output_of_the_last_step(self):
        model, whole = self.model("last"), indices(3, 5)
        self.assertEqual((model.inputs[0].has_steps, model.outputs[0].has_steps), (True, False))
        self.assertEqual([one.has_steps for one in self.model("image").inputs], [False])
        stream = model.stream(3)
        for first, end in ((0, 2), (2, 3), (3, 5)):
            made = stream.advance(numpy.ascontiguousarray(whole[:, first:end]))
            self.assertEqual(made.shape, (3, 2))
        numpy.testing.assert_allclose(made, self.expected("last"), rtol=1e-5, atol=1e-6)

    def test_computes_in_bf16_if_the_processor_supports_it(self):
        try:
            model = self.model("image", backend="onednn_bf16")
        except cohort_predict.Error as problem:
            self.assertEqual(problem.code, "backend_error")
            return
        self.assertEqual(model.backend, "onednn_bf16")
        numpy.testing.assert_allclose(model.predict(numbers(33, 1, 6, 6), outputs="digit"), self.expected("digits"), atol=0.02)

    def test_accepts_paths_of_arbitrary_bytes(self):
        self.refused("file_error", "cannot open the file (/no/\ufffd): No such file or directory", cohort_predict.Model, b"/no/\xff")
        name = os.fsencode(self.folder) + b"/\xff.safetensors"
        os.link(self.folder / "image.safetensors", name)
        for path in (name, os.fsdecode(name), pathlib.Path(os.fsdecode(name))):
            self.assertEqual(len(cohort_predict.Model(path).outputs), 2)
        text = "a text contains the character 0: expected one without, got it behind "
        path = str(self.folder / "image.safetensors")
        self.refused("argument_error", text + path, cohort_predict.Model, path + "\0x")
        self.refused("argument_error", text + "onednn", self.model, "image", backend="onednn\0x")

    def test_reports_why_an_array_cannot_be_read_in_place(self):
        predict, image = self.model("image").predict, numbers(2, 1, 6, 6)
        begin = "the array cannot be read in place (input pixels): expected float32 in the processor's byte order, got dtype "

        def refused(array, dtype):
            with self.assertRaises(cohort_predict.Error) as caught:
                predict(array)
            self.assertEqual(caught.exception.code, "shape_error")
            self.assertTrue(str(caught.exception).startswith(begin + dtype + ": "), str(caught.exception))
            self.assertGreater(len(str(caught.exception)), len(begin + dtype) + 10)

        refused(image.astype(">f4"), ">f4")
        refused(image.astype(object), "object")
        refused(numpy.zeros((2, 1, 6, 6), [("a", "f4")]), "[('a', '<f4')]")
        self.refused("argument_error", "the array is not in the memory of the CPU (input pixels): expected a CPU array, got device type 2",
                     predict, on_a_gpu(image))
        memory = numpy.zeros(2 * 36 * 4 + 4, "uint8")
        unaligned = numpy.frombuffer(memory, "float32", 72, offset=1 + (-memory.ctypes.data) % 4).reshape(2, 1, 6, 6)
        self.refused("argument_error", "the array is not aligned (input pixels): expected array.copy(), because it is read without a copy, got "
                     "an address with a remainder of 1", predict, unaligned)
        predict(unaligned.copy())

    def test_reports_why_an_object_is_not_exported(self):
        class with_gradient(exported):
            def __dlpack__(self, **settings):
                raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

        self.refused("shape_error", "the array cannot be read in place (input pixels): expected float32 in the processor's byte order, got "
                     "dtype unknown: Can't export tensors that require gradient, use tensor.detach()", self.model("image").predict,
                     with_gradient(numbers(2, 1, 6, 6)))

    def test_reads_contiguous_views_and_refuses_strided_views(self):
        predict, wide = self.model("image").predict, numbers(4, 1, 6, 6)
        numpy.testing.assert_array_equal(predict(wide[1:3], outputs="digit"), predict(wide[1:3].copy(), outputs="digit"))
        for strange in (wide[::2], wide[::-1], wide.transpose(0, 1, 3, 2), numpy.broadcast_to(wide[:1], (4, 1, 6, 6))):
            self.refused("shape_error", "the array is not contiguous (input pixels): expected numpy.ascontiguousarray(…), because it is read "
                         "without a copy, got strides", predict, strange)
            predict(numpy.ascontiguousarray(strange))

    def test_several_threads_predict_correctly(self):
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

    def test_the_program_of_the_documentation_page_runs(self):
        page = (pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "docs/predict_from_c_and_python.md").read_text(encoding="utf-8")
        program = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1)
        program = program.replace("28", "6").replace("lenet.safetensors", str(self.folder / "image.safetensors"))
        program = program.replace("predict(images)", "predict(images, outputs='digit')")
        made = {}
        exec(program, made)  # a model of smaller images, with two outputs
        self.assertEqual((made["probabilities"].shape, len(made["best"])), ((32, 3), 2))

    def test_the_stub_matches_the_module(self):
        stub = pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "backends/python/cohort_predict.pyi"
        tree = ast.parse(stub.read_text(encoding="utf-8"))
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef) and node.name != "SupportsDLPack"}
        public = lambda of: {name for name in vars(of) if not name.startswith("_") or name in ("__enter__", "__exit__")}
        self.assertEqual(set(classes), public(cohort_predict))
        for name, node in classes.items():
            functions = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
            real = getattr(cohort_predict, name)
            if name != "Error":
                self.assertEqual(set(functions) - {"__init__"}, public(real), name)
            for method, one in functions.items():
                if not one.decorator_list and not method.startswith("__"):  # signature in the docstring's first line
                    arguments = [argument.arg for argument in one.args.args[1:]]
                    line = getattr(real, method).__doc__.splitlines()[0]
                    self.assertEqual(re.findall(r"(\w+): ", line.replace("self: ", "")), arguments, line)

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
