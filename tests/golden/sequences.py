# SPDX-License-Identifier: Apache-2.0
"""Writes sequences.txt beside it: networks on masked sequences by PyTorch in double precision, one step of training.

python3 tests/golden/sequences.py    (made with PyTorch 2.15; any version gives the same numbers to about 1e-15)

For each case a line `case NAME batch N`, then `input`, `lengths`, `target`, each parameter as `parameter NAME` (in the order
of the layers), `loss`, and its gradients as `gradient NAME`; all row-major, steps before channels. PyTorch has no masks:
padding is set to 0 before convolutions, norms and pools read only unmasked steps, and losses per step ignore padding.
The graphs of the same names are in layer/sequences_golden_test.cpp.
"""
import pathlib

import torch
import torch.nn.functional as f

torch.set_default_dtype(torch.float64)
STEPS = 6
IGNORED = -100


def short(t):
    return (t * 1000).round() / 1000


class Parameters(dict):
    """Makes a parameter when it is first requested."""

    def draw(self, name, *extents):
        if name not in self:
            self[name] = short(torch.randn(*extents) / 2).requires_grad_()
        return self[name]

    def convolution(self, x, name, channels, filters, kernel, mask):
        """Padding "same"; an even kernel has its odd element at the end."""
        x = (x * mask.unsqueeze(2)).transpose(1, 2)
        x = f.pad(x, ((kernel - 1) // 2, kernel // 2))
        return f.conv1d(x, self.draw(f"{name}.weights", filters, channels, kernel), self.draw(f"{name}.bias", filters)).transpose(1, 2)

    def dense(self, x, name, channels, units):
        return f.linear(x, self.draw(f"{name}.weights", units, channels), self.draw(f"{name}.bias", units))

    def batch_norm(self, x, name, channels, mask, epsilon=1e-5):
        scale, shift = self.draw(f"{name}.scale", channels), self.draw(f"{name}.shift", channels)
        rows = x[mask]
        mean, variance = rows.mean(0), rows.var(0, unbiased=False)
        return (x - mean) / (variance + epsilon).sqrt() * scale + shift


def tagger(x, mask, p):
    x = f.embedding(x, p.draw("embedding_1.weights", 7, 4))
    x = torch.relu(p.convolution(x, "conv1d_1", 4, 5, 3, mask))
    x = torch.tanh(p.convolution(x, "conv1d_2", 5, 3, 2, mask))
    return p.dense(x, "dense_1", 3, 3)


def language_model(x, mask, p):
    """Tied weights: the embedding is the output layer too. Targets 2 are ignored."""
    words = p.draw("words.weights", 7, 4)
    x = torch.tanh(p.dense(f.embedding(x, words), "dense_1", 4, 4))
    return f.linear(x, words)


def classifier(x, mask, p):
    x = torch.relu(p.dense(x, "dense_1", 2, 4))
    x = p.batch_norm(x, "batch_norm_1", 4, mask)
    weights = mask.unsqueeze(2)
    mean = (x * weights).sum(1) / weights.sum(1)
    most = x.masked_fill(~weights, -torch.inf).amax(1)
    return p.dense(torch.cat([mean, most], 1), "dense_2", 8, 3)


def numbers(t):
    return " ".join(f"{x:.17g}" for x in t.detach().flatten().tolist())


def main():
    torch.manual_seed(5)
    lines = []
    lengths = torch.tensor([4, 6, 1, 3])
    mask = torch.arange(STEPS).unsqueeze(0) < lengths.unsqueeze(1)
    words = torch.randint(1, 7, (len(lengths), STEPS)) * mask
    series = short(torch.randn(len(lengths), STEPS, 2)) * mask.unsqueeze(2)
    tags = torch.randint(0, 3, (len(lengths), STEPS)) * mask
    classes = torch.randint(0, 3, (len(lengths),))
    for name, net, x, target, reduction in (
            ("tagger", tagger, words, tags, "mean"), ("tagger_of_sums", tagger, words, tags, "sum"),
            ("classifier", classifier, series, classes, None), ("language_model", language_model, words, tags, "mean")):
        parameters = Parameters()
        logits = net(x, mask, parameters)
        if reduction is None:
            loss = f.cross_entropy(logits, target)
        else:
            counts = mask & (target != 2) if net is language_model else mask
            wanted = torch.where(counts, target, IGNORED).flatten()
            loss = f.cross_entropy(logits.flatten(0, 1), wanted, ignore_index=IGNORED, reduction=reduction)
            loss = loss / len(lengths) if reduction == "sum" else loss
        loss.backward()
        lines += [f"case {name} batch {len(lengths)}", f"input {numbers(x)}", f"lengths {numbers(lengths)}", f"target {numbers(target)}"]
        lines += [f"parameter {key} {numbers(value)}" for key, value in parameters.items()]
        lines += [f"loss {numbers(loss)}"]
        lines += [f"gradient {key} {numbers(value.grad)}" for key, value in parameters.items()]
    pathlib.Path(__file__).with_name("sequences.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
