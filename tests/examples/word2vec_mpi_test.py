# SPDX-License-Identifier: Apache-2.0
# needs: onednn mpi
# ranks: 2
# label: slow
"""The program word2vec under mpirun: the same vectors and bytes sent as with ranks in threads."""
import pathlib
import tempfile
import unittest

import lenet_mnist_program
import reference_program as program
import word2vec_test


class ranks(unittest.TestCase):
    def test_match_ranks_in_threads_in_vectors_and_bytes_sent(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            word2vec_test.write_topics(folder / "topics.txt")
            flags = ("--data", folder / "topics.txt", "--batch", "100", "--epochs", "2", "--save")
            threads, _ = program.report("word2vec", folder, *flags, folder / "threads.bin", "--ranks", "2")
            processes, done = program.report("word2vec", folder, *flags, folder / "processes.bin",
                                             before=lenet_mnist_program.under_mpirun(2))
            self.assertEqual((folder / "threads.bin").read_bytes(), (folder / "processes.bin").read_bytes())
            for same in ("loss", "bytes_sent", "steps"):
                self.assertEqual(processes[same], threads[same], same)
            self.assertEqual(done.stdout.count("epoch 1:"), 1)  # rank 0 prints


if __name__ == "__main__":
    unittest.main()
