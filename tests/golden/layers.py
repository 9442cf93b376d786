# SPDX-License-Identifier: Apache-2.0
"""Writes layers.txt beside it: small networks by PyTorch in double precision, forward and backward.

python3 tests/golden/layers.py    (made with PyTorch 2.x; any version gives the same numbers to about 1e-15)

For each case a line `case NAME batch N`, then `input`, `target`, each parameter as `parameter NAME` (in the order of the
layers), `output` (the logits), `loss` (mean cross entropy) and the loss's gradients as `gradient NAME`; all row-major.
The graphs of the same names are in backend/reference_test.cpp.
"""
import pathlib

import torch
import torch.nn.functional as f

torch.set_default_dtype(torch.float64)


def draw(*extents):
    return torch.randn(*extents).mul(0.5).requires_grad_()


def convolutions(x, p):
    p["conv2d_1.weights"], p["conv2d_1.bias"] = p.get("conv2d_1.weights", draw(3, 2, 3, 2)), p.get("conv2d_1.bias", draw(3))
    p["conv2d_2.weights"] = p.get("conv2d_2.weights", draw(2, 3, 2, 2))
    p["dense_1.weights"], p["dense_1.bias"] = p.get("dense_1.weights", draw(3, 18)), p.get("dense_1.bias", draw(3))
    x = f.pad(x, (1, 0, 2, 1))  # left, right, top, bottom
    x = f.conv2d(x, p["conv2d_1.weights"], p["conv2d_1.bias"], stride=(1, 2))
    x = f.leaky_relu(x, 0.1)
    x = f.conv2d(f.pad(x, (0, 1, 0, 1)), p["conv2d_2.weights"], stride=(2, 1))  # "same" of an even kernel
    return f.linear(x.flatten(1), p["dense_1.weights"], p["dense_1.bias"])


def pools(x, p):
    p["conv2d_1.weights"], p["conv2d_1.bias"] = p.get("conv2d_1.weights", draw(2, 1, 2, 2)), p.get("conv2d_1.bias", draw(2))
    p["dense_1.weights"], p["dense_1.bias"] = p.get("dense_1.weights", draw(4, 8)), p.get("dense_1.bias", draw(4))
    x = f.relu(f.conv2d(x, p["conv2d_1.weights"], p["conv2d_1.bias"]))
    x = f.max_pool2d(x, 3, stride=2, padding=1)
    x = f.max_pool2d(x, 2, stride=1)
    return f.linear(x.flatten(1), p["dense_1.weights"], p["dense_1.bias"])


def joins(x, p):
    p["dense_1.weights"], p["dense_1.bias"] = p.get("dense_1.weights", draw(4, 5)), p.get("dense_1.bias", draw(4))
    p["dense_2.weights"], p["dense_2.bias"] = p.get("dense_2.weights", draw(4, 5)), p.get("dense_2.bias", draw(4))
    p["dense_3.weights"] = p.get("dense_3.weights", draw(3, 8))
    a = f.relu(f.linear(x, p["dense_1.weights"], p["dense_1.bias"]))
    b = f.linear(x, p["dense_2.weights"], p["dense_2.bias"])
    return f.linear(torch.cat([a + b, a], 1), p["dense_3.weights"])


CASES = {"convolutions": (convolutions, (2, 4, 5)), "pools": (pools, (1, 7, 6)), "joins": (joins, (5,))}


def numbers(t):
    return " ".join(f"{x:.17g}" for x in t.detach().flatten().tolist())


def main():
    torch.manual_seed(20)
    lines = []
    for name, (net, extents) in CASES.items():
        batch, parameters = 3, {}
        x = torch.randn(batch, *extents)
        logits = net(x, parameters)
        target = torch.randint(logits.shape[1], (batch,))
        loss = f.cross_entropy(logits, target)
        loss.backward()
        lines += [f"case {name} batch {batch}", f"input {numbers(x)}", f"target {numbers(target)}"]
        lines += [f"parameter {key} {numbers(value)}" for key, value in parameters.items()]
        lines += [f"output {numbers(logits)}", f"loss {numbers(loss)}"]
        lines += [f"gradient {key} {numbers(value.grad)}" for key, value in parameters.items()]
    pathlib.Path(__file__).with_name("layers.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
