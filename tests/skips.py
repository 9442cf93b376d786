# SPDX-License-Identifier: Apache-2.0
"""Prints how many cases the last run of ctest has skipped, and why: skips.py BUILD

Fails if a test was skipped for a reason that accepted_skips.inc does not list.
"""
import collections
import pathlib
import re
import sys

import run_python

BEGINNING = re.compile(r"^\d+/\d+ Testing: (.+)$", re.MULTILINE)


def reasons_of(log):
    """Counts the skipped cases per reason. Also returns those whose reason is not listed."""
    parts = BEGINNING.split(log)[1:]
    counts, others = collections.Counter(), []
    for name, text in zip(parts[::2], parts[1::2]):
        for line in set(re.findall(r"^case skipped: (.+)", text, re.MULTILINE)):  # every rank prints them
            reason = next((part for part in run_python.ACCEPTED if part in line), None)
            if reason is None:
                others.append(f"{name}: {line}")
            else:
                counts[reason] += 1
    return counts, others


def main():
    path = pathlib.Path(sys.argv[1], "Testing/Temporary/LastTest.log")
    if not path.exists():  # ctest has run no test, for example with -N
        return 0
    log = path.read_text(encoding="utf-8", errors="replace")
    counts, others = reasons_of(log)
    print(f"Skipped: {sum(counts.values())} cases" + (":" if counts else "."))
    for reason, count in counts.most_common():
        print(f"  {count}: {reason}")
    for other in others:
        print(f"{other}: was skipped for a reason that tests/accepted_skips.inc does not list", file=sys.stderr)
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
