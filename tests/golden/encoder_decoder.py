# SPDX-License-Identifier: Apache-2.0
"""Writes encoder_decoder.txt beside it: 20 losses of attention between two masked sequences, trained by PyTorch in double precision.

python3 tests/golden/encoder_decoder.py    (made with PyTorch 2.15; any version gives the same numbers to about 1e-12)

The network is that of training/encoder_decoder_test.cpp: embeddings of a source and a target; torch.nn.MultiheadAttention of the
source to itself, then of the target to the source, both with key_padding_mask and added to their first input; an output layer.
The loss is the mean over the unmasked steps of the target. Element i of all parameters, in the order of the layers, begins as
sin(1.1 i) / 3. Adam, rate 3e-3, a new batch in each step.
"""
import math
import pathlib

import torch
from torch import nn

torch.set_default_dtype(torch.float64)
HEADS, UNITS, SOURCE, TARGET, WORDS, BATCH = 4, 32, 9, 7, 11, 3


class network(nn.Module):
    def __init__(self):
        super().__init__()
        self.source = nn.Embedding(WORDS, UNITS)
        self.encode = nn.MultiheadAttention(UNITS, HEADS, batch_first=True)
        self.target = nn.Embedding(WORDS, UNITS)
        self.decode = nn.MultiheadAttention(UNITS, HEADS, batch_first=True)
        self.head = nn.Linear(UNITS, WORDS)

    def initialise(self):
        first = 0
        # in_proj contains queries, keys and values, which are three layers in Cohort.
        decode = self.decode
        parts = [part for pair in zip(decode.in_proj_weight.data.chunk(3), decode.in_proj_bias.data.chunk(3)) for part in pair]
        for one in [self.source.weight, *self.encode.parameters(), self.target.weight, *parts, *decode.out_proj.parameters(),
                    *self.head.parameters()]:
            count = one.numel()
            one.data.copy_(torch.tensor([math.sin(1.1 * i) / 3 for i in range(first, first + count)]).reshape(one.shape))
            first += count

    def forward(self, source, source_mask, target):
        s, t = self.source(source), self.target(target)
        padding = source_mask == 0
        s = s + self.encode(s, s, s, key_padding_mask=padding, need_weights=False)[0]
        t = t + self.decode(t, s, s, key_padding_mask=padding, need_weights=False)[0]
        return self.head(t)


def batch(step):
    """Lengths of 1 to 9 and 1 to 7; element 1 of every source of more than 3 steps is masked."""
    n = torch.arange(BATCH)[:, None]
    def sequence(length, factor):
        t = torch.arange(length)
        return (factor * step + 17 * n + 7 * t + t * t % 5) % WORDS, (t < 1 + (2 * step + 3 * n) % length).long()
    source, source_mask = sequence(SOURCE, 31)
    target, target_mask = sequence(TARGET, 13)
    source_mask[(source_mask.sum(1) > 3), 1] = 0
    return source, source_mask, target, target_mask, (3 * target + 1 + torch.arange(TARGET)) % WORDS


def main():
    net = network()
    net.initialise()
    adam = torch.optim.Adam(net.parameters(), 3e-3)
    losses = []
    for step in range(20):
        source, source_mask, target, target_mask, labels = batch(step)
        out = net(source, source_mask, target)
        loss = nn.functional.cross_entropy(out[target_mask == 1], labels[target_mask == 1])
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    path = pathlib.Path(__file__).with_suffix(".txt")
    path.write_text("case adam\nlosses " + " ".join(f"{loss:.13g}" for loss in losses) + "\n")


if __name__ == "__main__":
    main()
