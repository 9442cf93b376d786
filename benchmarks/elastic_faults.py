#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of an elastic job: whether the ranks continue with the right state.

    elastic_faults.py kill | leave             SIGKILL or SIGTERM to a random rank at a random moment
    elastic_faults.py stop | long-stop         SIGSTOP for less, or for more than the heartbeat, then SIGCONT
    elastic_faults.py slow                     a random rank is stopped for 90 of each 100 ms
    elastic_faults.py service                  SIGKILL to the process of the membership service, then to a random rank
    elastic_faults.py churn                    every 20 steps a rank leaves, is killed or joins, for 2,000 steps
    elastic_faults.py outage | long-outage     the link of a random host is down for less, or for more than the heartbeat
    elastic_faults.py loss                     every host drops --percent of the packets that arrive
    elastic_faults.py move                     the host of the service is lost, and another host gets its name
    elastic_faults.py split                    the network is divided in two parts; --shared: with COHORT_SHARED_DIRECTORY

--runs: number of runs. --ranks: number of ranks, a divisor of 24. --heartbeat: seconds. --seed: of the random choices. --program: the executable of
tests/backends/tcp/elastic.cpp. --strategy: allreduce, averaging or sharing (kill and leave). The ranks of the last five faults run on hosts that benchmarks/hosts.py makes (needs root, iproute2
and nftables); the others are processes of this host. The gradient of example i is the unit vector e_i: a run fails if an example
does not count as docs/elastic_training.md guarantees, if ranks end with different parameters, if a rank fails, or if the membership
changes without a reason. Prints one line per run and a summary, and exits with 1 if a run has failed. Results:
benchmarks/results/tcp.md.
"""
import argparse
import collections
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "backends" / "tcp"))
import hosts  # noqa: E402
from elastic_job import job, lost_examples  # noqa: E402

EXAMPLES, EXAMPLES_PER_RANK = 96, 4  # of elastic.cpp
STEP_MS = 20
LOST = 75  # exit status of a rank that has lost the others
LONGEST = 90  # seconds

host = collections.namedtuple("host", "address command")


class failure(Exception):
    """A run is not right."""


def require(condition, problem):
    if not condition:
        raise failure(problem)


def host_of(number):
    start = f'hostname host{number}; exec "$0" "$@"'
    return host(hosts.address(number), ["ip", "netns", "exec", hosts.namespace(number), "unshare", "--uts", "sh", "-c", start])


def drop(number, rules):
    """Sets the rules by which a host drops packets that arrive: expressions of nftables."""
    chain = "\n".join(f"{rule} drop" for rule in rules)
    table = f"table inet faults\ndelete table inet faults\ntable inet faults {{\nchain arriving {{\ntype filter hook input priority 0\n{chain}\n}}\n}}\n"
    subprocess.run(["ip", "netns", "exec", hosts.namespace(number), "nft", "-f", "-"], input=table, text=True, check=True)


class measured_run:
    """One run of a fault, with what it measures."""

    def __init__(self, options, chosen):
        self.options, self.chosen = options, chosen
        self.ranks, self.heartbeat = options.ranks, options.heartbeat
        self.seconds, self.again = [], 0
        self.memberships, self.lost = 0, 0
        self.text = ""

    def start(self, seconds, **settings):
        """Starts a job whose training takes about this time, and waits for a random moment after the first step."""
        steps_per_epoch = EXAMPLES // (EXAMPLES_PER_RANK * self.ranks)
        self.epochs = max(2, round(seconds * 1000 / STEP_MS / steps_per_epoch))
        run = job(self.ranks, epochs=self.epochs, step_ms=STEP_MS, heartbeat_ms=round(self.heartbeat * 1000),
                  strategy=self.options.strategy, **settings)
        return run

    def wait_for_start(self, run):
        for rank in range(self.ranks):
            run.wait_for_step(rank, 1)
        time.sleep(self.chosen.random() / 2)

    def wait_for_size(self, run, processes, size):
        """Waits until these processes have made a step together as `size` ranks. Returns the seconds."""
        begin = time.monotonic()
        first = {one: len(run.steps_and_sizes(one)) for one in processes}
        waiting = set(processes)
        while waiting:
            waiting = {one for one in waiting if all(ranks != size for _, ranks in run.steps_and_sizes(one)[first[one]:])}
            require(time.monotonic() < begin + LONGEST, f"processes {waiting} make no step as {size} ranks")
            time.sleep(0.002)
        return time.monotonic() - begin

    def count_again(self, run, processes, size):
        """Adds the steps that these processes, or a lost rank, had completed before they made them again as `size` ranks."""
        first = min(next(step for step, ranks in run.steps_and_sizes(one) if ranks == size) for one in processes)
        last = max(step for one in range(self.ranks) for step, ranks in run.steps_and_sizes(one) if ranks == self.ranks)
        self.again = max(self.again, last - first + 1)

    def check_end(self, run, processes, loses=None):
        """All processes end with the same parameters, in which every example counts once per epoch, except for what a lost
        rank with the strategy `loses` takes with it."""
        for one in processes:
            status = run.status(one, LONGEST)
            require(status == 0, f"process {one} exits with status {status}:\n{run.text(one)[-2000:]}")
            self.lost = max(self.lost, lost_examples(run.text(one), self.epochs, loses))
        sums = {run.checksum(one) for one in processes}
        require(len(sums) == 1, f"the parameters differ: {sums}")
        self.memberships = run.memberships()

    def signal(self, name):
        """A random rank is killed or leaves."""
        with self.start(seconds=4 if self.ranks < 6 else 8) as run:
            self.wait_for_start(run)
            victim = self.chosen.randrange(self.ranks)
            others = [rank for rank in range(self.ranks) if rank != victim]
            self.text = f"process {victim}"
            run.processes[victim].send_signal(name)
            self.seconds.append(self.wait_for_size(run, others, self.ranks - 1))
            if name == signal.SIGTERM:
                require(run.status(victim) == 0 and "left after step" in run.text(victim), f"the rank has not left:\n{run.text(victim)}")
            strategy = self.options.strategy
            self.check_end(run, others, strategy if name == signal.SIGKILL or strategy == "sharing" else None)
            if strategy == "averaging":  # the ranks meet in a membership of their own before one leaves
                require(self.memberships <= 3, f"{self.memberships} memberships")
                return
            self.count_again(run, others, self.ranks - 1)
            require(name == signal.SIGKILL or self.again == 0, "a step is lost")
            require(self.memberships == 2, f"{self.memberships} memberships")

    def kill(self):
        self.signal(signal.SIGKILL)

    def leave(self):
        self.signal(signal.SIGTERM)

    def pause(self, is_long, begin, end, **settings):
        """begin(rank) and end(rank) surround a pause of a random rank."""
        length = self.heartbeat * (self.chosen.uniform(1.5, 2.5) if is_long else self.chosen.uniform(0.2, 0.8))
        with self.start(seconds=3 * length + 4, **settings) as run:
            self.wait_for_start(run)
            victim = self.chosen.randrange(self.ranks)
            everyone = list(range(self.ranks))
            others = [rank for rank in everyone if rank != victim]
            served = [rank for rank in everyone if run.hosts_service(rank)]
            self.text = f"process {victim}{' (service)' if victim in served else ''} for {length:.1f} s"
            begin(run, victim)
            continues = is_long and victim not in served
            try:
                end_of_pause = time.monotonic() + length
                if continues:
                    self.seconds.append(self.wait_for_size(run, others, self.ranks - 1) - self.heartbeat)
                    self.count_again(run, others, self.ranks - 1)
                time.sleep(max(0, end_of_pause - time.monotonic()))
            finally:
                end(run, victim)
            if is_long:
                self.wait_for_size(run, everyone, self.ranks)
            self.check_end(run, everyone)
            require(is_long or self.memberships == 1, f"{self.memberships} memberships")

    def stop(self, is_long=False):
        self.pause(is_long, lambda run, rank: run.processes[rank].send_signal(signal.SIGSTOP),
                   lambda run, rank: run.processes[rank].send_signal(signal.SIGCONT))

    def long_stop(self):
        self.stop(is_long=True)

    def outage(self, is_long=False):
        self.pause(is_long, lambda run, rank: hosts.link(rank, "down"), lambda run, rank: hosts.link(rank, "up"),
                   hosts=[host_of(number) for number in range(self.ranks)])

    def long_outage(self):
        self.outage(is_long=True)

    def slow(self):
        with self.start(seconds=5) as run:
            self.wait_for_start(run)
            victim = self.chosen.randrange(self.ranks)
            process = run.processes[victim]
            begin, self.text = time.monotonic(), f"process {victim}"
            while process.poll() is None and time.monotonic() < begin + LONGEST:
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.09)
                process.send_signal(signal.SIGCONT)
                time.sleep(0.01)
            self.seconds.append(time.monotonic() - begin)
            self.check_end(run, range(self.ranks))
            require(self.memberships == 1, f"{self.memberships} memberships")

    def service(self):
        with self.start(seconds=8) as run:
            self.wait_for_start(run)
            left = list(range(self.ranks))
            victim = next(rank for rank in left if run.hosts_service(rank))
            for size in (self.ranks - 1, self.ranks - 2):
                self.text += f"process {victim} "
                left.remove(victim)
                run.processes[victim].kill()
                self.seconds.append(self.wait_for_size(run, left, size))
                victim = self.chosen.choice(left)
            self.check_end(run, left)
            require(self.memberships == 3, f"{self.memberships} memberships")

    def churn(self):
        steps, every = 2000, 20
        with self.start(seconds=steps * STEP_MS / 1000, most=self.ranks + 2) as run:
            self.wait_for_start(run)
            members, events = list(range(self.ranks)), collections.Counter()
            for step in range(every, steps - 2 * every, every):
                run.wait_for_step(members[0], step, LONGEST)
                event = self.chosen.choice(("leave", "kill", "join", "join"))
                if len(members) <= 2:
                    event = "join"
                elif len(members) == self.ranks + 2 and event == "join":
                    event = "leave"
                events[event] += 1
                if event == "join":
                    members.append(run.start())
                    size = len(members)
                else:
                    victim = self.chosen.choice(members)
                    members.remove(victim)
                    run.processes[victim].send_signal(signal.SIGKILL if event == "kill" else signal.SIGTERM)
                    size = len(members)
                self.wait_for_size(run, members, size)
            self.text = f"{dict(events)}"
            self.check_end(run, members)

    def loss(self):
        for number in range(self.ranks):
            drop(number, [f"numgen random mod 100 < {self.options.percent}"])
        try:
            with self.start(seconds=8, hosts=[host_of(number) for number in range(self.ranks)]) as run:
                self.wait_for_start(run)
                begin = time.monotonic()
                self.check_end(run, range(self.ranks))
                self.seconds.append(time.monotonic() - begin)
                lost = {line for rank in range(self.ranks) for line in run.text(rank).splitlines() if "silent" in line or "has lost" in line}
                self.text = " | ".join(sorted(lost))
                require(self.memberships == 1 or (self.options.percent > 1 and lost), f"{self.memberships} memberships")
        finally:
            for number in range(self.ranks):
                drop(number, [])

    def move(self):
        names = [pathlib.Path("/etc/netns", hosts.namespace(number), "hosts") for number in range(self.ranks + 1)]

        def resolve(number):
            """Gives the name of the rendezvous to a host. `ip netns exec` shows each process this file as /etc/hosts."""
            for path in names:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{hosts.address(number)} rendezvous\n", encoding="ascii")

        resolve(0)
        all_hosts = [host_of(number) for number in range(self.ranks + 1)]
        try:
            with self.start(seconds=20, hosts=[host("rendezvous", all_hosts[0].command), *all_hosts[1:]]) as run:
                self.wait_for_start(run)
                begin = time.monotonic()
                hosts.link(0, "down")
                run.processes[0].kill()
                resolve(self.ranks)
                joiner = run.start()
                left = [*range(1, self.ranks), joiner]
                self.wait_for_size(run, left, self.ranks)
                self.seconds.append(time.monotonic() - begin)
                self.check_end(run, left)
        finally:
            hosts.link(0, "up")
            for path in names:
                path.unlink(missing_ok=True)

    def split(self):
        """Divides the hosts in two parts. The part of the service, on host 0, continues with more than half of the ranks, or with half
        of them and a shared directory."""
        part = sorted({0, *self.chosen.sample(range(1, self.ranks), self.chosen.choice((self.ranks // 2 - 1, self.ranks // 2)))})
        rest = [rank for rank in range(self.ranks) if rank not in part]
        goes_on = 2 * len(part) > self.ranks or (2 * len(part) == self.ranks and self.options.shared)
        self.text = f"{part} and {rest}"
        with self.start(seconds=8, hosts=[host_of(number) for number in range(self.ranks)], shares=self.options.shared, saves=True,
                        deadline_ms=round(self.heartbeat * 5000)) as run:
            self.wait_for_start(run)
            try:
                for ranks, others in ((part, rest), (rest, part)):
                    for rank in ranks:
                        drop(rank, [f"ip saddr {{ {', '.join(hosts.address(other) for other in others)} }}"])
                before = max(run.steps(rank)[-1] for rank in range(self.ranks))
                complete, end = {}, time.monotonic() + LONGEST
                while any(process.poll() is None for process in run.processes) and time.monotonic() < end:
                    for path in run.checkpoints.glob("*/manifest.json"):  # the last file of a checkpoint
                        state = (path.stat().st_mtime_ns, path.stat().st_ino)
                        require(complete.setdefault(path, state) == state, f"{path.parent.name} was written twice")
                    time.sleep(0.05)
                for rank in rest + ([] if goes_on else part):
                    require(run.status(rank) == LOST, f"process {rank} exits with status {run.status(rank)}:\n{run.text(rank)[-2000:]}")
                    require(all(size == self.ranks for _, size in run.steps_and_sizes(rank)) and run.steps(rank)[-1] <= before + 2,
                            f"process {rank} has continued:\n{run.text(rank)[-2000:]}")
                if goes_on:
                    self.count_again(run, part, len(part))
                    self.check_end(run, part)
                self.text += f", {'the first part' if goes_on else 'no part'} continues, {len(complete)} checkpoints"
                self.memberships = run.memberships()
            finally:
                for number in range(self.ranks):
                    drop(number, [])


ON_HOSTS = ("outage", "long-outage", "loss", "move", "split")
FAULTS = ("kill", "leave", "stop", "long-stop", "slow", "service", "churn", *ON_HOSTS)


def main():
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("what", choices=FAULTS)
    usage.add_argument("--runs", type=int, default=20)
    usage.add_argument("--ranks", type=int, default=4)
    usage.add_argument("--heartbeat", type=float, default=10)
    usage.add_argument("--percent", type=int, default=1)
    usage.add_argument("--strategy", default="allreduce")
    usage.add_argument("--shared", action="store_true")
    usage.add_argument("--seed", type=int, default=1)
    usage.add_argument("--program", default="build/tests/tests/backends_tcp_elastic")
    options = usage.parse_args()
    os.environ["COHORT_PROGRAM"] = str(pathlib.Path(options.program).resolve())
    chosen, seconds, failed, again, lost = random.Random(options.seed), [], 0, 0, 0
    if options.what in ON_HOSTS:
        hosts.up(options.ranks + 1)
    try:
        for number in range(options.runs):
            each, problem = measured_run(options, chosen), ""
            try:
                getattr(each, options.what.replace("-", "_"))()
            except (failure, AssertionError, subprocess.TimeoutExpired) as found:
                problem = f": FAILED: {found}"
                failed += 1
            seconds += each.seconds
            again, lost = max(again, each.again), max(lost, each.lost)
            times = ", ".join(f"{one:.3f} s" for one in each.seconds)
            print(f"run {number + 1}: {each.text}: {times}, {each.again} steps again, {each.memberships} memberships{problem}", flush=True)
    finally:
        if options.what in ON_HOSTS:
            hosts.down()
    times = f", median {statistics.median(seconds):.3f} s, longest {max(seconds):.3f} s" if seconds else ""
    print(f"{options.what}, {options.ranks} ranks: {options.runs - failed} of {options.runs} runs are right{times}, at most {again} steps again, {lost} examples lost")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
