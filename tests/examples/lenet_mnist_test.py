# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
"""The example as a user runs it: it learns, is bitwise reproducible, and reports errors in one sentence."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import lenet_mnist_program as program

os.environ.update(BACKEND_PRIORITY_CPU="200", BACKEND_PRIORITY_GPU="100")  # bits are compared, so the backend is the processor's
PROGRAM = pathlib.Path(os.environ["COHORT_BUILD_DIR"]) / "examples/lenet_mnist"


def run(*flags, expect=0, **environment):
    done = subprocess.run([PROGRAM, *flags], capture_output=True, text=True, timeout=240, env=os.environ | environment)
    assert done.returncode == expect, f"exit {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}"
    return done


def report(folder, *flags):
    path = pathlib.Path(folder) / "report.json"
    output = run("--epochs", "1", "--json", str(path), *flags).stdout
    return json.loads(path.read_text(encoding="utf-8")), output


class lenet_mnist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = os.path.join(cls.folder.name, "lenet.safetensors")
        cls.two, cls.output = report(cls.folder.name, "--workers", "2", "--save", cls.model)
        cls.few = ("--data", program.write_digits(os.path.join(cls.folder.name, "digits"), train=640))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_reports_results_and_settings_of_the_run(self):
        wanted = {"accuracy", "seconds", "wait_seconds", "samples_per_second", "ranks", "workers", "backend", "steps", "checksum"}
        self.assertEqual(wanted - set(self.two), set())
        self.assertEqual((self.two["ranks"], self.two["workers"], self.two["backend"]), (1, 2, "onednn"))
        self.assertIn("accuracy", self.output)
        share = re.search(r" samples/s, (\d+) % waiting for data, checksum ", self.output)
        self.assertAlmostEqual(float(share[1]), 100 * self.two["wait_seconds"] / self.two["seconds"], delta=0.5001)
        self.assertGreater(self.two["wait_seconds"], 0)

    def test_writes_tensorboard_events_and_an_html_report(self):
        board, page = pathlib.Path(self.folder.name, "runs/first"), pathlib.Path(self.folder.name, "run.html")
        plain, _ = report(self.folder.name, *self.few)
        shown, _ = report(self.folder.name, *self.few, "--tensorboard", str(board), "--html-report", str(page), "--ranks", "2", "--batch", "16")
        files = list(board.iterdir())
        self.assertEqual([file.name.startswith("events.out.tfevents.") for file in files], [True])
        self.assertIn(b"epoch/loss", files[0].read_bytes())
        text = page.read_text(encoding="utf-8")
        for part in ('"title":"lenet_mnist', '"loss":[["loss of rank 0",', '"confusion":[[', '"activations":', '"conv2d"', "</html>"):
            self.assertIn(part, text)
        curves = json.loads(re.search(r'"metrics":(\[\[.*?\]\]\]\])', text)[1])
        self.assertEqual([(name, len(points)) for name, _, points in curves], [("accuracy", shown["epochs"])])  # from the first epoch on
        self.assertAlmostEqual(curves[0][1], shown["accuracy"], delta=1e-6)
        self.assertAlmostEqual(shown["accuracy"], plain["accuracy"], delta=0.1)
        for tag in (b"validation/accuracy", b"train/loss", b"update_ratio/"):
            self.assertIn(tag, files[0].read_bytes())  # a run of a few steps
        for flag, path in (("--tensorboard", f"{page}/board"), ("--html-report", "/no/such/page.html"), ("--checkpoints", f"{page}/kept"),
                           ("--save", "/proc/self/no/model"), ("--json", "/no/such/a.json"), ("--trace", "/no/such/a.json")):
            done = run(*self.few, flag, path, expect=2)
            self.assertIn(flag + ": expected a folder that can be written", done.stderr)
            self.assertNotIn("epoch", done.stdout)

    def test_counts_checkpoints_that_could_not_be_saved(self):
        kept = os.path.join(self.folder.name, "kept")
        limited = ("bash", "-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"")  # files of at most 8 KiB
        done = program.run(*self.few, "--epochs", "1", "--checkpoints", kept, "--save-every", "10", before=limited, expect=1)
        self.assertRegex(done.stderr, r"(?m)^2 checkpoints could not be saved \(.*kept.*\); this run has saved none$")
        self.assertIn("checksum", done.stdout)  # the results are printed

    def test_limits_memory_by_flag_or_environment(self):
        few = (*self.few, "--epochs", "1")
        refused = "more memory than allowed"
        self.assertRegex(run(*few, "--max-bytes", "2M", expect=1).stderr, refused + r" \(batch 32\): expected at most 2097152 bytes, got \d+ bytes")
        self.assertIn("the largest batch that fits is", run(*few, "--batch", "512", "--max-bytes", "8M", expect=1).stderr)
        self.assertIn(refused, run(*few, expect=1, COHORT_MAX_BYTES="1048576").stderr)
        self.assertIn("memory: parameters", run(*few, "--max-bytes", "1G", COHORT_MAX_BYTES="1M").stderr)
        for size in ("0", "1T"):
            run(*few, f"--max-bytes={size}", COHORT_MAX_BYTES="1M")
        run(*few, COHORT_MAX_BYTES="")
        expected = ("expected a number of bytes up to 2^64 - 1, such as 536870912, 512M or 8G (K, M, G and T are powers of 1024), got")
        for size in ("8GB", "-1", "1.5G", "G", "8g", "", "20000000T", "18446744073709551616"):
            self.assertEqual(run("--max-bytes", size, expect=2).stderr, f"lenet_mnist: --max-bytes: {expected} '{size}'\n")
        run("--help", COHORT_MAX_BYTES="much")
        self.assertEqual(run(expect=2, COHORT_MAX_BYTES="much").stderr, f"lenet_mnist: COHORT_MAX_BYTES: {expected} 'much'\n")

    def test_reaches_the_expected_accuracy_or_reduces_the_loss(self):
        if self.two["data"] == "real":
            self.assertGreater(self.two["accuracy"], 0.97)  # 98.0 % were seen after one epoch
            self.assertEqual(self.two["steps"], 1875)
        else:  # synthetic digits have no bound, except that the loss has fallen from ln 10
            self.assertTrue(self.output.splitlines()[0].lower().find("synthetic") >= 0, self.output.splitlines()[0])
            self.assertLess(self.two["loss"], 2.3)

    def test_is_bitwise_reproducible(self):
        first, again = (report(self.folder.name, *self.few, "--workers", "2")[0] for _ in range(2))
        self.assertEqual(again["checksum"], first["checksum"])

    def test_a_single_worker_reaches_the_accuracy_of_two(self):
        one, _ = report(self.folder.name, "--workers=1")
        self.assertNotEqual(one["checksum"], self.two["checksum"])
        self.assertLess(abs(one["accuracy"] - self.two["accuracy"]), 0.003)

    def test_a_loaded_model_equals_the_saved_model(self):
        loaded, _ = report(self.folder.name, "--load", self.model, "--epochs", "0")
        self.assertEqual((loaded["checksum"], loaded["accuracy"]), (self.two["checksum"], self.two["accuracy"]))

    def test_calibrates_workers_once_and_reuses_the_cached_choice(self):
        cache = os.path.join(self.folder.name, "cache")
        path = pathlib.Path(self.folder.name) / "tuned.json"
        reports = []
        for said in (r"calibrated: .* ms a step", r"calibrated: .*\(cached\)"):
            done = run("--tune", "--epochs", "0", "--json", str(path), XDG_CACHE_HOME=cache)
            self.assertRegex(done.stderr, said)
            reports.append(json.loads(path.read_text(encoding="utf-8")))
            self.assertEqual(reports[-1]["workers"] * reports[-1]["threads"], len(os.sched_getaffinity(0)))
        self.assertEqual(reports[0]["checksum"], reports[1]["checksum"])
        self.assertEqual(reports[0]["workers"], reports[1]["workers"])
        self.assertTrue(os.listdir(os.path.join(cache, "cohort/choices")))
        by_hand = run("--tune", "--workers", "1", "--epochs", "0", XDG_CACHE_HOME=cache)
        self.assertNotIn("calibrated", by_hand.stderr)

    def test_selects_a_gpu_or_reports_why_it_is_skipped(self):
        path = pathlib.Path(self.folder.name) / "here.json"
        here = run(*self.few, "--epochs", "2", "--json", str(path), BACKEND_PRIORITY_CPU="0").stderr.splitlines()[0]
        made = json.loads(path.read_text(encoding="utf-8"))
        self.assertGreater(made["accuracy"], 0.5)
        gpu = subprocess.run([PROGRAM, "--epochs", "0", "--backend", "cudnn"], capture_output=True, text=True, timeout=240)
        if gpu.returncode == 2:
            self.assertIn("built without the component cudnn", gpu.stderr)
            self.assertEqual(here, "backend: onednn")
        elif gpu.returncode == 1:
            self.assertTrue(here.startswith("backend: onednn (skipped: cudnn: "), here)
            self.assertIn(here.partition("cudnn: ")[2].removesuffix(")"), gpu.stderr)  # the same reason
        else:
            self.assertEqual((gpu.returncode, gpu.stderr.splitlines()[0]), (0, here))
            self.assertTrue(here.startswith("backend: cudnn on "), here)

    def test_refuses_invalid_flags_in_a_single_sentence(self):
        for flags, code in ((["--wrokers", "2"], 2), (["--workers", "two"], 2), (["--batch", "0"], 2),
                            (["--learning-rate"], 2), (["--data", "/nowhere"], 1), (["--load", "/nowhere/x"], 1)):
            done = run(*flags, expect=code)
            sentences = [line for line in done.stderr.strip().splitlines() if line.startswith("lenet_mnist: ")]
            self.assertEqual(len(sentences), 1, f"{flags}: {done.stderr}")
            self.assertEqual(done.stderr.strip().splitlines()[-1], sentences[0])

    def test_help_shows_the_defaults(self):
        text = run("--help").stdout
        for flag in ("--data", "--workers", "--threads", "--max-bytes", "--tune", "--batch", "--epochs", "--learning-rate", "--backend", "--seed",
                     "--save", "--load", "--json"):
            self.assertIn(flag, text)
        for default in ("32", "0.02", "123"):
            self.assertIn(default, text)


if __name__ == "__main__":
    unittest.main()
