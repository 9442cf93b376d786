#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares reading a CSV file by read_table with pandas' C reader, interleaved, on an idle machine.

    compare_read_table.py [--tables 17_digits,6_digits,labels,quoted_labels,quoted] [--rows 200000] [--columns 20] [--rounds 7]
                          [--python PATH] [--json FILE]

Both read a file into columns, on one processor, from the file system's cache; numbers as f64. Tables:
  17_digits      normally distributed numbers with 17 significant digits, which restore each number
  6_digits       the same with 6 significant digits
  labels         half of the columns contain numbers with 6 digits, half one of 2, 10, 100 or 1,000 texts of 3 to 12 letters
  quoted_labels  the same with the texts in quotes; a tenth of them contain a separator or a quote
  quoted         the same with all fields in quotes
Each round measures one block of reads of Cohort, then one of pandas; for texts also one of pandas with the type "category", which
encodes texts as read_table does. A block during which other processes used more than 3 % of the processors is repeated. The
ratio is the median over the rounds of pandas' faster mode divided by Cohort's; its spread is the quartiles over the rounds.
--python is an interpreter with pandas.
"""
import argparse
import math
import os
import pathlib
import random
import statistics
import sys
import tempfile

import quiet
from compare_pytorch import COHORT, HERE, competitor, failure, quartiles, quiet_block, report


TABLES = ("17_digits", "6_digits", "labels", "quoted_labels", "quoted")


class reader(competitor):
    def median_ms(self):
        return statistics.median(block["ms_per_read"] for block in self.blocks)


def number_field(digits):
    return lambda numbers: f"{numbers.gauss(0, 1):.{digits}g}"


def label_field(numbers, size, quotes):
    """Returns a function that draws one of `size` texts, as a field."""
    texts = []
    for index in range(size):
        text = "".join(numbers.choices("abcdefghijklmnopqrstuvwxyz", k=numbers.randint(3, 12)))
        if quotes and index % 10 == 1:
            text = text[:2] + numbers.choice(["\"\"", ","]) + text[2:]
        texts.append(f'"{text}"' if quotes else text)
    return lambda numbers: numbers.choice(texts)


def fields_of(table, columns, numbers):
    """Returns one function per column, which draws a field."""
    if table.endswith("_digits"):
        return [number_field(int(table.partition("_")[0]))] * columns
    fields = []
    for column in range(columns):
        if column % 2:
            fields.append(label_field(numbers, (2, 10, 100, 1000)[column // 2 % 4], table != "labels"))
        elif table == "quoted":
            fields.append(lambda numbers, draw=number_field(6): f'"{draw(numbers)}"')
        else:
            fields.append(number_field(6))
    return fields


def write_table(path, table, rows, columns):
    numbers = random.Random(1)
    fields = fields_of(table, columns, numbers)
    with open(path, "w", encoding="ascii") as file:
        file.write(",".join(f"column{c}" for c in range(columns)) + "\n")
        for _ in range(rows):
            file.write(",".join(field(numbers) for field in fields) + "\n")


def compare(path, table, settings):
    everyone = []
    try:
        everyone.append(reader(COHORT, [settings.programs / "read_table", path, "f64"]))
        everyone.append(reader("pandas", [settings.python, HERE / "pandas_read_csv.py", path]))
        if not table.endswith("_digits"):
            everyone.append(reader("pandas category", [settings.python, HERE / "pandas_read_csv.py", path, "category"]))
        for number in range(settings.rounds):
            for one in everyone:
                one.blocks.append(quiet_block(one, everyone, settings))
            print(f"{table}, round {number + 1} of {settings.rounds}: "
                  + ", ".join(f"{one.name} {one.blocks[-1]['ms_per_read']:.1f} ms"
                              + (" (disturbed)" if one.blocks[-1]["disturbed"] else "") for one in everyone), file=sys.stderr)
    finally:
        for one in everyone:
            one.close()
    lasts = [one.blocks[-1]["last"] for one in everyone]
    if not all(math.isclose(last, lasts[0], rel_tol=1e-12) for last in lasts):  # pandas' default does not round exactly
        raise failure(f"{table}: the readers disagree on the table's last number")
    ours, size = everyone[0], path.stat().st_size
    results = [{"name": one.name, "ms": one.median_ms(), "mb_per_second": size / one.median_ms() / 1e3,
                "ratio": one.median_ms() / ours.median_ms(),
                "ratio_quartiles": quartiles([theirs["ms_per_read"] / mine["ms_per_read"]
                                              for theirs, mine in zip(one.blocks, ours.blocks)]),
                "disturbed": one.disturbed()} for one in everyone]
    row = {"table": table, "rows": settings.rows, "columns": settings.columns, "bytes": size, "rounds": settings.rounds,
           "results": results, "blocks": {one.name: one.blocks for one in everyone}}
    return row, {one.name: one.about for one in everyone}


HEADINGS = ("table", "by", "ms", "MB/s", "ratio", "quartiles", "disturbed")


def table_of(rows):
    lines = [HEADINGS]
    for row in rows:
        for one in row["results"]:
            low, high = one["ratio_quartiles"]
            lines.append((row["table"], one["name"], f"{one['ms']:.1f}", f"{one['mb_per_second']:.0f}", f"{one['ratio']:.2f}",
                          f"{low:.2f} to {high:.2f}", f"{one['disturbed']} of {row['rounds']}"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def settings_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the file (200000)")
    parser.add_argument("--columns", type=int, default=20, help="columns of the file (20)")
    parser.add_argument("--tables", default=",".join(TABLES), help="kinds of tables (all)")
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
    settings.tables = settings.tables.split(",")
    for table in settings.tables:
        if table not in TABLES:
            parser.error(f"--tables: expected {', '.join(TABLES)}, got {table}")
    if min(settings.rows, settings.columns, settings.rounds, settings.tries) < 1:
        parser.error("--rows, --columns, --rounds and --tries: expected at least 1")
    if not (settings.programs / "read_table").exists():
        parser.error(f"--programs: expected the folder of read_table, got {settings.programs}; build it with\n"
                     "  cmake --preset release && cmake --build --preset release --target read_table")
    return settings


def results(settings):
    with tempfile.TemporaryDirectory() as folder:
        for table in settings.tables:
            path = pathlib.Path(folder) / f"{table}.csv"
            write_table(path, table, settings.rows, settings.columns)
            yield compare(path, table, settings)


def main():
    settings = settings_of(sys.argv[1:])
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the readers inherit this
    return report("compare_read_table.py", results(settings), table_of, settings)


if __name__ == "__main__":
    sys.exit(main())
