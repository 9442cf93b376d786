# SPDX-License-Identifier: Apache-2.0
"""Writes curves.txt beside it: the losses of 20 steps of reference networks by PyTorch in double precision.

python3 tests/golden/curves.py    (made with PyTorch 2.15)

One line a network: its name, then the mean loss of each step. Weights and data are drawn by `drawn`, which
trainer/curves_test.cpp draws alike, so that no file has to hold them: tensor number t of a network (0 the images, 1 the
labels, then the parameters in the order of the layers, weights before bias) has the elements drawn(t, i).
"""
import math
import pathlib

import torch
import torch.nn.functional as f

torch.set_default_dtype(torch.float64)
BATCH, BATCHES, STEPS, CLASSES = 8, 5, 20, 10


def hashed(tensor, count):
    """16 bits of a mix of the tensor's and the element's number."""
    x = (torch.arange(count, dtype=torch.int64) * 0x9E3779B1 + tensor * 0x85EBCA6B) & 0xFFFFFFFF
    for _ in range(2):
        x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
    return (x ^ (x >> 16)) & 0xFFFF


def drawn(tensor, *extents):
    """From -1/2 to 1/2, exact in f32."""
    return (hashed(tensor, math.prod(extents)).double() / 65536 - 0.5).reshape(extents)


def parameters(shapes):
    """Weights up to 1/floor(sqrt(fan in)) and biases up to 1/16, on both sides of 0."""
    made = []
    for number, extents in enumerate(shapes):
        fan_in = math.prod(extents[1:])
        scale = 2 / math.isqrt(fan_in) if len(extents) > 1 else 1 / 8
        made.append((drawn(2 + number, *extents) * scale).requires_grad_())
    return made


def lenet(x, p):
    x = f.max_pool2d(f.relu(f.conv2d(x, p[0], p[1])), 2)
    x = f.max_pool2d(f.relu(f.conv2d(x, p[2], p[3], stride=2)), 2)
    return f.linear(f.relu(f.linear(x.flatten(1), p[4], p[5])), p[6], p[7])


def mlp(x, p):
    x = f.leaky_relu(f.linear(x.flatten(1), p[0], p[1]), 0.01)
    return f.linear(f.leaky_relu(f.linear(x, p[2], p[3]), 0.01), p[4], p[5])


# The networks' own settings: L2 on weights alone.
RUNS = {
    "lenet": (
        lenet,
        [(20, 1, 5, 5), (20,), (50, 20, 5, 5), (50,), (200, 200), (200,), (10, 200), (10,)],
        lambda groups: torch.optim.Adagrad(groups, lr=0.02, eps=1e-6, initial_accumulator_value=1e-6),
        5e-4,
    ),
    "mlp": (
        mlp,
        [(500, 784), (500,), (100, 500), (100,), (10, 100), (10,)],
        lambda groups: torch.optim.SGD(groups, lr=0.02, momentum=0.9, nesterov=True),
        1e-4,
    ),
}


def main():
    images = drawn(0, BATCHES, BATCH, 1, 28, 28) + 0.5
    labels = (hashed(1, BATCHES * BATCH) % CLASSES).reshape(BATCHES, BATCH)
    lines = []
    for name, (net, shapes, optimizer_of, l2) in RUNS.items():
        p = parameters(shapes)
        weights, biases = [t for t in p if t.dim() > 1], [t for t in p if t.dim() == 1]
        optimizer = optimizer_of([{"params": weights, "weight_decay": l2}, {"params": biases}])
        losses = []
        for step in range(STEPS):
            loss = f.cross_entropy(net(images[step % BATCHES], p), labels[step % BATCHES])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        lines.append(f"{name} " + " ".join(f"{loss:.17g}" for loss in losses))
    pathlib.Path(__file__).with_name("curves.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
