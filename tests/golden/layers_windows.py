# SPDX-License-Identifier: Apache-2.0
"""Writes layers_windows.txt beside it: windows and normalisations by PyTorch in double precision, one step of training.

python3 tests/golden/layers_windows.py    (made with PyTorch 2.15; any version gives the same numbers to about 1e-15)

For each case a line `case NAME batch N`, then `input`, `target`, each parameter as `parameter NAME` (in the order of the
layers), `loss` (mean cross entropy), its gradients as `gradient NAME`, the running statistics after a step as `after NAME`,
and the logits at inference after that step, by plain SGD with rate 0.1, as `inferred`; all row-major. PyTorch's running
variance uses N/(N - 1) times the batch's variance; this is corrected here to the biased variance. The graphs of the same
names are in layer/windows_golden_test.cpp.
"""
import pathlib

import torch
import torch.nn.functional as f

torch.set_default_dtype(torch.float64)
RATE, MOMENTUM = 0.1, 0.9


def short(t):
    return (t * 1000).round() / 1000


class Parameters(dict):
    """Makes a parameter when it is first requested."""

    training = True

    def draw(self, name, *extents):
        if name not in self:
            self[name] = short(torch.randn(*extents) / 2).requires_grad_()
        return self[name]

    def batch_norm(self, x, name, epsilon=1e-5):
        channels = x.shape[1]
        scale, shift = self.draw(f"{name}.scale", channels), self.draw(f"{name}.shift", channels)
        mean = self.setdefault(f"{name}.running_mean", torch.zeros(channels))
        variance = self.setdefault(f"{name}.running_variance", torch.ones(channels))
        if not self.training:
            return f.batch_norm(x, mean, variance, scale, shift, eps=epsilon)
        followed, before = variance.clone(), variance.clone()
        y = f.batch_norm(x, mean, followed, scale, shift, training=True, momentum=1 - MOMENTUM, eps=epsilon)
        n = x.numel() // channels
        variance.copy_(MOMENTUM * before + (followed - MOMENTUM * before) * (n - 1) / n)
        return y


def transposed(weights, groups):
    """K×(C/g)×R×S as PyTorch has it: C×(K/g)×R×S."""
    k, c, r, s = weights.shape
    return weights.view(groups, k // groups, c, r, s).transpose(1, 2).reshape(groups * c, k // groups, r, s)


def convolutions(x, p):
    x = f.conv2d(x, p.draw("conv2d_1.weights", 4, 2, 3, 2), p.draw("conv2d_1.bias", 4), stride=(1, 2), padding=(2, 1),
                 dilation=(2, 1), groups=2)
    x = f.conv2d(f.pad(x, (0, 1, 1, 2)), p.draw("conv2d_2.weights", 8, 1, 4, 2), groups=4)  # "same", even kernels
    return f.relu(x).mean((2, 3))


def separable(x, p):
    x = f.conv2d(x, p.draw("conv2d_1.weights", 6, 1, 3, 3), padding=1, groups=3)
    x = f.conv2d(x, p.draw("conv2d_2.weights", 2, 6, 1, 1), p.draw("conv2d_2.bias", 2))
    return f.linear(x.flatten(1), p.draw("dense_1.weights", 3, x[0].numel()), p.draw("dense_1.bias", 3))


def transpositions(x, p):
    w, b = p.draw("conv2d_transposed_1.weights", 4, 1, 3, 2), p.draw("conv2d_transposed_1.bias", 4)
    x = f.relu(f.conv_transpose2d(x, transposed(w, 2), b, stride=2, groups=2))
    w, b = p.draw("conv2d_transposed_2.weights", 2, 4, 3, 3), p.draw("conv2d_transposed_2.bias", 2)
    x = f.conv_transpose2d(x, transposed(w, 1), b, stride=2, padding=1, output_padding=1)
    w = p.draw("conv2d_transposed_3.weights", 3, 2, 2, 4)
    x = f.conv_transpose2d(x, transposed(w, 1), stride=(1, 2), dilation=(2, 1))[:, :, 1:-1, 1:-1]  # "same": (1, 1), (1, 1)
    return f.relu(x).mean((2, 3))


def sequences(x, p):  # steps x channels; PyTorch has channels x steps
    x = f.conv1d(x.transpose(1, 2), p.draw("conv1d_1.weights", 4, 1, 3), p.draw("conv1d_1.bias", 4), padding=2, dilation=2, groups=2)
    x = f.conv1d(f.pad(f.relu(x), (1, 2)), p.draw("conv1d_2.weights", 3, 4, 5), stride=2)  # "same" of 8 by steps of 2
    return torch.cat([x.mean(2), x.amax(2)], 1)


def pools(x, p):
    x = f.conv2d(x, p.draw("conv2d_1.weights", 7, 1, 2, 2), p.draw("conv2d_1.bias", 7))
    x = f.local_response_norm(x, 5, alpha=5 * 0.2, beta=0.6, k=1.5)
    x = f.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)
    return torch.cat([f.adaptive_avg_pool2d(x, 1).flatten(1), f.adaptive_max_pool2d(x, 1).flatten(1)], 1)


