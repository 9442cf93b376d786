#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains one network on one batch of noise in PyTorch and prints the time of a step as JSON.

    pytorch_step.py [--device cpu|cuda] NET DTYPE BATCH THREADS MODE [SECONDS]

NET is lenet, mlp, cifar, darknet, resnet50, uci, char_lstm, char_gru, gpt_small, gpt_baby or gpt2_124m: the networks, optimizers
and rates of networks.hpp. DTYPE is f32, bf16 (mixed precision by torch.autocast) or on a GPU tf32. Activations are in-place;
weight decay includes biases, which costs the same. MODE is eager, channels_last (images only) or compile (torch.compile, images
channels last); on a GPU also graph and graph_channels_last (a whole step as one CUDA graph). With +fused after a mode, PyTorch's
fused optimizer is used. On a GPU, f32 and bf16 do not use TF32, and the host waits once per ten steps. The first line describes
PyTorch. With SECONDS it prints one block; otherwise one block for each line of standard input, which contains the block's
seconds. The counterpart of train_step.cpp; needs `pip install torch`.
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


def memory_of_process():
    """Returns a function that returns the maximum increase of the process's memory since this call, in bytes."""
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = memory_bytes("VmRSS")
    return lambda: memory_bytes("VmHWM") - before


def memory_of_gpu(torch):
    """Returns a function that returns the increase of the used GPU memory (by all processes) since this call, in bytes."""
    def taken():
        free, total = torch.cuda.mem_get_info()
        return total - free

    torch.cuda.init()
    before = taken()
    return lambda: taken() - before


