# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib mpi tcp
# ranks: 2
"""cohort train trains as a document describes: the bits of the C++ program, tables, texts, and the precedence of overrides."""
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import struct
import sys
import tempfile
import unittest
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import lenet_mnist_program as lenet  # noqa: E402
import reference_program  # noqa: E402

LAYERS = [{"input": [1, 28, 28]},
          {"conv2d": {"filters": 20, "kernel": 5}}, "relu", {"max_pool": {"window": 2}},
          {"conv2d": {"filters": 50, "kernel": 5, "stride": 2}}, "relu", {"max_pool": {"window": 2}},
          {"dense": 200}, "relu",
          {"dense": 10}, "softmax_cross_entropy"]
OPTIMIZER = {"rule": {"adagrad": {"learning_rate": 0.02}}, "l2": 0.0005}
SMALL = {"version": 1, "network": {"layers": [{"input": [1, 28, 28]}, "flatten", {"dense": 10}, "softmax_cross_entropy"]},
         "data": {"digits": {"train": 128, "test": 64}}}


class train_command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        cls.digits = lenet.write_digits(os.path.join(cls.folder, "digits"), train=640)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def write(self, document, name="run.json"):
        path = os.path.join(self.folder, name)
        pathlib.Path(path).write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return path

    def run_it(self, *flags, **how):
        how.setdefault("cwd", self.folder)
        environment = os.environ | how.pop("environment", {})
        return reference_program.run("cohort", "train", *flags, env=environment, **how)

    def report(self, document, *flags, **how):
        path = os.path.join(self.folder, "results.json")
        done = self.run_it(self.write(document), *flags, "--set", f"output.report={path}", **how)
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8")), done

    def effective(self, *flags, document=None, **how):
        path = self.write(document or SMALL)
        return json.loads(self.run_it(path, "--print-config", *flags, **how).stdout)

    # ---- training ------------------------------------------------------------------------------------------
    def test_gives_the_same_checksum_as_the_cpp_program(self):
        document = {"version": 1, "network": {"layers": LAYERS}, "optimizer": OPTIMIZER,
                    "data": {"mnist": {"folder": self.digits}}}
        for strategy in ("allreduce", "averaging", "sharing"):
            with self.subTest(strategy):
                flags = ("--data", self.digits, "--epochs", "2", "--ranks", "2", "--strategy", strategy)
                expected, _ = lenet.report(self.folder, *flags)
                ours, done = self.report(document, "--set", "training.epochs=2", "--ranks", "2", "--set", f"strategy={strategy}")
                for same in ("checksum", "accuracy", "loss", "steps", "strategy", "ranks"):
                    self.assertEqual(ours[same], expected[same], same)
                self.assertIn(f"checksum {ours['checksum']}", done.stdout)

    def test_gives_the_same_checksum_under_mpirun_as_with_threads(self):
        threads, _ = self.report(SMALL, "--ranks", "2")
        processes, done = self.report(SMALL, before=lenet.under_mpirun(2))
        self.assertEqual((processes["communicator"], processes["ranks"]), ("mpi", 2))
        self.assertEqual(processes["checksum"], threads["checksum"])
        self.assertEqual(done.stdout.count("checksum"), 1)

    def test_saves_a_model_that_another_document_continues(self):
        model = os.path.join(self.folder, "small.safetensors")
        first, _ = self.report(SMALL, "--set", f"output.model={model}")
        other = {**SMALL, "network": {"model": model}}
        again, _ = self.report(other, "--set", "training.epochs=0")
        self.assertEqual(again["checksum"], first["checksum"])
        fresh, _ = self.report(other, "--set", "training.epochs=0", "--set", "network.parameters=false")
        initial, _ = self.report(SMALL, "--set", "training.epochs=0")
        self.assertEqual(fresh["checksum"], initial["checksum"])

    def test_starts_from_parameters_with_another_optimizer(self):
        model = os.path.join(self.folder, "adam.safetensors")
        adam = {**SMALL, "optimizer": {"rule": {"adam": {"learning_rate": 0.01}}}}
        first, _ = self.report(adam, "--set", f"output.model={model}", "--set", "training.epochs=2")
        from_model = {"version": 1, "network": {"model": model}, "data": SMALL["data"]}
        rate = {"exponential": {"initial": 0.5, "factor": 0.1, "by": "epoch"}}
        sgd = {**from_model, "optimizer": {"rule": {"sgd": {"learning_rate": rate}}}}
        made, _ = self.report(sgd, "--set", "training.epochs=0")
        self.assertEqual((made["checksum"], made["epochs"]), (first["checksum"], 0))
        made, _ = self.report(sgd, "--set", "training.epochs=1")
        self.assertEqual((made["steps"], made["epochs"]), (4, 1))
        # The schedule begins again, so a fixed rate that equals the rate of epoch 0 gives the same bits.
        fixed, _ = self.report({**from_model, "optimizer": {"rule": {"sgd": {"learning_rate": 0.5}}}}, "--set", "training.epochs=1")
        self.assertEqual(made["checksum"], fixed["checksum"])

    def test_continues_with_the_optimizer_state_if_set(self):
        model = os.path.join(self.folder, "state.safetensors")
        adam = {**SMALL, "optimizer": {"rule": {"adam": {"learning_rate": 0.01}}}}
        whole, _ = self.report(adam, "--set", "training.epochs=3")
        self.report(adam, "--set", "training.epochs=2", "--set", f"output.model={model}")
        further = {**adam, "network": {"model": model}}
        rest, _ = self.report(further, "--set", "training.epochs=1", "--set", "network.optimizer_state=true")
        self.assertEqual((rest["checksum"], rest["epochs"]), (whole["checksum"], 3))
        anew, _ = self.report(further, "--set", "training.epochs=1")
        self.assertNotEqual(anew["checksum"], whole["checksum"])
        self.assertEqual(anew["epochs"], 1)
        other = {**further, "optimizer": {"rule": "sgd"}}
        self.assertIn("cannot read the optimizers' state", self.refused("--set", "network.optimizer_state=true", document=other, status=1))

    def rows(self, name, colours, count=200, seed=1):
        """A table whose class depends on a number, which is far from 0, and on a colour."""
        numbers = random.Random(seed)
        lines = ["x,colour,kind"]
        for _ in range(count):
            x, colour = numbers.uniform(90, 110), numbers.choice(colours)
            lines.append(f"{x:.4f},{colour},{'high' if x + 10 * (colour == colours[0]) > 105 else 'low'}")
        return self.write("\n".join(lines) + "\n", name)

    def table(self, file, **more):
        return {"version": 1, "backend": "reference",
                "network": {"layers": [{"input": [3]}, {"dense": 8}, "relu", {"dense": 2}, "softmax_cross_entropy"]},
                "data": {"table": {"file": file, "target": "kind"}}, "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}},
                "training": {"epochs": 10}, **more}

    # ---- tables of the ranks -------------------------------------------------------------------------------
    def on_two_ranks(self, document, tables, *flags, expect=0):
        """Trains on one table for each rank, in folders of their own. Returns the finished process, and the path of the model."""
        for rank, text in enumerate(tables):
            pathlib.Path(self.folder, f"rank{rank}").mkdir(exist_ok=True)
            self.write(text, f"rank{rank}/part.csv")
        path = self.write(document, "local.json")
        script = f'cd rank$COHORT_RANK && exec "$0" train {path} --set training.sharding=local --set output.model=local.safetensors "$@"'
        done = reference_program.run("cohort", "run", "-n", 2, "sh", "-c", script, reference_program.COHORT, *flags, expect=expect,
                                     cwd=self.folder)
        return done, os.path.join(self.folder, "rank0/local.safetensors")

    def preparation(self, model):
        return [line for line in reference_program.run("cohort", "describe", model).stdout.splitlines() if "target" in line or "colour" in line]

    def test_ranks_with_tables_of_their_own_share_one_preparation(self):
        header, *rows = pathlib.Path(self.rows("all.csv", ["blue", "green", "red"])).read_text(encoding="utf-8").splitlines()
        halves = [[row for row in rows if ("green" in row) == is_green] for is_green in (False, True)]
        tables = ["\n".join([header, *half]) + "\n" for half in halves]
        layers = [{"input": [4]}, {"dense": 8}, "relu", {"dense": 2}, "softmax_cross_entropy"]
        scaled = {"normalise": {"inputs": "standardise"}, "network": {"layers": layers}}
        whole = os.path.join(self.folder, "whole.safetensors")
        self.report(self.table("all.csv", **scaled, output={"model": whole}))
        done, model = self.on_two_ranks(self.table("part.csv", **scaled), tables)
        self.assertIn("2 ranks over tcp", done.stdout)
        self.assertEqual(self.preparation(model), self.preparation(whole))
        self.assertIn("high, low", "".join(self.preparation(model)))
        # The model applies to the rows of all ranks.
        evaluated = reference_program.run("cohort", "evaluate", self.write(self.table("all.csv", **scaled), "all.json"), "--model", model, "--set",
                                          "training.sharding=local", cwd=self.folder)
        self.assertIn("accuracy", evaluated.stdout)
        document, report = os.path.join(self.folder, "local.json"), os.path.join(self.folder, "evaluated.json")
        flags = (document, "--model", model, "--report", report)

        def examples():
            return json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["examples"]
        of_ranks = []
        for rank in range(2):
            reference_program.run("cohort", "evaluate", *flags, cwd=os.path.join(self.folder, f"rank{rank}"))
            of_ranks.append(examples())
        script = 'cd rank$COHORT_RANK && exec "$0" evaluate "$@" --set training.sharding=local'
        reference_program.run("cohort", "run", "-n", 2, "sh", "-c", script, reference_program.COHORT, *flags, cwd=self.folder)
        self.assertEqual(examples(), sum(of_ranks))

    def test_ranks_with_tables_that_do_not_fit_together_are_refused(self):
        numbers, texts = "x,colour,kind\n1,7,a\n2,8,b\n", "x,colour,kind\n1,red,a\n2,blue,b\n3,red,a\n"
        document = self.table("part.csv")
        document["data"]["table"]["test_fraction"] = 0
        done, _ = self.on_two_ranks(document, [numbers, texts], expect=1)
        self.assertIn("a column contains texts on one rank and numbers on another one (part.csv, column colour): expected the same type on all "
                      "ranks; format.text_columns and format.number_columns set it, got numbers on rank 0, texts on rank 1", done.stderr)
        done, _ = self.on_two_ranks(document, [texts, "x,colour,kind\n"], expect=1)
        self.assertRegex(done.stderr, r"rank 1: the table has no rows \(part.csv\): expected at least 1 row, got 0")
        done, _ = self.on_two_ranks(document, [texts, texts], "--set", "data.table.impute=mean", expect=1)
        self.assertIn("data.table.impute): expected constant, refuse, or a step of data.table.transform, which is fitted to all ranks' rows, "
                      "got mean", done.stderr)
        self.write(texts, "part.csv")
        self.assertIn("expected global for ranks that are threads, which read the same table, got local",
                      self.refused("--ranks", "2", "--set", "training.sharding=local", document=document))

    def test_normalises_data_for_a_model_without_a_normalisation(self):
        model, second = (os.path.join(self.folder, f"{name}.safetensors") for name in ("raw", "scaled"))
        table = self.rows("colours.csv", ["blue", "red"])
        self.report(self.table(table, output={"model": model}), "--set", "training.epochs=0")
        scaled = {"normalise": {"inputs": "standardise"}}
        whole, _ = self.report(self.table(table, **scaled))
        made, _ = self.report(self.table(table, network={"model": model}, **scaled), "--set", f"output.model={second}")
        self.assertEqual(made["checksum"], whole["checksum"])
        again, _ = self.report(self.table(table, network={"model": second}), "--set", "training.epochs=0")
        self.assertEqual((again["checksum"], again["accuracy"]), (made["checksum"], made["accuracy"]))
        refused = self.refused(document=self.table(table, network={"model": second}, **scaled), status=1)
        self.assertRegex(refused, r"own \(run\.json:\d+:\d+, normalise\): expected")
        refused = re.sub(r"run\.json:\d+:\d+, ", "", refused)
        self.assertEqual(refused, "cohort train: the document sets a normalisation, but the model's parameters were trained with the "
                         "model's own (normalise): expected none, or network.parameters: false, got scaled.safetensors, which "
                         "contains a normalisation\n")
        fresh, _ = self.report(self.table(table, network={"model": second, "parameters": False}, **scaled))
        self.assertEqual(fresh["checksum"], whole["checksum"])

    def test_encodes_a_table_with_the_encoder_of_the_model(self):
        model = os.path.join(self.folder, "table.safetensors")
        known, other = self.rows("known.csv", ["blue", "red"]), self.rows("other.csv", ["blue", "green"], seed=2)
        self.report(self.table(known, output={"model": model}))
        further = lambda file, **more: self.table(file, network={"model": model}, **more)
        self.assertIn('a text is not in the vocabulary (', self.refused(document=further(other), status=1))
        again, _ = self.report(further(known, output={"model": model}), "--set", "training.epochs=1")
        self.assertEqual(again["epochs"], 1)
        self.assertIn('a text is not in the vocabulary (', self.refused(document=further(other), status=1))  # the saved model still has the encoder
        learned = lambda field, value: self.refused(f"--set=data.table.{field}={value}", document=further(known), status=1).replace(
            f"(--set data.table.{field}={value}, ", "(")
        sentence = "cohort train: the document's table settings differ from those of the model's encoder (data.table."
        self.assertEqual(learned("target", "colour"), sentence + "target): expected kind, got colour\n")
        self.assertEqual(learned("regression", "true"), sentence + "regression): expected false, got true\n")
        self.assertEqual(learned("inputs", '["colour"]'), sentence + "inputs): expected x, colour, or no such field, got colour\n")
        self.assertEqual(learned("indexed", '["colour"]'), sentence + "indexed): expected none, or no such field, got colour\n")
        self.assertEqual(learned("other", "true"), sentence + "other): expected false, got true\n")
        self.assertEqual(learned("impute", "mean"), sentence + "impute): expected no such field, because the model replaces no missing "
                         "numbers, got a replacement\n")
        self.assertEqual(self.refused("--set", "data=digits", document=further(known), status=1),
                         "cohort train: the model was trained on the rows of a table (--set data=digits, data): expected table, or for a new training "
                         "network.parameters: false, got another data set\n")
        fresh, _ = self.report(further(other), "--set", "network.parameters=false")
        self.assertGreater(fresh["accuracy"], 0)

    def people(self, name, count=300, seed=1, bad=()):
        numbers = random.Random(seed)
        lines = ["age,height,weight,city,answer"]
        for _ in range(count):
            age, height, weight = numbers.randint(0, 90), numbers.randint(150, 200), numbers.randint(45, 120)
            answer = "yes" if weight / (height / 100) ** 2 > 27 else "no"
            lines.append(f"{age},{height if numbers.random() < 0.9 else ''},{weight},{numbers.choice(['Rome', 'Oslo'])},{answer}")
        return self.write("\n".join(lines + list(bad)) + "\n", name)

    PIPELINE = {"schema": [{"name": "age", "type": "integer", "lowest": 0, "highest": 130}, {"name": "height"}, {"name": "weight"},
                           {"name": "city", "type": "text"}, {"name": "answer", "type": "category", "values": ["no", "yes"]}],
                "steps": [{"filter": {"keep": "age >= 18"}}, {"impute": {"columns": ["height"], "with": "median"}},
                          {"derive": {"column": "bmi", "formula": "weight / pow(height / 100, 2)"}},
                          {"categories": {"columns": ["city"]}}, {"one_hot": {"columns": ["city"]}},
                          {"normalise": {"columns": ["age", "height", "weight", "bmi"]}}]}

    def prepared(self, file, **more):
        return {"version": 1, "backend": "reference",
                "network": {"layers": [{"input": [6]}, {"dense": 8}, "relu", {"dense": 2}, "softmax_cross_entropy"]},
                "data": {"table": {"file": file, "target": "answer", "transform": self.PIPELINE}},
                "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"epochs": 40}, **more}

    def test_applies_the_pipeline_to_the_rows_of_a_table(self):
        model = os.path.join(self.folder, "prepared.safetensors")
        file = self.people("people.csv")
        made, done = self.report(self.prepared(file, output={"model": model}))
        self.assertGreater(made["accuracy"], 0.9)
        adults = sum(1 for line in open(file) if line[0].isdigit() and int(line.split(",")[0]) >= 18)
        self.assertEqual((made["removed_rows"], made["skipped_rows"]), (300 - adults, 0))
        self.assertIn(f"rows: 300 read, {300 - adults} removed by filters, 0 skipped", done.stdout)
        # The model prepares other rows by the steps that it has learned, also if the document has no
        # pipeline.
        second = self.people("second.csv", seed=2)
        data = {"table": {"file": second, "target": "answer", "test_fraction": 0}}
        known, _ = self.report(self.prepared(second, network={"model": model}, data=data), "--set", "training.epochs=1")
        given, _ = self.report(self.prepared(second, network={"model": model}), "--set", "training.epochs=1",
                               "--set", "data.table.test_fraction=0")
        self.assertEqual(known["checksum"], given["checksum"])
        other = {**self.PIPELINE, "steps": self.PIPELINE["steps"][1:]}
        refused = lambda pipeline, started: self.refused(
            "--set", f"data.table.transform={json.dumps(pipeline)}", status=1, document=self.prepared(second, network={"model": started}))
        self.assertEqual(refused(other, model), "cohort train: the document's pipeline differs from the model's (--set data.table.transform=…, "
                         "data.table.transform): expected the pipeline of the model, or no such field, got another pipeline\n")
        plain = os.path.join(self.folder, "plain.safetensors")
        self.report(self.table(self.rows("plain.csv", ["blue", "red"]), output={"model": plain}), "--set", "training.epochs=0")
        self.assertIn("expected no such field, because the model has none, got another pipeline", refused(other, plain))

    def test_reports_rows_that_do_not_match_the_schema(self):
        file = self.people("bad.csv", bad=["140,170,70,Oslo,no", "30,170,70,Oslo,maybe"])
        # The first column has no missing value, so each row is either of the training or of the test rows.
        refused = self.refused(document=self.prepared(file), status=1)
        self.assertRegex(refused, "bad.csv, column (age|answer), row 30[12]")
        made, done = self.report(self.prepared(file), "--set", "data.table.bad=skip")
        self.assertEqual(made["skipped_rows"], 2)
        self.assertIn("row 301", done.stderr)
        self.assertIn("row 302", done.stderr)
        again = self.people("bad.csv")
        clean, _ = self.report(self.prepared(again))
        self.assertEqual(clean["skipped_rows"], 0)

    def test_refuses_a_table_without_a_row_that_matches_the_schema(self):
        model = os.path.join(self.folder, "matching.safetensors")
        self.report(self.prepared(self.people("good.csv"), output={"model": model}), "--set", "training.epochs=1")
        none = self.write("age,height,weight,city,answer\n" + 3 * "140,170,70,Oslo,no\n", "none.csv")
        learned = self.prepared("good.csv", network={"model": model}, data={"table": {"file": "good.csv", "target": "answer"}})
        sentence = "expected at least 1 row, got all 3 rows skipped; the first: "
        for fields in ((f"file={none}", "test_fraction=0"), (f"test_file={none}",)):
            flags = [one for field in (*fields, "bad=skip") for one in ("--set", f"data.table.{field}")]
            refused = self.refused(*flags, document=learned, status=1, cwd=self.folder)
            self.assertIn(f"cohort train: no row of the table can be used (none.csv): {sentence}", refused)
            self.assertIn("column age, row 1", refused)
        young = self.write("age,height,weight,city,answer\n" + "140,170,70,Oslo,no\n" + 2 * "4,90,20,Oslo,no\n", "young.csv")
        self.assertIn("expected at least 1 row, got 1 of 3 rows skipped and 2 removed by filters; the first: ", self.refused(
            "--set", f"data.table.test_file={young}", "--set", "data.table.bad=skip", document=learned, status=1, cwd=self.folder))

    def test_refuses_invalid_pipelines_before_it_reads_rows(self):
        step = lambda one: self.refused("--set", f'data.table.transform={{"steps": [{json.dumps(one)}]}}',
                                        document=self.prepared("no-such.csv"))
        self.assertIn('data.table.transform.steps[0].filter.kep', step({"filter": {"kep": "age > 1"}}).replace("$.", ""))
        self.assertIn("weigth", step({"drop": {"columns": ["weigth"]}}))
        self.assertIn("data.table.transform.steps[0]): expected a step that prepares single rows",
                      step({"group_by_key": {"keys": ["city"]}}))
        self.assertIn("data.table.format): expected no columns", self.refused(
            "--set", 'data.table.format.columns=["a"]', document=self.prepared("no-such.csv")))

    def test_resuming_requires_the_pipeline_of_the_checkpoint(self):
        file = self.people("resumed_people.csv")
        with tempfile.TemporaryDirectory() as kept:
            flags = ("--set", f"output.checkpoints={kept}", "--set", "output.checkpoint_every=4")
            self.report(self.prepared(file), "--set", "training.epochs=1", *flags)
            self.report(self.prepared(file), "--set", "training.epochs=2", "--resume", *flags)
            self.people("resumed_people.csv", seed=5)
            refused = self.refused("--resume", *flags, document=self.prepared(file), status=1).replace(kept, "KEPT")
        self.assertEqual(refused, "cohort train: the table's pipeline differs from the pipeline of the checkpoint (KEPT): expected the "
                         "table of the run that wrote the checkpoint, got resumed_people.csv\n")

    def test_resuming_requires_the_normalisation_of_the_checkpoint(self):
        file = self.rows("normalised.csv", ["blue", "red"])
        for saved in ("none", "standardise", "min_max"):
            with self.subTest(saved), tempfile.TemporaryDirectory() as kept:
                flags = ("--set", f"output.checkpoints={kept}", "--set", "output.checkpoint_every=4")
                scaled = lambda how: self.table(file, normalise={"inputs": how})
                self.report(scaled(saved), "--set", "training.epochs=1", *flags)
                self.report(scaled(saved), "--set", "training.epochs=2", "--resume", "--ranks", "3", *flags)
                for other in {"none", "standardise", "min_max"} - {saved}:
                    refused = self.refused("--resume", *flags, document=scaled(other), status=1)
                    value = lambda how: "input 0: not rescaled" if how == "none" else r"input 0: scale \S+ and offset \S+ in channel 0"
                    self.assertRegex(refused, rf"cohort train: the document's normalise, or its data, differs from that of the checkpoint "
                                     rf"\({kept}\): expected {value(saved)}, got {value(other)}\n")

    def test_resuming_requires_the_table_of_the_checkpoint(self):
        file = self.rows("resumed.csv", ["blue", "red"])
        with tempfile.TemporaryDirectory() as kept:
            flags = ("--set", f"output.checkpoints={kept}", "--set", "output.checkpoint_every=2")
            self.report(self.table(file), "--set", "training.epochs=1", *flags)
            self.rows("resumed.csv", ["blue", "green"])
            refused = self.refused("--resume", *flags, document=self.table(file), status=1).replace(kept, "KEPT")
        self.assertEqual(refused, "cohort train: the table's encoder differs from the encoder of the checkpoint (KEPT): expected the "
                         "table of the run that wrote the checkpoint, got resumed.csv\n")

    def test_writes_tensorboard_events_and_an_html_report(self):
        board, page = pathlib.Path(self.folder, "board"), pathlib.Path(self.folder, "page.html")
        self.run_it(self.write(SMALL), "--set", f"output.tensorboard={board}", "--set", f"output.html_report={page}")
        self.assertEqual([file.name.startswith("events.out.tfevents.") for file in board.iterdir()], [True])
        text = page.read_text(encoding="utf-8")
        self.assertIn('"loss":[["loss of the epoch",', text)
        for metric in ("validation loss", "accuracy"):  # one point: of the first epoch
            self.assertRegex(text, rf'\["{metric}",[-0-9.e]+,\[\[[-0-9.e,]+\]\]\]')
            self.assertIn(f"validation/{metric.removeprefix('validation ')}".encode(), next(board.iterdir()).read_bytes())

    def test_refuses_unwritable_outputs_before_it_trains(self):
        late = ("--set", "data.idx.images=/no/such", "--set", "data.idx.labels=/no/such", "--set", "data.idx.test_images=/no/such",
                "--set", "data.idx.test_labels=/no/such")  # the data is read later, otherwise it would be the error
        refused = lambda field, path: self.refused(*late, "--set", f"output.{field}={path}")
        sentence = "expected a folder that can be written, got "
        self.assertEqual(refused("model", "/no/such/a.safetensors"), f"cohort train: output.model: {sentence}'/no/such': No such file or "
                         "directory\n")
        self.assertEqual(refused("report", "/no/such/a.json"), f"cohort train: output.report: {sentence}'/no/such': No such file or "
                         "directory\n")
        file = self.write("", "file")
        self.assertEqual(refused("checkpoints", f"{file}/kept").replace(self.folder + "/", ""),
                         f"cohort train: output.checkpoints: {sentence}'file': Not a directory\n")
        link = os.path.join(self.folder, "link")
        os.symlink("/no/such", link)
        for path in (link, f"{link}/kept"):
            self.assertEqual(refused("checkpoints", path), f"cohort train: output.checkpoints: {sentence}'link': No such file or "
                             "directory\n")
        self.assertEqual(refused("model", self.folder + "/"), "cohort train: output.model: expected a file, got the folder ''\n")
        self.assertIn("cannot open", self.refused(*late, "--set", f"output.checkpoints={self.folder}/new/folder", status=1))

    def test_preflight_checks_hosts_and_run(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--ranks", "2", "--preflight", "--set", f"output.checkpoints={folder}/kept")
            done = self.run_it(self.write(SMALL), *flags)
            for part in ("preflight: hosts of 2 ranks (threads)\n", "latency", "preflight: the run on 2 ranks (threads)\n"):
                self.assertIn(part, done.stderr)
            self.assertNotIn("problem", done.stderr)
            flags = ("--ranks", "2", "--preflight", "--set", f"output.checkpoints={folder}/new")
            full = self.run_it(self.write(SMALL), *flags, "--set", "output.keep=1000000000", expect=1)
            self.assertRegex(full.stderr, rf"problem: rank 0 \(.*\): {folder} has \d+ MB free, expected \d+ MB; delete files there\n")
            self.assertNotIn("epoch", full.stdout)

    def test_check_checks_hosts_and_run_without_training(self):
        path, board = self.write(SMALL), os.path.join(self.folder, "not_written")
        done = reference_program.run("cohort", "check", path, "--ranks", "2", "--set", f"output.tensorboard={board}", cwd=self.folder)
        for part in ("preflight: hosts of 2 ranks (threads)\n", "latency", "preflight: the run on 2 ranks (threads)\n"):
            self.assertIn(part, done.stderr)
        self.assertRegex(done.stdout, r"^data: synthetic digits, 128 training and 64 test examples\n$")
        self.assertFalse(os.path.exists(board))
        self.assertIn("$.training.batch", reference_program.run("cohort", "check", path, "--set", "training.batch=0", expect=2).stderr)

    def test_preflight_counts_the_files_of_all_ranks(self):
        def tensor_bytes(file):
            with file.open("rb") as stream:
                return file.stat().st_size - 8 - int.from_bytes(stream.read(8), "little")
        training = {"network": {"layers": [{"input": [1, 28, 28]}, "flatten", {"dense": 64}, {"dense": 10}, "softmax_cross_entropy"]},
                    "optimizer": {"rule": {"adam": {"learning_rate": 0.001}}}, "training": {"batch": 4, "epochs": 1}}
        for strategy, most in (("allreduce", 1.1), ({"allreduce": {"wire": "bf16"}}, 1.1), ({"averaging": {"every": 5}}, 1.1),
                               ({"averaging": {"every": 5, "overlap": True, "outer": "bmuf"}}, 1.1),
                               ({"sharing": {"share": "update", "max_staleness": 2}}, 1.2), ({"sharing": {"max_staleness": 0}}, 4),
                               ({"sharing": {"share": "update", "max_staleness": "unbounded"}}, 1.2),
                               ({"top_k": {"density": 0.5, "share": "update", "max_staleness": 3}}, 1.3)):
            with self.subTest(strategy=strategy), tempfile.TemporaryDirectory() as folder:
                flags = (self.write(SMALL | training | {"strategy": strategy}), "--ranks", "2", "--set", f"output.checkpoints={folder}/kept")
                self.run_it(*flags, "--set", "output.checkpoint_every=1", "--set", "output.keep=100")
                saved = max(sum(map(tensor_bytes, one.rglob("*.safetensors"))) for one in pathlib.Path(folder, "kept").iterdir())
                shutil.rmtree(f"{folder}/kept")
                refused = self.run_it(*flags, "--preflight", "--set", "output.keep=1000000000", expect=1)
                expected = int(re.search(r"free, expected (\d+) MB", refused.stderr)[1]) / 1000  # bytes of one checkpoint
                self.assertLessEqual(saved, expected)
                self.assertLess(expected, most * saved)

    def test_counts_checkpoints_that_could_not_be_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = ("--set", f"output.checkpoints={folder}/kept", "--set", "output.checkpoint_every=2")
            done = self.run_it(self.write(SMALL), *kept, expect=1, before=("bash", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""))
            self.assertRegex(done.stderr, r"(?m)^\d+ checkpoints could not be saved \(.*\); this run has saved none$")
            self.assertIn("checksum", done.stdout)

    def test_prints_results_before_it_saves(self):
        blocked = pathlib.Path(self.folder, "blocked")
        blocked.mkdir()
        script = f"ulimit -f 1; exec \"$0\" \"$@\""  # files of 512 or 1024 bytes at most
        done = self.run_it(self.write(SMALL), "--set", f"output.model={blocked}/a.safetensors", expect=1,
                           before=("bash", "-c", "trap '' XFSZ; " + script))
        self.assertIn("accuracy", done.stdout)
        self.assertIn("checksum", done.stdout)
        self.assertIn("cannot save the model" if "cannot save" in done.stderr else "a.safetensors", done.stderr)

    def test_resumes_from_a_checkpoint(self):
        whole, _ = self.report(SMALL, "--set", "training.epochs=3")
        with tempfile.TemporaryDirectory() as kept:
            flags = ("--set", f"output.checkpoints={kept}", "--set", "output.checkpoint_every=4")
            begun, _ = self.report(SMALL, "--set", "training.epochs=2", *flags)
            refused = self.run_it(self.write(SMALL), *flags, expect=2)
            self.assertEqual(refused.stderr, f"cohort train: output.checkpoints: {kept} contains a checkpoint: expected --resume "
                             "to continue from it, or another folder\n")
            resumed, done = self.report(SMALL, "--set", "training.epochs=3", "--resume", *flags)
        self.assertIn("after 8 steps", done.stdout)
        self.assertEqual(resumed["checksum"], whole["checksum"])
        self.assertEqual(begun["steps"] + resumed["steps"], whole["steps"])
        self.assertEqual(sum(begun["history"]["examples"] + resumed["history"]["examples"]), 3 * 128)
        self.assertEqual(resumed["history"]["epoch"][-1], 3)
        self.assertAlmostEqual(resumed["samples_per_second"], 128 / resumed["seconds"])
        self.assertEqual(resumed["history"]["loss"][-1], whole["history"]["loss"][-1])

    def test_trains_on_a_table(self):
        numbers = random.Random(1)
        lines = ["x,colour,y,kind"]
        for _ in range(400):
            x, colour = numbers.uniform(-1, 1), numbers.choice(["red", "blue"])
            lines.append(f"{x:.4f},{colour},{2 * x + (colour == 'red'):.4f},{'high' if 2 * x + (colour == 'red') > 0.5 else 'low'}")
        table = self.write("\n".join(lines) + "\n", "rows.csv")
        document = {"version": 1, "backend": "reference",
                    "network": {"layers": [{"input": [3]}, {"dense": 16}, "relu", {"dense": 2}, "softmax_cross_entropy"]},
                    "data": {"table": {"file": table, "target": "kind", "inputs": ["x", "colour"]}},
                    "normalise": {"inputs": "standardise"}, "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}},
                    "training": {"epochs": 15}}
        made, _ = self.report(document)
        self.assertGreater(made["accuracy"], 0.9)
        self.assertEqual(made["backend"], "reference<float>")
        document["network"]["layers"][-2:] = [{"dense": 1}, "mean_squared_error"]
        document["data"]["table"].update(target="y", regression=True)
        made, _ = self.report(document)
        self.assertLess(made["rmse"], 0.2)
        self.assertEqual(len(made["history"]["rmse"]), 15)

    def measured(self, name, odd):
        """A table whose y is 3x - 2z; x of the row in line 9 is `odd`."""
        numbers = random.Random(1)
        rows = [(numbers.uniform(0, 10), numbers.uniform(0, 10)) for _ in range(400)]
        lines = [f"{odd if k == 7 else f'{x:.3f}'},{z:.3f},{3 * x - 2 * z:.3f}" for k, (x, z) in enumerate(rows)]
        return self.write("x,z,y\n" + "\n".join(lines) + "\n", name)

    def regression(self, file, **more):
        return {"version": 1, "backend": "reference",
                "network": {"layers": [{"input": [2]}, {"dense": 16}, "relu", {"dense": 1}, "mean_squared_error"]},
                "data": {"table": {"file": file, "target": "y", "regression": True, "impute": "mean", "other": True,
                                   "format": {"missing": "keep"}, **more}},
                "normalise": {"inputs": "standardise", "targets": "standardise"},
                "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"epochs": 30}}

    def test_an_odd_field_does_not_turn_a_column_of_numbers_into_texts(self):
        for odd in ("n/a", "None", "-nan", "#N/A", "<NA>"):
            made, _ = self.report(self.regression(self.measured("odd.csv", odd)))
            self.assertLess(made["rmse"], 1.5, odd)
        table = self.measured("odd.csv", '"1,234.5"')
        refused = self.refused(document=self.regression(table), status=1)
        self.assertEqual(refused, "cohort train: a column of numbers contains texts (odd.csv, column x): expected a number in every field; "
                         "or the texts in data.table.format.missing_texts if they mean a missing value; or the column in text_columns if its "
                         'numbers are identifiers, got 399 numbers and 1 text, the first "1,234.5" at odd.csv:9:1\n')
        schema = {"schema": [{"name": name} for name in "xzy"]}
        self.assertIn('column x, row 8): expected a number, got "1,234.5"',
                      self.refused(document=self.regression(table, transform=schema), status=1))
        skipped, _ = self.report(self.regression(table, transform=schema, bad="skip"))
        self.assertEqual(skipped["skipped_rows"], 1)

    def test_reports_columns_of_dates_unique_texts_and_constants(self):
        lines = ["day,name,same,x,y"]
        lines += [f"{1 + k % 28:02}.11.2026,name {k},7,{k % 13},{k % 13}" for k in range(100)]
        table = self.write("\n".join(lines) + "\n", "columns.csv")
        document = self.regression(table)
        document["network"]["layers"][0] = {"input": [3]}
        refused = self.refused(document=document, status=1)
        self.assertIn("a column contains dates, each of which is treated as a separate category (columns.csv, column day)", refused)
        self.assertIn("more than half of the texts of a column are distinct (columns.csv, column name)", refused)
        self.assertIn("a column has the same value in all rows (columns.csv, column same)", refused)
        self.assertRegex(refused, r"expected 3, got \d+: day=01.11.2026, day=02.11.2026, .* names\)")

    def test_reports_a_column_of_unique_texts_if_a_text_is_unknown(self):
        lines = ["name,x,y", *(f"name {k},{k % 13},{k % 13}" for k in range(100))]
        document = self.regression(self.write("\n".join(lines) + "\n", "names.csv"), other=False)
        refused = self.refused(document=document, status=1)
        self.assertIn("a text is not in the vocabulary", refused)
        self.assertIn("; more than half of the texts of a column are distinct (names.csv, column name): expected texts that occur in many rows, or no "
                      "such column", refused)

    def test_writes_the_tokens_of_a_text_for_other_commands(self):
        text = self.write("the king sees the sea. a sailor hears the king. " * 60, "words.txt")
        layers = [{"input": [16]}, {"embedding": {"vocabulary": 260, "width": 8}}, {"lstm": 8}, {"dense": 260}, "softmax_cross_entropy"]
        for tokens in ("characters", {"byte_pairs": {"size": 260}}):
            document = {"version": 1, "network": {"layers": layers}, "data": {"text": {"file": text, "tokens": tokens, "length": 16, "vocabulary": 260}}}
            report, _ = self.report(document, "--set", "output.tokens=tokens.json", "--set", "output.model=m.safetensors")
            done = reference_program.run("cohort", "evaluate", "run.json", "--model", "m.safetensors", "--report", "e.json", "--set",
                                         "data.text.tokens.file.file=tokens.json", cwd=self.folder)
            self.assertIn(report["checksum"], done.stdout)
            evaluated = json.loads(pathlib.Path(self.folder, "e.json").read_text(encoding="utf-8"))
            self.assertEqual(evaluated["accuracy"], report["accuracy"])
        refused = reference_program.run("cohort", "evaluate", "run.json", "--model", "m.safetensors", cwd=self.folder, expect=1).stderr
        self.assertIn("expected bytes, gpt2, or file with the tokens that output.tokens of the training has written", refused)
        self.assertIn("output.tokens): expected no file, because only a text has tokens", self.refused("--set", "output.tokens=t", document=SMALL))

    def test_trains_on_a_text(self):
        text = self.write("the king sees the sea. a sailor hears the king. " * 60, "words.txt")
        layers = [{"input": [16]}, {"embedding": {"vocabulary": 17, "width": 8}}, {"lstm": 24}, {"dense": 17}, "softmax_cross_entropy"]
        document = {"version": 1, "network": {"layers": layers}, "data": {"text": {"file": text, "length": 16}},
                    "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"epochs": 8}}
        characters = len(set(pathlib.Path(text).read_text(encoding="utf-8")))
        layers[1]["embedding"]["vocabulary"] = layers[3]["dense"] = characters
        made, _ = self.report(document)
        self.assertGreater(made["accuracy"], 0.5)
        packed = os.path.join(self.folder, "packed.txt.gz")
        with gzip.open(packed, "wb") as file:
            file.write(pathlib.Path(text).read_bytes())
        same, _ = self.report(document, "--set", f"data.text.file={packed}")
        self.assertEqual((same["checksum"], same["accuracy"]), (made["checksum"], made["accuracy"]))

    def test_trains_on_a_series(self):
        rows = self.write("t\n" + "\n".join(str(i % 7) for i in range(300)) + "\n", "series.csv")
        document = {"version": 1, "network": {"layers": [{"input": [8, 1]}, "flatten", {"dense": 16}, "relu", {"dense": 1},
                                                         "mean_squared_error"]},
                    "data": {"series": {"file": rows, "length": 8}}, "optimizer": {"rule": {"adam": {"learning_rate": 0.01}}},
                    "training": {"epochs": 20}}
        made, _ = self.report(document)
        self.assertLess(made["rmse"], 1)

    def test_reads_idx_files_as_mnist(self):
        mnist, _ = self.report({**SMALL, "data": {"mnist": {"folder": self.digits}}})
        files = {name: os.path.join(self.digits, stem) for name, stem in
                 (("images", "train-images-idx3-ubyte"), ("labels", "train-labels-idx1-ubyte"),
                  ("test_images", "t10k-images-idx3-ubyte"), ("test_labels", "t10k-labels-idx1-ubyte"))}
        files = {name: path if os.path.exists(path) else path + ".gz" for name, path in files.items()}
        idx, _ = self.report({**SMALL, "data": {"idx": files}})
        self.assertEqual((idx["checksum"], idx["accuracy"]), (mnist["checksum"], mnist["accuracy"]))

    def test_trains_on_images_if_built_with_image_support(self):
        folder = os.path.join(self.folder, "images")
        reference_program.write_images(folder, 2, 20, 8)
        document = {"version": 1, "network": {"layers": [{"input": [3, 8, 8]}, "flatten", {"dense": 2}, "softmax_cross_entropy"]},
                    "data": {"images": {"folder": folder, "flip": True, "padding": 1}},
                    "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"epochs": 40, "batch": 8}}
        done = self.run_it(self.write(document), "--set", f"output.report={self.folder}/images.json", expect=(0, 1))
        if "without it: install libturbojpeg0-dev" in done.stderr:
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(pathlib.Path(self.folder, "images.json").read_text(encoding="utf-8"))["accuracy"], 1)
        self.assertIn("32 training and 8 test examples", done.stdout)

    def test_reports_orientations_that_are_not_applied(self):
        folder = pathlib.Path(self.folder, "turned")
        reference_program.write_images(folder, 2, 5, 8)
        exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
        chunk = struct.pack(">I", len(exif)) + b"eXIf" + exif + struct.pack(">I", zlib.crc32(b"eXIf" + exif))
        for path in sorted(folder.rglob("*.png"))[:2]:
            file = path.read_bytes()
            path.write_bytes(file[:33] + chunk + file[33:])
        document = {"version": 1, "network": {"layers": [{"input": [3, 8, 8]}, "flatten", {"dense": 2}, "softmax_cross_entropy"]},
                    "data": {"images": {"folder": str(folder), "test_fraction": 0}}, "training": {"epochs": 3, "batch": 4}}
        done = self.run_it(self.write(document), expect=(0, 1))
        if "without it: install libturbojpeg0-dev" in done.stderr:
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("the EXIF orientation of an image is not applied ("), 1)
        self.assertIn("; data.images.apply_exif_orientation: true shows such images upright", done.stderr)
        self.assertRegex(done.stdout, r"EXIF orientations: not applied in ([6-9]|1\d) reads of images\n")
        applied = self.run_it(self.write(document), "--set", "data.images.apply_exif_orientation=true")
        self.assertNotIn("EXIF", applied.stdout + applied.stderr)

    def test_trains_without_a_test_set(self):
        rows = self.write("t\n" + "\n".join(str(i % 7) for i in range(60)) + "\n", "short.csv")
        text = self.write("the king sees the sea. " * 20, "short.txt")
        digits = {"data": {"digits": {"train": 128, "test": 0}}}
        for document in (
                {**SMALL, **digits}, self.table(self.rows("all.csv", ["blue", "red"]), training={"epochs": 1}),
                {"version": 1, "network": {"layers": [{"input": [8, 1]}, "flatten", {"dense": 1}, "mean_squared_error"]},
                 "data": {"series": {"file": rows, "length": 8, "test_fraction": 0}}},
                {"version": 1, "network": {"layers": [{"input": [16]}, {"embedding": {"vocabulary": 256, "width": 4}}, {"dense": 256},
                                                      "softmax_cross_entropy"]},
                 "data": {"text": {"file": text, "length": 16, "tokens": "bytes", "test_fraction": 0}}}):
            if "table" in document["data"]:
                document["data"]["table"]["test_fraction"] = 0
            made, done = self.report(document)
            self.assertEqual({"accuracy", "rmse"} & set(made), set())
            self.assertGreater(made["steps"], 0)
            self.assertRegex(done.stdout, r"^data: .*, \d+ training examples\n")
            self.assertIn("checksum", done.stdout)
        with_test, _ = self.report(SMALL)
        without, _ = self.report({**SMALL, **digits})
        self.assertEqual(without["checksum"], with_test["checksum"])

    # ---- precedence ----------------------------------------------------------------------------------------
    def test_flags_override_the_environment_which_overrides_the_file(self):
        batch = lambda *flags, **how: self.effective(*flags, document={**SMALL, "training": {"batch": 8}}, **how)["training"]["batch"]
        environment = {"COHORT_SET_TRAINING__BATCH": "16"}
        self.assertEqual(self.effective()["training"]["batch"], 32)
        self.assertEqual(batch(), 8)
        self.assertEqual(batch(environment=environment), 16)
        self.assertEqual(batch("--set", "training.batch=24", environment=environment), 24)
        self.assertEqual(batch("--set=training.batch=24", "--set", "training.batch=40", environment=environment), 40)

    def test_limits_memory_by_flag_or_environment(self):
        limit = lambda *flags, **how: self.effective(*flags, **how)["training"]["max_bytes"]
        in_file = {**SMALL, "training": {"max_bytes": 4096}}
        self.assertEqual(limit(), 0)
        self.assertEqual(limit(document=in_file), 4096)
        environment = {"COHORT_MAX_BYTES": "2M"}
        self.assertEqual(limit(document=in_file, environment=environment), 2 << 20)
        self.assertEqual(limit("--max-bytes", "3K", document=in_file, environment=environment), 3 << 10)
        self.assertEqual(limit("--max-bytes=536870912", environment=environment), 512 << 20)
        self.assertEqual(limit(environment={**environment, "COHORT_SET_TRAINING__MAX_BYTES": "7"}), 7)
        self.assertEqual(limit(environment={"COHORT_MAX_BYTES": ""}), 0)
        expected = ("expected a number of bytes up to 2^64 - 1, such as 536870912, 512M or 8G (K, M, G and T are powers of 1024), got")
        self.assertEqual(self.refused("--max-bytes", "8GB"), f"cohort train: --max-bytes: {expected} '8GB'\n")
        self.assertEqual(self.refused(environment={"COHORT_MAX_BYTES": "much"}), f"cohort train: COHORT_MAX_BYTES: {expected} 'much'\n")
        self.assertIn("more memory than allowed (--max-bytes, training.max_bytes): expected at most 4096 bytes", self.refused("--max-bytes", "4K", status=1))

    def test_the_path_of_set_selects_an_alternative_of_a_choice(self):
        self.assertEqual(self.effective("--set", "strategy.averaging.every=3")["strategy"]["averaging"]["every"], 3)
        self.assertEqual(self.effective(environment={"COHORT_SET_OPTIMIZER__RULE": '{"sgd": {"learning_rate": 0.5}}'})["optimizer"]["rule"],
                         {"sgd": {"learning_rate": 0.5}})

    def test_print_config_writes_a_document_that_reads_back(self):
        text = self.run_it(self.write(SMALL), "--print-config").stdout
        again = self.run_it(self.write(text, "again.json"), "--print-config").stdout
        self.assertEqual(again, text)

    # ---- YAML ----------------------------------------------------------------------------------------------
    def test_reports_the_position_of_an_unknown_field_in_yaml(self):
        done = self.run_it(self.write("version: 1\nnetwork:\n  layers: [{input: [4]}, {dense: 2}, softmax_cross_entropy]\n"
                                      "training: {batch: 8, shuffel: no}\n", "run.yaml"), "--print-config", expect=2)
        if "without the component yaml" in done.stderr:
            return
        self.assertIn("run.yaml:4:31, $.training.shuffel): expected one of the fields", done.stderr)
        self.assertIn('the nearest name is shuffle, got "shuffel"', done.stderr)

    def test_reads_the_documents_of_the_documentation_page(self):
        page = (pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "docs/configuration.md").read_text(encoding="utf-8")
        documents = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(documents), 3)
        for document in documents:
            done = self.run_it(self.write(document, "page.yaml"), "--print-config", expect=(0, 2))
            if "without the component yaml" in done.stderr:
                return
            self.assertEqual(done.returncode, 0, done.stderr)
        sections = set(json.loads(done.stdout)) - {"version"}
        table = page.split("\n## Sections\n")[1].split("\n## ")[0]
        self.assertEqual(set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)), sections)

    # ---- errors --------------------------------------------------------------------------------------------
    def refused(self, *flags, document=SMALL, status=2, **how):
        done = self.run_it(*((self.write(document),) if document is not None else ()), *flags, expect=status, **how)
        return done.stderr.replace(self.folder + "/", "").removeprefix("backend: reference<float>\n")

    def test_errors_report_the_position_and_the_expected_values(self):
        self.assertEqual(self.refused(document={**SMALL, "trainig": {}}),
                         "cohort train: cannot read the document (run.json:1:175, $.trainig): expected one of the fields version, "
                         "network, data, normalise, initial, optimizer, training, strategy, backend, ranks, evaluation, remote, output, $schema; "
                         'the nearest name is training, got "trainig"\n')
        self.assertEqual(self.refused("--set", "training.batch=0"),
                         "cohort train: cannot set a field of the document (--set training.batch=0, $.training.batch): expected an "
                         "integer from 1 to 2147483647, got 0\n")
        self.assertEqual(self.refused(environment={"COHORT_SET_TRAINING__EPOCH": "3"}).split("; ")[-1],
                         'the nearest name is epochs, got "epoch"\n')
        self.assertIn("(COHORT_SET_TRAINING__EPOCH, $.training.epoch)", self.refused(environment={"COHORT_SET_TRAINING__EPOCH": "3"}))
        self.assertEqual(self.refused("--set", "training.batch"), "cohort train: --set training.batch: expected PATH=VALUE, got "
                         "'training.batch'\n")
        self.assertEqual(self.refused("--epochs", "3"), "cohort train: unknown flag '--epochs'; --help lists the flags\n")
        self.assertEqual(self.refused(document=None), "cohort train: expected a file, got none; --help shows how to use this program\n")
        self.assertEqual(self.refused("other.json"), "cohort train: expected one file, got 'run.json' and 'other.json'\n")
        self.assertEqual(self.refused("--set", "data=table"), "cohort train: a document does not describe a run (--set data=table, "
                         "data.table.file): expected a file with a table, got none\n")
        self.assertEqual(self.refused("missing.json", document=None).split(":")[1].split("(")[0].strip(), "cannot open the file")
        self.assertEqual(self.refused("run.toml", document=None)[:20], "cohort train: expect")
        self.assertEqual(self.refused("-"), "cohort train: unknown flag '-'; --help lists the flags\n")

    def test_errors_report_fields_of_documents_instead_of_flags(self):
        self.assertEqual(self.refused("--set", "ranks.communicator=self", "--ranks", "2"),
                         "cohort train: a document does not describe a run (--ranks, ranks.count): expected 1 with communicator self, got 2\n")
        self.assertEqual(self.refused("--set", "ranks.communicator=mpi", "--ranks", "2"),
                         "cohort train: ranks.count: expected 1 with ranks.communicator mpi; mpirun starts the ranks\n")
        refused = self.refused("--set", "strategy=none", "--ranks", "2")
        self.assertEqual(refused.splitlines()[-1], "cohort train: strategy: expected allreduce, averaging, sharing or top_k with "
                         "several ranks, got 'none'")
        done = self.run_it(self.write(SMALL), "--set", "backend=cudnn", expect=(0, 1, 2))
        if done.returncode == 2:
            self.assertEqual(done.stderr, "cohort train: backend: this program was built without the component cudnn\n")

    def test_data_that_does_not_fit_the_network_gives_status_1(self):
        self.assertIn("28x28", self.refused("--set", 'network.layers=[{"input": [5]}, {"dense": 10}, "softmax_cross_entropy"]', status=1))

    def test_help_lists_the_flags(self):
        done = self.run_it("--help")
        for flag in ("--set", "--ranks", "--resume", "--print-config", "--print-schema", "COHORT_SET_TRAINING__BATCH"):
            self.assertIn(flag, done.stdout)


if __name__ == "__main__":
    unittest.main()
