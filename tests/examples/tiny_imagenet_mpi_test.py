# SPDX-License-Identifier: Apache-2.0
# needs: onednn image mpi
# label: slow long
# ranks: 2
"""The flag --masterIP under mpirun."""
import tempfile
import unittest

import lenet_mnist_program as lenet
import reference_program as program


class master_address(unittest.TestCase):
    def run_with(self, host, expect):
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--batch", "32", "--epochs", "0", "--masterIP", host)
            return program.run("tiny_imagenet", *flags, before=lenet.under_mpirun(2), expect=expect, env=lenet.environment(folder))

    def test_must_be_an_address_of_the_host_of_rank_0(self):
        self.assertIn("2 ranks over mpi", self.run_with("127.0.0.1", 0).stdout)
        self.assertIn("tiny_imagenet: --masterIP: expected an address of rank 0's host, the first one in the launcher's list of hosts, got "
                      "'192.0.2.1'", self.run_with("192.0.2.1", 2).stderr)  # an address for documentation, RFC 5737


if __name__ == "__main__":
    unittest.main()
