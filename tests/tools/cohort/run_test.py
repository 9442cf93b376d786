# SPDX-License-Identifier: Apache-2.0
"""cohort run starts processes with their numbers, passes signals on, restarts after lost ranks, and uses ssh for other hosts.
A shell that ignores the name of the host takes the place of ssh."""
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import unittest.mock

PROGRAM = (pathlib.Path(os.environ["COHORT_BUILD_DIR"]) / "tools/cohort/cohort", "run")
LONGEST = 60  # seconds that a command may take


class run_command(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.ssh = self.folder / "ssh"
        self.ssh.write_text('#!/bin/sh\necho "$1" >> hosts\nshift\nexec sh -c "$*"\n')
        self.ssh.chmod(0o700)

    def command(self, *flags, script):
        return [*PROGRAM, *map(str, flags), "sh", "-c", script]

    def run_it(self, *flags, script, expect=0):
        done = subprocess.run(self.command(*flags, script=script), capture_output=True, text=True, timeout=LONGEST, cwd=self.folder)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def remote(self, *flags):
        return ("--ssh", self.ssh, *flags)

    def becomes_true(self, condition, seconds=LONGEST):
        """Waits until a condition is true, and returns whether it is."""
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        return condition()

    def repeat(self, job, one, until):
        """Sends a signal until `until` is true: cohort run treats signals within half a second as the same interrupt."""
        for _ in range(LONGEST):
            job.send_signal(one)
            if self.becomes_true(until, 1):
                return
        self.fail(f"{one.name} had no effect")

    def recording_script(self):
        """A script that writes the names of signals to a file (see has_received), until SIGHUP."""
        (self.folder / "program").write_text(
            "import signal\nall = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}\nsignal.pthread_sigmask(signal.SIG_BLOCK, all)\n"
            "print('ready', flush=True)\none = None\nwhile one != signal.SIGHUP:\n"
            "    one = signal.sigwait(all)\n    print(one.name, flush=True)\n")
        return f"echo $$ > pid.$COHORT_RANK; exec {sys.executable} program > received.$COHORT_RANK"

    def has_received(self, ranks, *names):
        """Returns the condition that each rank of recording_script has received these signals."""
        files = [self.folder / f"received.{rank}" for rank in range(ranks)]
        return lambda: all(file.exists() and file.read_text().split() == ["ready", *names] for file in files)

    def test_sets_the_rank_variables_of_each_process(self):
        show = 'echo "$COHORT_RANK of $COHORT_RANKS, local $COHORT_LOCAL_RANK, $COHORT_JOIN"'
        lines = sorted(self.run_it("-n", 3, script=show).stdout.splitlines())
        self.assertEqual([line.rsplit(",", 1)[0] for line in lines], [f"[{k}] {k} of 3, local {k}" for k in range(3)])
        self.assertEqual(len({line.rsplit(",", 1)[1] for line in lines}), 1)
        self.assertRegex(lines[0], r" 127\.0\.0\.1:\d+$")
        self.assertIn("0 of 1, local 0, node:5\n", self.run_it("-n", 1, "--join", "node:5", script=show).stdout)

    def test_gives_each_local_rank_its_gpu(self):
        show = 'echo "$CUDA_VISIBLE_DEVICES"'
        self.assertEqual(sorted(self.run_it("-n", 2, "--devices", "0,2,5", script=show).stdout.splitlines()), ["[0] 0", "[1] 2"])
        hosts = self.remote("-n", 3, "--hosts", "a:2,b:1", "--devices=3,MIG-1f/0")
        self.assertEqual(sorted(self.run_it(*hosts, script=show).stdout.splitlines()), ["[0] 3", "[1] MIG-1f/0", "[2] 3"])
        with unittest.mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": "7"}):
            self.assertEqual(self.run_it("-n", 1, script=show).stdout, "7\n")
        self.assertIn("--devices: expected a GPU for each of the 3 ranks of a host, got 2; ranks that share a GPU name it twice",
                      self.run_it("-n", 3, "--devices", "0,2", script=show, expect=2).stderr)
        for devices in ("", "0,", "-1", "0;1"):
            self.assertIn("--devices: expected GPUs such as 0,2", self.run_it("-n", 1, "--devices", devices, script=show, expect=2).stderr)

    def test_prints_whole_lines_and_stores_the_output_of_each_rank(self):
        done = self.run_it("-n", 2, "--output", "logs", script='printf "a b"; echo c; echo problem >&2; printf end')
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] a bc", "[0] end", "[1] a bc", "[1] end"])
        self.assertEqual(sorted(done.stderr.splitlines()), ["[0] problem", "[1] problem"])
        for rank in range(2):
            self.assertEqual(sorted((self.folder / f"logs/{rank}.log").read_text().splitlines()), ["a bc", "end", "problem"])

    def test_starts_no_rank_if_it_cannot_write_the_output(self):
        (self.folder / "logs/0.log").mkdir(parents=True)
        done = self.run_it("-n", 2, "--output", "logs", script="touch started", expect=1)
        self.assertEqual(done.stderr, "cohort run: --output: cannot write logs/0.log: Is a directory\n")
        self.assertFalse((self.folder / "started").exists())

    def test_reports_output_that_cannot_be_stored(self):
        (self.folder / "logs").mkdir()
        (self.folder / "logs/0.log").symlink_to("/dev/full")
        done = self.run_it("-n", 2, "--output", "logs", script="echo a; echo b")
        self.assertEqual(done.stderr, "cohort run: --output: cannot write logs/0.log: No space left on device; rank 0 is only printed from now on\n")
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] a", "[0] b", "[1] a", "[1] b"])
        self.assertEqual((self.folder / "logs/1.log").read_text(), "a\nb\n")

    def test_returns_the_status_of_a_failed_rank_rather_than_of_a_lost_rank(self):
        done = self.run_it("-n", 3, script="[ $COHORT_RANK = 1 ] && exit 3; exit 75", expect=3)
        self.assertIn("cohort run: rank 1 has exited with status 3", done.stderr)
        self.run_it("-n", 2, script="[ $COHORT_RANK = 1 ] || exit 75", expect=75)
        self.assertIn("rank 1 was ended by the signal Killed", self.run_it("-n", 2, script="[ $COHORT_RANK = 0 ] || kill -9 $$", expect=75).stderr)

    def test_restarts_after_lost_ranks(self):
        done = self.run_it("-n", 2, "--restarts", 2, script='echo "start $COHORT_RESTARTS"; [ $COHORT_RESTARTS -ge 1 ] || exit 75')
        self.assertIn("ranks were lost: start 2 of 3 in 1 s", done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"[{rank}] start {k}" for rank in range(2) for k in range(2)])
        self.assertIn("start 2 of 2", self.run_it("-n", 1, "--restarts", 1, script="exit 75", expect=75).stderr)
        self.assertNotIn("start 2", self.run_it("-n", 1, "--restarts", 1, script="exit 4", expect=4).stderr)

    def signals(self, *flags):
        script = 'trap "echo got; exit 5" TERM; trap "echo user" USR1; echo ready; while :; do sleep 0.05; done'
        with subprocess.Popen(self.command("-n", 2, *flags, script=script), stdout=subprocess.PIPE, text=True, cwd=self.folder) as job:
            self.assertEqual(sorted(job.stdout.readline() for _ in range(2)), ["[0] ready\n", "[1] ready\n"])
            job.send_signal(signal.SIGUSR1)
            self.assertEqual(sorted(job.stdout.readline() for _ in range(2)), ["[0] user\n", "[1] user\n"])
            job.send_signal(signal.SIGTERM)
            self.assertEqual(sorted(job.stdout.readlines()), ["[0] got\n", "[1] got\n"])
            self.assertEqual(job.wait(LONGEST), 5)

    def test_goes_on_without_lost_ranks(self):
        """Rank 1 is lost. With restarts it alone is started again."""
        script = ('echo "least $COHORT_MIN_RANKS, most $COHORT_MAX_RANKS"; '
                  'if [ "$COHORT_RANK" = 1 ] && [ ! -e again ]; then touch again; echo $$ > lost; exit 75; fi; '
                  'until [ -s lost ] && ! kill -0 $(cat lost) 2>/dev/null; do sleep 0.05; done; '
                  '[ $COHORT_RANK != 1 ] || touch back; [ $COHORT_MAX_RANKS = 3 ] || until [ -e back ]; do sleep 0.05; done; '
                  'echo "rank $COHORT_RANK ends"')
        done = self.run_it("-n", 3, "--min", 2, script=script)
        self.assertEqual(done.stdout.count("least 2, most 3"), 3)
        self.assertNotIn("rank 1 ends", done.stdout)
        for name in ("again", "lost"):
            (self.folder / name).unlink()
        done = self.run_it("-n", 3, "--min", 1, "--max", 5, "--restarts", 1, script=script)
        self.assertEqual(done.stdout.count("least 1, most 5"), 4)
        self.assertIn("cohort run: rank 1 is started again in 1 s (1 of 1)", done.stderr)
        for rank in range(3):
            self.assertEqual(done.stdout.count(f"rank {rank} ends"), 1)
        self.run_it("-n", 2, "--min", 2, script='[ "$COHORT_RANK" = 0 ] || exit 75', expect=75)  # too few are left

    def test_completes_a_job_although_a_rank_is_started_again_too_late_to_join(self):
        """Rank 1 is killed shortly before the end. Its replacement finds no other rank."""
        for end in ("exit 75", "kill -9 $$"):
            script = ('if [ $COHORT_RANK = 0 ]; then echo $$ > rank0; until [ -e back ]; do sleep 0.05; done; exit; fi; '
                      'until [ -s rank0 ]; do sleep 0.05; done; [ -e killed ] || { touch killed; kill -9 $$; }; '
                      f'touch back; while kill -0 $(cat rank0) 2>/dev/null; do sleep 0.05; done; {end}')
            done = self.run_it("-n", 2, "--min", 1, "--restarts", 1, script=script)
            self.assertIn("rank 1 is started again in 1 s (1 of 1)", done.stderr)
            self.assertNotIn("ranks were lost", done.stderr)
            for name in ("rank0", "killed", "back"):
                (self.folder / name).unlink()

    def test_counts_both_kinds_of_restarts_together(self):
        script = 'echo start; [ $COHORT_RANK = 1 ] || until [ -e back ]; do sleep 0.05; done; [ ! -e lost ] || touch back; touch lost; exit 75'
        done = self.run_it("-n", 2, "--min", 1, "--restarts", 1, script=script, expect=75)
        self.assertEqual(done.stdout.count("start"), 3)
        self.assertNotIn("ranks were lost", done.stderr)

    def test_sigterm_stops_ranks_that_may_leave_by_sigint(self):
        job = subprocess.Popen(self.command("-n", 2, "--min", 1, script=self.recording_script()), cwd=self.folder)
        self.assertTrue(self.becomes_true(self.has_received(2)))
        job.send_signal(signal.SIGTERM)
        self.assertTrue(self.becomes_true(self.has_received(2, "SIGINT")))
        self.repeat(job, signal.SIGHUP, lambda: job.poll() is not None)

    def test_forwards_signals_after_a_restart(self):
        script = ('[ $COHORT_RESTARTS = 0 ] && exit 75; trap "echo got $COHORT_JOB; exit 0" TERM; echo ready; '
                  'while :; do sleep 0.05; done')
        with subprocess.Popen(self.command("-n", 2, "--restarts", 1, script=script), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, cwd=self.folder) as job:
            self.assertEqual(sorted(job.stdout.readline() for _ in range(2)), ["[0] ready\n", "[1] ready\n"])
            job.send_signal(signal.SIGTERM)
            self.assertEqual(sorted(job.stdout.readlines()), ["[0] got cohort 1\n", "[1] got cohort 1\n"])
            self.assertEqual(job.wait(LONGEST), 0)

    def test_a_signal_ends_the_pause_before_a_restart(self):
        with subprocess.Popen(self.command("-n", 1, "--restarts", 30, script="exit 75"), stderr=subprocess.PIPE, text=True, cwd=self.folder) as job:
            while "start 5" not in job.stderr.readline():  # in 8 s
                pass
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.wait(4), 75)

    def test_distinguishes_lost_from_failed_processes(self):
        self.run_it("-n", 1, script="exit 255", expect=255)
        self.run_it("-n", 1, script="exit 139", expect=75)  # a shell whose command was ended by SIGSEGV
        lost = self.run_it("-n", 1, *self.remote("--hosts", "a"), script="exit 255", expect=75)
        self.assertIn("rank 0 on a: ", lost.stderr)
        self.assertIn("cannot reach the host, or has lost its connection (status 255)", lost.stderr)

    def test_does_not_wait_for_orphaned_child_processes(self):
        begin = time.monotonic()
        done = self.run_it("-n", 2, script="sleep 50 & echo done")
        self.assertLess(time.monotonic() - begin, 40)
        self.assertIn("a process that it started holds its output open", done.stderr)

    def test_binds_each_process_to_its_share_of_the_processors(self):
        usable = sorted(os.sched_getaffinity(0))
        shares = {k: usable[len(usable) * k // 2:len(usable) * (k + 1) // 2] for k in range(2)} if len(usable) > 1 else {k: usable for k in range(2)}
        script = f'{sys.executable} -c "import os; print(sorted(os.sched_getaffinity(0)), os.environ[\'OMP_NUM_THREADS\'])"'
        os.environ.pop("OMP_NUM_THREADS", None)
        expected = [f"[{k}] {shares[k]} {max(1, len(usable) // 2)}" for k in range(2)]
        self.assertEqual(sorted(self.run_it("-n", 2, script=script).stdout.splitlines()), expected)
        free = [f"[{k}] {usable} {max(1, len(usable) // 2)}" for k in range(2)]
        self.assertEqual(sorted(self.run_it("-n", 2, "--no-bind", script=script).stdout.splitlines()), free)
        if len(usable) == os.cpu_count() and shutil.which("taskset"):
            self.assertEqual(sorted(self.run_it("-n", 2, *self.remote("--hosts", "a:2"), script=script).stdout.splitlines()), expected)

    def test_passes_variables_to_other_hosts(self):
        os.environ["COHORT_INTERFACES"] = "it's eth0"
        self.addCleanup(os.environ.pop, "COHORT_INTERFACES")
        ssh = self.folder / "clean"
        ssh.write_text('#!/bin/sh\nshift\nexec env -i PATH="$PATH" sh -c "umask 027; $*"\n')
        ssh.chmod(0o700)
        script = 'echo "$COHORT_INTERFACES, $COHORT_RANK, $(umask), $(stat -c %a "$COHORT_SECRET_FILE")"'
        done = self.run_it("-n", 1, "--ssh", ssh, "--hosts", "a", script=script)
        self.assertEqual(done.stdout, "it's eth0, 0, 0027, 600\n")

    def test_forwards_signals(self):
        self.signals()
        self.signals(*self.remote("--hosts", "a,b"))

    def test_forwards_interrupts(self):
        script = 'exec %s -c "import signal, sys\ntry: print(1, flush=True); signal.pause()\nexcept KeyboardInterrupt: sys.exit(7)"' % sys.executable
        for flags in ((), self.remote("--hosts", "a,b")):
            with subprocess.Popen(self.command("-n", 2, *flags, script=script), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  cwd=self.folder) as job:
                self.assertEqual(sorted(job.stdout.readline() for _ in range(2)), ["[0] 1\n", "[1] 1\n"])
                job.send_signal(signal.SIGINT)
                self.assertEqual(job.wait(LONGEST), 7)
                on = " on a" if flags else ""
                self.assertIn(f"rank 0{on} has exited with status 7\n", job.stderr.read())

    def alive(self, numbers):
        """The processes of the list that have not ended."""
        def lives(number):
            try:
                return pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
            except OSError:
                return False
        return [number for number in numbers if lives(number)]

    def wait_for_end(self, numbers, seconds):
        self.becomes_true(lambda: not self.alive(numbers), seconds)
        self.assertEqual(self.alive(numbers), [])

    def test_ends_the_processes_if_it_is_killed(self):
        # The second process of each rank is a child of the first one; both processes of rank 1 ignore
        # SIGTERM.
        script = ('[ $COHORT_RANK = 0 ] || trap "" TERM; echo "$COHORT_SECRET_FILE" > secret.$COHORT_RANK; '
                  'sleep 60 & echo $$ $! > pid.$COHORT_RANK; echo ready; wait')
        for flags in ((), self.remote("--hosts", "a,b")):
            with subprocess.Popen(self.command("-n", 2, *flags, script=script), stdout=subprocess.PIPE, text=True, cwd=self.folder) as job:
                for _ in range(2):
                    job.stdout.readline()
                numbers = [[int(one) for one in (self.folder / f"pid.{rank}").read_text().split()] for rank in range(2)]
                self.assertEqual(len(self.alive(numbers[0] + numbers[1])), 4)
                job.kill()
            self.wait_for_end(numbers[0], 10)
            self.wait_for_end(numbers[1], 40)  # less than the 60 s that the rank sleeps
            for rank in range(2):
                secret = (self.folder / f"secret.{rank}").read_text().strip()
                self.assertTrue(self.becomes_true(lambda: not os.path.exists(secret), 10 if flags else 0), secret)

    def test_ends_processes_of_other_hosts_also_if_their_reader_of_signals_starts_late(self):
        slow = self.folder / "slow"
        slow.write_text(f"#!{sys.executable}\nimport os, re, sys\nscript, size = b'', int(re.search(r'count=(\\d+)', sys.argv[2]).group(1))\n"
                        "while len(script) < size: script += os.read(0, size - len(script))\n"
                        "start = b'(trap \"\" HUP INT TERM'\nassert script.count(start) == 1\n"
                        "os.execvp('sh', ['sh', '-c', script.replace(start, start.replace(b'(', b'(sleep 0.4; '))])\n", encoding="utf-8")
        slow.chmod(0o700)
        with subprocess.Popen(self.command("-n", 1, "--ssh", slow, "--hosts", "a", script="sleep 60 & echo $$ $! > pid; echo ready; wait"),
                              stdout=subprocess.PIPE, text=True, cwd=self.folder) as job:
            self.assertEqual(job.stdout.readline(), "ready\n")
            numbers = [int(one) for one in (self.folder / "pid").read_text().split()]
            job.kill()
        self.wait_for_end(numbers, 10)

    def test_ranks_survive_printing_after_the_launcher_is_killed(self):
        script = 'trap "echo more; echo \\$? > wrote.$COHORT_RANK" TERM; echo ready; while [ ! -e wrote.$COHORT_RANK ]; do sleep 0.05; done'
        for flags in ((), self.remote("--hosts", "a")):
            with subprocess.Popen(self.command("-n", 1, *flags, script=script), stdout=subprocess.PIPE, text=True, cwd=self.folder) as job:
                self.assertEqual(job.stdout.readline(), "ready\n")
                job.kill()
            wrote = self.folder / "wrote.0"
            self.assertTrue(self.becomes_true(lambda: wrote.exists() and wrote.read_text().endswith("\n"), 20), flags)
            self.assertNotEqual(wrote.read_text(), "0\n", flags)  # the pipe was closed
            wrote.unlink()

    def test_forwards_a_signal_that_arrives_while_ssh_connects(self):
        slow = self.folder / "slow"
        slow.write_text('#!/bin/sh\nshift\necho $$ > number\nmv number connecting\nwhile [ ! -e connected ]; do sleep 0.02; done\nexec sh -c "$*"\n')
        slow.chmod(0o700)
        with subprocess.Popen(self.command("-n", 1, "--ssh", slow, "--hosts", "a", script="exec sleep 60"), stderr=subprocess.PIPE,
                              text=True, cwd=self.folder) as job:
            self.assertTrue(self.becomes_true((self.folder / "connecting").exists))
            number = int((self.folder / "connecting").read_text())

            def bytes_for_host():
                with open(f"/proc/{number}/fd/0", "rb", buffering=0) as pipe:
                    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
            self.assertTrue(self.becomes_true(lambda: bytes_for_host() > 0))
            script = bytes_for_host()
            job.send_signal(signal.SIGTERM)
            self.assertTrue(self.becomes_true(lambda: bytes_for_host() > script), "the signal was not passed on before the connection")
            (self.folder / "connected").touch()
            self.assertEqual(job.wait(20), 75, job.stderr.read())

    def test_repeated_interrupts_end_processes_that_ignore_them(self):
        script = self.recording_script()
        for flags in ((), self.remote("--hosts", "a,b")):
            for interrupts, least, most in ((2, 9, 16), (3, 0, 8)):
                with self.subTest(flags=flags, interrupts=interrupts), subprocess.Popen(
                        self.command("-n", 2, "--restarts", 3, *flags, script=script), stderr=subprocess.PIPE, text=True, cwd=self.folder) as job:
                    self.assertTrue(self.becomes_true(self.has_received(2)))
                    numbers = [int((self.folder / f"pid.{rank}").read_text()) for rank in range(2)]
                    self.repeat(job, signal.SIGINT, self.has_received(2, "SIGINT"))
                    self.repeat(job, signal.SIGINT, self.has_received(2, "SIGINT", "SIGINT"))
                    begin = time.monotonic()
                    if interrupts == 3:
                        self.repeat(job, signal.SIGINT, lambda: job.poll() is not None)
                    self.assertEqual(job.wait(LONGEST), 75)
                    self.assertTrue(least <= time.monotonic() - begin <= most, time.monotonic() - begin)
                    self.assertIn("has not ended: SIGKILL", job.stderr.read())
                    self.wait_for_end(numbers, 5)
                    for rank in range(2):
                        (self.folder / f"received.{rank}").unlink()

    def test_waits_for_ranks_after_a_single_interrupt(self):
        script = 'trap "sleep 12; echo saved; exit 75" INT; echo ready; while :; do sleep 0.05; done'
        with subprocess.Popen(self.command("-n", 1, script=script), stdout=subprocess.PIPE, text=True, cwd=self.folder) as job:
            job.stdout.readline()
            job.send_signal(signal.SIGINT)
            job.send_signal(signal.SIGINT)  # as a launcher that sends to a process and to its group
            self.assertEqual(job.communicate(timeout=LONGEST)[0], "saved\n")
            self.assertEqual(job.returncode, 75)

    def test_forwards_simultaneous_signals_once(self):
        script = self.recording_script()
        for flags in ((), self.remote("--hosts", "a")):
            with self.subTest(flags=flags), subprocess.Popen(self.command("-n", 1, *flags, script=script), cwd=self.folder) as job:
                self.assertTrue(self.becomes_true(self.has_received(1)))
                for one in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):  # cohort run finds both when it continues
                    job.send_signal(one)
                self.assertTrue(self.becomes_true(self.has_received(1, "SIGINT")))
                self.repeat(job, signal.SIGHUP, self.has_received(1, "SIGINT", "SIGHUP"))
                self.assertEqual(job.wait(LONGEST), 0)
                (self.folder / "received.0").unlink()

    def test_starts_ranks_if_standard_streams_are_closed(self):
        # Otherwise pipes to the ranks have the numbers of the closed streams.
        for flags in ((), self.remote("--hosts", "a")):
            for closed in (0, 1, 2), (0,), (1,), (2,):
                with self.subTest(flags=flags, closed=closed):
                    streams = " ".join(f"{one}>&-" for one in closed)
                    command = self.command("-n", 2, "--output", "logs", *flags, script="echo out; echo error >&2")
                    done = subprocess.run(["sh", "-c", f'exec "$@" {streams}', "sh", *command], timeout=LONGEST, cwd=self.folder,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    self.assertEqual(done.returncode, 0)
                    for rank in range(2):
                        self.assertEqual(sorted((self.folder / f"logs/{rank}.log").read_text().splitlines()), ["error", "out"])

    def test_does_not_execute_commands_in_variable_names(self):
        for name in ("COHORT_A;touch harm;B", "COHORT_$(touch harm)", "COHORT_\ntouch harm\nB", "COHORT_A b"):
            environment = {**os.environ, name: "1", "COHORT_PORTS": "1-2"}
            done = subprocess.run(self.command("-n", 1, *self.remote("--hosts", "a"), script="echo $COHORT_PORTS"), capture_output=True,
                                  text=True, timeout=LONGEST, cwd=self.folder, env=environment)
            self.assertEqual((done.returncode, done.stdout), (0, "1-2\n"), done.stderr)
            self.assertFalse((self.folder / "harm").exists(), name)

    def test_removes_the_secret_from_other_hosts(self):
        secrets = self.folder / "secrets"
        secrets.mkdir()
        environment = {**os.environ, "TMPDIR": str(secrets)}
        for script, sent in (("true", None), ("exit 3", None), ("kill -9 $$", None), ("echo ready; exec sleep 60", signal.SIGTERM)):
            with subprocess.Popen(self.command("-n", 1, *self.remote("--hosts", "a"), script=script), stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, cwd=self.folder, env=environment) as job:
                if sent:
                    job.stdout.readline()
                    self.assertEqual(len(list(secrets.iterdir())), 1)
                    job.send_signal(sent)
                job.wait(LONGEST)
            self.assertEqual(list(secrets.iterdir()), [], script)

    def test_starts_ranks_on_other_hosts(self):
        script = 'echo "$COHORT_RANK $COHORT_LOCAL_RANK $COHORT_JOIN $PWD"; stat -c %a $COHORT_SECRET_FILE; cat $COHORT_SECRET_FILE'
        lines = self.run_it("-n", 3, *self.remote("--hosts", "a,user@b"), script=script).stdout.splitlines()
        by_rank = {rank: [line[4:] for line in lines if line.startswith(f"[{rank}] ")] for rank in range(3)}
        self.assertEqual([by_rank[rank][0] for rank in range(3)],
                         [f"{rank} {local} a:29400 {os.path.realpath(self.folder)}" for rank, local in ((0, 0), (1, 1), (2, 0))])
        self.assertEqual(sorted((self.folder / "hosts").read_text().split()), ["a", "a", "user@b"])
        self.assertEqual({by_rank[rank][1] for rank in range(3)}, {"600"})
        self.assertEqual(len({by_rank[rank][2] for rank in range(3)}), 1)
        self.assertRegex(by_rank[0][2], "^[0-9a-f]{64}$")
        quoting = self.run_it("-n", 1, *self.remote("--hosts", "a"), script="echo \"it's\" '$HOME' \\\\ *")
        self.assertEqual(quoting.stdout, "it's $HOME \\ hosts ssh\n")

    def test_creates_a_secret_for_local_ranks(self):
        script = 'stat -L -c %a "$COHORT_SECRET_FILE"; sh -c "cat $COHORT_SECRET_FILE"'
        starts = [self.run_it("-n", 3, script=script).stdout.splitlines() for _ in range(2)]
        secrets = [{line[4:] for line in lines} - {"600"} for lines in starts]
        for lines, secret in zip(starts, secrets):
            self.assertEqual(len(lines), 6)
            self.assertRegex("".join(secret), "^[0-9a-f]{64}$")  # the same one for all ranks
        self.assertNotEqual(*secrets)

    def test_creates_no_secret_if_the_environment_configures_encryption(self):
        for name, value in (("COHORT_SECRET_FILE", "mine"), ("COHORT_CERTIFICATE", "c"), ("COHORT_ENCRYPTION", "off")):
            with unittest.mock.patch.dict(os.environ, {name: value}):
                for flags in ((), self.remote("--hosts", "a")):
                    done = self.run_it("-n", 1, *flags, script=f'echo "${name}, $COHORT_SECRET_FILE"')
                    self.assertEqual(done.stdout, f"{value}, {'mine' if value == 'mine' else ''}\n")

    def test_uses_the_secret_file_of_the_user(self):
        secret = self.folder / "key"
        secret.write_text("0123456789abcdef")
        done = self.run_it("-n", 2, *self.remote("--hosts", "a", "--secret", "key"), script="echo $COHORT_SECRET_FILE")
        self.assertEqual(sorted(done.stdout.splitlines()), [f"[{rank}] {os.path.realpath(secret)}" for rank in range(2)])

    def test_refuses_invalid_commands(self):
        for flags, message in (
                ((), "-n: expected the number of ranks, got nothing"),
                (("-n", "0", "true"), "-n: expected a number from 1 to 4096, got '0'"),
                (("-n", "2"), "expected a program, got nothing"),
                (("-n", "2", "--host", "a", "true"), "--host: expected a flag of cohort run, or the program"),
                (("-n", "2", "--hosts", "a b", "true"), "--hosts: expected names such as a,b or a:2,b:2, got 'a b'"),
                (("-n", "2", "--hosts", "-oX", "true"), "--hosts: expected names"),
                (("-n", "2", "--hosts", "a:3", "true"), "--hosts: expected 2 ranks on all hosts together, got 3"),
                (("-n", "2", "--hosts", "a:2,b", "true"), "got 2 and a host without ranks"),
                (("-n", "2", "--min", "3", "true"), "--min: expected at most the number of ranks, 2, got 3"),
                (("-n", "2", "--max", "3", "true"), "--max: expected --min, and at least the number of ranks, 2, got 3"),
                (("-n",), "-n: expected a value, got nothing")):
            done = subprocess.run([*PROGRAM, *flags], capture_output=True, text=True, timeout=LONGEST)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)
        self.assertEqual(subprocess.run([*PROGRAM, "-n", "1", "/no/such"], capture_output=True, timeout=LONGEST).returncode, 127)
        self.assertIn("cohort run -n RANKS", subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, timeout=LONGEST).stdout)


if __name__ == "__main__":
    unittest.main()
