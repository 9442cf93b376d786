#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares reading a CSV file by read_table with pandas' C reader, interleaved, on an idle machine.

    compare_read_table.py [--rows 200000] [--columns 20] [--digits 17,6] [--rounds 7] [--python PATH] [--json FILE]

Both read a file of normally distributed numbers into columns of f64, on one thread, from the file system's cache. `digits` is
the number of significant digits; 17 restores each number. Each round measures one block of reads of Cohort, then one of
pandas. A block during which other processes used more than 3 % of the processors is repeated. The ratio is pandas' median over
the rounds divided by Cohort's; its spread is the quartiles over the rounds. --python is an interpreter with pandas.
"""
import argparse
import pathlib
import random
import statistics
import sys
import tempfile

import quiet
from compare_pytorch import COHORT, HERE, competitor, quartiles, quiet_block, report


class reader(competitor):
    def median_ms(self):
        return statistics.median(block["ms_per_read"] for block in self.blocks)


def write_table(path, rows, columns, digits):
    numbers = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        file.write(",".join(f"column{c}" for c in range(columns)) + "\n")
        for _ in range(rows):
            file.write(",".join(f"{numbers.gauss(0, 1):.{digits}g}" for _ in range(columns)) + "\n")


def compare(path, digits, settings):
    everyone = []
    try:
        everyone.append(reader(COHORT, [settings.programs / "read_table", path, "f64"]))
        everyone.append(reader("pandas", [settings.python, HERE / "pandas_read_csv.py", path]))
        for number in range(settings.rounds):
            for one in everyone:
                one.blocks.append(quiet_block(one, everyone, settings))
            print(f"{digits} digits, round {number + 1} of {settings.rounds}: "
                  + ", ".join(f"{one.name} {one.blocks[-1]['ms_per_read']:.1f} ms"
                              + (" (disturbed)" if one.blocks[-1]["disturbed"] else "") for one in everyone), file=sys.stderr)
    finally:
        for one in everyone:
            one.close()
    ours, size = everyone[0], path.stat().st_size
    results = [{"name": one.name, "ms": one.median_ms(), "mb_per_second": size / one.median_ms() / 1e3,
                "ratio": one.median_ms() / ours.median_ms(),
                "ratio_quartiles": quartiles([theirs["ms_per_read"] / mine["ms_per_read"]
                                              for theirs, mine in zip(one.blocks, ours.blocks)]),
                "disturbed": one.disturbed()} for one in everyone]
    row = {"rows": settings.rows, "columns": settings.columns, "digits": digits, "bytes": size, "rounds": settings.rounds,
           "results": results, "blocks": {one.name: one.blocks for one in everyone}}
    return row, {one.name: one.about for one in everyone}


HEADINGS = ("digits", "by", "ms", "MB/s", "ratio", "quartiles", "disturbed")


def table(rows):
    lines = [HEADINGS]
    for row in rows:
        for one in row["results"]:
            low, high = one["ratio_quartiles"]
            lines.append((str(row["digits"]), one["name"], f"{one['ms']:.1f}", f"{one['mb_per_second']:.0f}", f"{one['ratio']:.2f}",
                          f"{low:.2f} to {high:.2f}", f"{one['disturbed']} of {row['rounds']}"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def settings_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the file (200000)")
    parser.add_argument("--columns", type=int, default=20, help="columns of the file (20)")
    parser.add_argument("--digits", type=lambda text: [int(word) for word in text.split(",")], default=[17, 6],
                        help="significant digits, one file each (17,6)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--seconds", type=float, default=2, help="seconds per block (2)")
    parser.add_argument("--most", type=float, default=quiet.MOST_PERCENT, help="percent that other processes may use (3)")
    parser.add_argument("--tries", type=int, default=5, help="maximum measurements of a block (5)")
    parser.add_argument("--wait", type=float, default=30, help="seconds to wait for idle before a block (30)")
    parser.add_argument("--programs", type=pathlib.Path, default=quiet.PROGRAMS,
                        help="folder of the built benchmarks (build/release/benchmarks)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with pandas (this one)")
    parser.add_argument("--json", type=pathlib.Path, help="file for the results with all blocks and the context")
    settings = parser.parse_args(arguments)
    if min(settings.rows, settings.columns, settings.rounds, settings.tries, *settings.digits) < 1:
        parser.error("--rows, --columns, --digits, --rounds and --tries: expected at least 1")
    if not (settings.programs / "read_table").exists():
        parser.error(f"--programs: expected the folder of read_table, got {settings.programs}; build it with\n"
                     "  cmake --preset release && cmake --build --preset release --target read_table")
    return settings


def results(settings):
    with tempfile.TemporaryDirectory() as folder:
        for digits in settings.digits:
            path = pathlib.Path(folder) / f"{digits}.csv"
            write_table(path, settings.rows, settings.columns, digits)
            yield compare(path, digits, settings)


def main():
    settings = settings_of(sys.argv[1:])
    return report("compare_read_table.py", results(settings), table, settings)


if __name__ == "__main__":
    sys.exit(main())
