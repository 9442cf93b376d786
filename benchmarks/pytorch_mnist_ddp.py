#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains lenet_mnist's or mnist_mlp's network in PyTorch, in one process or in several with DistributedDataParallel.

    pytorch_mnist_ddp.py --network lenet --data DIR [--epochs 5] [--evaluate-every N] [--json FILE]
    torchrun --nproc-per-node 2 pytorch_mnist_ddp.py …      or with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT set

Network, initialisation, optimizer, rate, penalties, batch per rank and scaling are those of examples/NETWORK; the random
numbers differ. All ranks use one permutation of the images per epoch; each takes its part of every global batch. The images
are one tensor in memory, convolutions are channels last, and optimizers are fused: the fastest configuration found. Ranks
communicate over gloo (GLOO_SOCKET_IFNAME selects the link). `seconds` count training without evaluation, until all ranks
have finished; `curve` contains them with the accuracy after each evaluation.
Needs `pip install torch`.
"""
import argparse
import gzip
import json
import os
import pathlib
import time

import torch
from torch import distributed, nn


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(20, 50, 5, 2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 500), nn.LeakyReLU(0.01), nn.Linear(500, 100), nn.LeakyReLU(0.01),
                         nn.Linear(100, 10))


NETWORKS = {"lenet": (lenet, 5e-4, 123, lambda groups: torch.optim.Adagrad(
                groups, lr=0.02, initial_accumulator_value=1e-6, eps=1e-6, fused=True)),
            "mlp": (mlp, 1e-4, 12345, lambda groups: torch.optim.SGD(
                groups, lr=0.02, momentum=0.9, nesterov=True, fused=True))}


def idx(folder, name, header):
    """Returns the bytes after the header of one of MNIST's files, plain or .gz, in the folder or its subfolder mnist."""
    for path in (parent / (name + end) for parent in (folder, folder / "mnist") for end in ("", ".gz")):
        if path.exists():
            with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
                return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)
    raise SystemExit(f"pytorch_mnist_ddp.py: --data: expected {name}, got none in {folder}")


def images_of(folder, part):
    pixels = idx(folder, f"{part}-images-idx3-ubyte", 16).view(-1, 1, 28, 28)
    return pixels.float().div_(255), idx(folder, f"{part}-labels-idx1-ubyte", 8).long()


def part_of(batch, rank, ranks):
    """Returns a rank's part. Parts are as equal as possible, with the first ones longer (tensor_split)."""
    return batch.tensor_split(ranks)[rank]


class run:
    def __init__(self, how):
        self.how = how
        self.ranks, self.rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
        self.train, self.train_labels = images_of(how.data, "train")
        self.test, self.test_labels = (part_of(one, self.rank, self.ranks) for one in images_of(how.data, "t10k"))
        make, l2, seed, optimizer = NETWORKS[how.network]
        self.seed = how.seed if how.seed is not None else seed
        torch.manual_seed(self.seed)
        net = make()
        for layer in net:
            if hasattr(layer, "weight"):
                nn.init.xavier_normal_(layer.weight)
                nn.init.zeros_(layer.bias)
        if how.network == "lenet":
            net = net.to(memory_format=torch.channels_last)
        weights = [one for one in net.parameters() if one.dim() > 1]
        biases = [one for one in net.parameters() if one.dim() == 1]
        self.optimizer = optimizer([{"params": weights, "weight_decay": l2}, {"params": biases}])
        self.net = net
        if self.ranks > 1:
            distributed.init_process_group("gloo")
            net = nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True, static_graph=True)
        self.model = net
        self.steps, self.seconds, self.curve = 0, 0.0, []

    def barrier(self):
        if self.ranks > 1:
            distributed.barrier()

    def step(self, batch):
        mine = part_of(batch, self.rank, self.ranks)
        loss = nn.functional.cross_entropy(self.model(self.train[mine]), self.train_labels[mine])
        self.optimizer.zero_grad(set_to_none=self.ranks == 1)  # DDP's gradients are views of its buckets
        loss.backward()
        self.optimizer.step()
        self.steps += 1

    def evaluate(self, what, number):
        """Evaluates and appends a point to the curve; the training clock is stopped meanwhile."""
        self.barrier()
        self.seconds += time.perf_counter() - self.began
        with torch.inference_mode():
            right = sum(int((self.net(images).argmax(1) == labels).sum())
                        for images, labels in zip(self.test.split(256), self.test_labels.split(256)))
        counts = torch.tensor([right, len(self.test)])
        if self.ranks > 1:
            distributed.all_reduce(counts)
        right, images = counts.tolist()
        accuracy = right / images
        self.curve.append({"step": self.steps, "seconds": self.seconds, "accuracy": accuracy})
        if self.rank == 0:
            print(f"{what} {number}: accuracy {100 * accuracy:.2f} %", flush=True)
        self.barrier()
        self.began = time.perf_counter()

    def __call__(self):
        order = torch.Generator().manual_seed(self.seed)
        self.barrier()
        if self.rank == 0:
            print(f"PyTorch {torch.__version__}, {self.ranks} ranks, {len(self.train)} training images", flush=True)
        self.began = time.perf_counter()
        for epoch in range(self.how.epochs):
            batches = torch.randperm(len(self.train), generator=order).split(self.ranks * self.how.batch)
            for number, batch in enumerate(batches, 1):
                self.step(batch)
                every = self.how.evaluate_every
                if number < len(batches) and every > 0 and self.steps % every == 0:
                    self.evaluate("step", self.steps)
            self.evaluate("epoch", epoch + 1)
        return {"accuracy": self.curve[-1]["accuracy"], "seconds": self.seconds,
                "samples_per_second": len(self.train) * self.how.epochs / self.seconds, "ranks": self.ranks,
                "threads": torch.get_num_threads(), "strategy": "ddp", "communicator": "gloo" if self.ranks > 1 else "self",
                "backend": f"pytorch {torch.__version__}", "steps": self.steps, "epochs": self.how.epochs,
                "batch": self.how.batch, "seed": self.seed, "curve": self.curve}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=NETWORKS, required=True)
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("COHORT_DATA"),
                        help="folder with MNIST ($COHORT_DATA)")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32, help="examples per rank and step (32)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, help="seed of the weights and the order (the example's)")
    parser.add_argument("--evaluate-every", type=int, default=0, help="also evaluates every N steps (0: only after each epoch)")
    parser.add_argument("--json", type=pathlib.Path)
    how = parser.parse_args()
    if how.data is None:
        parser.error("--data: expected a folder, got none")
    torch.set_num_threads(how.threads)
    train = run(how)
    report = train()
    if train.rank == 0 and how.json:
        how.json.write_text(json.dumps(report, indent=2), encoding="utf-8")
    if train.ranks > 1:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
