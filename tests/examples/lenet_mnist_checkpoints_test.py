# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# ranks: 2
"""Checkpoints of the example with ranks in threads, also on a full disk."""
import glob
import os
import resource
import unittest

import lenet_mnist_checkpoints as cases
import lenet_mnist_program as program


class checkpoints_of_a_process(cases.checkpoints):
    def test_a_full_disk_is_reported_and_training_continues(self):
        whole, _ = self.report("--epochs", "2")
        program.run(*self.flags("--epochs", "1", "--checkpoints", self.kept, "--save-every", "30"))
        files = sorted(glob.glob(f"{self.kept}/**", recursive=True))
        # Limits the size of files. Python ignores SIGXFSZ, and so do child processes that do not restore
        # signals.
        small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
                 "restore_signals": False}
        numbers, done = self.report("--epochs", "2", "--checkpoints", self.kept, "--resume", "--save-every", "20",
                                    expect=1, **small)
        self.assertRegex(done.stderr, "no checkpoint at step 60: cannot save the checkpoint .*"
                                      "rank 0: .*step-000000000060/")
        self.assertIn("no checkpoint at step 80: ", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^2 checkpoints could not be saved \(.*File too large\); this run has saved none$")
        self.assertEqual(numbers["checksum"], whole["checksum"])
        self.assertEqual(sorted(glob.glob(f"{self.kept}/**", recursive=True)), files)

    def test_a_blocked_path_is_reported_and_sigterm_ends_the_run(self):
        blocked = os.path.join(self.kept, "runs")
        with program.started(*self.flags("--epochs", "50", "--checkpoints", blocked, "--save-every", "3"),
                             folder=self.folder) as process:
            program.wait_for_checkpoint(process, blocked, 3)
            os.rename(blocked, os.path.join(self.kept, "moved"))
            with open(blocked, "w", encoding="ascii"):
                pass
            for line in process.stdout:
                if line.startswith("no checkpoint at step "):
                    break
            self.stop(process)
            output = process.communicate(timeout=program.LONGEST)[0]
        self.assertEqual(process.returncode, 1)
        self.assertRegex(output, r"stopped after \d+ steps, state not saved: .*runs.*; the newest checkpoint, .*, is \d+ steps older")

    def test_a_checkpoint_that_fails_at_sigterm_is_not_reported_as_saved(self):
        with program.started(*self.flags("--epochs", "1000", "--checkpoints", self.kept, "--save-every", "3"),
                             folder=self.folder, restore_signals=False) as process:  # SIGXFSZ stays ignored
            program.wait_for_checkpoint(process, self.kept, 3)
            # From now on, files cannot grow beyond this size, as on a full disk.
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100_000, 100_000))
            for line in process.stdout:
                if line.startswith("no checkpoint at step "):
                    break
            self.stop(process)
            output = process.communicate(timeout=program.LONGEST)[0]
        self.assertEqual(process.returncode, 1, output)
        self.assertRegex(output, r"stopped after \d+ steps, state not saved: .*cannot save the checkpoint.*; "
                                 r"the newest checkpoint, .*, is \d+ steps older")
        self.assertNotIn("saved in", output)


if __name__ == "__main__":
    unittest.main()
