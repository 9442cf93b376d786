# SPDX-License-Identifier: Apache-2.0
# needs: tcp
# label: slow
"""Kills a rank of a run with sharded state during the sums, the gathering, and the collecting for a
checkpoint. The other ranks end with status 75, and the resumed run has the bits of an uninterrupted run."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import unittest

RANKS = 3
STATUS_OF_LOST_RANKS = 75


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class shard_faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.secret = self.folder / "secret"
        self.secret.write_text("0123456789abcdef0123456789abcdef\n", encoding="ascii")
        self.secret.chmod(0o600)

    def run_ranks(self, name, *arguments):
        """Returns the statuses and the outputs of the ranks."""
        join = f"127.0.0.1:{free_port()}"
        ranks = [subprocess.Popen([os.environ["COHORT_PROGRAM"], self.folder / name, *arguments], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True,
                                  env=dict(os.environ, COHORT_JOIN=join, COHORT_RANKS=str(RANKS), COHORT_RANK=str(rank),
                                           COHORT_SECRET_FILE=str(self.secret)))
                 for rank in range(RANKS)]
        texts = [rank.communicate(timeout=120)[0] for rank in ranks]
        return [rank.returncode for rank in ranks], texts

    def run_to_the_end(self, name, *late):
        """Returns the first step and the parameters' checksum, which are the same on all ranks."""
        statuses, texts = self.run_ranks(name, "none", *late)
        self.assertEqual(statuses, [0] * RANKS, texts)
        found = {re.search(r"begins at step (\d+)\n(?:.*\n)*rank \d has (.*)", text).groups() for text in texts}
        self.assertEqual(len(found), 1, texts)
        return found.pop()

    def test_a_killed_rank_loses_nothing(self):
        first, expected = self.run_to_the_end("whole")
        self.assertEqual(first, "0")
        for place, *late in [["sum"], ["gather"], ["send"], ["sum", "late"], ["gather", "late"], ["after", "late"]]:
            name = "_".join([place, *late])
            with self.subTest(name):
                statuses, texts = self.run_ranks(name, place, *late)
                self.assertEqual(statuses, [STATUS_OF_LOST_RANKS, -signal.SIGKILL, STATUS_OF_LOST_RANKS], texts)
                self.assertEqual(self.run_to_the_end(name, *late), ("2", expected))


if __name__ == "__main__":
    unittest.main()
