# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib tcp
"""The example in processes that meet at one address: the same bits as with ranks in threads, encrypted or not."""
import json
import os
import socket
import subprocess
import tempfile
import unittest

import lenet_mnist_program as program


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class processes(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = self.scratch.name
        self.flags = ("--data", program.write_digits(os.path.join(self.folder, "digits"), train=640), "--epochs", "2")

    def start(self, count, *flags, **environment):
        """The statuses and error messages of `count` processes, and the report."""
        path = os.path.join(self.folder, "tcp.json")
        given = dict(os.environ, COHORT_JOIN=f"127.0.0.1:{free_port()}", COHORT_RANKS=str(count), OMP_NUM_THREADS="1", **environment)
        started = [subprocess.Popen([program.PROGRAM, *self.flags, *flags, "--json", path], env=given, cwd=self.folder, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(count)]
        ended = [(one.communicate(timeout=120)[1], one.returncode) for one in started]
        if all(status == 0 for _, status in ended):
            with open(path, encoding="utf-8") as file:
                return ended, json.load(file)
        return ended, None

    def test_compute_the_bits_and_send_the_bytes_of_ranks_in_threads(self):
        secret = os.path.join(self.folder, "secret")
        with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write("a secret of this test\n")
        for count, environment in ((2, {}), (3, {"COHORT_SECRET_FILE": secret})):
            with self.subTest(ranks=count):
                threads, _ = program.report(self.folder, *self.flags, "--ranks", str(count))
                ended, made = self.start(count, **environment)
                self.assertIsNotNone(made, ended)
                self.assertEqual((made["communicator"], made["ranks"]), ("tcp", count))
                for same in ("checksum", "bytes_sent", "accuracy", "loss", "steps"):
                    self.assertEqual(made[same], threads[same], same)

    def test_cannot_join_a_job_of_cohort_run_without_its_secret(self):
        launcher = os.path.join(os.environ["COHORT_BUILD_DIR"], "examples", "cohort-run")
        script = '[ "$COHORT_RANK" = 0 ] || unset COHORT_SECRET_FILE; exec "$@"'
        done = subprocess.run([launcher, "-n", "2", "sh", "-c", script, "sh", program.PROGRAM, *self.flags, "--deadline", "4"],
                              cwd=self.folder, text=True, capture_output=True, timeout=120)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\[1\] (cannot join the rendezvous|not all processes of the job have joined)")
        self.assertNotIn("accuracy", done.stdout)

    def test_report_flags_that_do_not_fit(self):
        ended, _ = self.start(1, "--ranks", "2")
        self.assertEqual(ended[0][1], 2)
        self.assertIn("--ranks: expected 1 with --communicator tcp; each process is a rank", ended[0][0])


if __name__ == "__main__":
    unittest.main()
