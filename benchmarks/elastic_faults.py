# SPDX-License-Identifier: Apache-2.0
"""Kills ranks of an elastic job, or lets them leave, at random moments:

    python3 benchmarks/elastic_faults.py kill|leave [--strategy NAME] [--runs N] [--ranks P] [--program build/…/backends_tcp_elastic]

Prints the median and the longest time from the signal to the next step of all other ranks, and checks that every example
counts once per epoch, except those that a killed rank had used since the last meeting (averaging, which prints their
number), and that the parameters of all ranks are equal. Results: benchmarks/results/elastic.md."""
import argparse
import os
import pathlib
import random
import re
import signal
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "backends" / "tcp"))
from elastic_job import job, lost_examples

EPOCHS, STEP_MS, LONGEST = 60, 20, 30


def pause(what, ranks, strategy):
    """One run. Returns the seconds until all other ranks have made a step without the victim, and the number of lost
    examples."""
    with job(ranks, epochs=EPOCHS, step_ms=STEP_MS, heartbeat_ms=10000, strategy=strategy) as run:
        for rank in range(ranks):
            run.wait_for_step(rank, 1)
        time.sleep(random.random() / 2)
        victim = random.randrange(ranks)
        others = set(range(ranks)) - {victim}
        run.processes[victim].send_signal(signal.SIGKILL if what == "kill" else signal.SIGTERM)
        begin, waiting = time.monotonic(), set(others)
        while waiting and time.monotonic() < begin + LONGEST:
            waiting = {rank for rank in waiting if f"of {ranks - 1} ranks as" not in run.text(rank)}
            time.sleep(0.002)
        seconds = time.monotonic() - begin
        ends, lost = set(), 0
        for rank in others:
            text = run.text(rank) if run.status(rank) == 0 and not waiting else sys.exit(f"victim {victim}:\n{run.text(rank)}")
            lost = lost_examples(text, EPOCHS, strategy if what == "kill" or strategy == "sharing" else None)
            ends.add(re.search(r"^checksum (\w+)$", text, re.M)[1])
        if len(ends) != 1:
            sys.exit(f"victim {victim}: the parameters differ: {ends}")
        return seconds, lost


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("what", choices=("kill", "leave"))
    flags.add_argument("--strategy", default="allreduce")
    flags.add_argument("--runs", type=int, default=50)
    flags.add_argument("--ranks", type=int, default=8)
    flags.add_argument("--program", default="build/tests/tests/backends_tcp_elastic")
    given = flags.parse_args()
    os.environ["COHORT_PROGRAM"] = str(pathlib.Path(given.program).resolve())
    random.seed(1)
    runs = [pause(given.what, given.ranks, given.strategy) for _ in range(given.runs)]
    pauses, lost = [seconds for seconds, _ in runs], [examples for _, examples in runs]
    print(f"{given.strategy}, {given.what}, {given.ranks} ranks, steps of {STEP_MS} ms: {len(pauses)} runs, "
          f"median {statistics.median(pauses):.3f} s, longest {max(pauses):.3f} s, lost examples: mean "
          f"{statistics.mean(lost):.1f}, most {max(lost)}")


if __name__ == "__main__":
    main()
