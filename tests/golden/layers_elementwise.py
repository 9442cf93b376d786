# SPDX-License-Identifier: Apache-2.0
"""Writes layers_elementwise.txt beside it: one layer per case by PyTorch in double precision, forward and backward.

python3 tests/golden/layers_elementwise.py    (made with PyTorch 2.15)

For each case a line `case NAME`; then, row-major after their extents and a colon: each `input`, each `parameter`, `output`, the
gradient `diff_output` of the output, and a `diff_input` for each input, a `diff_parameter` for each parameter. Given values are
multiples of 1/64. The layers of the same names are in layer/elementwise_golden_test.cpp.
"""
import pathlib
import random

import torch
import torch.nn.functional as f

torch.set_default_dtype(torch.float64)
BATCH = 2
drawn = random.Random(5)


def draw(*extents, most=3.0):
    count = torch.Size(extents).numel()
    values = [drawn.randrange(int(-64 * most), int(64 * most) + 1) / 64 for _ in range(count)]
    return torch.tensor(values).reshape(extents)


def kinks():
    """Values on both sides of the activations' kinks, and the kinks."""
    return torch.tensor([[-9, -2.5, -1, -0.25, 0, 0.125, 0.75, 1], [-6, -1.5, -0.5, 0.0625, 1.5, 2.5, 6, 9]])


ACTIVATIONS = {
    "relu6": f.relu6,
    "elu": f.elu,
    "elu_of_another_alpha": lambda x: f.elu(x, 0.4),
    "selu": f.selu,
    "sigmoid": torch.sigmoid,
    "hard_sigmoid": lambda x: f.hardtanh(0.2 * x + 0.5, 0.0, 1.0),  # PyTorch's own has x/6
    "tanh": torch.tanh,
    "hard_tanh": f.hardtanh,
    "softplus": f.softplus,
    "softsign": f.softsign,
    "swish": f.silu,
    "gelu": f.gelu,
    "mish": f.mish,
    "identity": lambda x: x * 1,
}


def channels(parameter):
    return parameter.reshape(1, -1, 1, 1)


def crop(x, top, bottom, left, right):
    return x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right]


# name: (inputs without the batch, parameters, layer)
LAYERS = {
    "prelu": ([(3, 2, 2)], [(3,)], lambda x, a: f.prelu(x, a)),
    "prelu_of_one_slope": ([(3, 2, 2)], [(1,)], lambda x, a: f.prelu(x, a)),
    "softmax": ([(5,)], [], lambda x: f.softmax(x, 1)),
    "softmax_of_an_image": ([(3, 2, 2)], [], lambda x: f.softmax(x, 1)),
    "multiply": ([(2, 3)] * 3, [], lambda a, b, c: a * b * c),
    "average": ([(2, 3)] * 3, [], lambda a, b, c: (a + b + c) / 3),
    "maximum": ([(2, 3)] * 3, [], lambda a, b, c: torch.maximum(torch.maximum(a, b), c)),
    "subset": ([(5, 2, 2)], [], lambda x: x[:, 1:3] * 1),
    "scale": ([(2, 3)], [], lambda x: -0.75 * x),
    "scale_that_is_learned": ([(3, 2, 2)], [(3,)], lambda x, a: x * channels(a)),
    "zero_padding": ([(2, 2, 3)], [], lambda x: f.pad(x, (0, 3, 1, 2))),  # left, right, top, bottom
    "cropping": ([(2, 4, 5)], [], lambda x: crop(x, 1, 0, 2, 1) * 1),
    "upsampling": ([(2, 2, 2)], [], lambda x: x.repeat_interleave(2, 2).repeat_interleave(3, 3)),
    "bilinear_upsampling": ([(2, 2, 3)], [], lambda x: f.interpolate(x, scale_factor=(3, 2), mode="bilinear")),
    "bilinear_upsampling_of_aligned_corners": (
        [(2, 2, 3)], [], lambda x: f.interpolate(x, scale_factor=(2, 3), mode="bilinear", align_corners=True)),
    "log_softmax": ([(5,)], [], lambda x: f.log_softmax(x, 1)),
    "log_softmax_of_an_image": ([(3, 2, 2)], [], lambda x: f.log_softmax(x, 1)),
    "group_norm": ([(6, 2, 3)], [(6,), (6,)], lambda x, a, b: f.group_norm(x, 3, a, b, 0.01)),
    "instance_norm": ([(3, 2, 3)], [(3,), (3,)], lambda x, a, b: f.instance_norm(x, None, None, a, b)),
    "permute": ([(2, 3, 4)], [], lambda x: x.permute(0, 3, 1, 2) * 1),
    "channel_shuffle": ([(6, 2, 2)], [], lambda x: f.channel_shuffle(x, 3) * 1),
    "pixel_shuffle": ([(8, 2, 3)], [], lambda x: f.pixel_shuffle(x, 2) * 1),
    "reshape": ([(2, 6)], [], lambda x: x.reshape(-1, 3, 2, 2) * 1),
    "flatten": ([(2, 2, 2)], [], lambda x: x.flatten(1) * 1),
}


