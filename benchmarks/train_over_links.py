#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Cohort's strategies with PyTorch's DistributedDataParallel, on hosts connected by links of a given rate.

    train_over_links.py --data DIR [--networks lenet,mlp] [--hosts 2,4] [--rates none,1gbit,100mbit] [--repeat 3]
                        [--strategies allreduce,averaging,sharing,ddp] [--epochs N] [--python PATH] [--json FILE]

Makes the hosts (hosts.py: root, iproute2, Open MPI) with one rank of one thread on each, and removes them at the end. Each
repetition runs all cases, on new hosts for each rate. Cohort runs examples/lenet_mnist and mnist_mlp over Open MPI's TCP;
`ddp` is pytorch_mnist_ddp.py over gloo, with the same networks and settings, and 32 examples per rank and step.

Without --epochs it measures speed. A run has two epochs of about --seconds each (a short run of the case determines the
number of images); only the second epoch counts, so start-up time is excluded. With --epochs N it also measures accuracy. A
run trains N epochs on all images and evaluates every --evaluate-every steps, with another seed in each repetition;
measurements start at the first evaluation.

Prints a table of medians. `kB a step` was sent by the host that sent most, including the headers added by the kernel.
Seconds and steps until --accuracy exclude evaluation.
"""
import argparse
import gzip
import itertools
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import hosts
import quiet

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 32
PROGRAMS = {"lenet": "lenet_mnist", "mlp": "mnist_mlp"}
SEEDS = {"lenet": 123, "mlp": 12345}  # seeds of the first repetition: the examples' defaults
FLAGS = {"allreduce": [], "averaging": ["--every", "5"], "sharing": ["--density", "0.01"]}
IMAGES = 60_000
SHORTEST = 30  # minimum steps per epoch
TEST_IMAGES = 320  # number of test images in runs without --epochs
PORT = 29500
START_SECONDS = 60  # limit of the seconds until rank 0 prints its first line
TRIES = 3


class failure(Exception):
    pass


class digits:
    """Folders with the first images of MNIST, made on request."""

    def __init__(self, data, folder):
        self.all = next((one for one in (data, data / "mnist") if any(one.glob("train-images-idx3-ubyte*"))), None)
        if self.all is None:
            raise failure(f"--data: expected MNIST's files, got none in {data}")
        self.folder = folder

    def first(self, count):
        made = self.folder / f"digits-{count}"
        if not made.exists():
            made.mkdir()
            for part, items in (("train", count), ("t10k", TEST_IMAGES)):
                for name in (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"):
                    (made / name).write_bytes(self.beginning(name, items))
        return made

    def beginning(self, name, items):
        """Returns the first items of an IDX file, with a header for their number."""
        path = self.all / name
        with open(path, "rb") if path.exists() else gzip.open(f"{path}.gz") as file:
            magic, _ = struct.unpack(">2I", file.read(8))
            extents = file.read(4 * (magic % 256 - 1))
            size = 784 if extents else 1
            return struct.pack(">2I", magic, items) + extents + file.read(items * size)


def commands(how, case, flags):
    """Returns the commands that start the ranks; the first one prints."""
    network, ranks, _, strategy = case
    if strategy != "ddp":
        program = str(how.programs / PROGRAMS[network])
        return [hosts.mpirun(ranks, program, "--backend", "onednn", "--strategy", strategy, *FLAGS[strategy], *flags)]
    shared = [f"WORLD_SIZE={ranks}", f"MASTER_ADDR={hosts.address(0)}", f"MASTER_PORT={PORT}", "GLOO_SOCKET_IFNAME=eth0",
              "OMP_NUM_THREADS=1"]
    program = [how.python, str(HERE / "pytorch_mnist_ddp.py"), "--network", network]
    return [["ip", "netns", "exec", hosts.namespace(rank), "env", f"RANK={rank}", *shared, *program, *flags]
            for rank in range(ranks)]


class no_start(failure):
    pass


def attempt(how, case, report, said, flags):
    """Runs a case once. Returns the program's report and `wire`, the largest number of bytes that a host sent between the
    first and the last evaluation."""
    ranks = [subprocess.Popen(command, stdout=said if number else subprocess.PIPE, stderr=said, text=True)
             for number, command in enumerate(commands(how, case, flags))]
    over, marks, lines = threading.Event(), [], 0

    def watch():
        if over.wait(START_SECONDS) or (lines and over.wait(how.limit)):
            return
        for one in ranks:
            one.terminate()
    limit = threading.Thread(target=watch)
    limit.start()
    for line in ranks[0].stdout:
        lines += 1
        if line.startswith(("epoch ", "step ")) and "accuracy" in line:
            marks = [*marks[:1], hosts.sent()]
    codes = [one.wait() for one in ranks]
    over.set()
    limit.join()
    if any(codes) or len(marks) < 2:
        said.seek(0)
        kind = failure if lines else no_start
        raise kind(f"{' '.join(map(str, case))}: exit {codes}, limit {how.limit:.0f} s\n{said.read()[-3000:]}")
    told = json.loads(report.read_text(encoding="utf-8"))
    told["wire"] = max(after - before for before, after in zip(*marks))
    return told


def run(how, case, folder, *flags):
    """Runs a case; retries if the ranks do not connect, because mpirun's daemons sometimes fail on a busy machine."""
    report = folder / "report.json"
    for left in reversed(range(TRIES)):
        report.unlink(missing_ok=True)
        try:
            with open(folder / "said", "w+", encoding="utf-8") as said:
                return attempt(how, case, report, said, [*map(str, flags), "--batch", str(BATCH), "--json", str(report)])
        except no_start:
            if left == 0:
                raise


