# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib mpi
# ranks: 2
# label: slow
"""The example under mpirun: the same bits as with ranks in threads, checks before the first step."""
import json
import os
import re
import tempfile
import unittest

import lenet_mnist_program as program


class ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        cls.digits = program.write_digits(os.path.join(cls.folder, "digits"), train=640)
        cls.flags = ("--data", cls.digits, "--epochs", "2")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_match_ranks_in_threads_in_checksum_and_bytes_sent(self):
        for count, strategy in ((2, "allreduce"), (2, "averaging"), (3, "allreduce")):
            with self.subTest(strategy, ranks=count):
                flags = (*self.flags, "--strategy", strategy)
                threads, _ = program.report(self.folder, *flags, "--ranks", str(count))
                processes, done = program.report(self.folder, *flags, before=program.under_mpirun(count))
                self.assertEqual((processes["communicator"], processes["ranks"]), ("mpi", count))
                for same in ("checksum", "bytes_sent", "accuracy", "loss", "steps"):
                    self.assertEqual(processes[same], threads[same], same)
                self.assertEqual(len(re.findall(r"checksum \w+$", done.stdout, re.MULTILINE)), 1)  # rank 0 prints

    def test_compute_the_same_checksum_in_repeated_runs(self):
        twice = [program.report(self.folder, *self.flags, before=program.under_mpirun(2))[0] for _ in range(2)]
        self.assertEqual(twice[0]["checksum"], twice[1]["checksum"])

    def test_of_a_single_process_match_a_run_without_mpirun(self):
        alone, _ = program.report(self.folder, *self.flags)
        one, _ = program.report(self.folder, *self.flags, before=program.under_mpirun(1))
        self.assertEqual((one["communicator"], one["checksum"], one["bytes_sent"]), ("mpi", alone["checksum"], 0))

    def test_reduce_with_nccl_if_built_with_it(self):
        path = os.path.join(self.folder, "nccl.json")
        done = program.run(*self.flags, "--communicator", "nccl", "--json", path, before=program.under_mpirun(2), expect=(0, 2),
                           folder=self.folder)
        if done.returncode == 2:
            self.assertIn("built without the component nccl", done.stderr)
            return
        with open(path, encoding="utf-8") as file:
            made = json.load(file)
        threads, _ = program.report(self.folder, *self.flags, "--ranks", "2")
        self.assertEqual((made["communicator"], made["checksum"]), ("nccl over mpi", threads["checksum"]))

    def refuse(self, flags, what):
        """If rank 1 has other flags than rank 0, both report the difference and each rank's value before the first step. mpirun
        ends the slower rank as soon as the other has ended, sometimes before the slower one has reported it."""
        done = program.run(*self.flags, before=program.two_of_which(1, *flags), expect=1, folder=self.folder)
        self.assertRegex(done.stderr, rf"(?m)^rank [01]: (rank [01] failed: )?{what}.* on rank 0; .* on rank 1")
        self.assertNotIn("epoch", done.stdout)

    def test_refuse_to_start_with_different_settings_or_data(self):
        fewer = program.write_digits(os.path.join(self.folder, "fewer"), train=320)
        model = os.path.join(self.folder, "model.safetensors")
        program.run(*self.flags, "--save", model)
        for flags, what in ((("--batch", "16", "--seed", "2", "--learning-rate", "0.1", "--epochs", "3"), r"optimizer\.[a-z_.]+(, [a-z_.]+)*, seed, batch, epochs"),
                            (("--strategy", "averaging"), "strategy"), (("--load", model), "beginning"),
                            (("--checkpoints", os.path.join(self.folder, "kept"), "--save-every", "5"), "listeners")):
            with self.subTest(flags):
                self.refuse(flags, f"the ranks of this run differ \\({what}")
        self.refuse(("--data", fewer), "the ranks' data sets differ \\(fit\\): ")

    def test_refuse_the_strategy_none(self):
        done = program.run(*self.flags, "--strategy", "none", before=program.under_mpirun(2), expect=2,
                           folder=self.folder)
        self.assertIn("--strategy: expected allreduce, averaging, sharing or top_k with several ranks, got 'none'", done.stderr)


if __name__ == "__main__":
    unittest.main()
