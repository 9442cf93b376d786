#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts one batch of noise in PyTorch on the CPU and prints the time of a call as JSON.

    pytorch_predict.py NET BATCH THREADS MODE [SECONDS]

NET is one of pytorch_step.py's networks, followed by a softmax. MODE is eager (channels last), script (TorchScript, frozen and
optimised for inference: norms folded, oneDNN's layouts) or compile (torch.compile with frozen parameters, for this batch
size). The first line describes PyTorch. With SECONDS it prints one block; otherwise one block for each line of standard input,
which contains the block's seconds. The counterpart of predict_batch.cpp; needs `pip install torch`.
"""
import json
import statistics
import sys
import time

from pytorch_step import INPUTS, networks


def main():
    if not 5 <= len(sys.argv) <= 6 or sys.argv[1] not in INPUTS:
        sys.exit(__doc__)
    name, batch, threads, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    x = torch.rand(batch, *INPUTS[name])
    net = torch.nn.Sequential(networks(torch.nn, torch.optim)[name][0](), torch.nn.Softmax(1)).eval()
    if mode == "eager" or mode == "compile":
        net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    with torch.inference_mode(mode != "compile"), torch.no_grad():
        if mode == "script":
            net = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(net, x)))
        elif mode == "compile":
            import torch._inductor.config
            torch._inductor.config.freezing = True
            net = torch.compile(net)
        elif mode != "eager":
            sys.exit(f"pytorch_predict.py: MODE: expected eager, script or compile, got {mode}")
        calls, start = 0, time.perf_counter()
        while calls < 3 or (calls < 100 and time.perf_counter() - start < 2):
            net(x)
            calls += 1
        print(json.dumps({"name": "pytorch", "torch": torch.__version__, "python": sys.version.split()[0]}), flush=True)

        def block(wanted):
            times, total = [], 0.0
            while total < wanted or len(times) < 3:
                start = time.perf_counter()
                net(x)
                times.append(time.perf_counter() - start)
                total += times[-1]
            print(json.dumps({"ms_per_call": statistics.median(times) * 1e3,
                              "p99_ms": statistics.quantiles(times, n=100)[98] * 1e3, "calls": len(times)}), flush=True)

        if len(sys.argv) == 6:
            block(float(sys.argv[5]))
            return
        for line in sys.stdin:
            block(float(line))


if __name__ == "__main__":
    main()
