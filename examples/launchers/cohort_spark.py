# SPDX-License-Identifier: Apache-2.0
"""Trains with Cohort on a Spark cluster: one rank for each partition of an RDD, in a barrier stage.

    import cohort_spark

    result = cohort_spark.run(rdd, ["cohort", "train", "/shared/run.yaml"], restart_flags=["--resume"], outputs=["model.cohort"])
    open("model.cohort", "wb").write(result.outputs["model.cohort"])

Each task writes its partition to a file of its own host, then starts the program in that folder. The program trains on local
files, so its document contains `training: {sharding: local}`. The program must be installed on all hosts. Requires PySpark 3.4."""
import collections
import ctypes
import dataclasses
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LOST = 75  # exit status: ranks were lost, the same command may be started again
LINES = 100  # last lines of the output that errors contain
PR_SET_PDEATHSIG = 1


@dataclasses.dataclass
class Result:
    outputs: dict  # outputs of rank 0: names of files and their bytes
    starts: int    # number of times that the program was started


class RankFailed(RuntimeError):
    """A rank has ended with another status than 0 or 75, or ranks were lost too often."""


def write_csv(rows, folder):
    """Writes rows (sequences of numbers or texts without commas) to part.csv."""
    with open(folder / "part.csv", "w", encoding="utf-8") as file:
        for row in rows:
            file.write(",".join(map(str, row)) + "\n")


def write_idx(rows, folder):
    """Writes rows (image, label) of 8-bit numbers, with images of equal extents, to images.idx and labels.idx. An image is a
    nested list, or an array with shape and tobytes()."""
    count, images, labels = 0, bytearray(), bytearray()
    extents = None
    for image, label in rows:
        shape = tuple(image.shape) if hasattr(image, "shape") else _extents(image)
        if extents not in (None, shape):
            raise ValueError(f"cohort_spark: example {count}: expected an image of extents {extents}, got {shape}")
        extents = shape
        images += image.tobytes() if hasattr(image, "tobytes") else bytes(_flat(image))
        labels.append(label)
        count += 1
    for name, dims, data in (("images.idx", (count, *(extents or (0, 0))), images), ("labels.idx", (count,), labels)):
        head = bytes((0, 0, 8, len(dims))) + b"".join(extent.to_bytes(4, "big") for extent in dims)
        (folder / name).write_bytes(head + data)


def _extents(nested):
    return (len(nested), *_extents(nested[0])) if isinstance(nested, (list, tuple)) else ()


def _flat(nested):
    return [one for part in nested for one in _flat(part)] if isinstance(nested, (list, tuple)) else [nested]


def run(rdd, command, *, write=write_csv, outputs=(), environment=None, restarts=5, restart_flags=(), grace=30, on_line=None):
    """Runs `command` as one rank for each partition of `rdd`.

    write          called in each task with its rows and a folder; the folder is the program's current directory
    outputs        names of files that rank 0 writes there, and that are returned to the driver
    environment    further variables of the program
    restarts       how often the program is started again after ranks were lost (status 75, or a lost executor)
    restart_flags  appended to the command from the second start on
    grace          seconds between SIGTERM and SIGKILL if a task is cancelled
    on_line        called in the driver as on_line(rank, lines) with the last lines of each rank after a failure

    Raises RankFailed with the last lines of the rank's output. The secret of the job travels in Spark's task description: set
    spark.network.crypto.enabled on clusters whose network others can read."""
    context = rdd.context
    ranks = rdd.getNumPartitions()
    slots = context.defaultParallelism
    if ranks > slots:
        raise ValueError(f"cohort_spark: {ranks} partitions need as many slots at once, and the cluster has {slots}: "
                         "call rdd.coalesce, or add executors")
    context.addPyFile(os.path.abspath(__file__))
    delay = 1
    for start in range(restarts + 1):
        flags = list(restart_flags) if start > 0 else []
        task = _Task([*map(str, command), *flags], write, tuple(outputs), dict(environment or {}), secrets.token_hex(32), start,
                     grace)
        try:
            ended = rdd.barrier().mapPartitions(task).collect()
        except Exception as problem:  # an executor was lost; Spark does not repeat a failed barrier stage
            ended, cause = [], str(problem)
            if "Python" in cause and "Traceback" in cause and "cohort_spark" in cause:
                raise
        failed = [one for one in ended if one.status not in (0, LOST)]
        if on_line:
            for one in ended:
                if one.status != 0:
                    on_line(one.rank, one.lines)
        if failed:
            first = failed[0]
            raise RankFailed(f"rank {first.rank} on {first.host} has exited with status {first.status}:\n"
                             + "\n".join(first.lines))
        if len(ended) == ranks and all(one.status == 0 for one in ended):
            return Result(next(one.outputs for one in ended if one.rank == 0), start + 1)
        if start < restarts:
            time.sleep(delay)
            delay = min(2 * delay, 60)
    lost = [f"rank {one.rank} on {one.host}:\n" + "\n".join(one.lines[-10:]) for one in ended] or [cause]
    raise RankFailed(f"ranks were lost in each of {restarts + 1} starts:\n" + "\n".join(lost))


