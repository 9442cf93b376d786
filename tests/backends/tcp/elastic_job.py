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


class job:
    """Processes of an elastic job. `ranks` start together; others may join."""

    def __init__(self, ranks, epochs=12, step_ms=20, heartbeat_ms=2000, least=1, strategy="allreduce"):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.directory = tempfile.TemporaryDirectory()
        self.environment = os.environ | {
            "COHORT_JOIN": f"127.0.0.1:{port}", "COHORT_RANKS": str(ranks), "COHORT_MIN_RANKS": str(least),
            "COHORT_MAX_RANKS": str(ranks + 2), "COHORT_SHARED_DIRECTORY": self.directory.name}
        self.arguments = [os.environ["COHORT_PROGRAM"], strategy, str(epochs), str(step_ms), str(heartbeat_ms)]
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
        path = pathlib.Path(self.directory.name, f"process{len(self.processes)}")
        self.files.append(path.open("w"))
        self.processes.append(subprocess.Popen(self.arguments, env=self.environment, stdout=self.files[-1], stderr=subprocess.STDOUT))
        return len(self.processes) - 1

    def text(self, process):
        return pathlib.Path(self.directory.name, f"process{process}").read_text()

    def steps(self, process):
        return [int(one) for one in re.findall(r"^step (\d+) of", self.text(process), re.M)]

    def wait_for_step(self, process, step, seconds=60):
        end = time.monotonic() + seconds
        while not any(one >= step for one in self.steps(process)):
            if time.monotonic() > end or self.processes[process].poll() is not None:
                raise AssertionError(f"process {process} does not reach step {step}:\n{self.text(process)}")
            time.sleep(0.005)

    def status(self, process, seconds=90):
        return self.processes[process].wait(seconds)
