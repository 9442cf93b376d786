# SPDX-License-Identifier: Apache-2.0
"""Writes hdf5_rows.h5 beside it: arrays that hdf5_rows reads or refuses.

python3 tests/golden/hdf5_rows.py    (made with h5py 3; needs `pip install h5py`)
"""
import pathlib

import h5py
import numpy

with h5py.File(pathlib.Path(__file__).with_suffix(".h5"), "w") as file:
    file["train/image"] = numpy.arange(12, dtype="<f4").reshape(3, 2, 2)
    file["train/label"] = numpy.array([7, -8, 9], "<i8")
    file["bytes"] = numpy.array([[1], [2], [3]], "u1")
    file["two"] = numpy.zeros((2, 1), "<f4")
    file["half"] = numpy.zeros((3, 1), "<f2")
    file["single"] = 5.0
    file.create_dataset("chunked", (3, 2), "<f4", chunks=(1, 2))
