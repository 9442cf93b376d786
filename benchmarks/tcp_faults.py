#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of real ranks over TCP: which ranks the others name, and whether training goes on.

    tcp_faults.py kill|stop [--runs N]       kills (SIGKILL) or stops (SIGSTOP) a random rank of 4 to 8
    tcp_faults.py outage [--runs N]          takes the link of a random host down for less than the heartbeat
    tcp_faults.py cut [--runs N]             takes it down for good

A run fails if an outage ends the job, or if after a kill, stop or cut another rank does not name exactly the lost rank. --heartbeat:
seconds (10; 2 for kill and stop). --length FIRST-LAST: seconds of an outage (by default from 1 s, or half a heartbeat if that is
shorter, to 0.85 heartbeats). --seed: of the random choices. --program: the executable of tests/backends/tcp/faults.cpp. With outage,
cut and --hosts, ranks run on hosts that benchmarks/hosts.py makes (needs root and iproute2); otherwise they are processes of this
host. Prints one line per run, and exits with 1 if a run has failed.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import hosts  # noqa: E402

PORT = 29400
LONGEST = 90  # limit of a run in seconds; longer than its heartbeats


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def named_in(text):
    """The ranks with which clauses of a message begin."""
    found = re.findall(r"(?:^|; |: )ranks? ([0-9, ]*[0-9](?: and [0-9]+)?) (?:has|have|is cut|do not|cannot|was)", text)
    return {int(number) for one in found for number in re.findall("[0-9]+", one)}


class job:
    """Processes of `ranks` ranks, with their outputs."""

    def __init__(self, program, ranks, seconds, heartbeat, on_hosts, folder):
        self.outputs = [pathlib.Path(folder) / f"rank{rank}" for rank in range(ranks)]
        secret = pathlib.Path(folder) / "secret"
        secret.write_text("0123456789abcdef0123456789abcdef\n", encoding="ascii")
        secret.chmod(0o600)
        join = f"{hosts.address(0)}:{PORT}" if on_hosts else f"127.0.0.1:{free_port()}"
        self.processes = []
        for rank, output in enumerate(self.outputs):
            command = [program, str(seconds), str(int(heartbeat * 1000))]
            if on_hosts:
                start = f'hostname host{rank}; exec "$0" "$@"'
                command = ["ip", "netns", "exec", hosts.namespace(rank), "unshare", "--uts", "sh", "-c", start, *command]
            environment = dict(os.environ, COHORT_JOIN=join, COHORT_RANKS=str(ranks), COHORT_RANK=str(rank),
                               COHORT_SECRET_FILE=str(secret))
            with open(output, "w", encoding="utf-8") as file:
                self.processes.append(subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment))

    def text(self, rank):
        return self.outputs[rank].read_text(encoding="utf-8")

    def wait_for_start(self):
        end = time.monotonic() + LONGEST
        while not all(" is process " in self.text(rank) for rank in range(len(self.processes))):
            if time.monotonic() > end:
                raise RuntimeError("the ranks have not started: " + " | ".join(map(self.text, range(len(self.processes)))))
            time.sleep(0.05)

    def process_of(self, rank):
        return int(re.search(r" is process (\d+)", self.text(rank)).group(1))

    def wait(self, except_for=None):
        """Waits for the ranks. Returns whether all have ended in time."""
        end = time.monotonic() + LONGEST
        for rank, process in enumerate(self.processes):
            if rank == except_for:
                continue
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                return False
        return True

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(LONGEST)


def run(what, options, chosen, folder):
    """One run. Returns what is wrong, or ""; and a description."""
    ranks = chosen.randint(4, 8)
    victim = chosen.randrange(ranks)
    heartbeat = options.heartbeat
    length = chosen.uniform(*options.length) if what == "outage" else 0
    seconds = 1.5 + length * 2 + 4 if what == "outage" else LONGEST
    after = chosen.uniform(0.1, 1.5)
    described = f"{what} of rank {victim} of {ranks} after {after:.2f} s" + (f" for {length:.1f} s" if length else "")
    on_hosts = options.hosts or what in ("outage", "cut")
    all_ranks = job(options.program, ranks, seconds, heartbeat, on_hosts, folder)
    try:
        all_ranks.wait_for_start()
        time.sleep(after)
        if what in ("kill", "stop"):
            os.kill(all_ranks.process_of(victim), signal.SIGKILL if what == "kill" else signal.SIGSTOP)
        else:
            hosts.link(victim, "down")
            if what == "outage":
                time.sleep(length)
                hosts.link(victim, "up")
        ended = all_ranks.wait(None if what == "outage" else victim)
        wrong = [] if ended else ["not all ranks have ended"]
        for rank in range(ranks):
            text = all_ranks.text(rank)
            if what == "outage":
                if f"rank {rank} is done" not in text:
                    wrong.append(f"rank {rank}: {text.splitlines()[-1]}")
            elif rank != victim:
                said = [line for line in text.splitlines() if line.startswith(f"rank {rank}: ")]
                said = said[-1].removeprefix(f"rank {rank}: ") if said else "nothing"
                if named_in(said) != {victim}:
                    wrong.append(f"rank {rank} says: {said}")
        return wrong, described
    finally:
        all_ranks.end()
        if what in ("cut", "outage"):
            hosts.link(victim, "up")


def main():
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("what", choices=("kill", "stop", "outage", "cut"))
    usage.add_argument("--runs", type=int, default=100)
    usage.add_argument("--heartbeat", type=float)
    usage.add_argument("--length")
    usage.add_argument("--seed", type=int, default=1)
    usage.add_argument("--hosts", action="store_true")
    usage.add_argument("--program", default="build/release/tests/backends_tcp_faults")
    options = usage.parse_args()
    if options.heartbeat is None:
        options.heartbeat = 2 if options.what in ("kill", "stop") else 10
    options.length = ([float(one) for one in options.length.split("-")] if options.length
                      else [min(1, 0.5 * options.heartbeat), 0.85 * options.heartbeat])
    if len(options.length) == 1:
        options.length *= 2
    chosen, failed = random.Random(options.seed), 0
    on_hosts = options.hosts or options.what in ("outage", "cut")
    if on_hosts:
        hosts.up(8)
    try:
        for number in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                wrong, described = run(options.what, options, chosen, folder)
            failed += bool(wrong)
            print(f"run {number + 1}: {described}: {'FAILED' if wrong else 'right'}", *wrong, sep="\n    ", flush=True)
    finally:
        if on_hosts:
            hosts.down()
    print(f"{options.runs - failed} of {options.runs} runs are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
