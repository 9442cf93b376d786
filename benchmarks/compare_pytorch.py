#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a training step of Cohort with PyTorch's fastest mode, interleaved, on an idle machine.

    compare_pytorch.py [--nets lenet,mlp,cifar,darknet,resnet50,uci,char_lstm,char_gru,gpt_small,gpt_baby,gpt2_124m]
                       [--dtypes f32,bf16] [--batch N] [--threads 2] [--device cuda] [--recompute] [--rounds 7] [--json FILE]

Both train the same network with the same optimizer on one batch in memory. Cohort trains small and recurrent networks with as
many workers as PyTorch has threads, and the others with one worker of as many threads. Each round measures one block of steps
of Cohort, then one of each of PyTorch's modes. A block during which other processes used more than 3 % of the processors is
repeated.
The ratio is the median over the rounds of PyTorch's fastest mode divided by Cohort's; its spread is the quartiles over the
rounds. Memory is the maximum resident memory minus that before the network was made; of PyTorch's modes the smallest is
reported. The forecast is the memory that Cohort's plan predicts before anything is allocated. With --recompute, Cohort
recomputes cheap layers in backward instead of keeping their outputs. With --device cuda both train on the first GPU, in f32
without TF32, in tf32 or in bf16; memory is then the GPU memory in use after the first steps, contexts included. Cohort waits
for each step, because it returns the step's loss; PyTorch waits once per ten steps.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import selectors
import statistics
import subprocess
import sys
import time

import quiet

HERE = pathlib.Path(__file__).resolve().parent
COHORT = "cohort"
BATCHES = {"lenet": 32, "mlp": 32, "cifar": 64, "darknet": 32, "resnet50": 16, "uci": 64, "char_lstm": 32, "char_gru": 32,
           "gpt_small": 12, "gpt_baby": 8, "gpt2_124m": 4}
SEQUENCES = ("uci", "char_lstm", "char_gru", "gpt_small", "gpt_baby", "gpt2_124m")
BY_WORKERS = ("lenet", "mlp", "uci", "char_lstm", "char_gru", "gpt_small")
START_SECONDS = 600  # limit, including compilation
ANSWER_SECONDS = 120


class failure(Exception):
    pass


