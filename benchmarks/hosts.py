#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated hosts on one machine: network namespaces connected to a bridge by links of a given rate, for runs over TCP.

    hosts.py up COUNT [RATE]               makes 2 to 100 hosts; RATE per direction as in tc: 1gbit (none: no limit)
    hosts.py mpirun COUNT [FLAGS] PROGRAM...   runs one rank per host, over TCP only
    hosts.py exec HOST COMMAND...          runs a command on a host: 0, 1, ...
    hosts.py cut HOST | mend HOST          takes a host's link down, or up again
    hosts.py bytes                         prints the bytes that each host has sent since up
    hosts.py down                          removes all hosts

Needs root, iproute2 and Open MPI. The hosts share processors and files; only their networks are separate.
"""
import os
import pathlib
import subprocess
import sys

BRIDGE = "cohort0"
NETWORK = "10.78.0"
FIRST = 10  # last octet of host 0's address
MOST = 100
BURST_KIB = 128  # bytes (KiB) that a link transfers at once after a pause


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def namespace(host):
    return f"cohort-host{host}"


def address(host):
    return f"{NETWORK}.{FIRST + host}"


def names():
    """Returns the existing namespaces, in the order of their hosts."""
    found = [line.split()[0] for line in ip("netns", "list").splitlines() if line.startswith(namespace(""))]
    return sorted(found, key=lambda name: int(name.removeprefix(namespace(""))))


def up(count, rate="none"):
    if not 2 <= count <= MOST:
        raise ValueError(f"hosts: expected 2 to {MOST}, got {count}")
    down()
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    for host in range(count):
        here, outside = namespace(host), f"{BRIDGE}-{host}"
        ip("netns", "add", here)
        ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", here)
        ip("link", "set", outside, "master", BRIDGE, "up")
        ip("-n", here, "addr", "add", f"{address(host)}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", here, "link", "set", device, "up")
        if rate != "none":
            limit = ["root", "tbf", "rate", rate, "burst", f"{BURST_KIB}kb", "latency", "200ms"]
            subprocess.run(["tc", "-n", here, "qdisc", "add", "dev", "eth0", *limit], check=True)
            subprocess.run(["tc", "qdisc", "add", "dev", outside, *limit], check=True)


def down():
    """Removes all hosts; their links first, because a link may outlive its namespace for a moment."""
    found = names()
    for device in [*(f"{BRIDGE}-{host}" for host in range(len(found))), BRIDGE]:
        subprocess.run(["ip", "link", "del", device], stderr=subprocess.DEVNULL, check=False)
    for name in found:
        ip("netns", "del", name)


def link(host, state):
    ip("link", "set", f"{BRIDGE}-{host}", state)


def sent():
    """Returns the bytes that each host has sent, including frame headers, as counted by the bridge."""
    counters = (pathlib.Path(f"/sys/class/net/{BRIDGE}-{host}/statistics/rx_bytes") for host in range(len(names())))
    return [int(counter.read_text(encoding="ascii")) for counter in counters]


def mpirun(count, *command):
    """Returns the command that runs one rank on each of the first hosts, with the names of Open MPI 4 and 5."""
    agent = f"{sys.executable} {pathlib.Path(__file__).resolve()} agent"
    flags = ["--host", ",".join(f"{address(host)}:1" for host in range(count)), "--bind-to", "none"]
    # Started one at a time: if daemons call back simultaneously, one launch in nine fails (4.1.4).
    for name, value in (("plm_rsh_agent", agent), ("plm_rsh_no_tree_spawn", "1"), ("plm_rsh_num_concurrent", "1"),
                        ("pml", "ob1"), ("btl", "tcp,self"), ("btl_tcp_if_include", f"{NETWORK}.0/24"),
                        ("oob_tcp_if_include", f"{NETWORK}.0/24")):
        flags += ["--mca", name, value]
    exported = [word for name in ("PATH", "LD_LIBRARY_PATH", "COHORT_DATA") if name in os.environ for word in ("-x", name)]
    return ["mpirun", "--allow-run-as-root", "-n", str(count), *flags, *exported, *command]


def main(words):
    match words:
        case ["up", count, *rate] if len(rate) < 2:
            up(int(count), *rate)
        case ["mpirun", count, *command] if command:
            command = mpirun(int(count), *command)
            os.execvp(command[0], command)
        case ["exec", host, *command] if command:
            os.execvp("ip", ["ip", "netns", "exec", namespace(host), *command])
        case ["agent", where, *command] if command:  # mpirun calls this with a host's address and a shell command
            host = int(where.rpartition(".")[2]) - FIRST
            os.execvp("ip", ["ip", "netns", "exec", namespace(host), "bash", "-c", " ".join(command)])
        case ["cut" | "mend" as what, host]:
            link(host, "down" if what == "cut" else "up")
        case ["bytes"]:
            for name, count in zip(names(), sent()):
                print(name, count)
        case ["down"]:
            down()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (subprocess.CalledProcessError, ValueError) as problem:
        sys.exit(f"hosts.py: {problem} {getattr(problem, 'stderr', '') or ''}".strip())
