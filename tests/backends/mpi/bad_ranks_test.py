# SPDX-License-Identifier: Apache-2.0
# needs: mpi
# ranks: 3
# label: slow
"""Behaviour of the other ranks when one rank dies, stops, hangs, throws, returns early or arrives late: bad_ranks.cpp."""
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import unittest

PROGRAM = os.environ["COHORT_PROGRAM"]
MPIRUN = pathlib.Path(__file__).resolve().parent.parent.parent / "mpirun"
# With --enable-recovery mpirun keeps the other ranks running (but does not report their status), in Open MPI
# 4.1 and 5.0.
OTHERS_LIVE = ("--enable-recovery",)
REPORTING = ("sh", "-c", '"$0" "$@"; echo "rank $OMPI_COMM_WORLD_RANK ended with status $?"')
RANKS = 3
BAD = 1
DEADLINE = 3  # seconds, as in bad_ranks.cpp; its heartbeat is 1
LONGEST = 60
ALL_SLEEP = "nothing, but the machine sleeps"


class run:
    """A run of bad_ranks: `lines` with the seconds since the fault, and the exit `statuses` by rank."""

    def __init__(self, deed, *flags, reporting=True):
        command = ["bash", MPIRUN, *flags, "-n", str(RANKS), *(REPORTING if reporting else ()), PROGRAM, deed, str(BAD)]
        self.lines, self.statuses = [], {}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              start_new_session=True) as process:
            watchdog = threading.Timer(LONGEST, lambda: os.killpg(process.pid, signal.SIGKILL))
            watchdog.start()
            self.read(process.stdout, deed)
            self.status = process.wait(LONGEST)
            watchdog.cancel()

    def read(self, output, deed):
        processes, deed_at = {}, None
        for line in output:
            if found := re.search(r"^rank (\d) is process (\d+)$", line):
                processes[int(found.group(1))] = int(found.group(2))
            if line == "now\n":
                deed_at = time.monotonic()
                if deed == ALL_SLEEP:
                    self.put_to_sleep(processes.values())
            self.lines.append((time.monotonic(), line.rstrip()))
            if found := re.search(r"^rank (\d) ended with status (\d+)", line):
                self.statuses[int(found.group(1))] = int(found.group(2))
                if deed in ("stops", "stops early", "hangs") and len(self.statuses) == RANKS - 1:
                    os.kill(processes[BAD], signal.SIGKILL)
        # mpirun may print another rank's line before "now".
        begin = deed_at if deed_at is not None else self.lines[0][0] if self.lines else 0
        self.lines = [(at - begin, line) for at, line in self.lines]

    @staticmethod
    def put_to_sleep(processes):
        """Stops all processes for 2 s, longer than a heartbeat."""
        for sign in (signal.SIGSTOP, signal.SIGCONT):
            for process in processes:
                os.kill(process, sign)
            time.sleep(2)

    def text(self):
        return "\n".join(f"{at:7.2f} {line}" for at, line in self.lines)


