#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a CSV file repeatedly by pandas' C reader, and prints the time of a read as JSON, one line per block.

    pandas_read_csv.py FILE [category]

With `category`, columns of texts have that type instead of pandas' default. The first line describes the program. Each line of
standard input contains the seconds of a block. compare_read_table.py runs it; read_table is its counterpart.
"""
import json
import statistics
import sys
import time

import pandas


def last_number(table):
    column = [name for name in table if table[name].dtype.kind == "f"][-1]
    return float(table[column].iloc[-1])


def block(path, types, wanted):
    times, total, table = [], 0.0, None
    while total < wanted or len(times) < 3:
        begin = time.perf_counter()
        table = pandas.read_csv(path, engine="c", dtype=types)
        times.append(time.perf_counter() - begin)
        total += times[-1]
    print(json.dumps({"ms_per_read": statistics.median(times) * 1e3, "reads": len(times), "last": last_number(table)}),
          flush=True)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["category"]):
        print("usage: pandas_read_csv.py FILE [category]", file=sys.stderr)
        return 2
    types = None
    if len(sys.argv) == 3:
        first = pandas.read_csv(sys.argv[1], engine="c", nrows=100)
        types = {name: "category" for name in first if first[name].dtype.kind not in "biuf"}
    print(json.dumps({"name": "pandas", "version": pandas.__version__}), flush=True)
    for line in sys.stdin:
        block(sys.argv[1], types, float(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
