#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LeNet on MNIST by several hosts over links of a given rate: how long a step takes, and what goes over the wire.

    train_over_links.py [--hosts 2] [--rates 1gbit,100mbit] [--strategies allreduce,averaging] [--repeat 3] --data DIR

Makes the hosts (hosts.py: root, iproute2, Open MPI), runs examples/lenet_mnist on them once for each rate and strategy,
in turn, and as often as --repeat says; takes them down again. Prints medians, and those of one host alone beside them.
`sent` is what the program counts for one rank and step, `on wire` what left a host with all headers: the most of any.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import hosts

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST_SECONDS = 600


def run(program, ranks, strategy, folder, data):
    """One pass: the report, with `wire`, the bytes that left each host."""
    report = pathlib.Path(folder) / "report.json"
    flags = ["--epochs", "1", "--json", str(report), "--data", data]
    if ranks > 1:
        command = hosts.mpirun(ranks, program, *flags, "--strategy", strategy)
    else:
        command = [program, *flags]
    before = hosts.sent()
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-500:]}{done.stderr[-3000:]}")
    told = json.loads(report.read_text(encoding="utf-8"))
    told["wire"] = [after - earlier for earlier, after in zip(before, hosts.sent())]
    return told


def row(name, runs):
    def median(value):
        return statistics.median(value(one) for one in runs)
    steps, ranks = runs[0]["steps"], runs[0]["ranks"]
    return (f"{name:<28}{1e3 * median(lambda one: one['seconds']) / steps:10.2f}"
            f"{100 * median(lambda one: one['exchange_seconds'] / one['seconds']):11.1f}"
            f"{median(lambda one: one['bytes_sent']) / ranks / steps / 1e3:12.1f}"
            f"{median(lambda one: max(one['wire'])) / steps / 1e3 if ranks > 1 else 0:14.1f}"
            f"{median(lambda one: one['samples_per_second']):12.0f}"
            f"{100 * median(lambda one: one['accuracy']):10.2f}")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--hosts", type=int, default=2)
    flags.add_argument("--rates", default="1gbit,100mbit")
    flags.add_argument("--strategies", default="allreduce,averaging")
    flags.add_argument("--repeat", type=int, default=3)
    flags.add_argument("--program", default=ROOT / "build/release/examples/lenet_mnist")
    flags.add_argument("--data", required=True, help="folder with MNIST's files")
    chosen = flags.parse_args()
    cases = [(rate, strategy) for rate in chosen.rates.split(",") for strategy in chosen.strategies.split(",")]
    runs = {case: [] for case in [("none", "one host"), *cases]}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for _ in range(chosen.repeat):
                for rate, strategy in runs:
                    hosts.up(chosen.hosts, rate)
                    ranks = chosen.hosts if (rate, strategy) in cases else 1
                    runs[rate, strategy].append(run(str(chosen.program), ranks, strategy, folder, chosen.data))
        finally:
            hosts.down()
    print(f"{'':<28}{'step ms':>10}{'exchange %':>11}{'sent kB':>12}{'on wire kB':>14}{'samples/s':>12}{'accuracy':>10}",
          flush=True)
    for (rate, strategy), results in runs.items():
        print(row(f"{chosen.hosts} hosts, {rate}, {strategy}" if (rate, strategy) in cases else strategy, results))


if __name__ == "__main__":
    main()