class competitor:
    """A program that measures a block of steps on request, and otherwise sleeps."""

    def __init__(self, name, command, environment=None):
        self.name = name
        self.blocks = []
        self.pending = b""
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, **(environment or {})})
        try:
            self.about = self.answer(START_SECONDS)
        except failure:
            self.close()
            raise

    def answer(self, seconds):
        """Returns the next line of its output, parsed as JSON."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.pending:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise failure(f"{self.name} did not answer within {seconds} s")
                some = os.read(self.process.stdout.fileno(), 65536)
                if not some:
                    complaint = self.process.stderr.read().decode(errors="replace").strip()
                    raise failure(f"{self.name} exited: {complaint[-2000:] or 'no error message'}")
                self.pending += some
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line)

    def block(self, seconds):
        self.process.stdin.write(f"{seconds}\n".encode())
        self.process.stdin.flush()
        return self.answer(seconds + ANSWER_SECONDS)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=10)
        self.process.stdout.close()
        self.process.stderr.close()

    def median_ms(self):
        return statistics.median(block["ms_per_step"] for block in self.blocks)

    def memory_bytes(self):
        return max(block["memory_bytes"] for block in self.blocks)

    def disturbed(self):
        return sum(block["disturbed"] for block in self.blocks)


def quiet_block(one, everyone, settings):
    """Measures a block of steps until one is undisturbed. Returns it, or the least disturbed one after all tries."""
    best = None
    for attempt in range(1, settings.tries + 1):
        quiet.wait_for_idle(time.monotonic() + settings.wait)
        seen = quiet.watch([other.process.pid for other in everyone])
        block = one.block(settings.seconds)
        block["others_percent"] = round(seen.others(), 2)
        block["attempt"] = attempt
        if best is None or block["others_percent"] < best["others_percent"]:
            best = block
        if best["others_percent"] <= settings.most:
            break
    best["disturbed"] = best["others_percent"] > settings.most
    return best


def quartiles(values):
    if len(values) < 2:
        return [values[0], values[0]]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return [low, high]


def compare(net, dtype, batch, settings):
    everyone, refused, round_trips = [], {}, []
    try:
        split = (settings.threads, 1) if net in BY_WORKERS else (1, settings.threads)
        if settings.device == "cuda":
            split = (1, 1)
        device = ["--device", settings.device]
        recompute = ["--recompute"] if settings.recompute else []
        everyone.append(competitor(COHORT, [settings.programs / "train_step", *device, *recompute, net, dtype, batch, *split]))
        for mode in settings.modes.split(","):
            if mode.startswith("channels_last") and net in SEQUENCES:
                continue
            try:
                # With one compile thread, no persistent helper processes are started; they would count as
                # other processes.
                everyone.append(competitor(f"pytorch {mode}", [settings.python, HERE / "pytorch_step.py", *device, net,
                                                               dtype, batch, settings.threads, mode],
                                           {"TORCHINDUCTOR_COMPILE_THREADS": "1"}))
            except failure as problem:
                refused[mode] = str(problem)
                print(f"skipped: {problem}", file=sys.stderr)
        ours, peers = everyone[0], everyone[1:]
        if not peers:
            raise failure("none of PyTorch's modes runs")
        for number in range(settings.rounds):
            before = quiet.round_trip_ns(settings.programs)
            for one in everyone:
                one.blocks.append(quiet_block(one, everyone, settings))
            round_trips.append([before, quiet.round_trip_ns(settings.programs)])
            print(f"{net} {dtype} batch {batch}, round {number + 1} of {settings.rounds}: "
                  + ", ".join(f"{one.name} {one.blocks[-1]['ms_per_step']:.3f} ms"
                              + (" (disturbed)" if one.blocks[-1]["disturbed"] else "") for one in everyone)
                  + f"; round trip {round_trips[-1][0]} -> {round_trips[-1][1]} ns", file=sys.stderr)
    finally:
        for one in everyone:
            one.close()

    fastest = min(peers, key=competitor.median_ms)
    ratios = [theirs["ms_per_step"] / mine["ms_per_step"] for theirs, mine in zip(fastest.blocks, ours.blocks)]
    leanest = min(peers, key=competitor.memory_bytes)
    return {
        "net": net, "dtype": dtype, "batch": batch, "threads": settings.threads,
        "cohort_ms": ours.median_ms(), "pytorch_ms": fastest.median_ms(), "pytorch_mode": fastest.name.split()[1],
        "ratio": fastest.median_ms() / ours.median_ms(), "ratio_quartiles": quartiles(ratios),
        "cohort_samples_per_second": batch / ours.median_ms() * 1e3,
        "pytorch_samples_per_second": batch / fastest.median_ms() * 1e3,
        "cohort_memory_bytes": ours.memory_bytes(), "cohort_forecast_bytes": ours.blocks[0]["forecast_bytes"],
        "recomputation": ours.about["recomputation"],
        "pytorch_memory_bytes": leanest.memory_bytes(),
        "memory_ratio": ours.memory_bytes() / leanest.memory_bytes(),
        "rounds": settings.rounds, "disturbed_blocks": ours.disturbed() + fastest.disturbed(),
        "round_trip_ns": round_trips,
        "blocks": {one.name: one.blocks for one in everyone}, "modes_left_out": refused,
    }, ours.about, peers[0].about


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def machine():
    def git(*words):
        run = subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True)
        return run.stdout.strip() if run.returncode == 0 else "unknown"

    return {"date": datetime.date.today().isoformat(), "commit": git("rev-parse", "--short=12", "HEAD"),
            "changed_since": git("status", "--porcelain") != "", "processor": processor(), "processors": os.cpu_count(),
            "system": platform.platform()}


def context(settings, ours, theirs):
    return {**machine(), "threads": settings.threads, "compiler": ours["compiler"],
            "device": ours["device"], "onednn": ours["onednn"], "pytorch": theirs["torch"], "python": theirs["python"],
            "pytorch_cuda": theirs["cuda"], "pytorch_cudnn": theirs["cudnn"],
            "seconds_per_block": settings.seconds}


HEADINGS = ("net", "dtype", "batch", "Cohort ms", "PyTorch ms", "mode", "ratio", "quartiles", "samples/s",
            "Cohort MB", "forecast", "PyTorch MB", "disturbed")


def cells(row):
    low, high = row["ratio_quartiles"]
    return (row["net"], row["dtype"], str(row["batch"]), f"{row['cohort_ms']:.3f}", f"{row['pytorch_ms']:.3f}",
            row["pytorch_mode"], f"{row['ratio']:.2f}", f"{low:.2f} to {high:.2f}",
            f"{row['cohort_samples_per_second']:,.0f}", f"{row['cohort_memory_bytes'] / 1e6:.1f}",
            f"{row['cohort_forecast_bytes'] / 1e6:.1f}", f"{row['pytorch_memory_bytes'] / 1e6:.1f}",
            f"{row['disturbed_blocks']} of {2 * row['rounds']}")


def report(program, results, table, settings):
    """Prints the rows of `results` and writes them to settings.json. `results`: pairs of a row and the descriptions of the
    compared programs. Returns the exit status."""
    rows, about = [], {}
    try:
        for row, who in results:
            rows.append(row)
            about.update(who)
    except failure as problem:
        print(f"{program}: {problem}", file=sys.stderr)
        return 1
    print(table(rows))
    if settings.json:
        found = {"context": {**machine(), **about, "seconds_per_block": settings.seconds}, "rows": rows}
        settings.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def table(rows):
    lines = [HEADINGS, *map(cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def settings_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default="lenet,mlp", help=f"networks, of {', '.join(BATCHES)} (lenet,mlp)")
    parser.add_argument("--dtypes", default="f32", help="types, of f32, bf16, and on a GPU tf32 (f32)")
    parser.add_argument("--batch", type=int, help="examples per step (default by network: "
                        + ", ".join(f"{net} {count}" for net, count in BATCHES.items()) + ")")
    parser.add_argument("--threads", type=int, default=os.cpu_count(),
                        help="threads of PyTorch, and of all of Cohort's workers together (all processors)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="device of both (cpu)")
    parser.add_argument("--recompute", action="store_true", help="Cohort recomputes cheap layers in backward")
    parser.add_argument("--modes",
                        help="PyTorch's modes, see pytorch_step.py (eager,channels_last,compile; on a GPU also graph,graph_channels_last)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--seconds", type=float, default=1.5, help="seconds per block (1.5)")
    parser.add_argument("--most", type=float, default=quiet.MOST_PERCENT, help="percent that other processes may use (3)")
    parser.add_argument("--tries", type=int, default=5, help="maximum measurements of a block (5)")
    parser.add_argument("--wait", type=float, default=30, help="seconds to wait for idle before a block (30)")
    parser.add_argument("--programs", type=pathlib.Path, default=quiet.PROGRAMS,
                        help="folder of the built benchmarks (build/release/benchmarks)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch (this one)")
    parser.add_argument("--json", type=pathlib.Path, help="file for the results with all blocks and the context")
    settings = parser.parse_args(arguments)
    settings.modes = settings.modes or "eager,channels_last,compile" + (",graph,graph_channels_last" if settings.device == "cuda" else "")
    for flag, given, known in (("nets", settings.nets, BATCHES), ("dtypes", settings.dtypes, ("f32", "bf16") + (("tf32",) if settings.device == "cuda" else ()))):
        for one in given.split(","):
            if one not in known:
                parser.error(f"--{flag}: expected {' or '.join(known)}, got {one}")
    for count in (settings.rounds, settings.tries, settings.threads, 1 if settings.batch is None else settings.batch):
        if count < 1:
            parser.error(f"--rounds, --tries, --threads and --batch: expected at least 1, got {count}")
    if not (settings.programs / "train_step").exists():
        parser.error(f"--programs: expected the folder of train_step, got {settings.programs}; build it with\n"
                     "  cmake --preset release && cmake --build --preset release --target train_step cache_line_round_trip")
    return settings


def main():
    settings = settings_of(sys.argv[1:])
    rows, ours, theirs = [], None, None
    try:
        for net in settings.nets.split(","):
            for dtype in settings.dtypes.split(","):
                row, ours, theirs = compare(net, dtype, settings.batch or BATCHES[net], settings)
                rows.append(row)
    except failure as problem:
        print(f"compare_pytorch.py: {problem}", file=sys.stderr)
        return 1
    print(table(rows))
    if settings.json:
        settings.json.write_text(json.dumps({"context": context(settings, ours, theirs), "rows": rows}, indent=1) + "\n",
                                 encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
