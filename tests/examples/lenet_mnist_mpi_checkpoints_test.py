# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib mpi
# ranks: 2
# label: slow long
"""Checkpoints of the example under mpirun: the cases of ranks in threads, and SIGTERM for mpirun."""
import os
import signal
import unittest

import lenet_mnist_checkpoints as cases
import lenet_mnist_program as program


class checkpoints_of_processes(cases.checkpoints):
    mpirun = program.under_mpirun(2)
    ranks = ()

    def stop(self, process):
        os.kill(program.ranks_of(process)[1], signal.SIGTERM)  # one of them; the others are notified

    def test_ranks_save_if_mpirun_receives_sigterm(self):
        for attempt in range(8):  # mpirun allows them a second (Open MPI 4.1) or a quarter (5.0), which may be too short on a busy machine
            kept = os.path.join(self.kept, str(attempt))
            flags = self.flags("--epochs", "1000", "--checkpoints", kept)
            with program.started(*flags, before=self.mpirun, folder=self.folder) as process:
                for line in process.stdout:
                    if line.startswith("epoch 1: "):
                        break
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=program.LONGEST)
            self.assertNotEqual(process.returncode, 0)
            if program.newest_step(kept) > 0:  # mpirun 5.0 does not forward output that ranks print meanwhile
                return
        self.fail("no rank has saved")


if __name__ == "__main__":
    unittest.main()
