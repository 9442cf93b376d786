#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compile cost of a training program, examples/01_lenet.cpp, and of the same program with a network of 50 layers.

    compile_time.py [--build DIR] [--compiler CXX] [--times 5] [--json FILE]

Compiles both programs at -O2, interleaved, with the compiler and the include directories of a configured build. Prints medians of
seconds, of processor seconds, and of the compiler's largest resident memory. Bounds: 4 s and 400 MB for LeNet, and 1.5 times
LeNet's seconds for 50 layers. tests/compile_budget_test.py guards the memory.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST_SECONDS = 280
MOST_SECONDS = 4.0
MOST_TIMES_LENET = 1.5
MOST_BYTES = 400_000_000


class failure(Exception):
    pass


def lenet():
    return (ROOT / "examples/01_lenet.cpp").read_text(encoding="utf-8")


def fifty_layers(program):
    """Adds 40 layers to LeNet's ten: convolutions after the first pool, dense layers after the first dense layer."""
    inserted = {r"max_pool\{\.window = 2\}\n": "| conv2d{.filters = 20, .kernel = 3, .padding = 1} | relu{}\n",
                r"dense\{\.units = 200\} \| relu\{\}\n": "| dense{.units = 200} | relu{}\n"}
    for place, layers in inserted.items():
        program, found = re.subn(f"({place})", lambda match: match.group() + 10 * layers, program, count=1)
        if found == 0:
            raise failure(f"examples/01_lenet.cpp: expected {place}, to which compile_time.py adds layers, got none")
    return re.sub(r"^static_assert\(.*\n", "", program, flags=re.MULTILINE)


def configured(build):
    """Returns the compiler of a build, and flags: its include directories and the definitions common to all its sources."""
    path = pathlib.Path(build) / "compile_commands.json"
    if not path.exists():
        raise failure(f"{path} is missing: configure with a preset, or with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; tests read the build folder from COHORT_BUILD_DIR")
    compiler, definitions = None, None
    includes = [[f"-I{folder}"] for folder in (ROOT / "include", *sorted(ROOT.glob("backends/*/include")))]
    for entry in json.loads(path.read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        compiler = compiler or words[0]
        for at, word in enumerate(words):
            flags = [word] if word.startswith("-I") else words[at:at + 2] if word == "-isystem" else []
            if flags and flags not in includes:
                includes.append(flags)
        if f"-I{ROOT / 'include'}" not in words:
            continue
        here = [word for word in words if word.startswith("-D")]
        definitions = here if definitions is None else [word for word in definitions if word in here]
    if compiler is None:
        raise failure(f"{path}: expected sources, got none")
    return compiler, [word for flags in includes for word in flags] + definitions


def compiled(compiler, flags, text, keep=None):
    """Compiles a program at -O2 to the object file `keep`. Returns seconds, processor seconds and peak bytes."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "program.cpp"
        source.write_text(text, encoding="utf-8")
        command = [*shlex.split(compiler), "-std=c++20", "-O2", *flags, "-c", source, "-o", keep or f"{folder}/program.o"]
        with tempfile.TemporaryFile() as complaint:
            start = time.monotonic()
            process = subprocess.Popen(command, stderr=complaint, start_new_session=True)
            deadline = threading.Timer(LONGEST_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
            deadline.start()
            try:
                _, status, used = os.wait4(process.pid, 0)  # includes children: the driver runs the compiler
                process.returncode = os.waitstatus_to_exitcode(status)
            finally:
                deadline.cancel()
            seconds = time.monotonic() - start
            if process.returncode != 0:
                complaint.seek(0)
                raise failure(f"{compiler} exited with status {process.returncode}:\n"
                              + complaint.read().decode(errors="replace")[:4000])
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def comparison(value, bound):
    return "within" if value <= bound else "ABOVE"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", help="a configured build (build/release)")
    parser.add_argument("--compiler", help="compiler to use instead of the build's")
    parser.add_argument("--times", type=int, default=5, help="compilations of each program (5)")
    parser.add_argument("--json", type=pathlib.Path, help="file for the results")
    arguments = parser.parse_args()
    try:
        compiler, flags = configured(arguments.build)
        compiler = arguments.compiler or compiler
        programs = {"lenet": lenet(), "50 layers": fifty_layers(lenet())}
        runs = {name: [] for name in programs}
        for _ in range(max(arguments.times, 1)):
            for name in runs:
                runs[name].append(compiled(compiler, flags, programs[name]))
    except failure as problem:
        print(f"compile_time.py: {problem}", file=sys.stderr)
        return 1
    results = {of: dict(zip(("seconds", "processor_seconds", "bytes"), map(statistics.median, zip(*taken))))
               for of, taken in runs.items()}
    print(f"{compiler} -O2, median of {arguments.times}")
    for name, result in results.items():
        print(f"{name:10}  {result['seconds']:6.2f} s  {result['processor_seconds']:6.2f} s of processor  "
              f"{result['bytes'] / 1e6:6.0f} MB")
    first, second = results["lenet"], results["50 layers"]
    ratio = second["processor_seconds"] / first["processor_seconds"]
    print(f"lenet: {comparison(first['seconds'], MOST_SECONDS)} {MOST_SECONDS:.0f} s, "
          f"{comparison(first['bytes'], MOST_BYTES)} {MOST_BYTES / 1e6:.0f} MB; "
          f"50 layers take {ratio:.2f} times as long: {comparison(ratio, MOST_TIMES_LENET)} {MOST_TIMES_LENET}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"compiler": compiler, "flags": flags, "ratio": ratio,
                                              **results}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
