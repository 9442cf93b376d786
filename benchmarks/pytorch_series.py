#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test accuracy of an LSTM on the synthetic control charts in PyTorch, the counterpart of sequence_classification.

    pytorch_series.py TABLE [--epochs 40] [--seed 1] [--threads 2]

TABLE: synthetic_control.data, 600 series of 60 steps, 100 of each class in order. 450 random series are for training, the same for
every seed. Network: LSTM of 128 units, dense on its last step. Adam, rate 0.005, batch 64, gradients clipped to norm 1, values
standardised by the mean and deviation of the training series. Prints one JSON line. Needs `pip install torch`."""
import argparse
import json
import pathlib

import torch
from torch import nn

CLASSES, SERIES, TRAINING, BATCH, UNITS, SPLIT_SEED = 6, 600, 450, 64, 128, 12345


class classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(1, UNITS, batch_first=True), nn.Linear(UNITS, CLASSES)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    lines = chosen.table.read_text(encoding="utf-8").splitlines()
    series = torch.tensor([[float(value) for value in line.split()] for line in lines])
    classes = torch.arange(SERIES) // (SERIES // CLASSES)
    order = torch.randperm(SERIES, generator=torch.Generator().manual_seed(SPLIT_SEED))
    training, test = order[:TRAINING], order[TRAINING:]
    series = ((series - series[training].mean()) / series[training].std()).unsqueeze(2)
    net = classifier()
    optimizer = torch.optim.Adam(net.parameters(), 0.005)
    for _ in range(chosen.epochs):
        for part in training[torch.randperm(TRAINING)].split(BATCH):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(series[part]), classes[part])
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1)
            optimizer.step()
    with torch.no_grad():
        right = (net(series[test]).argmax(1) == classes[test]).float().mean().item()
    print(json.dumps({"name": "pytorch", "torch": torch.__version__, "seed": chosen.seed, "epochs": chosen.epochs,
                      "loss": round(loss.item(), 4), "accuracy": round(right, 4)}))


if __name__ == "__main__":
    main()
