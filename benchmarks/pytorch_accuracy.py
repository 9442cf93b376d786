#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a reference network in PyTorch with the settings of the example of the same name, and prints its accuracy.

    pytorch_accuracy.py NET --data DIR [--epochs 3] [--threads 2] [--seed 123]

NET is cifar10 or tiny_imagenet. DIR contains the folders train and test with one folder of images per class: the example
cifar10 reads it directly, tiny_imagenet after packing by cohort data pack. Images of another size are scaled in the same way
(bilinear, antialiased). Settings, batch of 32, initialisation and padding are the example's; the random numbers differ.
Needs `pip install torch pillow`.
"""
import argparse
import pathlib
import time

import numpy
import torch
from PIL import Image
from torch import nn

BATCH = 32


def cifar10(classes):
    layers, channels = [], 3
    for number, (kernel, filters) in enumerate([(4, 64), (4, 64), (4, 96), (4, 96), (3, 128), (3, 128), (2, 256), (2, 256)]):
        layers += [nn.Conv2d(channels, filters, kernel, padding="same"), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if number in (1, 7) else []
        channels = filters
    first_dense = nn.Linear(256 * 8 * 8, 1024)
    net = nn.Sequential(*layers, nn.Flatten(), first_dense, nn.ReLU(), nn.Dropout(0.2),
                        nn.Linear(1024, 1024), nn.ReLU(), nn.Dropout(0.2), nn.Linear(1024, classes))
    for layer in net:
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
    own = set(first_dense.parameters())
    groups = [{"params": [p for p in net.parameters() if p not in own]}, {"params": list(own), "lr": 5e-5}]
    return net, torch.optim.Adam(groups, lr=5e-4), lambda epoch: 1, 1


def tiny_imagenet(classes):
    layers, channels = [], 3
    for kernel, filters, pool in [(3, 32, 0), (3, 64, 2), (2, 128, 0), (2, 256, 2), (2, 256, 0), (2, 512, 2)]:
        conv = nn.Conv2d(channels, filters, kernel, padding="same", bias=False)
        nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        layers += [conv, nn.BatchNorm2d(filters), nn.LeakyReLU(0.1)] + ([nn.MaxPool2d(pool)] if pool else [])
        channels = filters
    last = nn.Conv2d(channels, classes, 1)
    nn.init.xavier_normal_(last.weight)
    nn.init.zeros_(last.bias)
    net = nn.Sequential(*layers, last, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    weights = [p for p in net.parameters() if p.dim() > 1]
    others = [p for p in net.parameters() if p.dim() == 1]
    optimizer = torch.optim.Adam([{"params": weights, "weight_decay": 1e-4}, {"params": others}], lr=8e-3, amsgrad=True)
    rates = {0: 1, 1: 3 / 4, 3: 3 / 8, 5: 1 / 8, 7: 1 / 16}
    return net, optimizer, lambda epoch: rates[max(first for first in rates if first <= epoch)], 5


def images_of(folder, side):
    """Returns all images as bytes, and their classes, numbered in the order of the folders' names."""
    images, labels = [], []
    for label, name in enumerate(sorted(path.name for path in folder.iterdir() if path.is_dir())):
        for path in sorted((folder / name).iterdir()):
            with Image.open(path) as image:
                image = image.convert("RGB")
                if image.size != (side, side):
                    image = image.resize((side, side), Image.Resampling.BILINEAR)
                images.append(numpy.asarray(image).transpose(2, 0, 1))
            labels.append(label)
    return torch.from_numpy(numpy.stack(images)), torch.tensor(labels)


def evaluate(net, images, labels, top):
    net.eval()
    best = torch.cat([net(part.float() / 255).topk(top).indices for part in images.split(256)])
    net.train()
    hits = best == labels[:, None]
    return [hits[:, :count].any(1).double().mean().item() for count in sorted({1, top})]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("net", choices=["cifar10", "tiny_imagenet"])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=123)
    how = parser.parse_args()
    torch.set_num_threads(how.threads)
    torch.manual_seed(how.seed)
    side = 32 if how.net == "cifar10" else 64
    train, train_labels = images_of(how.data / "train", side)
    test, test_labels = images_of(how.data / "test", side)
    make = {"cifar10": cifar10, "tiny_imagenet": tiny_imagenet}[how.net]
    net, optimizer, share_of_rate, top = make(int(train_labels.max()) + 1)
    net = net.to(memory_format=torch.channels_last)
    print(f"PyTorch {torch.__version__}, {sum(p.numel() for p in net.parameters()):,} parameters")
    rates = [group["lr"] for group in optimizer.param_groups]
    for epoch in range(how.epochs):
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * share_of_rate(epoch)
        begun, losses = time.monotonic(), 0.0
        for part in torch.randperm(len(train)).split(BATCH):
            images = (train[part].float() / 255).contiguous(memory_format=torch.channels_last)
            loss = nn.functional.cross_entropy(net(images), train_labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses += loss.item() * len(part)
        seconds = time.monotonic() - begun
        with torch.inference_mode():
            shares = evaluate(net, test, test_labels, top)
        names = ["accuracy", f"top-{top}"]
        print(f"epoch {epoch + 1}: " + ", ".join(f"{name} {100 * share:.2f} %" for name, share in zip(names, shares))
              + f", loss {losses / len(train):.4f}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
