#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains one network on one batch of noise in PyTorch, on the processor, and prints what a step took as JSON.

    pytorch_step.py NET BATCH THREADS MODE [SECONDS]

NET is lenet or mlp: the networks, updaters and rates of networks.hpp. MODE is eager, channels_last or compile
(torch.compile, channels last), any of them with +fused for PyTorch's fused updater. First comes a line about PyTorch.
With SECONDS one block follows; else a block for every line of standard input, which holds its seconds. The counterpart
of train_step.cpp; needs `pip install torch`.
"""
import json
import pathlib
import statistics
import sys
import time


def memory_bytes(field):
    for line in pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def forget_largest_memory():
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


# So small a rate that the network stays as it was initialised: it would learn the one batch by heart, and fading weights
# and gradients become denormal numbers, with which a kernel takes ten times as long.
STANDSTILL = 1e-6


def networks(nn, optim):
    """Name → (network, updater): made when asked for."""
    def lenet():
        return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Conv2d(20, 50, 5, 2), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Flatten(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10))

    def mlp():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 500), nn.LeakyReLU(0.01),
                             nn.Linear(500, 100), nn.LeakyReLU(0.01), nn.Linear(100, 10))

    return {"lenet": (lenet, lambda p, fused: optim.Adagrad(p, STANDSTILL, weight_decay=5e-4, fused=fused)),
            "mlp": (mlp, lambda p, fused: optim.SGD(p, STANDSTILL, momentum=0.9, nesterov=True, fused=fused))}


def main():
    if not 5 <= len(sys.argv) <= 6:
        sys.exit(__doc__)
    net_name, batch, threads, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    x, y = torch.rand(batch, 1, 28, 28), torch.randint(10, (batch,))
    form, _, updater = mode.partition("+")
    if form not in ("eager", "channels_last", "compile") or updater not in ("", "fused"):
        sys.exit(f"pytorch_step.py: MODE: expected eager, channels_last or compile, or one of them +fused, got {mode}")
    known = networks(torch.nn, torch.optim)
    if net_name not in known:
        sys.exit(f"pytorch_step.py: NET: expected {' or '.join(known)}, got {net_name}")
    make, updater_of = known[net_name]

    forget_largest_memory()
    memory_before = memory_bytes("VmRSS")
    net = make()
    if form != "eager":
        net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    optimizer = updater_of(net.parameters(), updater == "fused" or None)

    def loss_and_gradients():
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        return loss

    run = torch.compile(loss_and_gradients) if form == "compile" else loss_and_gradients

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = run()
        optimizer.step()
        return loss

    for _ in range(20):
        step()
    print(json.dumps({"name": "pytorch", "torch": torch.__version__, "python": sys.version.split()[0]}), flush=True)

    def block(wanted):
        times, total = [], 0.0
        while total < wanted or len(times) < 3:
            start = time.perf_counter()
            loss = step()
            times.append(time.perf_counter() - start)
            total += times[-1]
        print(json.dumps({"ms_per_step": statistics.median(times) * 1e3, "steps": len(times), "loss": float(loss.detach()),
                          "memory_bytes": memory_bytes("VmHWM") - memory_before}), flush=True)

    if len(sys.argv) == 6:
        block(float(sys.argv[5]))
        return
    for line in sys.stdin:
        block(float(line))


if __name__ == "__main__":
    main()