def waves(steps, columns, base):
    t, k = torch.arange(steps)[:, None], torch.arange(columns)[None, :]
    angle = t * base ** (-(k // 2 * 2) / columns)
    return torch.where(k % 2 == 0, angle.sin(), angle.cos())


# Of sequences: as LAYERS.
SEQUENCE_LAYERS = {
    "gelu_tanh": ([(3, 4)], [], lambda x: f.gelu(x, approximate="tanh")),
    "log_softmax_of_steps": ([(3, 4)], [], lambda x: f.log_softmax(x, 2)),
    "group_norm_of_steps": (
        [(3, 4)], [(4,), (4,)], lambda x, a, b: f.group_norm(x.transpose(1, 2), 2, a, b).transpose(1, 2)),
    "rms_norm": ([(3, 5)], [(5,)], lambda x, a: f.rms_norm(x, (5,), a, 1e-6)),
    "learned_positions": ([(3, 4)], [(3, 4)], lambda x, w: x + w),
    "sinusoidal_positions": ([(4, 5)], [], lambda x: x + waves(4, 5, 10000.0)),
}


def line(what, tensor):
    extents = " ".join(str(e) for e in tensor.shape)
    return f"{what} {extents} : " + " ".join(f"{x:.17g}" for x in tensor.detach().flatten().tolist())


def case(name, inputs, parameters, layer):
    for tensor in inputs + parameters:
        tensor.requires_grad_(tensor.is_floating_point())
    output = layer(*inputs, *parameters)
    diff_output = draw(*output.shape)
    output.backward(diff_output)
    lines = [f"case {name}"]
    lines += [line("input", x) for x in inputs]
    lines += [line("parameter", p) for p in parameters]
    lines += [line("output", output), line("diff_output", diff_output)]
    lines += [line("diff_input", x.grad if x.grad is not None else torch.zeros(x.shape)) for x in inputs]
    lines += [line("diff_parameter", p.grad) for p in parameters]
    return lines


def main():
    lines = []
    for name, activation in ACTIVATIONS.items():
        lines += case(name, [kinks()], [], activation)
    for name, (inputs, parameters, layer) in LAYERS.items():
        lines += case(name, [draw(BATCH, *e) for e in inputs], [draw(*e) for e in parameters], layer)
    indices = torch.tensor([[4, 0, 4], [1, 3, 0]])
    lines += case("embedding", [indices], [draw(5, 2)], lambda i, w: f.embedding(i, w))
    for name, (inputs, parameters, layer) in SEQUENCE_LAYERS.items():
        lines += case(name, [draw(BATCH, *e) for e in inputs], [draw(*e) for e in parameters], layer)
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


main()
