# SPDX-License-Identifier: Apache-2.0
"""Runs lenet_mnist for tests: on a few noisy digits, in one process or under mpirun."""
import contextlib
import os
import pathlib
import random
import shlex
import signal
import struct
import subprocess
import time

import reference_program

PROGRAM = pathlib.Path(os.environ["COHORT_BUILD_DIR"]) / "examples/lenet_mnist"
MPIRUN = pathlib.Path(__file__).resolve().parent.parent / "mpirun"
LONGEST = 120  # seconds that any command may take


def write_digits(folder, train, test=200, seed=1):
    """MNIST's four files with images of noise; each class has a different stripe."""
    numbers = random.Random(seed)
    fainter = bytes(value // 4 for value in range(256))
    folder = pathlib.Path(folder)
    folder.mkdir()
    for name, count in (("train", train), ("t10k", test)):
        images = bytearray(numbers.randbytes(count * 784).translate(fainter))
        for i in range(count):
            stripe = 28 * (28 * i + 4 + 2 * (i % 10))
            images[stripe:stripe + 56] = b"\xff" * 56
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, count, 28, 28) + images)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2I", 0x801, count) + bytes(i % 10 for i in range(count)))
    return str(folder)


def under_mpirun(ranks, *flags):
    return ["bash", str(MPIRUN), "-n", str(ranks), *flags]


def two_of_which(rank, *flags):
    """Two ranks, one of which has more flags. A shell starts them, because mpirun 5.0 crashes if it is given two programs."""
    script = f'[ "$OMPI_COMM_WORLD_RANK" != {rank} ] || set -- "$@" {shlex.join(flags)}; exec "$@"'
    return [*under_mpirun(2), "sh", "-c", script, "sh"]


def environment(folder):
    """The environment in which a killed mpirun leaves its files in the test's folder."""
    return {**os.environ, "TMPDIR": str(folder), "OMPI_MCA_btl_vader_backing_directory": str(folder),
            "OMPI_MCA_btl_sm_backing_directory": str(folder)}


def run(*flags, folder=None, **more):
    return reference_program.run("lenet_mnist", *flags, timeout=LONGEST, env=environment(folder) if folder else None,
                                 **more)


def report(folder, *flags, **more):
    return reference_program.report("lenet_mnist", folder, *flags, timeout=LONGEST, env=environment(folder), **more)


def family(pid):
    """This process's descendants that still run lenet_mnist or mpirun, and last the process itself."""
    parents = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = status.read_text(encoding="utf-8", errors="replace")
            parents[int(status.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[::-1]


def kill(process):
    """Kills the whole job at once, so that no process can report anything."""
    for pid in family(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def ranks_of(process):
    """The processes that run the program itself."""
    def runs_it(pid):
        with contextlib.suppress(OSError):
            return os.path.samefile(f"/proc/{pid}/exe", PROGRAM)
        return False
    return sorted(pid for pid in family(process.pid) if runs_it(pid))


@contextlib.contextmanager
def started(*flags, before=(), folder, **how):
    """A running job; all its processes are killed at the end."""
    with subprocess.Popen([*before, PROGRAM, *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment(folder), **how) as process:
        try:
            yield process
        finally:
            kill(process)


def wait_for_checkpoint(process, checkpoints, step):
    """Waits for a checkpoint of that step or a later one."""
    end = time.monotonic() + LONGEST
    while newest_step(checkpoints) < step:
        assert process.poll() is None, f"exit {process.returncode}: {process.stdout.read()[-3000:]}"
        assert time.monotonic() < end, f"no checkpoint of step {step} within {LONGEST} s"
        time.sleep(0.001)


def newest_step(checkpoints):
    """The step of the newest complete checkpoint; 0 if there is none."""
    with contextlib.suppress(FileNotFoundError):
        return max((int(one.parent.name[5:17]) for one in pathlib.Path(checkpoints).glob("step-*/manifest.json")),
                   default=0)
    return 0
