# SPDX-License-Identifier: Apache-2.0
"""Writes curves.txt beside it: the losses of 20 steps of reference networks by PyTorch in double precision.

python3 tests/golden/curves.py    (made with PyTorch 2.15)

One line per network: its name, then the mean loss of each step. `drawn` generates weights and data; training/curves_test.cpp
generates the same, so that no file has to store them: tensor number t of a network (0 the images, 1 the labels, then the
parameters in the order of the layers, weights before bias) has the elements drawn(t, i). Scales and shifts of norms begin at
1 and 0. CIFAR-10's network, Darknet's and ResNet have their structure with fewer channels, images of 16x16, and no dropout,
because other libraries cannot generate its masks.
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


def norms(p, channels):
    """Scales and shifts, which follow the drawn parameters."""
    for count in channels:
        p += [torch.ones(count, requires_grad=True), torch.zeros(count, requires_grad=True)]
    return p


def lenet(x, p):
    x = f.max_pool2d(f.relu(f.conv2d(x, p[0], p[1])), 2)
    x = f.max_pool2d(f.relu(f.conv2d(x, p[2], p[3], stride=2)), 2)
    return f.linear(f.relu(f.linear(x.flatten(1), p[4], p[5])), p[6], p[7])


def mlp(x, p):
    x = f.leaky_relu(f.linear(x.flatten(1), p[0], p[1]), 0.01)
    return f.linear(f.leaky_relu(f.linear(x, p[2], p[3]), 0.01), p[4], p[5])


def cifar(x, p):
    for number in range(8):
        x = f.relu(f.conv2d(x, p[2 * number], p[2 * number + 1], padding="same"))
        x = f.max_pool2d(x, 2) if number in (1, 7) else x
    x = f.relu(f.linear(f.relu(f.linear(x.flatten(1), p[16], p[17])), p[18], p[19]))
    return f.linear(x, p[20], p[21])


def normed(x, p, first):
    return f.batch_norm(x, None, None, p[first], p[first + 1], training=True)


def darknet(x, p):
    for number, pool in enumerate([0, 2, 0, 2]):
        x = f.conv2d(x, p[number], padding="same")
        x = f.leaky_relu(normed(x, p, 6 + 2 * number), 0.1)
        x = f.max_pool2d(x, pool) if pool else x
    return f.conv2d(x, p[4], p[5]).mean((2, 3))


def resnet(x, p):
    convolutions, scales = iter(p[:12]), iter(range(14, len(p), 2))

    def conv(x, stride=1):
        kernel = next(convolutions)
        x = f.conv2d(x, kernel, stride=stride, padding=kernel.shape[2] // 2)
        return normed(x, p, next(scales))

    x = f.relu(conv(x))
    for stride, projects in [(1, True), (1, False), (2, True)]:
        y = conv(f.relu(conv(f.relu(conv(x)), stride)))
        x = f.relu(y + (conv(x, stride) if projects else x))
    return f.linear(x.mean((2, 3)), p[12], p[13])


def bottleneck(inputs, width, projects):
    return ([(width, inputs, 1, 1), (width, width, 3, 3), (4 * width, width, 1, 1)]
            + ([(4 * width, inputs, 1, 1)] if projects else []))


CIFAR = [(8, 3, 4, 4), (8,), (8, 8, 4, 4), (8,), (12, 8, 4, 4), (12,), (12, 12, 4, 4), (12,), (16, 12, 3, 3), (16,),
         (16, 16, 3, 3), (16,), (32, 16, 2, 2), (32,), (32, 32, 2, 2), (32,), (32, 512), (32,), (32, 32), (32,), (10, 32), (10,)]
DARKNET = [(8, 3, 3, 3), (16, 8, 3, 3), (16, 16, 2, 2), (32, 16, 2, 2), (10, 32, 1, 1), (10,)]
RESNET = ([(8, 3, 3, 3)] + bottleneck(8, 4, True) + bottleneck(16, 4, False) + bottleneck(16, 8, True)
          + [(10, 32), (10,)])

# The networks' own settings: L2 on weights alone. The last numbers are the images' and the channels of norms.
RUNS = {
    "cifar": (cifar, CIFAR, lambda groups: torch.optim.Adam(groups, lr=1e-3), 0, (3, 16, 16), []),
    "darknet": (
        darknet,
        DARKNET,
        lambda groups: torch.optim.Adam(groups, lr=8e-3, amsgrad=True),
        1e-4,
        (3, 16, 16),
        [8, 16, 16, 32],
    ),
    "resnet": (
        resnet,
        RESNET,
        lambda groups: torch.optim.SGD(groups, lr=0.05, momentum=0.9),
        1e-4,
        (3, 16, 16),
        [8, 4, 4, 16, 16, 4, 4, 16, 8, 8, 32, 32],
    ),
    "lenet": (
        lenet,
        [(20, 1, 5, 5), (20,), (50, 20, 5, 5), (50,), (200, 200), (200,), (10, 200), (10,)],
        lambda groups: torch.optim.Adagrad(groups, lr=0.02, eps=1e-6, initial_accumulator_value=1e-6),
        5e-4,
        (1, 28, 28),
        [],
    ),
    "mlp": (
        mlp,
        [(500, 784), (500,), (100, 500), (100,), (10, 100), (10,)],
        lambda groups: torch.optim.SGD(groups, lr=0.02, momentum=0.9, nesterov=True),
        1e-4,
        (1, 28, 28),
        [],
    ),
}


def main():
    labels = (hashed(1, BATCHES * BATCH) % CLASSES).reshape(BATCHES, BATCH)
    lines = []
    for name, (net, shapes, optimizer_of, l2, image, channels) in RUNS.items():
        images = drawn(0, BATCHES, BATCH, *image) + 0.5
        p = norms(parameters(shapes), channels)
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