def captured(torch, step):
    """Captures a step as one CUDA graph, after warm-up steps, as PyTorch's documentation recommends."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay


# A learning rate that keeps the network near its initialisation. With a larger rate, the network overfits the
# single batch. Weights and gradients then become denormal numbers, which make kernels ten times slower.
STANDSTILL = 1e-6


def networks(nn, optim):
    """Returns name → (network, optimizer), as functions that make them."""
    def lenet():
        return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(True), nn.MaxPool2d(2),
                             nn.Conv2d(20, 50, 5, 2), nn.ReLU(True), nn.MaxPool2d(2),
                             nn.Flatten(), nn.Linear(200, 200), nn.ReLU(True), nn.Linear(200, 10))

    def mlp():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 500), nn.LeakyReLU(0.01, True),
                             nn.Linear(500, 100), nn.LeakyReLU(0.01, True), nn.Linear(100, 10))

    def cifar():
        def same(inputs, filters, kernel):
            before, after = (kernel - 1) // 2, kernel // 2
            padded = [nn.ZeroPad2d((before, after, before, after))] if before != after else []
            return [*padded, nn.Conv2d(inputs, filters, kernel, padding=0 if padded else before), nn.ReLU(True)]

        return nn.Sequential(*same(3, 64, 4), *same(64, 64, 4), nn.MaxPool2d(2),
                             *same(64, 96, 4), *same(96, 96, 4), *same(96, 128, 3), *same(128, 128, 3),
                             *same(128, 256, 2), *same(256, 256, 2), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(16384, 1024), nn.ReLU(True), nn.Linear(1024, 1024), nn.ReLU(True), nn.Linear(1024, 10))

    def darknet():
        def block(inputs, filters, kernel):
            padded = [nn.ZeroPad2d((0, 1, 0, 1))] if kernel == 2 else []
            return [*padded, nn.Conv2d(inputs, filters, kernel, padding=kernel // 2 if kernel == 3 else 0, bias=False),
                    nn.BatchNorm2d(filters), nn.LeakyReLU(0.1, True)]

        return nn.Sequential(*block(3, 32, 3), *block(32, 64, 3), nn.MaxPool2d(2),
                             *block(64, 128, 2), *block(128, 256, 2), nn.MaxPool2d(2),
                             *block(256, 256, 2), *block(256, 512, 2), nn.MaxPool2d(2),
                             nn.Conv2d(512, 200, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def conv(inputs, filters, kernel, stride=1):
        return [nn.Conv2d(inputs, filters, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(filters)]

    class bottleneck(nn.Module):
        def __init__(self, inputs, filters, stride, shorter):
            super().__init__()
            self.body = nn.Sequential(*conv(inputs, filters, 1), nn.ReLU(True), *conv(filters, filters, 3, stride),
                                      nn.ReLU(True), *conv(filters, 4 * filters, 1))
            self.skip = nn.Sequential(*conv(inputs, 4 * filters, 1, stride)) if shorter else nn.Identity()

        def forward(self, x):
            return (self.body(x) + self.skip(x)).relu_()

    def resnet50():
        layers, inputs = [*conv(3, 64, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
        for stage, blocks in enumerate((3, 4, 6, 3)):
            filters = 64 << stage
            for block in range(blocks):
                layers.append(bottleneck(inputs, filters, 2 if stage and not block else 1, not block))
                inputs = 4 * filters
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))

    class char_rnn(nn.Module):
        def __init__(self, kind, words=65, units=256):
            super().__init__()
            self.tokens, self.rnn = nn.Embedding(words, units), kind(units, units, 2, batch_first=True)
            self.head = nn.Linear(units, words)

        def forward(self, x):
            return self.head(self.rnn(self.tokens(x))[0])

    class uci(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.LSTM(1, 128, batch_first=True), nn.Linear(128, 6)

        def forward(self, x):
            return self.head(self.rnn(x)[0][:, -1])

    def transformer(name):
        import pytorch_transformers
        return pytorch_transformers.make(name)

    def adam(amsgrad, decay):
        return lambda p, fused: optim.Adam(p, STANDSTILL, weight_decay=decay, amsgrad=amsgrad, fused=fused)

    return {"lenet": (lenet, lambda p, fused: optim.Adagrad(p, STANDSTILL, weight_decay=5e-4, fused=fused)),
            "mlp": (mlp, lambda p, fused: optim.SGD(p, STANDSTILL, momentum=0.9, nesterov=True, fused=fused)),
            "cifar": (cifar, adam(False, 0)),
            "darknet": (darknet, adam(True, 1e-4)),
            "resnet50": (resnet50, lambda p, fused: optim.SGD(p, STANDSTILL, momentum=0.9, weight_decay=1e-4, fused=fused)),
            "uci": (uci, adam(False, 0)),
            "char_lstm": (lambda: char_rnn(nn.LSTM), adam(False, 0)),
            "char_gru": (lambda: char_rnn(nn.GRU), adam(False, 0)),
            **{name: (lambda name=name: transformer(name), adam(False, 0)) for name in TOKENS if name.startswith("gpt")}}


# Shape of an example, and number of classes (default 10).
INPUTS = {"lenet": (1, 28, 28), "mlp": (1, 28, 28), "cifar": (3, 32, 32), "darknet": (3, 64, 64), "resnet50": (3, 224, 224),
          "uci": (60, 1)}
CLASSES = {"darknet": 200, "resnet50": 1000, "uci": 6}
# Steps and vocabulary of networks that predict the next token at each step.
TOKENS = {"char_lstm": (100, 65), "char_gru": (100, 65), "gpt_small": (64, 65), "gpt_baby": (256, 65), "gpt2_124m": (64, 50257)}


def main():
    words, device = sys.argv[1:], "cpu"
    if len(words) > 1 and words[0] == "--device":
        if words[1] not in ("cpu", "cuda"):
            sys.exit(f"pytorch_step.py: --device: expected cpu or cuda, got {words[1]}")
        device, words = words[1], words[2:]
    if not 5 <= len(words) <= 6:
        sys.exit(__doc__)
    net_name, dtype, batch, threads, mode = *words[:2], int(words[2]), int(words[3]), words[4]
    import torch
    on_gpu = device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        sys.exit("pytorch_step.py: --device cuda: expected a GPU that PyTorch can use, got none")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.benchmark = True
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    form, _, optimizer = mode.partition("+")
    forms = ("eager", "channels_last", "compile", *(["graph", "graph_channels_last"] if on_gpu else []))
    if form not in forms or optimizer not in ("", "fused"):
        sys.exit(f"pytorch_step.py: MODE: expected {' or '.join(forms)}, or one of them +fused, got {mode}")
    known = networks(torch.nn, torch.optim)
    if net_name not in known:
        sys.exit(f"pytorch_step.py: NET: expected {' or '.join(known)}, got {net_name}")
    if dtype not in ("f32", "bf16", *(["tf32"] if on_gpu else [])):
        sys.exit(f"pytorch_step.py: DTYPE: expected f32, bf16 or on a GPU tf32, got {dtype}")
    make, optimizer_of = known[net_name]
    of_images = len(INPUTS.get(net_name, ())) == 3
    if form == "channels_last" and not of_images:
        sys.exit(f"pytorch_step.py: MODE: expected eager or compile for {net_name}, got {mode}")
    if net_name in TOKENS:
        length, vocabulary = TOKENS[net_name]
        x, y = (torch.randint(vocabulary, (batch, length)) for _ in range(2))
    else:
        x, y = torch.rand(batch, *INPUTS[net_name]), torch.randint(CLASSES.get(net_name, 10), (batch,))

    memory = memory_of_gpu(torch) if on_gpu else memory_of_process()
    net, x, y = make().to(device), x.to(device), y.to(device)
    if of_images and form not in ("eager", "graph"):
        net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    optimizer = optimizer_of(net.parameters(), optimizer == "fused" or None)
    if form.startswith("graph"):
        for group in optimizer.param_groups:
            group["capturable"] = True  # for Adam: the step count stays on the GPU

    def loss_and_gradients():
        with torch.autocast(device, torch.bfloat16, enabled=dtype == "bf16"):
            out = net(x)
            loss = torch.nn.functional.cross_entropy(out.reshape(-1, out.shape[-1]).float(), y.reshape(-1))
        loss.backward()
        return loss

    run = torch.compile(loss_and_gradients) if form == "compile" else loss_and_gradients

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = run()
        optimizer.step()
        return loss

    if form.startswith("graph"):
        step = captured(torch, step)
    steps_at_once = 10 if on_gpu else 1

    def some_steps():
        for _ in range(steps_at_once):
            loss = step()
        if on_gpu:
            torch.cuda.synchronize()
        return loss

    steps, start = 0, time.perf_counter()
    while steps < 3 or (steps < 20 and time.perf_counter() - start < 3):
        some_steps()
        steps += steps_at_once
    if on_gpu:
        held = memory()  # before other processes allocate memory
        memory = lambda: held
    where = torch.cuda.get_device_name() if on_gpu else "cpu"
    print(json.dumps({"name": "pytorch", "device": where, "torch": torch.__version__, "python": sys.version.split()[0],
                      "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}), flush=True)

    def block(wanted):
        times, total = [], 0.0
        while total < wanted or len(times) < 3:
            start = time.perf_counter()
            loss = some_steps()
            times.append(time.perf_counter() - start)
            total += times[-1]
        print(json.dumps({"ms_per_step": statistics.median(times) / steps_at_once * 1e3,
                          "steps": len(times) * steps_at_once, "loss": float(loss.detach()),
                          "memory_bytes": memory()}), flush=True)

    if len(words) == 6:
        block(float(words[5]))
        return
    for line in sys.stdin:
        block(float(line))


if __name__ == "__main__":
    main()
