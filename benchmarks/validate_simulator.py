#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the scaling simulator's step times with real ones, on hosts that are connected by links of a given rate.

    validate_simulator.py [--hosts 2,4,8] [--networks mlp] [--strategies allreduce,averaging,sharing:0.01]
                          [--rate 100mbit] [--compute 0.1] [--steps 40] [--repeat 3]

Makes the hosts (hosts.py: root, iproute2) with one rank each. Both sides run the real strategies with compute replaced by
sleep: `scaling_simulator live` over TCP, and `scaling_simulator predict` over a model of the links. Hosts share the processors
of this machine, so encoding and decoding take longer with more hosts, on both sides. Prints a table.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

import hosts

HERE = pathlib.Path(__file__).resolve().parent
PORT = 29500
LATENCY = 1e-4  # seconds between two programs on different hosts
PAYLOAD = 1448 / 1514  # share of TCP's payload in an Ethernet frame
BITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
LONGEST = 600  # limit of the seconds of a run


def rate(text):
    """A rate as tc reads it."""
    if not re.fullmatch(r"[1-9]\d*([kmg]bit)", text):
        raise argparse.ArgumentTypeError(f"expected a whole number of kbit, mbit or gbit, got {text}")
    return text


def at_least_one(text):
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {text}")
    return int(text)


def bytes_per_second(text):
    number, unit = re.fullmatch(r"(\d+)([kmg]bit)", text).groups()
    return int(number) * BITS[unit] / 8 * PAYLOAD


def result(text):
    found = re.search(r"([\d.]+) s/step, (\d+) bytes/step", text)
    if not found:
        sys.exit(f"validate_simulator.py: no result in: {text}")
    return float(found[1]), int(found[2])


def live(program, count, network, strategy, compute, steps):
    """One run over TCP. Each host needs a name of its own: ranks of one host would use shared memory."""
    environment = dict(os.environ, COHORT_JOIN=f"{hosts.address(0)}:{PORT}", COHORT_RANKS=str(count), COHORT_ENCRYPTION="off",
                       OMP_NUM_THREADS="1")
    words = [str(program), "live", network, strategy, str(compute), str(steps)]
    ranks = [subprocess.Popen(["ip", "netns", "exec", hosts.namespace(host), "unshare", "-u", "sh", "-c",
                               f'hostname host{host}; exec "$@"', "sh", *words], env=environment, stdout=subprocess.PIPE, text=True)
             for host in range(count)]
    try:
        texts = [one.communicate(timeout=LONGEST)[0] for one in ranks]
    finally:
        for one in ranks:
            one.kill()
    if any(one.returncode for one in ranks):
        sys.exit("validate_simulator.py: a rank has failed")
    return result("".join(texts))


def predicted(program, count, network, strategy, compute, speed):
    words = ["predict", network, strategy, count, compute, bytes_per_second(speed), LATENCY, "--burst", hosts.BURST_KIB * 1024,
             "--codec-factor", max(1, count / os.cpu_count())]
    return result(subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout)


def main():
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--program", type=pathlib.Path, default=HERE.parent / "build/release/benchmarks/scaling_simulator")
    read.add_argument("--hosts", default="2,4,8")
    read.add_argument("--networks", default="mlp")
    read.add_argument("--strategies", default="allreduce,averaging,sharing:0.01")
    read.add_argument("--rate", type=rate, default="100mbit")
    read.add_argument("--compute", type=float, default=0.1)
    read.add_argument("--steps", type=at_least_one, default=40)
    read.add_argument("--repeat", type=at_least_one, default=3)
    given = read.parse_args()
    print(f"{given.rate}, compute {1e3 * given.compute:g} ms, {given.repeat} runs of {given.steps} steps\n")
    print("| network | strategy | hosts | measured | simulated | error | bytes per step, measured / simulated |\n|---|---|---|---|---|---|---|")
    for network in given.networks.split(","):
        for count in map(int, given.hosts.split(",")):
            hosts.up(count, given.rate)
            try:
                for strategy in given.strategies.split(","):
                    runs = [live(given.program, count, network, strategy, given.compute, given.steps) for _ in range(given.repeat)]
                    measured, sent = sorted(runs)[len(runs) // 2]
                    simulated, expected = predicted(given.program, count, network, strategy, given.compute, given.rate)
                    print(f"| {network} | {strategy} | {count} | {1e3 * measured:.1f} ms | {1e3 * simulated:.1f} ms | "
                          f"{100 * (simulated / measured - 1):+.1f} % | {sent} / {expected} |", flush=True)
            finally:
                hosts.down()


if __name__ == "__main__":
    main()
