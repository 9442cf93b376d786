# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib tcp
# tools: cohort
"""The example in processes that meet at one address: the same bits as with ranks in threads, encrypted or not."""
import json
import os
import socket
import subprocess
import tempfile
import time
import unittest

import lenet_mnist_program as program
import reference_program


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

    def start(self, count, *flags, odd=(), **environment):
        """The statuses and error messages of `count` processes, and the report. `odd`: further flags of the last one."""
        path = os.path.join(self.folder, "tcp.json")
        given = dict(os.environ, COHORT_JOIN=f"127.0.0.1:{free_port()}", COHORT_RANKS=str(count), OMP_NUM_THREADS="1", **environment)
        started = [subprocess.Popen([program.PROGRAM, *self.flags, *flags, "--json", path, *(odd if rank == count - 1 else ())],
                                    env=dict(given, COHORT_RANK=str(rank)), cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE) for rank in range(count)]
        ended = [(one.communicate(timeout=120)[1], one.returncode) for one in started]
        if all(status == 0 for _, status in ended):
            with open(path, encoding="utf-8") as file:
                return ended, json.load(file)
        return ended, None

    def test_match_ranks_in_threads_in_checksum_and_bytes_sent(self):
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

    def test_save_the_last_step_if_the_launcher_is_killed(self):
        for attempt in range(5):  # the order of signals and of messages to the closed pipe differs
            with self.subTest(attempt=attempt):
                self.kill_launcher(os.path.join(self.folder, f"kept.{attempt}"))

    def kill_launcher(self, kept):
        launcher = [reference_program.COHORT, "run"]
        count = 3
        script = 'echo $$ > "pid.$COHORT_RANK"; exec "$@"'
        command = [*launcher, "-n", str(count), "sh", "-c", script, "sh", program.PROGRAM, *self.flags, "--epochs", "1000", "--checkpoints", kept]
        with subprocess.Popen(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as job:
            while "epoch 2" not in (line := job.stdout.readline()):
                self.assertNotEqual(line, "", "it has ended")
            job.kill()
        numbers = []
        for rank in range(count):
            with open(os.path.join(self.folder, f"pid.{rank}"), encoding="utf-8") as file:
                numbers.append(int(file.read()))
        end = time.monotonic() + 60
        while (left := [one for one in numbers if os.path.exists(f"/proc/{one}/exe")]) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(left, [])
        self.assertEqual([os.path.exists(os.path.join(kept, step, "manifest.json")) for step in os.listdir(kept)], [True])

    def test_cannot_join_a_job_of_the_launcher_without_its_secret(self):
        launcher = [reference_program.COHORT, "run"]
        script = '[ "$COHORT_RANK" = 0 ] || unset COHORT_SECRET_FILE; exec "$@"'
        done = subprocess.run([*launcher, "-n", "2", "sh", "-c", script, "sh", program.PROGRAM, *self.flags, "--deadline", "4"],
                              cwd=self.folder, text=True, capture_output=True, timeout=120)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"and this process does not|a rendezvous that does not encrypt")
        self.assertNotIn("accuracy", done.stdout)

    def all_fail(self, status, said, *flags, count=3, **more):
        """All processes fail with this status, long before the deadline of 120 s, and report `said`."""
        begin = time.monotonic()
        ended, _ = self.start(count, *flags, **more)
        self.assertEqual([code for _, code in ended], count * [status], ended)
        self.assertLess(time.monotonic() - begin, 60)
        for text, _ in ended:
            self.assertIn(said, text)
        return ended

    def test_end_with_the_status_of_the_first_failure(self):
        self.all_fail(1, "not finite", "--learning-rate", "1e9")
        self.all_fail(1, "MNIST not found (/no/such)", odd=("--data", "/no/such"))
        self.all_fail(1, "the ranks of this run differ (optimizer.rule.learning_rate): ", odd=("--learning-rate", "0.1"))
        self.all_fail(2, "expected a folder that can be written, got '/proc/self/no'", "--save", "/proc/self/no/model")
        file = os.path.join(self.folder, "file")
        open(file, "w", encoding="utf-8").close()
        self.all_fail(2, "--checkpoints: expected a folder that can be written", "--checkpoints", file + "/kept")

    def test_refuse_ranks_with_different_listeners_or_outputs(self):
        kept, other = (("--checkpoints", os.path.join(self.folder, name)) for name in ("mine", "others"))
        for flags, odd, values in (
                ((*kept, "--save-every", "50"), ("--save-every", "70"), r"\(listeners\): .*every 50 steps on rank 0.*every 70 steps on rank 1"),
                ((), other, r"\(listeners\): .* on rank 0; .*checkpoint after the last epoch on rank 1"),
                ((), ("--evaluate-every", "2"), r"\(listeners\): .* on rank 0; .* and every 2 steps on rank 1"),
                ((), ("--html-report", "report.html"), r"\(listeners\): .* on rank 0; .*HTML report on rank 1"),
                ((), ("--trace", "trace.json"), r"\(--trace\): .*not set on rank 0; set on rank 1"),
                ((), ("--save", "odd.safetensors"), r"\(--save\): .*not set on rank 0; set on rank 1")):
            for preflight in ((), ("--preflight",)):
                lacks_folder = preflight and odd is other  # which preflight reports before it compares the runs
                said = "only some ranks have a folder: nothing on rank 0" if lacks_folder else "the ranks of this run differ ("
                ended = self.all_fail(1, said, *preflight, *flags, odd=odd, count=2)
                if not lacks_folder:
                    self.assertRegex(ended[0][0], values)

    def test_preflight_compares_the_runs_of_the_ranks(self):
        flags = ("--preflight", "--checkpoints", os.path.join(self.folder, "kept"))
        ended, _ = self.start(2, *flags)
        self.assertEqual([status for _, status in ended], [0, 0], ended)
        self.assertIn("preflight: hosts of 2 ranks (tcp)\n", ended[0][0])
        self.assertIn("preflight: the run on 2 ranks (tcp)\n", ended[0][0])
        self.assertNotIn("problem", ended[0][0])
        few = ("--preflight",)
        for odd, name in ((("--learning-rate", "0.1"), r"optimizer\.[a-z_.]+(, [a-z_.]+)*"), (("--seed", "9"), "seed"), (("--batch", "16"), "batch"),
                          (("--strategy", "averaging"), "strategy")):
            ended = self.all_fail(1, "the job cannot run on these hosts (preflight)", *few, odd=odd, count=2)
            self.assertRegex(ended[0][0], rf"(?m)^problem: the ranks of this run differ \({name}\): .* on rank 0; .* on rank 1; start all")
        fewer = program.write_digits(os.path.join(self.folder, "fewer"), train=320)
        ended = self.all_fail(1, "preflight", *few, odd=("--data", fewer), count=2)
        self.assertRegex(ended[0][0], r"problem: the ranks of this run differ \(data set\): 640 examples, .* 320 examples, ")

    def test_refuse_several_ranks_in_a_process(self):
        ended, _ = self.start(1, "--ranks", "2")
        self.assertEqual(ended[0][1], 2)
        self.assertIn("--ranks: expected 1 with --communicator tcp; each process is a rank", ended[0][0])


if __name__ == "__main__":
    unittest.main()
