# SPDX-License-Identifier: Apache-2.0
"""The script for Slurm, with programs of this test in place of Slurm's: rank variables, secret, restarts, and requeueing.
Rank variables, secret and restarts also under a Slurm of this host."""
import contextlib
import getpass
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "examples/launchers/slurm.sbatch"
# Starts SLURM_NTASKS processes, or one for the flag --ntasks-per-node. Ends with the highest status, and
# forwards SIGTERM.
SRUN = """#!/bin/bash
tasks=$SLURM_NTASKS
while case "$1" in --*) true ;; *) false ;; esac; do [ "${1%=*}" = --ntasks-per-node ] && tasks=1; shift; done
trap 'kill -TERM $all 2> /dev/null' TERM
for ((k = 0; k < tasks; ++k)); do SLURM_PROCID=$k "$@" & all="$all $!"; done
most=0
for one in $all; do
  wait $one; status=$?
  while kill -0 $one 2> /dev/null; do wait $one; status=$?; done
  [ $status -gt $most ] && most=$status
done
exit $most
"""


class slurm(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        tools = self.folder / "tools"
        tools.mkdir()
        for name, text in (("srun", SRUN), ("sbcast", '#!/bin/sh\ncp -p "$2" "$3"\n'),
                           ("scontrol", f'#!/bin/sh\n[ "$1" = requeue ] && echo "$2" > {self.folder}/requeued && exit\necho node0\necho node1\n')):
            (tools / name).write_text(text)
            (tools / name).chmod(0o700)
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()
        self.environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", SLURM_JOB_ID="12010", SLURM_NTASKS="3", SLURM_NNODES="2",
                                SLURM_JOB_NODELIST="node[0-1]", SLURM_CPUS_PER_TASK="2", TMPDIR=str(self.tmp))

    def start(self, script, **environment):
        return subprocess.Popen(["bash", SCRIPT, "sh", "-c", script], env=dict(self.environment, **environment), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder)

    def run_it(self, script, expect, **environment):
        program = self.start(script, **environment)
        out, errors = program.communicate(timeout=60)
        self.assertEqual(program.returncode, expect, errors)
        self.assertEqual(list(self.tmp.iterdir()), [])  # no secret is left
        return sorted(out.splitlines()), errors

    def test_sets_rank_variables_and_shares_a_secret(self):
        out, _ = self.run_it('echo "$COHORT_RANK of $COHORT_RANKS at $COHORT_JOIN, $OMP_NUM_THREADS threads, '
                             '$(stat -c %a "$COHORT_SECRET_FILE"), $(wc -c < "$COHORT_SECRET_FILE")"', 0)
        self.assertEqual(out, [f"{rank} of 3 at node0:20010, 2 threads, 600, 45" for rank in range(3)])

    def test_creates_no_secret_if_encryption_is_off(self):
        out, _ = self.run_it('echo "$COHORT_RANK of $COHORT_RANKS, ${COHORT_SECRET_FILE:-none}"', 0, COHORT_ENCRYPTION="off")
        self.assertEqual(out, [f"{rank} of 3, none" for rank in range(3)])

    def test_restarts_with_another_port_after_lost_ranks(self):
        out, errors = self.run_it('[ $COHORT_RANK = 0 ] && echo $COHORT_JOIN; [ -e done$COHORT_RANK ] || { touch done$COHORT_RANK; exit 75; }', 0)
        self.assertEqual(out, ["node0:20010", "node0:20011"])
        self.assertIn("ranks were lost: start 2 in 1 s", errors)
        killed = '[ $COHORT_RANK = 1 ] || exit 75; [ -e killed ] && exit 75; touch killed; kill -9 $$'
        self.assertIn("ranks were lost: start 2 in 1 s", self.run_it(killed, 75, COHORT_MAX_RESTARTS="1")[1])
        self.run_it("exit 75", 75, COHORT_MAX_RESTARTS="0")
        _, errors = self.run_it("exit 3", 3)
        self.assertNotIn("lost", errors)
        self.assertFalse((self.folder / "requeued").exists())

    def test_starts_a_rank_again_alone_if_the_ranks_may_change(self):
        script = ('if [ $COHORT_RANK = 1 ] && [ ! -e killed ]; then touch killed; kill -9 $$; fi; '
                  '[ $COHORT_RANK != 1 ] || touch back; until [ -e back ]; do sleep 0.05; done; echo "$COHORT_RANK at $COHORT_JOIN"')
        out, errors = self.run_it(script, 0, COHORT_MIN_RANKS="2")
        self.assertEqual(out, [f"{rank} at node0:20010" for rank in range(3)])
        self.assertIn("rank 1 was ended by a signal: starts again in 1 s", errors)
        self.assertNotIn("ranks were lost", errors)
        _, errors = self.run_it("exit 75", 75, COHORT_MIN_RANKS="2", COHORT_MAX_RESTARTS="1")  # too few were left
        self.assertIn("ranks were lost: start 2 in 1 s", errors)
        self.assertNotIn("ended by a signal", errors)

    def test_requeues_the_job_at_the_time_limit(self):
        self.check_requeue()

    def test_requeues_a_job_whose_ranks_may_change(self):
        self.check_requeue(COHORT_MIN_RANKS="2")

    def check_requeue(self, **environment):
        program = self.start('trap "exit 75" TERM; touch up$COHORT_RANK; while true; do sleep 0.05; done', **environment)
        end = time.monotonic() + 30
        while not all((self.folder / f"up{rank}").exists() for rank in range(3)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        program.send_signal(signal.SIGTERM)
        _, errors = program.communicate(timeout=30)
        self.assertEqual(program.returncode, 75, errors)
        self.assertEqual((self.folder / "requeued").read_text(), "12010\n")

    def test_a_signal_ends_the_pause_before_a_restart(self):
        sleep = self.folder / "tools/sleep"
        sleep.write_text("#!/bin/bash\nexec /bin/sleep 60\n")
        sleep.chmod(0o700)
        program = self.start("[ $COHORT_RANK != 0 ] || echo start; exit 75")
        self.assertEqual(program.stderr.readline(), "ranks were lost: start 2 in 1 s\n")
        program.send_signal(signal.SIGTERM)
        out, errors = program.communicate(timeout=30)
        self.assertEqual(program.returncode, 75, errors)
        self.assertEqual(out, "start\n")
        self.assertEqual((self.folder / "requeued").read_text(), "12010\n")


CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/linear
SlurmdParameters=config_overrides
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES
"""


def free_ports(count):
    with contextlib.ExitStack() as open_ones:
        sockets = [open_ones.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@unittest.skipIf(os.geteuid(), "only root can start Slurm's daemons")
class under_slurm(unittest.TestCase):
    """A Slurm of this host alone, whose daemons the test starts."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        configuration = cls.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], ports=free_ports(2), user=getpass.getuser(),
                                                      folder=cls.folder))
        cls.environment = dict(os.environ, SLURM_CONF=str(configuration), PATH=f"{os.environ['PATH']}:/usr/sbin")
        for name in ("slurmctld", "slurmd"):
            daemon = subprocess.Popen([name, "-D"], env=cls.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            cls.addClassCleanup(cls.end, daemon)
        end = time.monotonic() + 60
        while "idle" not in cls.told("sinfo", "--noheader", "--format=%T"):
            if time.monotonic() > end:
                raise AssertionError("\n".join(log.read_text() for log in cls.folder.glob("*.log")))
            time.sleep(0.1)

    @staticmethod
    def end(daemon):
        daemon.terminate()
        try:
            daemon.wait(timeout=10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    @classmethod
    def told(cls, *command):
        return subprocess.run(command, env=cls.environment, cwd=cls.folder, capture_output=True, text=True, timeout=30).stdout

    def submit(self, script, expect, *flags):
        """The lines that a job of three tasks prints."""
        done = subprocess.run(["sbatch", "--wait", "--ntasks=3", f"--output={self.folder}/log-%j", *flags, SCRIPT, "sh", "-c", script],
                              env=self.environment, capture_output=True, text=True, timeout=120, cwd=self.folder)
        number = re.search(r"Submitted batch job (\d+)", done.stdout)
        self.assertTrue(number, done.stderr)
        log = (self.folder / f"log-{number.group(1)}").read_text()
        self.assertEqual(done.returncode, expect, log)
        return sorted(log.splitlines())

    def test_sets_rank_variables_and_shares_a_secret(self):
        lines = self.submit('echo "$COHORT_RANK of $COHORT_RANKS at $COHORT_JOIN, $(stat -c %a "$COHORT_SECRET_FILE") $(md5sum < "$COHORT_SECRET_FILE")"', 0)
        self.assertEqual(len(lines), 3, lines)
        for rank, line in enumerate(lines):
            self.assertRegex(line, rf"^{rank}: {rank} of 3 at [^ ]+:2\d{{4}}, 600 [0-9a-f]{{32}}  -$")
        self.assertEqual(len({line.rsplit(" at ", 1)[1] for line in lines}), 1)

    def test_restarts_after_lost_ranks(self):
        lines = self.submit('echo "$COHORT_JOIN"; [ -e done$COHORT_RANK ] || { touch done$COHORT_RANK; exit 75; }', 0)
        self.assertEqual(len([line for line in lines if re.match(r"[012]: ", line)]), 6, lines)
        self.assertIn("ranks were lost: start 2 in 1 s", lines)
        self.submit("exit 3", 3)


if __name__ == "__main__":
    unittest.main()
