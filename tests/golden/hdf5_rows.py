# SPDX-License-Identifier: Apache-2.0
"""Writes hdf5_rows.h5 and hdf5_chunks.h5 beside it: arrays that hdf5_rows reads or refuses.

python3 tests/golden/hdf5_rows.py    (made with h5py 3; needs `pip install h5py`)
"""
import pathlib
import zlib

import h5py
import numpy

FOLDER = pathlib.Path(__file__).parent

with h5py.File(FOLDER / "hdf5_rows.h5", "w") as file:
    file["train/image"] = numpy.arange(12, dtype="<f4").reshape(3, 2, 2)
    file["train/label"] = numpy.array([7, -8, 9], "<i8")
    file["bytes"] = numpy.array([[1], [2], [3]], "u1")
    file["two"] = numpy.zeros((2, 1), "<f4")
    file["half"] = numpy.zeros((3, 1), "<f2")
    file["single"] = 5.0
    file.create_dataset("chunked", (3, 2), "<f4", chunks=(1, 2))

with h5py.File(FOLDER / "hdf5_chunks.h5", "w") as file:
    cube = numpy.arange(7 * 5 * 3).reshape(7, 5, 3)
    # Chunks that split the rows and extend beyond the array. The tree of `small` has several levels.
    file.create_dataset("plain", data=cube.astype("<f4"), chunks=(2, 2, 2))
    file.create_dataset("gzip", data=cube.astype("<f8"), chunks=(3, 5, 2), compression="gzip", shuffle=True)
    file.create_dataset("shuffled", data=cube.astype("<i4"), chunks=(2, 5, 3), shuffle=True)
    small = file.create_dataset("small", data=numpy.arange(0, 7000, 10, dtype="<i8").reshape(7, 100), chunks=(1, 1))
    assert small.id.get_num_chunks() == 700
    # An array that grew by one row after the other.
    grown = file.create_dataset("grown", (0, 4), "u1", maxshape=(None, 4), chunks=(2, 4), compression="gzip")
    for row in range(7):
        grown.resize(row + 1, axis=0)
        grown[row] = range(4 * row, 4 * row + 4)
    file.create_dataset("label", data=numpy.arange(7, dtype="u1"), maxshape=(None,), compression="gzip")
    # The second chunk skips deflate, as HDF5 stores chunks that do not become smaller.
    mixed = file.create_dataset("mixed", (7, 2), "<f4", chunks=(4, 2), compression="gzip")
    rows = numpy.zeros((8, 2), "<f4")
    rows[:7] = numpy.arange(14).reshape(7, 2)
    mixed.id.write_direct_chunk((0, 0), zlib.compress(rows[:4].tobytes()), 0)
    mixed.id.write_direct_chunk((4, 0), rows[4:].tobytes(), 1)
    # Chunks that become smaller, and random ones that do not and skip lzf.
    file.create_dataset("lzf", data=cube.astype("<f8"), chunks=(3, 5, 2), compression="lzf", shuffle=True)
    repeated = numpy.repeat(numpy.arange(7, dtype="<i4"), 500).reshape(7, 500)
    file.create_dataset("lzf_runs", data=repeated, chunks=(2, 500), compression="lzf")
    random = numpy.random.default_rng(1).integers(0, 256, (7, 20), "u1")
    file.create_dataset("lzf_random", data=random, chunks=(4, 20), compression="lzf", fletcher32=True)
    file.create_dataset("random", data=random)
    file.create_dataset("fletcher", data=cube.astype("<f4"), chunks=(2, 5, 3), fletcher32=True)
    file.create_dataset("fletcher_odd", data=numpy.arange(7, dtype="u1"), chunks=(3,), fletcher32=True)
    file.create_dataset("all", data=cube.astype("<i8"), chunks=(2, 2, 2), compression="gzip", shuffle=True,
                        fletcher32=True)
    file.create_dataset("scaled", data=numpy.zeros((7, 2), "<i4"), scaleoffset=0)
    part = file.create_dataset("part", (7, 2), "<f4", chunks=(2, 1))
    part[:2, 0] = 1
    filled = file.create_dataset("filled", (7, 3), "<i8", chunks=(3, 2), fillvalue=-5, compression="gzip")
    filled[4:6] = 9
    file.create_dataset("unwritten", (7, 2), "<f8", chunks=(2, 2), fillvalue=0.25)
    undefined = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    undefined.set_chunk((2, 2))
    undefined.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    h5py.h5d.create(file.id, b"undefined", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((7, 2)), undefined)
