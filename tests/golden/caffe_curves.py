# SPDX-License-Identifier: Apache-2.0
"""Writes caffe_curves.txt beside it: the losses of 20 steps of two networks of Caffe by numpy in double precision.

python3 tests/golden/caffe_curves.py    (made with numpy 2.2)

One line per network: its name, then the loss of each step. tools/cohort/caffe_test.py trains the same networks from the same
parameters and images, which it gets from this file. The formulas are those of Caffe's layers and solvers: pooling rounds up,
the mean of a window counts padding only within the padded image, and the velocity contains the rate.
"""
import pathlib

import numpy

STEPS, CLASSES = 20, 10


class network:
    """`layers`: kind, name and numbers of each layer. `shapes`: extents of weights by layer."""

    def __init__(self, name, channels, side, batch, records, layers, solver, data=""):
        self.name, self.channels, self.side, self.batch, self.records = name, channels, side, batch, records
        self.layers, self.solver, self.data = layers, solver, data
        self.iter_size = solver.get("iter_size", 1)

    def images(self):
        numbers = numpy.random.RandomState(1)
        pixels = numbers.randint(0, 256, (self.records, self.channels, self.side, self.side)).astype(numpy.uint8)
        labels = numbers.randint(0, CLASSES, self.records)
        for image, label in zip(pixels, labels):  # a bright row for each class
            image[:, 2 * label:2 * label + 2] |= 128
        return pixels, labels

    def mean(self):
        return numpy.linspace(100, 150, self.channels * self.side ** 2).astype(numpy.float32).reshape(self.channels, self.side, self.side)

    def transformed(self, pixels):
        if self.data == "mean_file":
            return (pixels.astype(float) - self.mean()) / 128
        return pixels / 256

    def parameters(self):
        """Weights and bias of each layer that has them, exact in f32."""
        numbers = numpy.random.RandomState(2)
        made, channels, side = {}, self.channels, self.side
        for kind, name, *how in self.layers:
            if kind == "conv":
                filters, window, pad = how
                extents = (filters, channels, window, window)
                channels, side = filters, side + 2 * pad - window + 1
            elif kind in ("max", "ave"):
                side = pooled(side, how[0])
                continue
            elif kind == "dense":
                extents = (how[0], channels * side * side)
                channels, side = how[0], 1
            else:
                continue
            bound = (3 / numpy.prod(extents[1:])) ** 0.5
            made[name] = [numbers.uniform(-bound, bound, extents).astype(numpy.float32),
                          numbers.uniform(-0.1, 0.1, extents[0]).astype(numpy.float32)]
        return made

    def prototxt(self, source, mean_file):
        transform = f'mean_file: "{mean_file}" scale: 0.0078125' if self.data == "mean_file" else "scale: 0.00390625"
        text = f'name: "{self.name}"\n'
        for phase in ("TRAIN", "TEST"):
            text += (f'layer {{ name: "data" type: "Data" top: "data" top: "label" include {{ phase: {phase} }}\n'
                     f'  transform_param {{ {transform} }}\n'
                     f'  data_param {{ source: "{source}" batch_size: {self.batch} backend: LMDB }} }}\n')
        bottom = "data"
        for kind, name, *how in self.layers:
            top = bottom if kind == "relu" else name
            multipliers = "".join(f"  param {{ lr_mult: {rate} decay_mult: {decay} }}" for rate, decay in self.multipliers(name))
            text += {"conv": lambda: f'layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{top}"\n{multipliers}\n'
                                     f'  convolution_param {{ num_output: {how[0]} kernel_size: {how[1]} pad: {how[2]}\n'
                                     f'    weight_filler {{ type: "xavier" }} bias_filler {{ type: "constant" }} }} }}\n',
                     "dense": lambda: f'layer {{ name: "{name}" type: "InnerProduct" bottom: "{bottom}" top: "{top}"\n{multipliers}\n'
                                      f'  inner_product_param {{ num_output: {how[0]}\n'
                                      f'    weight_filler {{ type: "xavier" }} bias_filler {{ type: "constant" }} }} }}\n',
                     "relu": lambda: f'layer {{ name: "{name}" type: "ReLU" bottom: "{bottom}" top: "{top}" }}\n',
                     "max": lambda: pooling(name, bottom, "MAX", *how),
                     "ave": lambda: pooling(name, bottom, "AVE", *how)}[kind]()
            bottom = top
        return text + (f'layer {{ name: "accuracy" type: "Accuracy" bottom: "{bottom}" bottom: "label" top: "accuracy" include {{ phase: TEST }} }}\n'
                       f'layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "{bottom}" bottom: "label" top: "loss" }}\n')

    def solver_text(self, net, **more):
        settings = {"net": net, "solver_mode": "CPU", "max_iter": STEPS, "test_initialization": "false"} | self.solver | more
        quoted = {"net", "lr_policy", "type", "snapshot_prefix", "regularization_type"}
        return "".join(f'{key}: "{value}"\n' if key in quoted else f"{key}: {value}\n" for key, value in settings.items())

    def multipliers(self, name):
        """lr_mult and decay_mult of weights and bias."""
        return [(1, 1), (2, 0)] if name != "ip2" else [(1, 2), (2, 1)]

    def rate(self, step):
        s = self.solver
        if s["lr_policy"] == "inv":
            return s["base_lr"] * (1 + s["gamma"] * step) ** -s["power"]
        return s["base_lr"] * s["gamma"] ** (step // s["stepsize"])


def pooling(name, bottom, kind, window, stride):
    return (f'layer {{ name: "{name}" type: "Pooling" bottom: "{bottom}" top: "{name}"\n'
            f'  pooling_param {{ pool: {kind} kernel_size: {window} stride: {stride} }} }}\n')


def pooled(side, window, stride=2):
    return -(-(side - window) // stride) + 1


NETWORKS = [
    network("lenet", 1, 28, 8, 44,
            [("conv", "conv1", 20, 5, 0), ("max", "pool1", 2, 2), ("conv", "conv2", 50, 5, 0), ("max", "pool2", 2, 2), ("dense", "ip1", 500),
             ("relu", "relu1"), ("dense", "ip2", CLASSES)],
            {"base_lr": 0.02, "lr_policy": "inv", "gamma": 0.2, "power": 0.75, "momentum": 0.9, "weight_decay": 0.0005}),
    network("cifar10_quick", 3, 32, 4, 30,
            [("conv", "conv1", 32, 5, 2), ("max", "pool1", 3, 2), ("relu", "relu1"), ("conv", "conv2", 32, 5, 2), ("relu", "relu2"),
             ("ave", "pool2", 3, 2), ("conv", "conv3", 64, 5, 2), ("relu", "relu3"), ("ave", "pool3", 3, 2), ("dense", "ip1", 64),
             ("dense", "ip2", CLASSES)],
            {"base_lr": 0.02, "lr_policy": "step", "gamma": 0.2, "stepsize": 6, "momentum": 0.9, "weight_decay": 0.004, "type": "Nesterov",
             "iter_size": 2, "clip_gradients": 1.5},
            "mean_file"),
]


def columns(x, window, pad):
    """Windows of images: N × H × W × (C · window²)."""
    padded = numpy.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    views = numpy.lib.stride_tricks.sliding_window_view(padded, (window, window), (2, 3))
    return views.transpose(0, 2, 3, 1, 4, 5).reshape(x.shape[0], views.shape[2], views.shape[3], -1)


class trained:
    """A network in training."""

    def __init__(self, net):
        self.net = net
        self.w = {name: [part.astype(float) for part in parts] for name, parts in net.parameters().items()}
        self.v = {name: [numpy.zeros_like(part) for part in parts] for name, parts in self.w.items()}

    def forward(self, x):
        self.kept = []
        for kind, name, *how in self.net.layers:
            if kind == "conv":
                c = columns(x, how[1], how[2])
                self.kept.append((c, x.shape))
                weights, bias = self.w[name]
                x = (c @ weights.reshape(len(weights), -1).T + bias).transpose(0, 3, 1, 2)
            elif kind == "dense":
                self.kept.append((x.reshape(len(x), -1), x.shape))
                x = self.kept[-1][0] @ self.w[name][0].T + self.w[name][1]
            elif kind == "relu":
                self.kept.append(x > 0)
                x = x * (x > 0)
            else:
                x = self.pool(x, kind, *how)
        return x

    def pool(self, x, kind, window, stride):
        side, made = x.shape[2], pooled(x.shape[2], window, stride)
        result = numpy.zeros((*x.shape[:2], made, made))
        places = numpy.zeros(result.shape, dtype=int)
        for i in range(made):
            for j in range(made):
                part = x[:, :, i * stride:min(i * stride + window, side), j * stride:min(j * stride + window, side)]
                flat = part.reshape(*x.shape[:2], -1)
                result[:, :, i, j] = flat.max(2) if kind == "max" else flat.mean(2)
                places[:, :, i, j] = flat.argmax(2)
        self.kept.append((x.shape, places))
        return result

    def backward(self, d):
        gradients = {}
        for (kind, name, *how), kept in zip(reversed(self.net.layers), reversed(self.kept)):
            if kind == "conv":
                c, shape = kept
                weights = self.w[name][0]
                rows = d.transpose(0, 2, 3, 1).reshape(-1, len(weights))
                gradients[name] = [(rows.T @ c.reshape(len(rows), -1)).reshape(weights.shape), rows.sum(0)]
                d = self.image_of(rows @ weights.reshape(len(weights), -1), shape, how[1], how[2])
            elif kind == "dense":
                x, shape = kept
                gradients[name] = [d.T @ x, d.sum(0)]
                d = (d @ self.w[name][0]).reshape(shape)
            elif kind == "relu":
                d = d * kept
            else:
                d = self.unpool(d, kind, kept, *how)
        return gradients

    @staticmethod
    def image_of(rows, shape, window, pad):
        n, channels, side, _ = shape
        made = numpy.zeros((n, channels, side + 2 * pad, side + 2 * pad))
        out = side + 2 * pad - window + 1
        parts = rows.reshape(n, out, out, channels, window, window)
        for y in range(window):
            for x in range(window):
                made[:, :, y:y + out, x:x + out] += parts[:, :, :, :, y, x].transpose(0, 3, 1, 2)
        return made[:, :, pad:pad + side, pad:pad + side]

    @staticmethod
    def unpool(d, kind, kept, window, stride):
        shape, places = kept
        made, side = numpy.zeros(shape), shape[2]
        n, c = numpy.indices(shape[:2])
        for i in range(d.shape[2]):
            for j in range(d.shape[3]):
                rows, cols = min(window, side - i * stride), min(window, side - j * stride)
                if kind == "ave":
                    made[:, :, i * stride:i * stride + rows, j * stride:j * stride + cols] += d[:, :, i, j, None, None] / (rows * cols)
                else:
                    y, x = numpy.divmod(places[:, :, i, j], cols)
                    made[n, c, i * stride + y, j * stride + x] += d[:, :, i, j]
        return made

    def step(self, number, batches):
        """One iteration of Caffe's solver on iter_size batches. Returns the mean loss."""
        net, total, loss = self.net, None, 0
        for x, labels in batches:
            scores = self.forward(x)
            scores = numpy.exp(scores - scores.max(1, keepdims=True))
            scores /= scores.sum(1, keepdims=True)
            loss -= numpy.log(scores[range(len(labels)), labels]).mean() / net.iter_size
            scores[range(len(labels)), labels] -= 1
            made = self.backward(scores / len(labels))
            total = made if total is None else {name: [a + b for a, b in zip(total[name], made[name])] for name in total}
        s = net.solver
        norm = sum((part ** 2).sum() for parts in total.values() for part in parts) ** 0.5
        clip = s.get("clip_gradients", -1)
        scale = clip / norm if 0 <= clip < norm else 1
        for name, parts in total.items():
            for k, (rate, decay) in enumerate(net.multipliers(name)):
                g = scale * parts[k] / net.iter_size + s["weight_decay"] * decay * self.w[name][k]
                before = self.v[name][k]
                self.v[name][k] = s["momentum"] * before + net.rate(number) * rate * g
                nesterov = s.get("type") == "Nesterov"
                self.w[name][k] = self.w[name][k] - ((1 + s["momentum"]) * self.v[name][k] - s["momentum"] * before if nesterov else self.v[name][k])
        return loss


def curve(net):
    pixels, labels = net.images()
    x = net.transformed(pixels)
    run, at, losses = trained(net), 0, []
    for step in range(STEPS):
        batches = []
        for _ in range(net.iter_size):
            rows = numpy.arange(at, at + net.batch) % net.records
            batches.append((x[rows], labels[rows]))
            at += net.batch
        losses.append(run.step(step, batches))
    return losses


if __name__ == "__main__":
    lines = [" ".join([net.name, *(repr(float(loss)) for loss in curve(net))]) + "\n" for net in NETWORKS]
    pathlib.Path(__file__).with_suffix(".txt").write_text("".join(lines), encoding="utf-8")