@dataclasses.dataclass
class _Ended:
    rank: int
    host: str
    status: int
    lines: list
    outputs: dict


class _Task:
    """Runs one rank in a task of the stage."""

    def __init__(self, command, write, outputs, environment, secret, start, grace):
        self.command, self.write, self.outputs, self.environment = command, write, outputs, environment
        self.secret, self.start, self.grace = secret, start, grace

    def __call__(self, rows):
        from pyspark import BarrierTaskContext  # imported here, because the driver's tests run without Spark

        task = BarrierTaskContext.get()
        rank, addresses = task.partitionId(), [info.address.split(":")[0] for info in task.getTaskInfos()]
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cohort-"))
        try:
            self.write(rows, folder)
            port = _free_port() if rank == 0 else 0
            port = task.allGather(str(port))[0]  # also waits until all partitions are written
            variables = {**os.environ, **self.environment, "COHORT_JOIN": f"{addresses[0]}:{port}", "COHORT_RANK": str(rank),
                         "COHORT_RANKS": str(len(addresses)), "COHORT_LOCAL_RANK": str(addresses[:rank].count(addresses[rank])),
                         "COHORT_RESTARTS": str(self.start)}
            if variables.get("COHORT_ENCRYPTION") != "off" and not variables.get("COHORT_CERTIFICATE"):
                variables["COHORT_SECRET_FILE"] = _secret_file(folder, self.secret)
            status, lines = self._program(variables, folder)
            kept = {}
            if rank == 0 and status == 0:
                kept = {name: (folder / name).read_bytes() for name in self.outputs}
            yield _Ended(rank, addresses[rank], status, lines, kept)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _program(self, variables, folder):
        libc = ctypes.CDLL(None)
        program = subprocess.Popen(self.command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True,
                                   preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))
        lines = collections.deque(maxlen=LINES)
        reader = threading.Thread(target=self._read, args=(program.stdout, lines), daemon=True)
        reader.start()
        try:
            status = program.wait()
        finally:
            if program.poll() is None:  # the task was cancelled
                os.killpg(program.pid, signal.SIGTERM)
                try:
                    program.wait(self.grace)
                except subprocess.TimeoutExpired:
                    os.killpg(program.pid, signal.SIGKILL)
        reader.join(self.grace)
        return (status if status >= 0 else LOST), list(lines)  # negative: a signal has ended the process

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))
            print(line, end="", file=sys.stderr)  # written to the executor's log


def _secret_file(folder, secret):
    path = folder / ".secret"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret)
    return str(path)


def _free_port():
    with socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET) as one:
        one.bind(("", 0))
        return one.getsockname()[1]
