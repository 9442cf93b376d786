#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a CSV file repeatedly by pandas' C reader, and prints the time of a read as JSON, one line per block.

    pandas_read_csv.py FILE

The first line describes the program. Each line of standard input contains the seconds of a block. compare_read_table.py runs
it; read_table is its counterpart.
"""
import json
import statistics
import sys
import time

import pandas


def block(path, wanted):
    times, total, table = [], 0.0, None
    while total < wanted or len(times) < 3:
        begin = time.perf_counter()
        table = pandas.read_csv(path, engine="c")
        times.append(time.perf_counter() - begin)
        total += times[-1]
    print(json.dumps({"ms_per_read": statistics.median(times) * 1e3, "reads": len(times), "last": float(table.iloc[-1, -1])}),
          flush=True)


def main():
    if len(sys.argv) != 2:
        print("usage: pandas_read_csv.py FILE", file=sys.stderr)
        return 2
    print(json.dumps({"name": "pandas", "version": pandas.__version__}), flush=True)
    for line in sys.stdin:
        block(sys.argv[1], float(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
