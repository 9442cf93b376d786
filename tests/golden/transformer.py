# SPDX-License-Identifier: Apache-2.0
"""Writes transformer.txt beside it: 20 losses of a small transformer, trained by PyTorch in double precision.

python3 tests/golden/transformer.py    (made with PyTorch 2.x; any version gives the same numbers to about 1e-12)

The network is that of training/transformer_training_test.cpp: two blocks of 4 heads and 32 units, learned positions, GELU in tanh
form, and an output layer with the embedding's weights. Element i of all parameters, in the order of the layers, begins as
sin(1.1 i) / 10, plus 1 for the scales of the norms. Rate 3e-3, a new batch in each step. Cases: Adam; AdamW with a weight decay of 2
for all parameters; for matrices only, by parameter groups; and for matrices except the embedding.
"""
import math
import pathlib

import torch
from torch.nn import functional

torch.set_default_dtype(torch.float64)
BLOCKS, HEADS, UNITS, STEPS, WORDS, BATCH = 2, 4, 32, 8, 11, 2

shapes = [(WORDS, UNITS), (STEPS, UNITS)]
for _ in range(BLOCKS):
    shapes += [(UNITS,), (UNITS,), (3 * UNITS, UNITS), (3 * UNITS,), (UNITS, UNITS), (UNITS,),
               (UNITS,), (UNITS,), (4 * UNITS, UNITS), (4 * UNITS,), (UNITS, 4 * UNITS), (UNITS,)]
shapes += [(UNITS,), (UNITS,)]
scales = {2 + 12 * block + at for block in range(BLOCKS) for at in (0, 6)} | {2 + 12 * BLOCKS}


def initial():
    made, first = [], 0
    for number, shape in enumerate(shapes):
        count = math.prod(shape)
        values = torch.tensor([math.sin(1.1 * i) / 10 for i in range(first, first + count)]).reshape(shape)
        made.append((values + (number in scales)).requires_grad_())
        first += count
    return made


def network(parameters, tokens):
    own = iter(parameters)
    words = next(own)
    x = words[tokens] + next(own)
    norm = lambda of: functional.layer_norm(of, (UNITS,), next(own), next(own))
    dense = lambda of: functional.linear(of, next(own), next(own))
    for _ in range(BLOCKS):
        q, k, v = (part.view(BATCH, STEPS, HEADS, -1).transpose(1, 2) for part in dense(norm(x)).split(UNITS, 2))
        read = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + dense(read)
        x = x + dense(functional.gelu(dense(norm(x)), approximate="tanh"))
    return functional.linear(norm(x), words)


def losses(optimizer):
    parameters, made = initial(), []
    update = optimizer(parameters)
    for step in range(20):
        tokens = torch.tensor([[(31 * step + 17 * n + 7 * t + t * t % 5) % WORDS for t in range(STEPS)] for n in range(BATCH)])
        labels = (3 * tokens + 1 + torch.arange(STEPS)) % WORDS
        loss = functional.cross_entropy(network(parameters, tokens).reshape(-1, WORDS), labels.reshape(-1))
        update.zero_grad()
        loss.backward()
        update.step()
        made.append(loss.item())
    return made


def adamw(decays):
    """AdamW with two groups of parameters: decays(number of the parameter, its rank) selects those with weight decay."""
    def of(parameters):
        groups = {True: [], False: []}
        for number, one in enumerate(parameters):
            groups[decays(number, one.dim())].append(one)
        return torch.optim.AdamW([{"params": groups[True], "weight_decay": 2.0}, {"params": groups[False], "weight_decay": 0.0}],
                                 3e-3)
    return of


def main():
    cases = {"adam": lambda parameters: torch.optim.Adam(parameters, 3e-3),
             "adamw": adamw(lambda number, rank: True),
             "adamw_matrices": adamw(lambda number, rank: rank >= 2),
             "adamw_without_embedding": adamw(lambda number, rank: rank >= 2 and number > 0)}
    with open(pathlib.Path(__file__).with_suffix(".txt"), "w", encoding="utf-8") as file:
        for name, optimizer in cases.items():
            file.write(f"case {name}\nlosses " + " ".join(f"{loss:.13g}" for loss in losses(optimizer)) + "\n")


if __name__ == "__main__":
    main()
