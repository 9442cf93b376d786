#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the accuracy of networks trained by Cohort with scikit-learn's and Keras', under the same settings.

    compare_accuracy.py [--tasks breast_cancer,diabetes,cifar] [--seeds 1,2,3] [--data DIR] [--python PATH] [--json FILE]

breast_cancer and diabetes: scikit-learn's tables, one hidden layer, five-fold cross-validation per seed, both sides on the same
rows. cifar: a convolutional network in Keras on images of CIFAR-10. Both sides have the same network, initialisation, optimizer,
learning rates, batch, epochs and standardisation; their random numbers differ. A score is the mean over the seeds: accuracy in
percent, or R2. Prints a table, and returns 1 if a difference exceeds its limit: 1 point, or 0.02 of R2.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile

import quiet
from compare_pytorch import HERE, failure, machine

ARCHIVE = "cifar10/cifar10_12k_jpeg.tar.xz"
RUN_SECONDS = 3600


@dataclasses.dataclass
class task:
    metric: str
    epochs: int
    batch: int
    rate: float
    penalty: float = 0
    units: tuple = ()

    def arguments(self):
        return [self.epochs, self.batch, self.rate, *([self.penalty, *self.units] if self.units else [])]


TASKS = {"breast_cancer": task("accuracy", epochs=50, batch=32, rate=1e-3, penalty=1e-3, units=(32,)),
         "diabetes": task("r2", epochs=50, batch=32, rate=1e-3, penalty=1e-3, units=(32,)),
         "cifar": task("accuracy", epochs=8, batch=64, rate=1e-3)}
UNITS = {"accuracy": (100, "%", 1.0), "r2": (1, "", 0.02)}  # factor, unit, limit of the difference


def run(*command):
    """Runs a program, and returns the last line of its output, parsed as JSON."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired as problem:
        raise failure(f"{words[0]} did not end within {RUN_SECONDS} s") from problem
    if done.returncode != 0:
        raise failure(f"{' '.join(words)} failed: {done.stderr.strip()[-2000:] or 'no error message'}")
    return json.loads(done.stdout.splitlines()[-1])


def images_in(data, folder):
    """Returns the folder that contains train and test; unpacks the archive into `folder` if necessary."""
    for place in (data, data / "cifar10"):
        if (place / "train").is_dir() and (place / "test").is_dir():
            return place
    if not (data / ARCHIVE).exists():
        raise failure(f"--data: expected a folder with train and test, or with {ARCHIVE}, got {data}")
    with tarfile.open(data / ARCHIVE) as packed:
        packed.extractall(folder, filter="data")
    return folder


def runs_of(name, settings, folder):
    """Yields for each seed the results of both sides: Cohort's, and the other's."""
    one = TASKS[name]
    images = images_in(settings.data, folder) if name == "cifar" else None
    for seed in settings.seeds:
        if name == "cifar":
            words = [images, seed, *one.arguments()]
            theirs = run(settings.python, HERE / "keras_accuracy.py", *words)
            ours = run(settings.programs / "train_images", *words)
        else:
            words = [folder / str(seed), seed, *one.arguments()]
            theirs = run(settings.python, HERE / "sklearn_accuracy.py", name, *words)
            ours = run(settings.programs / "train_table", one.metric, *words)
        print(f"{name}, seed {seed}: " + ", ".join(f"{side['by']} {side['score']:.4f}, {side['seconds']:.1f} s"
                                                   for side in (ours, theirs)), file=sys.stderr, flush=True)
        yield ours, theirs


def compare(name, settings):
    with tempfile.TemporaryDirectory() as folder:
        both = list(zip(*runs_of(name, settings, pathlib.Path(folder))))
    factor, unit, limit = UNITS[TASKS[name].metric]
    means = [factor * statistics.mean(one["score"] for one in side) for side in both]
    return {"task": name, **dataclasses.asdict(TASKS[name]), "seeds": settings.seeds, "unit": unit, "cohort": means[0],
            "other": means[1], "by": both[1][0]["by"], "difference": means[0] - means[1], "limit": limit,
            "within": abs(means[0] - means[1]) <= limit, "runs": {side[0]["by"]: side for side in both}}


HEADINGS = ("task", "metric", "Cohort", "seeds", "other", "by", "seeds", "difference", "limit")


def table(rows):
    lines = [HEADINGS]
    for row in rows:
        factor, unit, _ = UNITS[row["metric"]]
        digits = 2 if unit else 4

        def number(value, sign="", digits=digits):
            return f"{value:{sign}.{digits}f}"

        seeds = [", ".join(number(factor * one["score"]) for one in side) for side in row["runs"].values()]
        lines.append((row["task"], f"{row['metric']} {unit}".strip(), number(row["cohort"]), seeds[0], number(row["other"]),
                      row["by"], seeds[1], number(row["difference"], "+"), f"{row['limit']:g}"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def settings_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS), help=f"of {', '.join(TASKS)} (all)")
    parser.add_argument("--seeds", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2, 3],
                        help="seeds of rows, initial values and orders (1,2,3)")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(os.environ.get("COHORT_DATA") or "data"),
                        help=f"folder with {ARCHIVE}, or with the folders train and test ($COHORT_DATA, data)")
    parser.add_argument("--programs", type=pathlib.Path, default=quiet.PROGRAMS,
                        help="folder of the built benchmarks (build/release/benchmarks)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with scikit-learn and Keras (this one)")
    parser.add_argument("--json", type=pathlib.Path, help="file for the results with all runs and the context")
    settings = parser.parse_args(arguments)
    settings.tasks = settings.tasks.split(",")
    for name in settings.tasks:
        if name not in TASKS:
            parser.error(f"--tasks: expected {', '.join(TASKS)}, got {name}")
        program = "train_images" if name == "cifar" else "train_table"
        if not (settings.programs / program).exists():
            parser.error(f"--programs: expected the folder of {program}, got {settings.programs}; build it with\n"
                         "  cmake --preset release && cmake --build --preset release --target train_table train_images")
    return settings


def main():
    settings = settings_of(sys.argv[1:])
    try:
        rows = [compare(name, settings) for name in settings.tasks]
    except failure as problem:
        print(f"compare_accuracy.py: {problem}", file=sys.stderr)
        return 1
    print(table(rows))
    if settings.json:
        settings.json.write_text(json.dumps({"context": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["within"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
