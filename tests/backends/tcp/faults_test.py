# SPDX-License-Identifier: Apache-2.0
# needs: tcp
# label: slow long
"""Kills and stops a random rank of 4 to 8 processes: every other rank reports it. benchmarks/tcp_faults.py does more of this."""
import os
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "benchmarks" / "tcp_faults.py"
RUNS = {"kill": 100, "stop": 100}


class faults(unittest.TestCase):
    def check(self, what):
        done = subprocess.run([sys.executable, SCRIPT, what, "--runs", str(RUNS[what]), "--program", os.environ["COHORT_PROGRAM"]],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_rank_reports_a_killed_rank(self):
        self.check("kill")

    def test_every_rank_reports_a_stopped_rank(self):
        self.check("stop")


if __name__ == "__main__":
    unittest.main()
