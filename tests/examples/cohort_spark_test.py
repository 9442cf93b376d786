# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib tcp
# tools: cohort
"""The launcher for Spark clusters, in local mode: numbers, files, outputs, restarts, and a training run."""
import csv
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

LAUNCHERS = pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "examples/launchers"
PROGRAM = pathlib.Path(os.environ["COHORT_BUILD_DIR"]) / "tools/cohort/cohort"
sys.path.insert(0, str(LAUNCHERS))
os.environ["PYTHONPATH"] = f"{LAUNCHERS}:{os.environ.get('PYTHONPATH', '')}"
os.environ["PYSPARK_PYTHON"] = sys.executable
import cohort_spark  # noqa: E402
import pyspark  # noqa: E402
import pyspark.sql  # noqa: E402

DOCUMENT = {
    "version": 1,
    "network": {"layers": [{"input": {"extents": [1, 4, 4]}}, {"dense": 8}, "relu", {"dense": 2}, "softmax_cross_entropy"]},
    "data": {"idx": {"images": "images.idx", "labels": "labels.idx", "classes": 2}},
    "training": {"batch": 8, "epochs": 3, "sharding": "local"},
    "optimizer": {"rule": {"sgd": {"learning_rate": 0.5}}},
    "output": {"model": "model.cohort", "report": "report.json"},
}

TABLE = {
    "version": 1, "backend": "reference",
    "network": {"layers": [{"input": [4]}, {"dense": {"units": 8, "name": "code"}}, "relu", {"dense": 2}, "softmax_cross_entropy"]},
    "data": {"table": {"file": "set by the launcher", "target": "kind", "inputs": ["x", "colour"]}},
    "normalise": {"inputs": "standardise"},
    "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"batch": 16, "epochs": 8},
}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


class writers(unittest.TestCase):
    def test_write_the_fields_of_a_table(self):
        values = (None, float("nan"), True, 2, 0.1, "a,b", datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30))
        self.assertEqual([cohort_spark._text(value) for value in values],
                         ["", "", "1", "2", "0.1", "a,b", "2024-02-29", "2024-02-29T12:30:00"])

    def test_name_the_columns_of_outputs(self):
        self.assertEqual(cohort_spark._column_names(["loss.high", "loss.low"]), ["high", "low"])
        self.assertEqual(cohort_spark._column_names(["dense_1"]), ["dense_1"])
        self.assertEqual(cohort_spark._column_names(["code.0", "code.1"]), ["code_0", "code_1"])
        self.assertEqual(cohort_spark._column_names(["a.yes", "b.yes"]), ["a_yes", "b_yes"])

    def test_write_rows_and_images(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            cohort_spark.write_csv([(1, "a"), (2.5, "b")], folder)
            self.assertEqual((folder / "part.csv").read_text(), "1,a\n2.5,b\n")
            cohort_spark.write_idx([([[1, 2], [3, 4], [5, 6]], 7), ([[0, 0], [0, 0], [0, 9]], 1)], folder)
            self.assertEqual((folder / "images.idx").read_bytes(), bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2,
                                                                          1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 9]))
            self.assertEqual((folder / "labels.idx").read_bytes(), bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 1]))
            with self.assertRaisesRegex(ValueError, r"example 1: expected an image of extents \(1, 1\), got \(1, 2\)"):
                cohort_spark.write_idx([([[1]], 0), ([[1, 2]], 0)], folder)


