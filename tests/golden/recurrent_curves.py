# SPDX-License-Identifier: Apache-2.0
"""Writes recurrent_curves.txt beside it: the losses of 20 steps of small recurrent networks by PyTorch in double precision.

python3 tests/golden/recurrent_curves.py    (made with PyTorch 2.15)

One line per network: its name, then the mean loss of each step. Weights and data are drawn by `drawn` and `hashed` of curves.py:
tensor 0 has the inputs, tensor 1 the targets, then the parameters follow in Cohort's order, with Cohort's order of gates (lstm
i f c o, gru z r n). The second bias of torch.nn.LSTM is 0 and fixed. Adam, gradients clipped to a global norm of 1.
The networks of the same names are in training/recurrent_curves_test.cpp.
"""
import math
import pathlib

import torch
import torch.nn.functional as f
from torch import nn

from curves import BATCH, BATCHES, STEPS, drawn, hashed

WORDS, WIDTH, LENGTH = 11, 8, 12  # of the texts
ORDER = {nn.LSTM: [0, 1, 2, 3], nn.GRU: [1, 0, 2]}


def fill(parameter, number, gates=None):
    """Draws a parameter: weights up to 1/floor(sqrt(fan in)), biases up to 1/16. `gates`: the places of PyTorch's gates."""
    scale = 2 / math.isqrt(parameter.shape[1]) if parameter.dim() > 1 else 1 / 8
    values = drawn(number, *parameter.shape) * scale
    if gates:
        parts = values.chunk(len(gates))
        values = torch.cat([parts[i] for i in gates])
    parameter.data.copy_(values)


def fill_recurrent(rnn, first):
    """Returns the number of the next parameter."""
    gates = ORDER[type(rnn)]
    for layer in range(rnn.num_layers):
        for name in ("weight_ih", "weight_hh", "bias_ih", *(["bias_hh"] if type(rnn) is nn.GRU else [])):
            fill(getattr(rnn, f"{name}_l{layer}"), first, gates)
            first += 1
        if type(rnn) is nn.LSTM:
            bias = getattr(rnn, f"bias_hh_l{layer}")
            nn.init.zeros_(bias)
            bias.requires_grad_(False)
    return first


class uci(nn.Module):
    classes, rate, beta2 = 6, 5e-3, 0.999

    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(1, 12, batch_first=True), nn.Linear(12, 6)
        first = fill_recurrent(self.rnn, 2)
        fill(self.head.weight, first)
        fill(self.head.bias, first + 1)

    def data(self):
        return drawn(0, BATCHES, BATCH, 20, 1) * 4, (hashed(1, BATCHES * BATCH) % 6).reshape(BATCHES, BATCH)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class characters(nn.Module):
    classes, rate, beta2 = WORDS, 2e-3, 0.99

    def __init__(self, kind):
        super().__init__()
        self.tokens, self.rnn = nn.Embedding(WORDS, WIDTH), kind(WIDTH, WIDTH, 2, batch_first=True)
        self.head = nn.Linear(WIDTH, WORDS)
        fill(self.tokens.weight, 2)
        first = fill_recurrent(self.rnn, 3)
        fill(self.head.weight, first)
        fill(self.head.bias, first + 1)

    def data(self):
        count = BATCHES * BATCH * LENGTH
        return tuple((hashed(tensor, count) % WORDS).reshape(BATCHES, BATCH, LENGTH) for tensor in (0, 1))

    def forward(self, x):
        return self.head(self.rnn(self.tokens(x))[0])


def main():
    torch.set_default_dtype(torch.float64)
    lines = []
    for name, make in (("uci", uci), ("char_lstm", lambda: characters(nn.LSTM)), ("char_gru", lambda: characters(nn.GRU))):
        net = make()
        inputs, targets = net.data()
        trained = [p for p in net.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(trained, lr=net.rate, betas=(0.9, net.beta2))
        losses = []
        for step in range(STEPS):
            out = net(inputs[step % BATCHES])
            loss = f.cross_entropy(out.reshape(-1, net.classes), targets[step % BATCHES].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            norm = torch.stack([p.grad.norm() for p in trained]).norm()
            for p in trained:
                p.grad /= max(norm, 1)
            optimizer.step()
            losses.append(loss.item())
        lines.append(f"{name} " + " ".join(f"{loss:.17g}" for loss in losses))
    pathlib.Path(__file__).with_name("recurrent_curves.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
