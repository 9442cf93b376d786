# SPDX-License-Identifier: Apache-2.0
"""NumPy reads Cohort's files, and Cohort reads NumPy's."""
import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

import numpy


READ_AS = {"bool": "uint8", "float16": "float32"}


def arrays():
    numbers = numpy.random.default_rng(5)
    made = {f"{kind}{shape}": numbers.integers(0, 2, shape).astype(kind)
            for kind in ("float16", "float32", "float64", "uint8", "int32", "int64", "uint64", "bool")
            for shape in ((), (0,), (3,), (2, 0, 4), (2, 3, 5), (1, 2, 1, 2, 1, 3))}
    made["fortran"] = numpy.asfortranarray(numbers.normal(size=(3, 4, 5)))
    made["specials"] = numpy.array([numpy.nan, numpy.inf, -0.0, 5e-324])
    made["layer1/ä.weights"] = numbers.normal(size=(300, 200)).astype("float32")
    return made


class numpy_and_cohort(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cohort_")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def copy(self, name, *flags):
        """The file that Cohort writes after reading another one; if Cohort refuses that one, the reason."""
        done = subprocess.run([os.environ["COHORT_PROGRAM"], self.folder / name, self.folder / f"to_{name}", *flags], capture_output=True,
                              text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.strip() if done.returncode else numpy.load(self.folder / f"to_{name}")

    def expect_equal(self, read, wanted):
        self.assertEqual(list(read), list(wanted))
        for name, array in wanted.items():
            self.assertEqual(read[name].dtype, READ_AS.get(array.dtype.name, array.dtype.name))
            numpy.testing.assert_array_equal(read[name], array, err_msg=name)
            self.assertTrue(read[name].flags.c_contiguous)

    def test_round_trip_archives(self):
        wanted = arrays()
        for save in (numpy.savez, numpy.savez_compressed):
            save(self.folder / "a.npz", **wanted)
            for flags in ((), ("deflate",)):
                with self.copy("a.npz", *flags) as read:
                    self.expect_equal(read, wanted)
                with zipfile.ZipFile(self.folder / "to_a.npz") as archive:
                    self.assertIsNone(archive.testzip())

    def test_write_single_arrays_with_the_bytes_of_numpy(self):
        for name, array in arrays().items():
            if array.dtype.name not in READ_AS and name != "fortran":
                numpy.save(self.folder / "a.npy", array)
                self.copy("a.npy")
                self.assertEqual((self.folder / "to_a.npy").read_bytes(), (self.folder / "a.npy").read_bytes(), name)

    def test_other_versions_and_types_are_read_or_refused(self):
        with open(self.folder / "a.npy", "wb") as file:
            numpy.lib.format.write_array(file, numpy.arange(3.0), version=(2, 0))
        numpy.testing.assert_array_equal(self.copy("a.npy"), numpy.arange(3.0))
        for array, reason, type_name in (
                (numpy.array([{}], dtype=object), "Python objects, which would be unpickled", "|O"),
                (numpy.arange(3, dtype=">f4"), "big-endian", ">f4"), (numpy.arange(3, dtype="int16"), '"<i2"', "<i2"),
                (numpy.array(["text"]), '"<U4"', "<U4")):
            numpy.save(self.folder / "a.npy", array, allow_pickle=True)
            self.assertIn(reason, self.copy("a.npy"))
            numpy.savez(self.folder / "a.npz", x=array)  # only a use of the tensor is an error
            self.assertIn(f'tensor "x"): expected a tensor with data, got type "{type_name}"', self.copy("a.npz"))
        numpy.savez(self.folder / "a.npz", x=numpy.zeros(2, dtype=[("a", "<f4")]))
        refused = self.copy("a.npz")
        self.assertIn(", entry x.npy, ", refused)
        self.assertIn("an array of records", refused)


if __name__ == "__main__":
    unittest.main()