class bad_ranks(unittest.TestCase):
    def others_say(self, done, sentence, status=75):
        for rank in set(range(RANKS)) - {BAD}:
            said = [at for at, line in done.lines if re.search(f"^rank {rank}: {sentence}", line)]
            self.assertEqual(len(said), 1, f"rank {rank} should say once: {sentence}\n{done.text()}")
            self.assertLess(said[0], DEADLINE + 2, done.text())
            self.assertEqual(done.statuses.get(rank), status, done.text())

    def test_all_ranks_succeed_without_a_failure(self):
        done = run("nothing")
        self.assertEqual((done.status, done.statuses), (0, {0: 0, 1: 0, 2: 0}), done.text())
        self.assertEqual(sum("has done all steps" in line for _, line in done.lines), RANKS, done.text())

    def test_mpirun_reports_a_killed_rank_and_fails(self):
        done = run("dies", reporting=False)
        self.assertNotEqual(done.status, 0)
        self.assertRegex(done.text(), "process rank 1 .*exited on\\s.*signal 9")

    def test_other_ranks_report_a_killed_rank(self):
        self.others_say(run("dies", *OTHERS_LIVE),
                        r"rank 1 has sent no heartbeat for \d\.\d s; it was last at step [45], bucket [01]$")

    def test_other_ranks_report_a_rank_that_is_killed_before_mpi_has_started(self):
        self.others_say(run("dies early", *OTHERS_LIVE),
                        "rank 1 has ended before all ranks had called MPI_Init_thread and MPI_Comm_idup$")

    def test_other_ranks_report_a_rank_that_is_stopped_before_mpi_has_started(self):
        done = run("stops early", *OTHERS_LIVE)
        for rank in set(range(RANKS)) - {BAD}:
            self.assertRegex(done.text(), rf"rank {rank}: timeout after 10000 ms before all ranks had called MPI_Init_thread and "
                                          r"MPI_Comm_idup: on this host ranks 0, 1, 2 have started; rank 1 is stopped\b")
            self.assertEqual(done.statuses.get(rank), 75, done.text())

    def test_other_ranks_report_a_stopped_rank(self):
        self.others_say(run("stops", *OTHERS_LIVE),
                        r"rank 1 has sent no heartbeat for \d\.\d s; it was last at step [45], bucket [01]$")

    def test_other_ranks_report_a_rank_whose_body_hangs(self):
        self.others_say(run("hangs", *OTHERS_LIVE),
                        r"rank 1 is at step 5, bucket 0; the others wait in bucket 1 \(allreduce, after 3.0 s\)")

    def test_other_ranks_report_a_rank_that_has_returned(self):
        done = run("returns", *OTHERS_LIVE)
        self.others_say(done, "rank 1 has ended; it was last at step 5, bucket 0; the others wait in bucket 1")
        self.assertEqual(done.statuses.get(BAD), 75, done.text())

    def test_all_ranks_report_an_exception_of_a_rank(self):
        done = run("throws", *OTHERS_LIVE)
        self.others_say(done, "rank 1 failed: the shelf is empty$", status=1)
        self.assertIn("rank 1: the shelf is empty", done.text())
        self.assertEqual(done.statuses.get(BAD), 1, done.text())

    def test_other_ranks_report_a_communicator_error_of_a_rank(self):
        done = run("fails by itself", *OTHERS_LIVE)
        self.others_say(done, "rank 1 failed: my own ranks are lost$")
        self.assertEqual(done.statuses.get(BAD), 75, done.text())

    def test_other_ranks_report_a_rank_that_aborts_and_returns(self):
        done = run("gives up", *OTHERS_LIVE)
        self.others_say(done, "rank 1 failed: enough$", status=1)
        self.assertEqual(done.statuses.get(BAD), 1, done.text())

    def test_an_error_caused_by_another_rank_does_not_change_the_status(self):
        done = run("fails by itself, others wrap it", *OTHERS_LIVE)
        self.others_say(done, "no answer: rank 1 failed: my own ranks are lost$")
        self.assertEqual(done.statuses.get(BAD), 75, done.text())

    def test_all_ranks_report_that_the_program_finalises_mpi_too_early(self):
        done = run("finalises early", *OTHERS_LIVE)
        said = [line for _, line in done.lines if line.startswith("MPI_Finalize was called too early (make_mpi): expected MPI_Finalize "
                                                                  "after the end of each communicator of make_mpi")]
        self.assertEqual((len(said), done.statuses), (RANKS, {0: 1, 1: 1, 2: 1}), done.text())

    def test_mpirun_returns_the_status_of_a_rank_that_throws(self):
        self.assertEqual(run("throws", reporting=False).status, 1)

    def test_no_rank_is_reported_if_all_were_stopped(self):
        done = run(ALL_SLEEP)
        self.assertEqual((done.status, done.statuses), (0, {0: 0, 1: 0, 2: 0}), done.text())
        self.assertGreater(done.lines[-1][0], 2)

    def test_ranks_wait_for_a_late_rank_and_log_it(self):
        done = run("dawdles")
        self.assertEqual((done.status, done.statuses), (0, {0: 0, 1: 0, 2: 0}), done.text())
        for rank in (0, 2):
            self.assertRegex(done.text(), rf"rank {rank} waited 1\.\d s for rank 1 \(at step 5, bucket 0\)")


if __name__ == "__main__":
    unittest.main()
