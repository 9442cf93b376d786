# SPDX-License-Identifier: Apache-2.0
# needs: tcp
# label: slow
"""Ranks that are lost, leave and join during a fit of real processes."""
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from elastic_job import job, lost_examples

STRATEGIES = ("allreduce", "averaging", "sharing")


def for_each_strategy(test):
    def run(self):
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                test(self, strategy)
    return run


class elastic(unittest.TestCase):
    def check_end(self, run, processes, epochs=12, loses=None):
        """All processes have ended with the same parameters, in which each example counts once per epoch, except for what a
        lost rank with the strategy `loses` takes with it."""
        checksums = set()
        for one in processes:
            text = run.text(one) if run.status(one) == 0 else self.fail(run.text(one))
            lost_examples(text, epochs, loses)
            checksums.add(run.checksum(one))
        self.assertEqual(len(checksums), 1)

    @for_each_strategy
    def test_a_killed_rank_is_replaced_by_none(self, strategy):
        for victim in (0, 2):  # process 0 may serve the rendezvous
            with job(3, strategy=strategy) as run:
                run.wait_for_step(victim, 5)
                run.processes[victim].kill()
                self.check_end(run, {0, 1, 2} - {victim}, loses=strategy)

    @for_each_strategy
    def test_a_rank_leaves_on_sigterm_after_its_step(self, strategy):
        for leaver in (0, 1):
            with job(3, strategy=strategy) as run:
                run.wait_for_step(leaver, 5)
                run.processes[leaver].send_signal(signal.SIGTERM)
                self.assertEqual(run.status(leaver), 0, run.text(leaver))
                self.assertIn("left after step", run.text(leaver))
                self.check_end(run, {0, 1, 2} - {leaver}, loses=strategy if strategy == "sharing" else None)

    @for_each_strategy
    def test_a_process_joins_and_gets_the_state(self, strategy):
        with job(2, epochs=40, strategy=strategy) as run:
            run.wait_for_step(0, 5)
            joiner = run.start()
            run.wait_for_step(joiner, 8)
            # 3 ranks have 3, 3 and 2 examples of a step, so the counts with residuals are not exact.
            self.check_end(run, {0, 1, joiner}, epochs=40, loses=strategy if strategy == "sharing" else None)
            self.assertIn("of 3 ranks", run.text(0))  # a rank may print its step later than the joiner

    @for_each_strategy
    def test_a_rank_that_is_stopped_briefly_stays(self, strategy):
        with job(3, strategy=strategy) as run:
            run.wait_for_step(1, 5)
            run.processes[1].send_signal(signal.SIGSTOP)
            time.sleep(0.7)
            run.processes[1].send_signal(signal.SIGCONT)
            self.check_end(run, {0, 1, 2})
            self.assertNotIn("of 2 ranks", run.text(0))

    @for_each_strategy
    def test_a_rank_that_is_stopped_for_long_is_excluded_and_returns(self, strategy):
        with job(3, epochs=40, strategy=strategy) as run:
            run.wait_for_step(1, 5)
            # While the process of the service is stopped, the membership cannot change.
            victim = next(one for one in range(3) if not run.hosts_service(one))
            witness = (victim + 1) % 3
            run.processes[victim].send_signal(signal.SIGSTOP)
            run.wait_for_step(witness, run.steps(witness)[-1] + 5)
            self.assertIn("of 2 ranks", run.text(witness))
            run.processes[victim].send_signal(signal.SIGCONT)
            self.check_end(run, {0, 1, 2}, epochs=40, loses=strategy)
            self.assertIn("of 3 ranks", run.text(witness).rsplit("of 2 ranks", 1)[1])

    def test_a_process_that_differs_cannot_join_and_disturbs_no_other(self):
        with job(2, epochs=40) as run:
            run.wait_for_step(0, 5)
            run.arguments[2] = "41"  # epochs
            stranger = run.start()
            self.assertEqual(run.status(stranger), 1, run.text(stranger))
            self.assertIn("this process cannot join a run that differs", run.text(stranger))
            self.check_end(run, {0, 1}, epochs=40)

    @for_each_strategy
    def test_all_ranks_stop_if_too_few_would_be_left(self, strategy):
        with job(3, epochs=40, least=2, strategy=strategy) as run:
            run.wait_for_step(1, 5)
            for process in run.processes:
                process.send_signal(signal.SIGTERM)
            for one in range(3):
                self.assertEqual(run.status(one), 0, run.text(one))
                self.assertRegex(run.text(one), "left|stopped")
            self.assertEqual(sum("left after step" in run.text(one) for one in range(3)), 1)


if __name__ == "__main__":
    unittest.main()
