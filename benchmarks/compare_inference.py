#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares prediction by Cohort with ONNX Runtime and PyTorch, interleaved, on an idle machine.

    compare_inference.py [--nets lenet,darknet] [--batches 1,32] [--threads 1,2] [--rounds 7] [--onnx PYTHON]
                         [--torch PYTHON] [--json FILE]

Each predicts one batch in memory repeatedly, by one caller with the given number of threads. All use the same network
including its softmax; ONNX Runtime folds and fuses at its highest level, PyTorch depending on its mode. Each round measures one
block of calls of Cohort, then one of each competitor. A block during which other processes used more than 3 % of the processors is
repeated. The ratio is the competitor's median over the rounds divided by Cohort's; its spread is the quartiles over the rounds.
--onnx and --torch are interpreters with onnxruntime and onnx, or with torch; an empty value skips that comparison.
"""
import argparse
import pathlib
import statistics
import sys

import quiet
from compare_pytorch import COHORT, HERE, competitor, failure, quartiles, quiet_block, report

NETS = ("lenet", "mlp", "cifar", "darknet", "resnet50")
MODES = ("eager", "script", "compile")


class caller(competitor):
    def median_ms(self):
        return statistics.median(block["ms_per_call"] for block in self.blocks)

    def p99_ms(self):
        return statistics.median(block["p99_ms"] for block in self.blocks)


def commands(net, batch, threads, settings):
    """Yields name, command and environment variables of each program."""
    yield COHORT, [settings.programs / "predict_batch", net, batch, threads], {}
    if settings.onnx:
        yield "onnxruntime", [settings.onnx, HERE / "onnx_predict.py", net, batch, threads], {}
    for mode in settings.modes.split(",") if settings.torch else ():
        yield (f"pytorch {mode}", [settings.torch, HERE / "pytorch_predict.py", net, batch, threads, mode],
               {"TORCHINDUCTOR_COMPILE_THREADS": "1"})  # persistent helper processes would count as other processes


def compare(net, batch, threads, settings):
    everyone, refused = [], {}
    try:
        for name, command, environment in commands(net, batch, threads, settings):
            try:
                everyone.append(caller(name, command, environment))
            except failure as problem:
                if name == COHORT:
                    raise
                refused[name] = str(problem)
                print(f"skipped: {problem}", file=sys.stderr)
        for number in range(settings.rounds):
            for one in everyone:
                one.blocks.append(quiet_block(one, everyone, settings))
            print(f"{net} batch {batch}, {threads} threads, round {number + 1} of {settings.rounds}: "
                  + ", ".join(f"{one.name} {one.blocks[-1]['ms_per_call']:.4f} ms"
                              + (" (disturbed)" if one.blocks[-1]["disturbed"] else "") for one in everyone),
                  file=sys.stderr)
    finally:
        for one in everyone:
            one.close()
    ours, row = everyone[0], {"net": net, "batch": batch, "threads": threads, "rounds": settings.rounds,
                              "left_out": refused, "blocks": {one.name: one.blocks for one in everyone}}
    row["results"] = [{"name": one.name, "ms": one.median_ms(), "p99_ms": one.p99_ms(),
                       "examples_per_second": batch / one.median_ms() * 1e3,
                       "ratio": one.median_ms() / ours.median_ms(),
                       "ratio_quartiles": quartiles([theirs["ms_per_call"] / mine["ms_per_call"]
                                                     for theirs, mine in zip(one.blocks, ours.blocks)]),
                       "disturbed": one.disturbed()} for one in everyone]
    return row, {one.name.split()[0]: one.about for one in everyone}


HEADINGS = ("net", "batch", "threads", "by", "ms", "p99 ms", "examples/s", "ratio", "quartiles", "disturbed")


def lines_of(row):
    for one in row["results"]:
        low, high = one["ratio_quartiles"]
        yield (row["net"], str(row["batch"]), str(row["threads"]), one["name"], f"{one['ms']:.4f}", f"{one['p99_ms']:.4f}",
               f"{one['examples_per_second']:,.0f}", f"{one['ratio']:.2f}", f"{low:.2f} to {high:.2f}",
               f"{one['disturbed']} of {row['rounds']}")


def table(rows):
    lines = [HEADINGS, *(line for row in rows for line in lines_of(row))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def numbers(text):
    return [int(word) for word in text.split(",")]


def settings_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default="lenet,darknet", help=f"networks, of {', '.join(NETS)} (lenet,darknet)")
    parser.add_argument("--batches", type=numbers, default=[1, 32], help="examples per call (1,32)")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="threads of the caller (1,2)")
    parser.add_argument("--modes", default="eager,script", help=f"PyTorch's modes, of {', '.join(MODES)} (eager,script)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--seconds", type=float, default=0.7, help="seconds per block (0.7)")
    parser.add_argument("--most", type=float, default=quiet.MOST_PERCENT, help="percent that other processes may use (3)")
    parser.add_argument("--tries", type=int, default=5, help="maximum measurements of a block (5)")
    parser.add_argument("--wait", type=float, default=30, help="seconds to wait for idle before a block (30)")
    parser.add_argument("--programs", type=pathlib.Path, default=quiet.PROGRAMS,
                        help="folder of the built benchmarks (build/release/benchmarks)")
    parser.add_argument("--onnx", default=sys.executable, help="an interpreter with onnxruntime and onnx (this one)")
    parser.add_argument("--torch", default="", help="an interpreter with torch (none)")
    parser.add_argument("--json", type=pathlib.Path, help="file for the results with all blocks and the context")
    settings = parser.parse_args(arguments)
    for net in settings.nets.split(","):
        if net not in NETS:
            parser.error(f"--nets: expected {' or '.join(NETS)}, got {net}")
    if min(settings.rounds, settings.tries, *settings.batches, *settings.threads) < 1:
        parser.error("--rounds, --tries, --batches and --threads: expected at least 1")
    if not (settings.programs / "predict_batch").exists():
        parser.error(f"--programs: expected the folder of predict_batch, got {settings.programs}; build it with\n"
                     "  cmake --preset release && cmake --build --preset release --target predict_batch")
    return settings


def results(settings):
    for net in settings.nets.split(","):
        for batch in settings.batches:
            for threads in settings.threads:
                yield compare(net, batch, threads, settings)


def main():
    settings = settings_of(sys.argv[1:])
    return report("compare_inference.py", results(settings), table, settings)


if __name__ == "__main__":
    sys.exit(main())
