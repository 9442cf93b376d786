# SPDX-License-Identifier: Apache-2.0
"""Writes attention.txt beside it: attention by PyTorch in double precision.

python3 tests/golden/attention.py    (made with PyTorch 2.x; any version gives the same numbers to about 1e-15)

torch.nn.functional.scaled_dot_product_attention. For each case a line `case NAME batch N`, then `input0` (and `input1`, `input2`),
`mask` (1: the key is unmasked), `output`, `diff_output`, and the gradients `diff_input0`, …; all row-major. The layers of the same
names are in layer/attention_test.cpp.
"""
import pathlib

import torch
from torch.nn import functional

torch.set_default_dtype(torch.float64)
BATCH, QUERIES, KEYS, HEADS, WIDTH, VALUES = 2, 5, 7, 3, 4, 6


def rotated(x, base):
    """Rotary positions of batch x heads x steps x width, whose halves are pairs."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2])[:, None] * base ** (-2 * torch.arange(half) / x.shape[-1])
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], -1)


def case(name, packed, causal=False, rotary=0, masked=False):
    if packed:
        inputs = [torch.randn(BATCH, QUERIES, 3 * HEADS * WIDTH, requires_grad=True)]
        parts = inputs[0].split(HEADS * WIDTH, 2)
    else:
        steps = QUERIES if causal else KEYS
        inputs = [torch.randn(BATCH, QUERIES, HEADS * WIDTH, requires_grad=True),
                  torch.randn(BATCH, steps, HEADS * WIDTH, requires_grad=True),
                  torch.randn(BATCH, steps, HEADS * VALUES, requires_grad=True)]
        parts = inputs
    q, k, v = (part.reshape(BATCH, part.shape[1], HEADS, -1).transpose(1, 2) for part in parts)
    if rotary:
        q, k = rotated(q, rotary), rotated(k, rotary)
    mask = torch.ones(BATCH, k.shape[2])
    if masked:
        mask[0, 3:] = 0
        mask[1, 1] = 0
    allowed = mask[:, None, None, :].bool()
    if causal:
        allowed = allowed & torch.ones(q.shape[2], k.shape[2]).tril().bool()
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2).reshape(BATCH, QUERIES, -1)
    diff = torch.randn_like(out)
    if masked and packed:
        diff = diff * mask[:, :, None]
    out.backward(diff)
    lines = [(f"input{i}", one) for i, one in enumerate(inputs)] + [("mask", mask), ("output", out), ("diff_output", diff)]
    return name, lines + [(f"diff_input{i}", one.grad) for i, one in enumerate(inputs)]


def main():
    torch.manual_seed(1)
    cases = [case("self", True), case("causal", True, causal=True), case("cross", False), case("cross_causal", False, causal=True),
             case("rotary", True, rotary=10000), case("cross_rotary", False, rotary=100), case("masked", True, masked=True),
             case("masked_causal", True, causal=True, masked=True), case("cross_masked", False, masked=True),
             case("cross_masked_causal", False, causal=True, rotary=100, masked=True)]
    with open(pathlib.Path(__file__).with_suffix(".txt"), "w", encoding="utf-8") as file:
        for name, lines in cases:
            file.write(f"case {name} batch {BATCH}\n")
            for what, values in lines:
                file.write(what + "".join(f" {float(v):.13g}" for v in values.detach().flatten()) + "\n")


if __name__ == "__main__":
    main()
