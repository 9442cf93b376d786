# SPDX-License-Identifier: Apache-2.0
"""Writes npz_rows.npz beside it: compressed arrays that npz_rows reads, and arrays of types that it does not read.

python3 tests/golden/npz_rows.py    (made with NumPy 2.4)
"""
import pathlib

import numpy

rows = numpy.arange(7, dtype="<i4")
numpy.savez_compressed(pathlib.Path(__file__).parent / "npz_rows.npz",
                       image=(numpy.arange(7 * 64) % 251).astype("u1").reshape(7, 8, 8), label=rows * rows - 3,
                       names=numpy.array(["one", "two"]), objects=numpy.array([{}, None], dtype=object))