class launcher(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        cls.context = pyspark.SparkContext("local[2]", "cohort", conf=pyspark.SparkConf().set("spark.ui.enabled", "false"))
        cls.context.setLogLevel("OFF")

    @classmethod
    def tearDownClass(cls):
        cls.context.stop()

    def rows(self, parts=2):
        return self.context.parallelize([(k, k * k) for k in range(10)], parts)

    def test_sets_rank_variables_and_returns_outputs(self):
        script = ('echo "$COHORT_RANK of $COHORT_RANKS at $COHORT_JOIN, local $COHORT_LOCAL_RANK" > said; wc -l < part.csv >> said; '
                  'stat -c %a "$COHORT_SECRET_FILE" >> said; wc -c < "$COHORT_SECRET_FILE" >> said')
        result = cohort_spark.run(self.rows(), ["sh", "-c", script], outputs=["said"])
        self.assertEqual(result.starts, 1)
        self.assertRegex(result.outputs["said"].decode(), r"^0 of 2 at [^ ]+:\d+, local 0\n5\n600\n64\n$")

    def test_restarts_after_lost_ranks(self):
        lines = []
        script = 'echo "start $COHORT_RESTARTS $*"; [ $COHORT_RESTARTS = 1 ] && touch done || exit 75'
        result = cohort_spark.run(self.rows(), ["sh", "-c", script, "sh", "first"], outputs=["done"], restart_flags=["--resume"],
                                  on_line=lambda rank, said: lines.append((rank, said)))
        self.assertEqual((result.starts, result.outputs), (2, {"done": b""}))
        self.assertEqual(sorted(lines), [(rank, ["start 0 first"]) for rank in range(2)])
        killed = 'echo here; [ $COHORT_RANK = 0 ] || kill -9 $$; exit 75'
        with self.assertRaisesRegex(cohort_spark.RankFailed, "(?s)lost in each of 1 starts:\nrank 0 on .*here\nrank 1 on"):
            cohort_spark.run(self.rows(), ["sh", "-c", killed], restarts=0)

    def test_starts_a_killed_program_again_alone_if_the_ranks_may_change(self):
        with tempfile.TemporaryDirectory() as name:
            script = (f'cd {name}; echo "$COHORT_RESTARTS" >> starts$COHORT_RANK; '
                      'if [ $COHORT_RANK = 0 ] && [ ! -e killed ]; then touch killed; kill -9 $$; fi; '
                      'until [ -e killed ]; do sleep 0.05; done; [ $COHORT_RANK = 0 ] || echo model > "$OLDPWD/model"')
            result = cohort_spark.run(self.rows(), ["sh", "-c", script], outputs=["model"], environment={"COHORT_MIN_RANKS": "1"})
            self.assertEqual((result.starts, result.outputs), (1, {"model": b"model\n"}))
            self.assertEqual([(pathlib.Path(name) / f"starts{rank}").read_text() for rank in range(2)], ["0\n0\n", "0\n"])

    def check_a_killed_program(self, second_start):
        """Rank 1 is killed after it has written an output. `second_start`: what it does then. The output of rank 0 is the result."""
        with tempfile.TemporaryDirectory() as name:
            script = (f'if [ $COHORT_RANK = 1 ]; then [ -e {name}/killed ] && {second_start}; echo stale > model; touch {name}/killed; kill -9 $$; '
                      f'fi; until [ -e {name}/killed ]; do sleep 0.05; done; echo final > model')
            result = cohort_spark.run(self.rows(), ["sh", "-c", script], outputs=["model"], environment={"COHORT_MIN_RANKS": "1"})
            self.assertEqual((result.starts, result.outputs), (1, {"model": b"final\n"}))

    def test_does_not_restart_a_complete_training_if_a_program_was_started_again_too_late_to_join(self):
        self.check_a_killed_program("exit 75")

    def test_discards_the_outputs_of_a_killed_program(self):
        self.check_a_killed_program("exit")

    def test_reports_the_output_of_a_failed_rank_a_missing_program_and_too_few_slots(self):
        with self.assertRaisesRegex(cohort_spark.RankFailed, "(?s)rank 1 on .* has exited with status 3:\nthe disk is full$"):
            cohort_spark.run(self.rows(), ["sh", "-c", '[ $COHORT_RANK = 0 ] && exit 75; echo "the disk is full" >&2; exit 3'])
        with self.assertRaisesRegex(Exception, "no-such-program"):
            cohort_spark.run(self.rows(), ["no-such-program"], restarts=0)
        with self.assertRaisesRegex(ValueError, "3 partitions need as many slots at once, and the cluster has 2"):
            cohort_spark.run(self.rows(3), ["true"])

    def test_trains_on_the_partitions(self):
        draw = random.Random(1)
        examples = []
        for k in range(101):  # the partitions have different sizes
            label = k % 2
            examples.append(([[draw.randrange(100) + 100 * label for _ in range(4)] for _ in range(4)], label))
        with tempfile.TemporaryDirectory() as name:
            document = pathlib.Path(name) / "run.json"
            document.write_text(json.dumps(DOCUMENT))
            result = cohort_spark.run(self.context.parallelize(examples, 2), [PROGRAM, "train", document], write=cohort_spark.write_idx,
                                      outputs=["model.cohort", "report.json"], environment={"OMP_NUM_THREADS": "1"})
        report = json.loads(result.outputs["report.json"])
        self.assertEqual((report["communicator"], report["ranks"]), ("tcp", 2))
        self.assertGreater(len(result.outputs["model.cohort"]), 500)

    # ---- data frames -------------------------------------------------------------------
    def frame(self, count=120, seed=1):
        """Rows whose class depends on a number and a colour. Each of the two partitions lacks a colour."""
        session = pyspark.sql.SparkSession(self.context)
        draw = random.Random(seed)
        rows = []
        for k in range(count):
            x, colour = round(draw.uniform(90, 110), 3), draw.choice(["blue", "red"] if 2 * k < count else ["red", "dark, green"])
            rows.append((1000 + k, x, colour, "high" if x + 10 * (colour == "red") > 105 else "low"))
        return session.createDataFrame(self.context.parallelize(rows, 2), "id int, x double, colour string, kind string"), rows

    def test_trains_evaluates_and_applies_tables(self):
        frame, rows = self.frame()
        trained = cohort_spark.train(frame, TABLE, program=PROGRAM, environment=ONE_THREAD)
        self.assertEqual((trained.starts, trained.report["ranks"], trained.report["communicator"]), (1, 2, "tcp"))
        self.assertEqual(set(trained.metrics), {"accuracy", "loss"})
        self.assertEqual(len(trained.report["history"]["loss"]), 8)

        numbers = cohort_spark.evaluate(frame, TABLE, trained.model, program=PROGRAM, environment=ONE_THREAD)
        self.assertEqual((numbers["examples"], numbers["ranks"]), (120, 2))  # of both ranks
        self.assertGreater(numbers["accuracy"], 0.8)

        scores = cohort_spark.predict(frame.drop("kind"), TABLE, trained.model, key="id", program=PROGRAM, environment=ONE_THREAD)
        self.assertEqual(scores.dtypes, [("id", "int"), ("high", "double"), ("low", "double")])
        joined = scores.join(frame, "id").collect()
        self.assertEqual(len(joined), len(rows))
        accuracy = sum((row.high > row.low) == (row.kind == "high") for row in joined) / len(rows)
        self.assertAlmostEqual(accuracy, numbers["accuracy"], delta=1e-9)

        # One process gives the same numbers for all rows.
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            cohort_spark._TableWriter(frame.columns, {"run.json": json.dumps(TABLE).encode(), "m.safetensors": trained.model})(rows, folder)
            subprocess.run([PROGRAM, "predict", "run.json", "--model", "m.safetensors", "--key", "id", "--set", "data.table.file=part.csv",
                            "--output", "all.csv"], cwd=folder, check=True, capture_output=True, timeout=120)
            with open(folder / "all.csv", encoding="utf-8", newline="") as file:
                expected = {int(number): (float(high), float(low)) for number, high, low in list(csv.reader(file))[1:]}
        self.assertEqual({row.id: (row.high, row.low) for row in joined}, expected)

        codes = cohort_spark.features(frame, TABLE, trained.model, ["code"], key="id", program=PROGRAM, environment=ONE_THREAD)
        self.assertEqual(codes.columns, ["id", *(f"code_{k}" for k in range(8))])
        self.assertEqual(sorted(row.id for row in codes.select("id").collect()), [row[0] for row in rows])

        further = cohort_spark.train(frame, {**TABLE, "normalise": {}, "training": {"epochs": 0}}, model=trained.model, program=PROGRAM, environment=ONE_THREAD)
        self.assertEqual(further.report["checksum"], trained.report["checksum"])

    def test_refuses_frames_and_documents_without_a_table(self):
        frame, _ = self.frame(4)
        with self.assertRaisesRegex(ValueError, "expected a document with data.table, got data: 'mnist'"):
            cohort_spark.train(frame, {**TABLE, "data": "mnist"})
        with self.assertRaisesRegex(ValueError, "column pair: expected numbers, booleans, texts, dates or times, got array<int>"):
            cohort_spark.train(frame.selectExpr("array(id, id) as pair"), TABLE)
        with self.assertRaisesRegex(ValueError, "key: expected one of the columns id, x, colour, kind, got 'name'"):
            cohort_spark.predict(frame, TABLE, b"", key="name")
        with self.assertRaisesRegex(Exception, "predict has exited with status 1"):
            cohort_spark.predict(frame, TABLE, b"no model", key="id", program=PROGRAM)


if __name__ == "__main__":
    unittest.main()
