# SPDX-License-Identifier: Apache-2.0
"""Requirements on a run of two ranks that is killed, stopped by a signal, or resumed by other ranks."""
import contextlib
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import lenet_mnist_program as program

STEPS_AN_EPOCH = 40
EPOCHS = 4
STEPS = STEPS_AN_EPOCH * EPOCHS
SAVE_EVERY = 18  # not after an averaging, which occurs every 5 steps
AFTER_SIGTERM = 75


class checkpoints(unittest.TestCase):
    """Tests of ranks in threads. The tests under mpirun inherit them."""
    mpirun = ()
    ranks = ("--ranks", "2")

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        cls.digits = program.write_digits(os.path.join(cls.folder, "digits"), train=64 * STEPS_AN_EPOCH)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def setUp(self):
        self.kept = tempfile.mkdtemp(dir=self.folder)

    def flags(self, *more):
        return ("--data", self.digits, "--epochs", str(EPOCHS), *self.ranks, *more)

    def report(self, *more, **how):
        return program.report(self.folder, *self.flags(*more), before=self.mpirun, **how)

    def started(self, *more):
        return program.started(*self.flags("--checkpoints", self.kept, *more), before=self.mpirun, folder=self.folder)

    def resumed(self, *more):
        """The step from which the run resumed, and its report."""
        numbers, done = self.report("--checkpoints", self.kept, "--resume", *more)
        found = re.search(r"^resumed from (.*), after (\d+) steps$", done.stdout, re.MULTILINE)
        self.assertTrue(found, done.stdout[:500])
        self.assertEqual(os.path.dirname(found.group(1)), self.kept)
        self.assertEqual(numbers["steps"], STEPS - int(found.group(2)))
        return int(found.group(2)), numbers

    def test_a_run_killed_three_times_resumes_to_the_same_result(self):
        seed = random.randrange(10**6)
        print(f"moments of seed {seed}")
        moments = random.Random(seed)
        flags = ("--strategy", "averaging", "--save-every", str(SAVE_EVERY), "--keep", "2", "--resume")
        whole, _ = self.report("--strategy", "averaging")
        reached = 0
        for first, last in ((1, 50), (51, 100), (101, STEPS - 1)):  # the first may be before any checkpoint
            with self.started(*flags) as process:
                moment = moments.randint(first, last)
                program.wait_for_checkpoint(process, self.kept, moment // SAVE_EVERY * SAVE_EVERY)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(moments.uniform(0, 0.1))  # so that the kill is between two checkpoints, or during one
            now = program.newest_step(self.kept)
            self.assertGreaterEqual(now, reached)
            self.assertEqual(now % SAVE_EVERY, 0)
            reached = now
        went_on_from, numbers = self.resumed(*flags[:-1])
        self.assertEqual(went_on_from, reached)  # so that at most SAVE_EVERY steps are lost
        self.assertEqual(numbers["checksum"], whole["checksum"], f"seed {seed}")
        self.assertLessEqual(len(os.listdir(self.kept)), 3)  # 2, and one more if it was killed before it removed the oldest

    def stop(self, process):
        process.send_signal(signal.SIGTERM)

    def test_a_run_stopped_by_sigterm_saves_and_resumes(self):
        whole, _ = self.report()
        with self.started("--save-every", str(SAVE_EVERY)) as process:
            program.wait_for_checkpoint(process, self.kept, SAVE_EVERY)
            self.stop(process)
            output = process.communicate(timeout=program.LONGEST)[0]
        self.assertEqual(process.returncode, AFTER_SIGTERM, output)
        found = re.search(r"^stopped after (\d+) steps: saved in (.*)$", output, re.MULTILINE)
        self.assertTrue(found, output)
        self.assertEqual(found.group(2), f"{self.kept}/step-{int(found.group(1)):012}")
        went_on_from, numbers = self.resumed()
        self.assertEqual(went_on_from, int(found.group(1)))
        self.assertEqual(numbers["checksum"], whole["checksum"])

    def test_resume_without_a_checkpoint_starts_from_scratch(self):
        for kept in (self.kept, os.path.join(self.kept, "never")):
            numbers, done = self.report("--epochs", "1", "--checkpoints", kept, "--resume")
            self.assertIn(f"no checkpoint in {kept}: starting from scratch\n", done.stdout)
            self.assertEqual(numbers["steps"], STEPS_AN_EPOCH)

    def test_runs_with_other_ranks_strategies_or_backends_resume_at_the_same_step(self):
        begun = 70
        whole, _ = self.report("--epochs", "2")
        program.run(*self.flags("--epochs", "2", "--checkpoints", self.kept, "--save-every", str(begun)),
                    before=self.mpirun, folder=self.folder)
        left_of_epoch = 64 * (2 * STEPS_AN_EPOCH - begun)
        for what, flags, examples_a_step in (
                ("one rank", ("--ranks", "1", "--batch", "64"), 64), ("three ranks", ("--ranks", "3"), 96),
                ("another strategy", ("--ranks", "2", "--strategy", "averaging"), 64),
                ("two workers", ("--ranks", "2", "--workers", "2"), 64),
                ("another backend", ("--ranks", "1", "--batch", "64", "--backend", "reference"), 64)):
            with self.subTest(what):
                for path in glob.glob(f"{self.kept}/step-*"):
                    if not path.endswith(f"{begun:012}"):  # of the end of a run
                        shutil.rmtree(path)
                numbers, done = program.report(self.folder, "--data", self.digits, "--epochs", "2", "--resume",
                                               "--checkpoints", self.kept, *flags)
                self.assertIn(f"after {begun} steps", done.stdout)
                self.assertEqual(numbers["steps"], -(-left_of_epoch // examples_a_step))
                self.assertLess(abs(numbers["accuracy"] - whole["accuracy"]), 0.02)

    def test_a_folder_with_checkpoints_is_refused_without_resume(self):
        flags = self.flags("--epochs", "1", "--checkpoints", self.kept)
        program.run(*flags, "--save-every", "30", before=self.mpirun, folder=self.folder)
        done = program.run(*flags, before=self.mpirun, folder=self.folder, expect=2)
        self.assertIn(f"--checkpoints: {self.kept} contains a checkpoint: expected --resume", done.stderr)

    def test_a_damaged_checkpoint_is_skipped(self):
        program.run(*self.flags("--epochs", "1", "--checkpoints", self.kept, "--save-every", str(SAVE_EVERY)),
                    before=self.mpirun, folder=self.folder)
        shutil.rmtree(f"{self.kept}/step-{STEPS_AN_EPOCH:012}")  # of the end
        with open(f"{self.kept}/step-{2 * SAVE_EVERY:012}/shared.safetensors", "r+b") as file:
            file.seek(-10, os.SEEK_END)
            file.write(b"\xff" * 10)
        numbers, done = self.report("--epochs", "1", "--checkpoints", self.kept, "--resume")
        self.assertIn(f"checkpoint step-{2 * SAVE_EVERY:012} is skipped: ", done.stderr)
        self.assertEqual(numbers["steps"], STEPS_AN_EPOCH - SAVE_EVERY)
