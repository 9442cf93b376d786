#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the losses of a transformer's first steps in Cohort and in PyTorch: same parameters, batches and optimizer.

    compare_losses.py TRAIN_ON_TOKENS [--net gpt2_124m] [--dtype f32] [--steps 20] [--rate 3e-4] [--seed 1]

TRAIN_ON_TOKENS is the program of train_on_tokens.cpp. PyTorch draws the parameters. The tokens are drawn from Zipf's law, so that
there is something to learn; each step has fresh tokens. Both sides use Adam without decay. Prints one line of JSON with both lists
of losses and their largest difference. Needs `pip install torch`."""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile


def save_tensors(path, tensors):
    """Writes a safetensors file (format: github.com/huggingface/safetensors)."""
    header, parts, at = {}, [], 0
    for name, one in tensors.items():
        parts.append(one.detach().contiguous().numpy().tobytes())
        header[name] = {"dtype": "F32", "shape": list(one.shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def name_map(blocks):
    """The lines of a name_map. Cohort numbers the layers of each kind in the order of the network."""
    lines = ["tokens.weights tokens.weight", "learned_positions_1.weights positions.weight"]
    for block in range(blocks):
        for number, name in ((2 * block + 1, "norm1"), (2 * block + 2, "norm2")):
            lines += [f"layer_norm_{number}.scale blocks.{block}.{name}.weight", f"layer_norm_{number}.shift blocks.{block}.{name}.bias"]
        for number, name in enumerate(("qkv", "out", "up", "down"), 4 * block + 1):
            lines += [f"dense_{number}.weights blocks.{block}.{name}.weight", f"dense_{number}.bias blocks.{block}.{name}.bias"]
    return lines + [f"layer_norm_{2 * blocks + 1}.scale norm.weight", f"layer_norm_{2 * blocks + 1}.shift norm.bias"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--net", default="gpt2_124m", choices=("gpt_small", "gpt_baby", "gpt2_124m"))
    parser.add_argument("--dtype", default="f32", choices=("f32", "bf16"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    import torch
    import pytorch_transformers
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    blocks, _, _, length, vocabulary, batch = pytorch_transformers.EXTENTS[chosen.net]
    net = pytorch_transformers.make(chosen.net)
    odds = 1 / torch.arange(1, vocabulary + 1, dtype=torch.float64)
    tokens = torch.multinomial(odds, chosen.steps * batch * length + 1, replacement=True).int()
    with tempfile.TemporaryDirectory() as folder:
        weights, names, text = (pathlib.Path(folder, name) for name in ("weights.safetensors", "names.map", "tokens"))
        save_tensors(weights, {name: one for name, one in net.state_dict().items() if name != "head.weight"})
        names.write_text("\n".join(name_map(blocks)) + "\n")
        text.write_bytes(tokens.numpy().tobytes())
        run = subprocess.run([chosen.program, chosen.net, chosen.dtype, weights, names, text, str(batch), str(chosen.rate),
                              str(chosen.threads)], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{chosen.program} failed with exit status {run.returncode}")
    ours = json.loads(run.stdout)

    optimizer = torch.optim.Adam(net.parameters(), chosen.rate)
    theirs = []
    for first in range(0, chosen.steps * batch * length, batch * length):
        inputs = tokens[first:first + batch * length].long().view(batch, length)
        targets = tokens[first + 1:first + batch * length + 1].long()
        with torch.autocast("cpu", torch.bfloat16, enabled=chosen.dtype == "bf16"):
            loss = torch.nn.functional.cross_entropy(net(inputs).view(-1, vocabulary).float(), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        theirs.append(loss.item())
    print(json.dumps({"net": chosen.net, "dtype": chosen.dtype, "rate": chosen.rate, "seed": chosen.seed, "commit": ours["commit"],
                      "torch": torch.__version__, "cohort": ours["losses"], "pytorch": [round(one, 6) for one in theirs],
                      "largest difference": max(abs(a - b) for a, b in zip(ours["losses"], theirs, strict=True))}))


if __name__ == "__main__":
    main()
