# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
"""cohort tune finds the best values of a document's fields, continues after kills, and counts runs that fail."""
import csv
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program  # noqa: E402

RATE = "optimizer.rule.sgd.learning_rate"
# The targets are 3x - 1: a linear network has the smallest loss at the largest rate that does not diverge.
RATES = [1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.3, 50, 1e30]
BEST = 0.3
DOCUMENT = {"version": 1, "backend": "reference",
            "network": {"layers": [{"input": [1]}, {"dense": 1}, "mean_squared_error"]},
            "data": {"table": {"file": "line.csv", "target": "y", "regression": True}},
            "optimizer": {"rule": {"sgd": {"learning_rate": 0.01}}}, "training": {"epochs": 9, "batch": 8}}
HALVING = ("--method", "halving", "--runs", len(RATES), "--minimise", "rmse")


class tune_command(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        rows = "".join(f"{x / 32 - 1},{3 * (x / 32 - 1) - 1}\n" for x in range(64))
        (self.folder / "line.csv").write_text("x,y\n" + rows, encoding="utf-8")
        self.write("run.json", DOCUMENT)
        self.write("space.json", {RATE: RATES})

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value), encoding="utf-8")

    def words(self, *flags, space="space.json", output="found"):
        return ("tune", "run.json", "--space", space, "--output", output, *flags)

    def tune(self, *flags, expect=0, environment=None, **more):
        return reference_program.run("cohort", *self.words(*flags, **more), expect=expect, cwd=self.folder,
                                     env=os.environ | (environment or {}))

    def results(self, output="found"):
        return json.loads((self.folder / output / "results.json").read_text(encoding="utf-8"))

    def table(self, output="found"):
        """The results without their durations, ordered."""
        keys = ("run", "epochs", "outcome", "metric", "values")
        return [tuple(str(row[key]) for key in keys) for row in self.results(output)["results"]]

    def refused(self, *flags, **more):
        return self.tune(*flags, expect=2, **more).stderr

    # ---- methods -------------------------------------------------------------------
    def test_successive_halving_finds_the_planted_rate(self):
        done = self.tune(*HALVING, "--parallel", 2)
        found = self.results()
        trained = [(row["epochs"], row["outcome"]) for row in found["results"]]
        self.assertEqual(sorted(epochs for epochs, _ in trained), [1] * 9 + [3] * 3 + [9])
        self.assertEqual((found["succeeded"], found["failed"], found["late"]), (12, 1, 0))
        best = max(found["results"], key=lambda row: row["epochs"])
        self.assertEqual((best["run"], best["values"]), (found["best"], {RATE: BEST}))
        self.assertIn(f"best: run {best['run']}, rmse {best['metric']!r} ({RATE}=0.3)", done.stdout)
        failed = [row for row in found["results"] if row["outcome"] == "failed"]
        self.assertEqual(failed[0]["values"], {RATE: 1e30})
        self.assertIn("finite", failed[0]["reason"])
        # Training the best document gives the model of the search, which trained it in three rungs.
        model = self.folder / "again.safetensors"
        reference_program.run("cohort", "train", "found/best.json", "--set", f"output.model={model}", cwd=self.folder)
        self.assertEqual(model.read_bytes(), (self.folder / "found/best.safetensors").read_bytes())
        left = {path.name for path in self.folder.glob("found/runs/*/*")}
        self.assertEqual(left, {"log", "report-0.json", "report-1.json", "report-2.json", "model-2.safetensors"})
        self.assertEqual(len(list(self.folder.glob("found/runs/*/model-*"))), 1)

    def test_random_points_are_a_sequence_without_repetitions(self):
        self.write("space.json", {RATE: {"log_uniform": [1e-3, 0.1]}, "training.batch": {"integer": [4, 6]},
                                  "optimizer.l2": {"uniform": [0, 0.1]}, "training.shuffle": [True, False]})
        flags = ("--minimise", "loss", "--set", "training.epochs=1")
        self.tune(*flags, "--runs", 3)
        first = self.results()["results"]
        done = self.tune(*flags, "--runs", 5)
        self.assertEqual(done.stdout.count("1 epochs: loss"), 2)  # continues the sequence
        rows = self.results()["results"]
        self.assertEqual(rows[:3], first)
        for row in rows:
            values = row["values"]
            self.assertTrue(1e-3 <= values[RATE] <= 0.1 and values["training.batch"] in (4, 5, 6) and 0 <= values["optimizer.l2"] <= 0.1)
        self.assertEqual(len({row["values"][RATE] for row in rows}), 5)
        self.tune(*flags, "--runs", 3, "--search-seed", 1, output="other")
        self.assertNotEqual(self.results("other")["results"][0]["values"], first[0]["values"])
        self.write("small.json", {"training.shuffle": [True, False]})
        self.assertIn("only 2 different points", self.tune(*flags, "--runs", 5, space="small.json", output="small").stderr)
        self.assertEqual(sorted(row["values"]["training.shuffle"] for row in self.results("small")["results"]), [False, True])

    def test_a_grid_has_all_combinations(self):
        self.write("space.json", {RATE: {"log_uniform": [0.001, 0.1], "grid": 3}, "training.epochs": [1, 2],
                                  "training.seed": {"integer": [1, 2], "grid": 5}})
        self.tune("--method", "grid", "--minimise", "rmse", "--parallel", 2)
        rows = self.results()["results"]
        self.assertEqual([list(row["values"].values()) for row in rows],
                         [list(point) for point in itertools.product([0.001, rows[4]["values"][RATE], 0.1], [1, 2], [1, 2])])
        self.assertAlmostEqual(rows[4]["values"][RATE], 0.01, delta=1e-12)
        self.assertEqual([row["epochs"] for row in rows], [1, 1, 2, 2] * 3)
        with (self.folder / "found/results.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        self.assertEqual(list(lines[0]), ["run", "epochs", "outcome", "rmse", "seconds", "reason", RATE, "training.epochs", "training.seed"])
        self.assertEqual([float(line["rmse"]) for line in lines], [row["metric"] for row in rows])

    def test_metrics_are_numbers_of_the_report_or_last_values_of_its_history(self):
        self.write("space.json", {"training.epochs": [1, 3]})
        self.tune("--method", "grid", "--maximise", "epoch")
        self.assertEqual([row["metric"] for row in self.results()["results"]], [1, 3])
        self.assertEqual(self.results()["best"], 1)
        self.assertRegex(self.refused("--method", "grid", "--minimise", "rmes", output="other"),
                         r"--minimise: expected a number of the report, one of rmse, .*loss.*validation loss; got 'rmes'")
        self.assertIn("another search", self.tune("--method", "grid", "--minimise", "rmse", "--set", "training.batch=4",
                                                  output="other", expect=1).stderr)  # before its first result, too
        self.tune("--method", "grid", "--minimise", "rmse", output="other")  # its runs are used

    def test_runs_use_flags_and_variables_of_the_search(self):
        self.write("space.json", {"training.epochs": [2]})
        self.tune("--method", "grid", "--minimise", "rmse", "--set", "training.batch=16", "--set", "output.model=mine.safetensors",
                  "--set", "output.tensorboard=board", environment={"COHORT_SET_TRAINING__SEED": "5", "COHORT_SET_TRAINING__EPOCHS": "7"})
        best = json.loads((self.folder / "found/best.json").read_text(encoding="utf-8"))
        self.assertEqual([best["training"][name] for name in ("batch", "seed", "epochs")], [16, 5, 2])
        self.assertEqual(best["output"]["model"], "mine.safetensors")
        self.assertFalse((self.folder / "mine.safetensors").exists())
        self.assertEqual(len(list(self.folder.glob("found/runs/0/tensorboard/*"))), 1)
        self.assertFalse((self.folder / "board").exists())
        report = json.loads((self.folder / "found/runs/0/report-0.json").read_text(encoding="utf-8"))
        self.assertEqual((report["epochs"], report["steps"]), (2, 6))

    # ---- interruptions -------------------------------------------------------------------
    def lines(self, output="found"):
        journal = self.folder / output / "journal"
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    def further(self, results):
        """Returns the condition that a search has a further number of results."""
        lines = max(self.lines(), 1) + results
        return lambda: self.lines() >= lines

    def stop(self, kind, condition, *flags):
        """Starts a search, and sends it a signal once a condition is true. Returns its status."""
        with subprocess.Popen([reference_program.COHORT, *map(str, self.words(*flags))], cwd=self.folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as job:
            end = time.monotonic() + reference_program.LONGEST
            while job.poll() is None and not condition():
                self.assertLess(time.monotonic(), end)
                time.sleep(0.002)
            job.send_signal(kind)
            return job.wait(reference_program.LONGEST)

    def test_continues_after_kills_without_a_loss_or_a_repetition(self):
        flags = (*HALVING, "--parallel", 2)
        self.tune(*flags, output="whole")
        self.assertEqual(self.stop(signal.SIGKILL, self.further(3), *flags), -signal.SIGKILL)
        self.assertEqual(self.stop(signal.SIGTERM, self.further(2), *flags), 75)
        self.assertEqual(self.stop(signal.SIGKILL, self.further(2), *flags), -signal.SIGKILL)
        done = self.tune(*flags)
        self.assertLessEqual(done.stdout.count(" epochs: "), 13 - 3 - 2 - 2)
        self.assertEqual(self.table(), self.table("whole"))
        self.assertEqual((self.folder / "found/best.safetensors").read_bytes(), (self.folder / "whole/best.safetensors").read_bytes())
        for run in range(len(RATES)):
            log = (self.folder / f"found/runs/{run}/log").read_text(encoding="utf-8")
            succeeded = sum(row["run"] == run and row["outcome"] == "succeeded" for row in self.results()["results"])
            self.assertEqual(len(re.findall(r"checksum", log)), succeeded, log)
        self.assertNotIn(" epochs: ", self.tune(*flags).stdout)  # complete

    def test_runs_of_an_interrupted_search_continue_from_their_checkpoints(self):
        self.write("space.json", {"training.epochs": [3000]})
        flags = ("--method", "grid", "--minimise", "rmse", "--set", "output.checkpoints=kept", "--set", "output.checkpoint_every=2000")
        self.assertEqual(self.stop(signal.SIGINT, lambda: any(self.folder.glob("found/runs/0/checkpoints/*")), *flags), 75)
        self.tune(*flags)
        self.assertIn("resumed from", (self.folder / "found/runs/0/log").read_text(encoding="utf-8"))
        self.tune(*flags, output="whole")
        self.assertEqual(self.table(), self.table("whole"))

    def test_ignores_and_counts_damaged_lines_of_the_journal(self):
        self.tune(*HALVING)
        table, journal = self.table(), self.folder / "found/journal"
        whole = journal.read_bytes()
        places = range(whole.index(b"\n") + 1, len(whole), 61)
        for place in places:
            journal.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1:])
            self.assertRegex(self.tune(*HALVING).stderr, "journal: [12] damaged lines are ignored")
            self.assertEqual(self.table(), table)
        journal.write_bytes(whole[:-5])  # as a full disk leaves it
        self.assertIn("1 damaged lines", self.tune(*HALVING).stderr)
        self.assertEqual((self.table(), journal.read_bytes().count(b"\n")), (table, whole.count(b"\n")))
        # Without its report, the run of a damaged line is trained again.
        for report in self.folder.glob("found/runs/*/report-0.json"):
            report.write_text("{", encoding="utf-8")
        lines = whole.splitlines(keepends=True)
        journal.write_bytes(lines[0] + b"\xff\n" + b"".join(lines[2:]))
        self.assertEqual(self.tune(*HALVING).stdout.count(" epochs: "), 1)
        self.assertEqual(self.table(), table)
        journal.write_bytes(b"?" + whole)
        self.assertIn("got a damaged line", self.tune(*HALVING, expect=1).stderr)
        self.tune(*HALVING, "--restart")
        self.assertEqual(self.table(), table)

    # ---- failures -------------------------------------------------------------------
    def test_runs_beyond_the_deadline_are_stopped_and_counted(self):
        self.write("space.json", {"training.epochs": [1, 10_000_000, 2]})
        flags = ("--method", "grid", "--minimise", "rmse", "--parallel", 2)
        self.tune(*flags, "--deadline", 8)
        found = self.results()
        self.assertEqual((found["succeeded"], found["failed"], found["late"], found["best"]), (2, 0, 1, 2))
        self.assertEqual(found["results"][1]["reason"], "longer than 8 s")
        self.assertNotIn(" epochs: ", self.tune(*flags, "--deadline", 8).stdout)
        self.assertEqual(self.tune(*flags, "--deadline", 4, "--retry").stdout.count(" epochs: "), 1)
        self.assertEqual(self.results()["results"][1]["reason"], "longer than 4 s")

    def test_ranks_the_metrics_of_the_restored_parameters(self):
        falling = {"map": {"values": [{"from": 0, "value": 0.3}, {"from": 3, "value": 1.2}]}}  # which diverges after epoch 3
        self.write("run.json", {**DOCUMENT, "optimizer": {"rule": {"sgd": {"learning_rate": falling}}}})
        self.write("space.json", {"training.early_stopping": [{"patience": 9, "restore_best": True}, None]})
        self.tune("--method", "grid", "--minimise", "validation loss")
        report = json.loads((self.folder / "found/runs/0/report-0.json").read_text(encoding="utf-8"))
        best = min(report["history"]["validation loss"])
        self.assertEqual(report["restored"], {"epoch": 1 + report["history"]["validation loss"].index(best), "rmse": report["rmse"],
                                              "validation loss": best})
        results = self.results()["results"]
        self.assertEqual(results[0]["metric"], best)
        self.assertGreater(results[1]["metric"], 10 * best)  # of the last epoch
        self.assertNotIn("restored", json.loads((self.folder / "found/runs/1/report-0.json").read_text(encoding="utf-8")))

    def test_ends_although_its_parent_ignores_the_ends_of_processes(self):
        self.write("space.json", {RATE: [0.3]})
        done = subprocess.run([reference_program.COHORT, *self.words("--method", "grid", "--minimise", "rmse")], cwd=self.folder, timeout=60,
                              capture_output=True, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_reports_that_no_run_succeeded(self):
        self.write("space.json", {RATE: [1e30, 1e35]})
        self.assertIn("expected a run that succeeds, got none; found/results.csv lists the reasons",
                      self.tune("--method", "grid", "--minimise", "rmse", expect=1).stderr)
        self.assertEqual((self.results()["best"], self.results()["failed"]), (None, 2))

    def test_refuses_invalid_searches_before_the_first_run(self):
        random = ("--runs", 2, "--minimise", "rmse")
        grid = ("--method", "grid", "--minimise", "rmse")
        for flags, space, text in (
                (("--runs", 2), {RATE: [1]}, "expected either --maximise METRIC or --minimise METRIC, got none"),
                ((*random, "--maximise", "r2"), {RATE: [1]}, "got both"),
                (("--minimise", "rmse"), {RATE: [1]}, "--runs: expected the number of runs, got none"),
                ((*grid, "--runs", 3), {RATE: [1]}, "--runs: expected no number"),
                ((*random, "--method", "halvin"), {RATE: [1]}, "the nearest name is halving"),
                ((*random, "--parallel", 0), {RATE: [1]}, "--parallel: expected a number from 1 to 1024, got '0'"),
                (random, {}, "space.json:1:1"),
                (random, {"training.bathc": [1]}, "--space, training.bathc=1"),
                (random, {"training.batch": [8, -1]}, "--space, training.batch=-1"),
                (random, {"training.batch": 8}, "expected a list of values, or"),
                (random, {"training.batch": []}, "expected at least one value"),
                (random, {RATE: {"uniform": [0, 1], "integer": [0, 1]}}, "expected a list of values, or"),
                (random, {RATE: {"uniform": [1, 0]}}, "the smaller number first"),
                (random, {RATE: {"log_uniform": [0, 1]}}, "numbers above 0"),
                (random, {RATE: {"integer": [0.5, 1]}}, "an integer"),
                (random, {RATE: {"uniform": [0]}}, "a list of two numbers"),
                (random, {RATE: {"uniform": [-1e308, 1e308]}}, "a finite interval"),
                (grid, {RATE: {"uniform": [0, 1]}}, "\"grid\": N beside the interval"),
                (grid, {RATE: {"uniform": [0, 1], "grid": 2000}, "optimizer.l2": {"uniform": [0, 1], "grid": 2000}}, "too many points"),
                (random, {"output.model": ["a", "b"]}, "--space: output.model: expected a field that the search does not set itself"),
                (HALVING, {"training.epochs": [1, 2]}, "--space: training.epochs")):
            with self.subTest(text=text, space=space):
                self.write("space.json", space)
                self.assertIn(text, self.refused(*flags))
                self.assertFalse((self.folder / "found/runs").exists())

    def test_refuses_the_folder_of_another_search(self):
        self.write("space.json", {"training.epochs": [1]})
        flags = ("--runs", 1, "--minimise", "rmse")
        self.tune(*flags)
        other = ("--runs", 1, "--minimise", "loss")
        self.assertIn("another search", self.tune(*other, expect=1).stderr)
        self.assertIn("expected --search-seed 0; use another --output, or --restart, got 1", self.tune(*flags, "--search-seed", 1, expect=1).stderr)
        self.assertIn("got another document", self.tune(*flags, "--set", "training.batch=4", expect=1).stderr)
        self.tune(*other, "--restart")
        (self.folder / "tensorboard/runs").mkdir(parents=True)
        self.assertIn("runs, but no journal", self.tune(*flags, "--restart", output="tensorboard", expect=1).stderr)


if __name__ == "__main__":
    unittest.main()
