#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a character model on a text in PyTorch, and prints its mean loss on held-out text as JSON.

    pytorch_text.py TEXT char_lstm|char_gru|gpt_small SEED ITERATIONS THREADS

char_lstm, char_gru: two recurrent layers of 256 units on crops of 100 characters, batch 32; Adam, rate 0.002. gpt_small: the
transformer of pytorch_transformers.py on crops of 64 characters, batch 12; AdamW, rate 0.001, decay 0.1 of all parameters. The
networks are those of networks.hpp. beta2 is 0.99, and gradients are clipped to a global norm of 1. The last tenth of the text is held out. The
counterpart of train_text.cpp; needs `pip install torch`."""
import json
import pathlib
import sys
import time

UNITS = 256


def main():
    if len(sys.argv) != 6 or sys.argv[2] not in ("char_lstm", "char_gru", "gpt_small"):
        sys.exit(__doc__)
    attends = sys.argv[2] == "gpt_small"
    length, size = (64, 12) if attends else (100, 32)
    text, name = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]
    seed, iterations, threads = map(int, sys.argv[3:])
    import torch
    from torch import nn
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    letters = {letter: index for index, letter in enumerate(sorted(set(text)))}
    tokens = torch.tensor([letters[letter] for letter in text])
    cut = len(tokens) * 9 // 10
    seen, held_out = tokens[:cut], tokens[cut:]

    class characters(nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.tokens, self.rnn = nn.Embedding(len(letters), UNITS), kind(UNITS, UNITS, 2, batch_first=True)
            self.head = nn.Linear(UNITS, len(letters))

        def forward(self, x):
            return self.head(self.rnn(self.tokens(x))[0])

    if attends:
        import pytorch_transformers
        net = pytorch_transformers.make(name)
        optimizer = torch.optim.AdamW(net.parameters(), 1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    else:
        net = characters(nn.LSTM if name == "char_lstm" else nn.GRU)
        optimizer = torch.optim.Adam(net.parameters(), 2e-3, betas=(0.9, 0.99))

    def loss_of(crops):
        return nn.functional.cross_entropy(net(crops[:, :-1]).reshape(-1, len(letters)), crops[:, 1:].reshape(-1))

    start = time.perf_counter()
    for _ in range(iterations):
        loss = loss_of(torch.stack([seen[at:at + length + 1] for at in torch.randint(cut - length, (size,))]))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1)
        optimizer.step()
    taken = time.perf_counter() - start
    crops = torch.stack([held_out[at:at + length + 1] for at in range(0, len(held_out) - length, length)])
    with torch.no_grad():
        held_out_loss = sum(loss_of(part).item() * len(part) for part in crops.split(64)) / len(crops)
    print(json.dumps({"name": "pytorch", "torch": torch.__version__, "net": name, "seed": seed, "iterations": iterations,
                      "seconds": round(taken, 1), "loss": round(loss.item(), 4), "held_out_loss": round(held_out_loss, 4)}))


if __name__ == "__main__":
    main()
