# SPDX-License-Identifier: Apache-2.0
"""Writes layers_broadcast.txt beside it: layers that broadcast, by NumPy in double precision, forward and backward.

python3 tests/golden/layers_broadcast.py    (made with NumPy 2.2)

Each case has the same lines as in layers_elementwise.txt. Gradients are those of the sum of output · diff_output: a sum over
the axes that an input is repeated along, and for matmul products with the transposed matrices. Given values are multiples of
1/64. The layers of the same names are in layer/elementwise_golden_test.cpp.
"""
import pathlib
import random

import numpy as np

BATCH = 2
drawn = random.Random(7)


def draw(extents, most=3.0):
    count = int(np.prod(extents))
    return np.array([drawn.randrange(int(-64 * most), int(64 * most) + 1) / 64 for _ in range(count)]).reshape(extents)


def aligned(x, rank):
    """Extents of 1 between the batch and the axes of an example, so that the last axes are aligned."""
    return x.reshape(x.shape[:1] + (1,) * (rank - x.ndim) + x.shape[1:])


def summed_to(gradient, shape):
    """The sum over the axes along which an input of this shape, with the batch, is repeated."""
    whole = shape[:1] + (1,) * (gradient.ndim - len(shape)) + shape[1:]
    axes = tuple(axis for axis, extent in enumerate(whole) if extent != gradient.shape[axis])
    return gradient.sum(axis=axes, keepdims=True).reshape(shape)


def product(inputs, diff_output):
    rank = max(x.ndim for x in inputs)
    whole = [aligned(x, rank) for x in inputs]
    gradients = []
    for i, x in enumerate(inputs):
        others = [w for j, w in enumerate(whole) if j != i]
        gradients.append(summed_to(np.prod(np.broadcast_arrays(diff_output, *others), axis=0), x.shape))
    return gradients


def add(inputs, diff_output):
    return [summed_to(diff_output, x.shape) for x in inputs]


def swap(x):
    return np.swapaxes(x, -1, -2)


def matmul(transpose_a, transpose_b):
    def forward(inputs):
        a, b = (aligned(x, max(y.ndim for y in inputs)) for x in inputs)
        return (swap(a) if transpose_a else a) @ (swap(b) if transpose_b else b)

    def backward(inputs, diff_output):
        a, b = (aligned(x, max(y.ndim for y in inputs)) for x in inputs)
        a, b = (swap(a) if transpose_a else a), (swap(b) if transpose_b else b)
        diff_a, diff_b = diff_output @ swap(b), swap(a) @ diff_output
        diff_a, diff_b = (swap(diff_a) if transpose_a else diff_a), (swap(diff_b) if transpose_b else diff_b)
        return [summed_to(diff_a, inputs[0].shape), summed_to(diff_b, inputs[1].shape)]

    return forward, backward


def elementwise(function, backward):
    return (lambda inputs: function(*(aligned(x, max(y.ndim for y in inputs)) for x in inputs))), backward


# name: (inputs without the batch, (forward, backward))
LAYERS = {
    "multiply_per_channel": ([(3, 2, 4), (3, 1, 1)], elementwise(lambda a, b: a * b, product)),
    "multiply_three": ([(2, 1), (3, 1, 4), (3, 2, 4)], elementwise(lambda a, b, c: a * b * c, product)),
    "add_per_channel": ([(3, 1, 1), (3, 2, 4)], elementwise(lambda a, b: a + b, add)),
    "add_row_and_column": ([(3, 1), (1, 5)], elementwise(lambda a, b: a + b, add)),
    "matmul": ([(2, 3, 4), (2, 4, 5)], matmul(False, False)),
    "matmul_transpose_a": ([(4, 3), (4, 5)], matmul(True, False)),
    "matmul_transpose_b": ([(3, 4), (5, 4)], matmul(False, True)),
    "matmul_transpose_both": ([(2, 4, 3), (2, 5, 4)], matmul(True, True)),
    "matmul_of_repeated_matrices": ([(2, 1, 3, 4), (3, 4, 2)], matmul(False, False)),
    "matmul_of_repeated_transposed_matrices": ([(4, 3), (2, 5, 4)], matmul(True, True)),
}


def line(what, array):
    extents = " ".join(str(e) for e in array.shape)
    return f"{what} {extents} : " + " ".join(f"{x:.17g}" for x in array.flatten().tolist())


def main():
    lines = []
    for name, (shapes, (forward, backward)) in LAYERS.items():
        inputs = [draw((BATCH, *s)) for s in shapes]
        output = forward(inputs)
        diff_output = draw(output.shape)
        lines.append(f"case {name}")
        lines += [line("input", x) for x in inputs]
        lines += [line("output", output), line("diff_output", diff_output)]
        lines += [line("diff_input", g) for g in backward(inputs, diff_output)]
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


main()
