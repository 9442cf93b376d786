# SPDX-License-Identifier: Apache-2.0
"""Runs a test in Python: run_python.py NAME_test.py

Like unittest's main function, with three differences. A test without cases fails. A case that is skipped for a reason that
accepted_skips.inc does not list fails. If all cases are skipped, the status is 77, which CTest reports as skipped.
"""
import os
import pathlib
import re
import runpy
import sys
import unittest

SKIPPED = 77
ACCEPTED = re.findall(r'^"(.+)",', pathlib.Path(__file__).with_name("accepted_skips.inc").read_text(encoding="utf-8"), re.MULTILINE)


class counted(unittest.TextTestResult):
    """Also counts the cases that have ended without an error."""
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def status_of(result):
    """Prints what is wrong with the cases that have not run. Returns the exit status."""
    failed = not result.wasSuccessful()
    for case, reason in result.skipped:
        print(f"case skipped: {case}: {reason}", file=sys.stderr)
        if not any(part in reason for part in ACCEPTED):
            print(f"{case} was skipped for a reason that tests/accepted_skips.inc does not list", file=sys.stderr)
            failed = True
    if not failed and result.passed == 0:
        if result.skipped:
            return SKIPPED
        print("no case has run", file=sys.stderr)
        failed = True
    return 1 if failed else 0


def main():
    """Replaces unittest.main in the test."""
    runner = unittest.TextTestRunner(resultclass=counted)
    sys.exit(status_of(unittest.TestProgram(module="__main__", testRunner=runner, exit=False).result))


if __name__ == "__main__":
    unittest.main = main
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
    sys.exit(f"{sys.argv[0]} does not call unittest.main()")