def norms(x, p):
    x = f.relu(f.conv2d(x, p.draw("conv2d_1.weights", 3, 2, 2, 2), p.draw("conv2d_1.bias", 3)))
    x = p.batch_norm(x, "batch_norm_1")
    x = f.layer_norm(x, (3, 4), p.draw("layer_norm_1.scale", 3, 4), p.draw("layer_norm_1.shift", 3, 4))
    x = f.relu(f.linear(x.flatten(1), p.draw("dense_1.weights", 5, 36), p.draw("dense_1.bias", 5)))
    x = f.layer_norm(x, (5,), p.draw("layer_norm_2.scale", 5), p.draw("layer_norm_2.shift", 5), eps=0.01)
    x = p.batch_norm(x, "batch_norm_2", epsilon=0.001)
    return f.linear(x, p.draw("dense_2.weights", 3, 5), p.draw("dense_2.bias", 3))


CASES = {
    "convolutions": (convolutions, (4, 5, 6)),
    "separable": (separable, (3, 4, 3)),
    "transpositions": (transpositions, (2, 2, 3)),
    "sequences": (sequences, (8, 2)),
    "pools": (pools, (1, 6, 7)),
    "norms": (norms, (2, 4, 5)),
}


def numbers(t):
    return " ".join(f"{x:.17g}" for x in t.detach().flatten().tolist())


def main():
    torch.manual_seed(21)
    lines = []
    for name, (net, extents) in CASES.items():
        batch, parameters = 5, Parameters()
        x = short(torch.randn(batch, *extents))
        net(x, parameters)  # makes them
        for key, value in parameters.items():
            if "running" in key:
                value.copy_(short(torch.rand_like(value) + 0.5))
        started = [f"parameter {key} {numbers(value)}" for key, value in parameters.items()]
        logits = net(x, parameters)
        target = torch.randint(logits.shape[1], (batch,))
        loss = f.cross_entropy(logits, target)
        loss.backward()
        lines += [f"case {name} batch {batch}", f"input {numbers(x)}", f"target {numbers(target)}", *started]
        lines += [f"loss {numbers(loss)}"]
        trained = {key: value for key, value in parameters.items() if value.requires_grad}
        lines += [f"gradient {key} {numbers(value.grad)}" for key, value in trained.items()]
        with torch.no_grad():
            for value in trained.values():
                value -= RATE * value.grad
            lines += [f"after {key} {numbers(value)}" for key, value in parameters.items() if key not in trained]
            parameters.training = False
            lines += [f"inferred {numbers(net(x, parameters))}"]
    pathlib.Path(__file__).with_name("layers_windows.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
