# SPDX-License-Identifier: Apache-2.0
"""Processes of an elastic job, for elastic_test.py and benchmarks/elastic_faults.py."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

EXAMPLES = 96  # of elastic.cpp, a multiple of the examples of a step
MOST_LOST = 16  # averaging: examples of a rank in a period of 4 steps


def lost_examples(text, epochs, loses=None):
    """Checks the output of a process that has ended: each example counts once per epoch. `loses`: strategy of a lost rank. With
    averaging, the examples that this rank had used since the last meeting count once less, and those of the other ranks in
    these steps count more. With sharing, each example counts by at most 1 less, its part of the residual. Returns the number
    of lost examples of averaging."""
    most_lost = MOST_LOST if loses == "averaging" else 0
    counts = [float(number) for number in re.search(r"^counts(.*)$", text, re.M)[1].split()]
    lost = sum(abs(count - epochs + 1) < 0.01 for count in counts) if loses != "sharing" else 0
    reported = int(re.search(r"^lost (\d+)$", text, re.M)[1])
    is_valid = (len(counts) == EXAMPLES and abs(sum(counts) - EXAMPLES * epochs) < 0.5 and lost <= most_lost
                and reported in (0, lost)  # 0: a rank that has joined later
                and all(abs(count - epochs + 1) < 0.01 or -0.01 < count - epochs < (1 if lost else 0.01) for count in counts))
    if loses == "sharing":
        is_valid = len(counts) == EXAMPLES and all(abs(count - epochs) < 1.01 for count in counts)
    if not is_valid:
        raise AssertionError(f"{lost} examples are lost, reported {reported}, expected at most {most_lost}, {epochs} epochs:\n{text}")
    return lost


class job:
    """Processes of an elastic job. `ranks` start together; others may join. `hosts`: commands that run a command on one
    of several hosts, and the address of the first one; without them all processes run on this host."""

    def __init__(self, ranks, epochs=12, step_ms=20, heartbeat_ms=2000, least=1, most=0, deadline_ms=60000, hosts=None,
                 shares=True, saves=False, strategy="allreduce"):
        self.hosts = hosts or []
        address = "127.0.0.1"
        if hosts:
            address = hosts[0].address
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.directory = tempfile.TemporaryDirectory()
        self.environment = os.environ | {
            "COHORT_JOIN": f"{address}:{port}", "COHORT_RANKS": str(ranks), "COHORT_MIN_RANKS": str(least),
            "COHORT_MAX_RANKS": str(most or ranks + 2)}
        if shares:
            self.environment["COHORT_SHARED_DIRECTORY"] = self.directory.name
        if hosts:
            self.environment["COHORT_ENCRYPTION"] = "off"
        self.arguments = [os.environ["COHORT_PROGRAM"], strategy, str(epochs), str(step_ms), str(heartbeat_ms), str(deadline_ms)]
        self.checkpoints = pathlib.Path(self.directory.name, "checkpoints")
        if saves:
            self.arguments.append(str(self.checkpoints))
        self.processes, self.files = [], []
        for _ in range(ranks):
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.processes:
            if one.poll() is None:
                one.send_signal(signal.SIGCONT)
                one.kill()
            one.wait()
        for file in self.files:
            file.close()
        self.directory.cleanup()

    def start(self):
        number = len(self.processes)
        path = pathlib.Path(self.directory.name, f"process{number}")
        self.files.append(path.open("w"))
        command = self.arguments
        if self.hosts:
            command = self.hosts[number % len(self.hosts)].command + command
        self.processes.append(subprocess.Popen(command, env=self.environment, stdout=self.files[-1], stderr=subprocess.STDOUT))
        return number

    def text(self, process):
        return pathlib.Path(self.directory.name, f"process{process}").read_text()

    def steps_and_sizes(self, process):
        """The steps that a process has printed, each with the number of ranks."""
        return [(int(step), int(size)) for step, size in re.findall(r"^step (\d+) of (\d+) ranks", self.text(process), re.M)]

    def steps(self, process):
        return [step for step, _ in self.steps_and_sizes(process)]

    def memberships(self):
        """Number of the last membership that a service has begun."""
        found = [re.findall(r"rendezvous: membership (\d+):", self.text(one)) for one in range(len(self.processes))]
        return max(int(number) for numbers in found for number in numbers)

    def hosts_service(self, process):
        return "rendezvous: membership" in self.text(process)

    def wait_for_step(self, process, step, seconds=60):
        end = time.monotonic() + seconds
        while not any(one >= step for one in self.steps(process)):
            if time.monotonic() > end or self.processes[process].poll() is not None:
                raise AssertionError(f"process {process} does not reach step {step}:\n{self.text(process)}")
            time.sleep(0.005)

    def status(self, process, seconds=90):
        return self.processes[process].wait(seconds)

    def checksum(self, process):
        return re.search(r"^checksum (\w+)$", self.text(process), re.M)[1]
