# SPDX-License-Identifier: Apache-2.0
# needs: tcp
# label: slow
"""Checkpoints of ranks that are lost, leave and join while threads write."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from elastic_job import job


class elastic_checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.environ["COHORT_CHECKPOINTS"] = folder.name
        self.addCleanup(os.environ.pop, "COHORT_CHECKPOINTS")

    def resumed(self):
        """Step and checksum of a process that resumes."""
        command = [os.environ["COHORT_PROGRAM"], "allreduce", "0", "0", "1000", "60000"]
        text = subprocess.run(command, check=True, timeout=100, stdout=subprocess.PIPE, text=True).stdout
        return re.search(r"resumed at step (\d+), checksum (\w+)", text).groups()

    def check_end(self, run, processes):
        """All processes know the same newest checkpoint, which is that of the last step."""
        ends = set()
        for process in processes:
            self.assertEqual(run.status(process), 0, run.text(process))
            newest, last, failures, checksum = re.search(
                r"newest checkpoint: step (\d+) of (\d+), (\d+) failures; checksum (\w+)", run.text(process)).groups()
            self.assertEqual(newest, last, run.text(process))
            self.assertLessEqual(int(failures), 2, run.text(process))
            ends.add((last, checksum))
        self.assertEqual(ends, {self.resumed()})
        self.assertLessEqual(len(os.listdir(self.folder)), 2)

    def test_are_written_by_the_ranks_that_are_left(self):
        for victim in (0, 1, 2):
            with self.subTest(victim=victim), tempfile.TemporaryDirectory() as self.folder:
                os.environ["COHORT_CHECKPOINTS"] = self.folder
                with job(3, step_ms=3) as run:
                    run.wait_for_step(victim, 9)
                    run.processes[victim].kill()
                    self.check_end(run, {0, 1, 2} - {victim})

    def test_are_complete_before_a_rank_leaves(self):
        with job(3, step_ms=3) as run:
            for leaver in (0, 1):
                run.wait_for_step(leaver, 9)
                run.processes[leaver].send_signal(signal.SIGTERM)
                self.assertEqual(run.status(leaver), 0, run.text(leaver))
            self.check_end(run, {2})
            self.assertNotIn("no checkpoint at step", "".join(run.text(process) for process in range(3)))

    def test_are_written_with_processes_that_join(self):
        with job(2, epochs=40, step_ms=3) as run:
            run.wait_for_step(0, 5)
            joiner = run.start()
            run.wait_for_step(joiner, 8)
            self.check_end(run, {0, 1, joiner})


if __name__ == "__main__":
    unittest.main()
