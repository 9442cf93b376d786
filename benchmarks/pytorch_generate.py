#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates tokens with a transformer in PyTorch and prints tokens per second as JSON.

    pytorch_generate.py NET DTYPE THREADS CACHE [COUNT] [ROUNDS]

NET is gpt_small, gpt_baby or gpt2_124m, with random weights. CACHE is yes (keys and values of earlier steps are kept) or no (each
token costs a forward pass of all tokens so far). The prompt is one token; COUNT tokens follow (default: all but one of the
network's steps), each drawn from the probabilities at temperature 0.8. The counterpart of generate_tokens.cpp.
"""
import json
import statistics
import sys
import time

import torch

import pytorch_transformers


@torch.no_grad()
def generate(net, count, cached, dtype):
    caches = [[] for _ in net.blocks] if cached else None
    tokens = torch.zeros((1, 1), dtype=torch.long)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
        for step in range(count):
            logits = net(tokens[:, -1:], caches, step) if cached else net(tokens)
            chances = torch.softmax(logits[:, -1].float() / 0.8, -1)
            tokens = torch.cat((tokens, torch.multinomial(chances, 1)), 1)
    return tokens


def main():
    if not 5 <= len(sys.argv) <= 7:
        sys.exit(__doc__)
    name, dtype, threads, cached = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "yes"
    count = int(sys.argv[5]) if len(sys.argv) > 5 else pytorch_transformers.EXTENTS[name][3] - 1
    rounds = int(sys.argv[6]) if len(sys.argv) > 6 else 5
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    net = pytorch_transformers.make(name).eval()
    generate(net, min(count, 8), cached, dtype)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        generate(net, count, cached, dtype)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"name": "pytorch", "net": name, "dtype": dtype, "threads": threads, "cached": cached, "tokens": count,
                      "tokens_per_second": count / statistics.median(seconds)}))


if __name__ == "__main__":
    main()
