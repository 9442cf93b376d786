# SPDX-License-Identifier: Apache-2.0
"""Python's safetensors reads Cohort's files, Cohort reads those of safetensors, and both refuse the same damage."""
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest

import numpy
import safetensors
import safetensors.numpy

TYPES = {"F32": 4, "F64": 8, "BF16": 2, "U8": 1, "I32": 4, "I64": 8, "U64": 8}


def file_bytes(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class safetensors_of_python_and_cohort(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="cohort_")
        cls.folder = pathlib.Path(cls.scratch.name)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_tool(self, *words):
        done = subprocess.run([os.environ["COHORT_PROGRAM"], *map(str, words)], capture_output=True, text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def copy(self, content):
        """The file that Cohort writes after reading a file with this content."""
        (self.folder / "from").write_bytes(content)
        self.assertEqual(self.run_tool("copy", self.folder / "from", self.folder / "to"), "")
        return self.folder / "to"

    def test_round_trip_every_type_and_shape(self):
        numbers = numpy.random.default_rng(5)
        tensors = {f"{kind}.{shape}": numbers.integers(0, 200, shape).astype(kind)
                   for kind in ("float32", "float64", "uint8", "int32", "int64", "uint64")
                   for shape in ((), (0,), (3,), (2, 0, 4), (2, 3, 5), (1, 2, 1, 2, 1, 3))}
        tensors["specials"] = numpy.array([numpy.nan, numpy.inf, -0.0, 5e-324])
        tensors['a name with "quotes", ä and \n'] = numpy.array([2**64 - 1], dtype="uint64")
        metadata = {"format": "np", "graph": '{"layers": ["relu"]}', "ä": "\x01 😀"}
        back = self.copy(safetensors.numpy.save(tensors, metadata))
        read = safetensors.numpy.load_file(back)
        self.assertEqual(set(read), set(tensors))
        for name, expected in tensors.items():
            self.assertEqual(read[name].dtype, expected.dtype, name)
            self.assertEqual(read[name].shape, expected.shape, name)
            self.assertEqual(read[name].tobytes(), expected.tobytes(), name)
        with safetensors.safe_open(back, "np") as opened:
            self.assertEqual(opened.metadata(), metadata)

    def test_preserve_the_bits_of_bf16(self):
        data = bytes(range(12))
        back = self.copy(file_bytes({"w": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}, data))
        ((name, told),) = safetensors.deserialize(back.read_bytes())
        self.assertEqual((name, told["dtype"], told["shape"], bytes(told["data"])), ("w", "BF16", [2, 3], data))

    def test_rewrite_a_file_with_the_same_bytes(self):
        tensors = {f"layer_{i}": numpy.full(i, i, dtype="float32") for i in range(20)}
        once = self.copy(safetensors.numpy.save(tensors, {"b": "1", "a": "2"})).read_bytes()
        self.assertEqual(self.copy(once).read_bytes(), once)

    def test_both_refuse_the_same_damaged_files(self):
        entry = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
        damaged = {
            "a gap": file_bytes({"a": {**entry, "data_offsets": [2, 6]}}, b"123456"),
            "an overlap": file_bytes({"a": entry, "b": {**entry, "data_offsets": [2, 6]}}, b"123456"),
            "bytes that nobody owns": file_bytes({"a": entry}, b"12345"),
            "missing bytes": file_bytes({"a": entry}, b"123"),
            "a shape that does not fit": file_bytes({"a": {**entry, "shape": [5]}}, b"1234"),
            "a negative extent": file_bytes({"a": {**entry, "shape": [-4]}}, b"1234"),
            "metadata that are no strings": file_bytes({"__metadata__": {"a": 1}, "b": entry}, b"1234"),
            "a header behind the end": struct.pack("<Q", 100) + b"{}",
            "a huge header": struct.pack("<Q", 2**63) + b"{}",
            "a cut length": b"\x02\0\0",
            "no JSON": file_bytes(b"{]"),
            "nothing": b"",
        }
        for name, content in damaged.items():
            (self.folder / "damaged").write_bytes(content)
            with self.subTest(name):
                self.assertNotEqual(self.run_tool("check", self.folder / "damaged"), "")
                with self.assertRaises(Exception):
                    safetensors.numpy.load(content)

    def test_cohort_refuses_duplicate_tensor_names(self):
        """The format forbids equal names; the reference implementation uses the last one."""
        text = b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
        (self.folder / "twice").write_bytes(file_bytes(text))
        self.assertIn("unique field names", self.run_tool("check", self.folder / "twice"))

    def test_python_reads_every_file_that_cohort_accepts(self):
        """Random headers: the reference implementation accepts each one that Cohort accepts, with the same tensors."""
        choice = random.Random(12)
        accepted = 0
        for _ in range(200):
            header, end = {}, 0
            for name in "abc"[:choice.randint(0, 3)]:
                kind = choice.choice(list(TYPES))
                shape = [choice.randint(0, 3) for _ in range(choice.randint(0, 3))]
                size = TYPES[kind] * int(numpy.prod(shape, dtype=int))
                begin = end + choice.choice([0] * 8 + [1, -1])
                header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, begin + size]}
                end = begin + size
            content = file_bytes(header, bytes(max(0, end)))
            (self.folder / "random").write_bytes(content)
            if self.run_tool("check", self.folder / "random") == "":
                accepted += 1
                self.assertEqual({name for name, _ in safetensors.deserialize(content)}, set(header))
        self.assertGreater(accepted, 80)


if __name__ == "__main__":
    unittest.main()
