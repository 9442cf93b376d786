# SPDX-License-Identifier: Apache-2.0
"""Writes losses.txt beside it: every loss by PyTorch in double precision, forward and backward.

python3 tests/golden/losses.py    (made with PyTorch 2.15; any version gives the same numbers to about 1e-15)

For each case a line `case NAME`, then `input` (5 examples of 4 values), `target`, `weights` of the examples, `output`,
`loss` (the weighted mean) and `gradient` of the input; all row-major. layer/loss_test.cpp has the layer of each name.
"""
import pathlib

import torch
import torch.nn.functional as f

torch.set_default_dtype(torch.float64)
EXAMPLES, WIDTH = 5, 4


def labels():
    return torch.randint(WIDTH, (EXAMPLES,))


def shares():
    return torch.softmax(torch.randn(EXAMPLES, WIDTH), 1)


def sides():
    return torch.randint(2, (EXAMPLES, WIDTH)) * 2.0 - 1


def mean_of(loss):
    return lambda x, t: loss(x, t, reduction="none").mean(1)


def hinge(x, t):
    return torch.relu(1 - t * x).mean(1)


def same(x):
    return x


def softmax(x):
    return torch.softmax(x, 1)


# name: loss of each example, target, output
CASES = {
    "labels": (lambda x, t: f.cross_entropy(x, t, reduction="none"), labels, softmax),
    "smoothed_labels": (lambda x, t: f.cross_entropy(x, t, reduction="none", label_smoothing=0.1), labels, softmax),
    "distributions": (lambda x, t: f.cross_entropy(x, t, reduction="none", label_smoothing=0.2), shares, softmax),
    "kullback_leibler": (lambda x, t: f.kl_div(f.log_softmax(x, 1), t, reduction="none").sum(1), shares, softmax),
    "binary_cross_entropy": (mean_of(f.binary_cross_entropy_with_logits), lambda: torch.rand(EXAMPLES, WIDTH), torch.sigmoid),
    "mean_squared_error": (mean_of(f.mse_loss), lambda: torch.randn(EXAMPLES, WIDTH), same),
    "mean_absolute_error": (mean_of(f.l1_loss), lambda: torch.randn(EXAMPLES, WIDTH), same),
    "huber": (mean_of(lambda x, t, reduction: f.huber_loss(x, t, reduction=reduction, delta=0.7)), lambda: torch.randn(EXAMPLES, WIDTH), same),
    "hinge": (hinge, sides, same),
}


def numbers(t):
    return " ".join(f"{x:.17g}" for x in t.detach().flatten().tolist())


def main():
    torch.manual_seed(21)
    lines = []
    for name, (loss_of, draw_target, output_of) in CASES.items():
        x = (2 * torch.randn(EXAMPLES, WIDTH)).requires_grad_()
        target = draw_target()
        weights = torch.randint(1, 9, (EXAMPLES,)) / 4  # exact in f32, as example weights are
        loss = (weights * loss_of(x, target)).sum() / weights.sum()
        loss.backward()
        lines += [f"case {name}", f"input {numbers(x)}", f"target {numbers(target)}", f"weights {numbers(weights)}"]
        lines += [f"output {numbers(output_of(x))}", f"loss {numbers(loss)}", f"gradient {numbers(x.grad)}"]
    pathlib.Path(__file__).with_name("losses.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