def steps_counted(told):
    return told["curve"][-1]["step"] - told["curve"][0]["step"]


def speed(told):
    """Returns the steps per second."""
    return steps_counted(told) / (told["curve"][-1]["seconds"] - told["curve"][0]["seconds"])


def steps_of_an_epoch(how, case, folder, images):
    """Returns the number of steps that take about how.seconds."""
    count = case[1]
    trial = run(how, case, folder, "--data", images.first(SHORTEST * BATCH * count), "--epochs", 2)
    wanted = min(how.seconds * speed(trial), IMAGES // (BATCH * count))
    return max(steps for steps in (SHORTEST * 2**n for n in range(8)) if steps <= max(wanted, SHORTEST))


def measure(how, runs, folder):
    """Measures each case and appends the results to its runs."""
    images, epoch = digits(how.data, folder), {}
    for repetition in range(how.repeat):
        for (count, rate), some in itertools.groupby(runs, key=lambda case: case[1:3]):
            hosts.up(count, rate)
            for case in some:
                seed = SEEDS[case[0]] + repetition
                flags = ["--data", images.all, "--epochs", how.epochs, "--evaluate-every", how.evaluate_every]
                if not how.epochs:
                    if case not in epoch:
                        epoch[case] = steps_of_an_epoch(how, case, folder, images)
                    flags = ["--data", images.first(epoch[case] * BATCH * count), "--epochs", 2]
                idle = quiet.wait_for_idle(time.monotonic() + how.wait)
                runs[case].append({**run(how, case, folder, *flags, "--seed", seed), "idle": idle})
                print(f"{repetition + 1}: {' '.join(map(str, case))}: {speed(runs[case][-1]):.1f} steps/s",
                      file=sys.stderr, flush=True)
                if how.json:
                    names = "network", "hosts", "rate", "strategy"
                    told = [dict(zip(names, one), runs=its) for one, its in runs.items()]
                    how.json.write_text(json.dumps(told, indent=1), encoding="utf-8")


def table(how, runs):
    def median(case, value):
        return statistics.median(map(value, runs[case]))

    def until(case, field, form):
        """Returns the median of `field` at the first point that reaches the accuracy."""
        found = [next((point[field] for point in one["curve"] if point["accuracy"] >= how.accuracy), None)
                 for one in runs[case]]
        return "not reached" if None in found else format(statistics.median(found), form)

    head = ["network", "hosts", "rate", "strategy", "steps/s", "lowest-highest", "of DDP's", "kB a step"]
    if how.epochs:
        head += [f"s to {100 * how.accuracy:g} %", "steps to it", "accuracy at the end, %"]
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for case in filter(runs.get, runs):
        speeds, ddp = [speed(one) for one in runs[case]], (*case[:3], "ddp")
        ratio = f"{median(case, speed) / median(ddp, speed):.2f}" if runs.get(ddp) else "-"
        cells = [*map(str, case), f"{median(case, speed):.1f}", f"{min(speeds):.1f}-{max(speeds):.1f}", ratio,
                 f"{median(case, lambda one: one['wire'] / steps_counted(one)) / 1e3:.1f}"]
        if how.epochs:
            cells += [until(case, "seconds", ".1f"), until(case, "step", ".0f"),
                      f"{100 * median(case, lambda one: one['accuracy']):.2f}"]
        yield f"| {' | '.join(cells)} |"
    settings = "".join(f", {name} {' '.join(FLAGS[name])}" for name in how.strategies if FLAGS.get(name))
    idle = [one["idle"] for some in runs.values() for one in some]
    yield ""
    yield f"Medians of {how.repeat}, {BATCH} examples per rank and step{settings}. One rank of one thread per host; all hosts"
    yield f"share {os.cpu_count()} processors. {idle.count(False)} of {len(idle)} runs started on a busy machine."


def main():
    def words(text):
        return text.split(",")
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--data", type=pathlib.Path, required=True, help="folder with MNIST's files")
    flags.add_argument("--networks", type=words, default="lenet,mlp")
    flags.add_argument("--hosts", type=words, default="2,4")
    flags.add_argument("--rates", type=words, default="none,1gbit,100mbit")
    flags.add_argument("--strategies", type=words, default="allreduce,averaging,sharing,ddp")
    flags.add_argument("--repeat", type=int, default=3)
    flags.add_argument("--seconds", type=float, default=3, help="approximate seconds per epoch without --epochs (3)")
    flags.add_argument("--epochs", type=int, default=0, help="epochs on all images (0: measures only speed, see --seconds)")
    flags.add_argument("--evaluate-every", type=int, default=50, help="steps between evaluations, with --epochs (50)")
    flags.add_argument("--accuracy", type=float, default=0.975, help="target accuracy, with --epochs (0.975)")
    flags.add_argument("--limit", type=float, default=600, help="maximum seconds per run (600)")
    flags.add_argument("--wait", type=float, default=30, help="maximum seconds to wait for an idle machine before a run (30)")
    flags.add_argument("--programs", type=pathlib.Path, default=HERE.parent / "build/release/examples")
    flags.add_argument("--python", default=sys.executable, help="an interpreter with torch (this one)")
    flags.add_argument("--json", type=pathlib.Path, help="file for all reports, written after each run")
    how = flags.parse_args()
    runs = {(network, int(count), rate, strategy): [] for count in how.hosts for rate in how.rates
            for network in how.networks for strategy in how.strategies}
    problem = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            measure(how, runs, pathlib.Path(folder))
        except failure as one:
            problem = f"train_over_links.py: {one}"
        finally:
            hosts.down()
    for line in table(how, runs):
        print(line)
    sys.exit(problem)


if __name__ == "__main__":
    main()
