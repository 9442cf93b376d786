#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The step time of two ranks of LeNet over TCP while other programs hold idle connections to their ports, compared with undisturbed runs.

    tcp_flood.py BUILD_DIR DATA_DIR [--connections 5000] [--pause 10] [--repeat 5] [--epochs 1]

BUILD_DIR has tools/cohort/cohort and examples/lenet_mnist; DATA_DIR has the files of MNIST. Undisturbed and disturbed runs alternate. The
other programs connect as soon as the ranks listen; a refused one connects again after a pause (seconds). Prints the seconds per step of
each run and the ratio of the medians. Needs an idle machine, and a limit of open files (ulimit -n) above 1,500.
"""
import argparse
import heapq
import json
import os
import pathlib
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PORTS = (29600, 29601)
MOST_IN_PROCESS = 1000
LONGEST = 900  # limit of a run in seconds


def hold(count, pause):
    """Holds idle connections until it is killed."""
    waiter = select.epoll()
    connections = {}  # descriptor: (socket, its number, whether it is established)
    due = [(0.0, k) for k in range(count)]  # times at which to connect
    while True:
        while due and due[0][0] <= time.monotonic():
            k = heapq.heappop(due)[1]
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", PORTS[k % 2]))
            connections[one.fileno()] = [one, k, False]
            waiter.register(one, select.EPOLLOUT)
        for descriptor, _ in waiter.poll(0.05):
            one, k, established = connections[descriptor]
            if not established and one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                connections[descriptor][2] = True
                waiter.modify(one, select.EPOLLIN)
                continue
            waiter.unregister(one)
            del connections[descriptor]
            one.close()
            heapq.heappush(due, (time.monotonic() + (pause if established else 0.2), k))


def seconds_per_step(arguments, folder):
    report = pathlib.Path(folder) / "report.json"
    command = [arguments.build / "tools/cohort/cohort", "run", "-n", "2", arguments.build / "examples/lenet_mnist", "--data", arguments.data,
               "--epochs", str(arguments.epochs), "--json", report]
    environment = dict(os.environ, COHORT_PORTS=f"{PORTS[0]}-{PORTS[1]}")
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=LONGEST)
    if done.returncode != 0:
        sys.exit(f"tcp_flood.py: the ranks have failed:\n{done.stderr}")
    found = json.loads(report.read_text(encoding="utf-8"))
    return found["seconds"] / found["steps"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("data", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--pause", type=float, default=10)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1)
    arguments = parser.parse_args()
    undisturbed, disturbed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.repeat):
            undisturbed.append(seconds_per_step(arguments, folder))
            clients = []
            for begun in range(0, arguments.connections, MOST_IN_PROCESS):
                count = min(MOST_IN_PROCESS, arguments.connections - begun)
                clients.append(subprocess.Popen([sys.executable, __file__, "--hold", str(count), str(arguments.pause)]))
            try:
                disturbed.append(seconds_per_step(arguments, folder))
            finally:
                for one in clients:
                    one.kill()
                    one.wait()
            print(f"{undisturbed[-1]:.6f} s undisturbed, {disturbed[-1]:.6f} s with {arguments.connections} connections", flush=True)
    print(f"ratio of the medians: {statistics.median(disturbed) / statistics.median(undisturbed):.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hold"]:
        hold(int(sys.argv[2]), float(sys.argv[3]))  # never returns
    main()
