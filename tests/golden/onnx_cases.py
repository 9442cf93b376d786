# SPDX-License-Identifier: Apache-2.0
"""Writes a folder of ONNX files with inputs and outputs, for onnx_keras.py and onnx_torch.py.

NAME.onnx has the batch size N. values.txt has for each file a line `case NAME`, then, row-major after their extents and a colon,
`input` and `output`.
"""
import pathlib
import shutil
import zlib


def values(word, array):
    return f"{word} {' '.join(map(str, array.shape))} : {' '.join(f'{one:.7g}' for one in array.flatten().tolist())}\n"


def write_cases(folder, models, export):
    """`export(file, seed, *model)` writes the file of a model and returns an input and its output."""
    path = pathlib.Path(__file__).resolve().parent / folder
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    text = ""
    for name, model in models.items():
        x, y = export(str(path / f"{name}.onnx"), zlib.crc32(name.encode()), *model)
        text += f"case {name}\n" + values("input", x) + values("output", y)
    (path / "values.txt").write_text(text, encoding="utf-8")
