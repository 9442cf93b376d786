# SPDX-License-Identifier: Apache-2.0
# label: long
"""benchmarks/on_gpu.sh: a failed step does not end the run, and the report names it first. Small scripts
replace the programs and NVIDIA's tools."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
TESTS, NCCL = "tests/backends_cudnn_on_a_gpu_test", "tests/backends_nccl_on_gpus_test"
PROGRAMS = [TESTS, NCCL, "examples/lenet_mnist", "benchmarks/train_step", "benchmarks/codec_benchmark"]


class on_gpu(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        # Only these commands are found, so that no tool of this machine runs. Wrappers, not links: a script
        # written over a link would replace the machine's own command.
        self.tools = self.folder / "tools"
        for name in ("bash", "cut", "cat", "date", "dirname", "env", "git", "grep", "head", "mkdir", "sort", "tail", "timeout"):
            self.script(f"tools/{name}", f'exec {shutil.which(name)} "$@"')
        self.script("tools/nvidia-smi", "echo A GPU, 580.1, 80 GiB, 9.0")
        self.script("tools/python3", "exit 1")  # has no torch
        for name in PROGRAMS:
            self.script(name, f"echo {name} ran")

    def script(self, name, text):
        path = self.folder / name
        self.assertFalse(path.is_symlink())
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def run_it(self, *arguments):
        return subprocess.run(["bash", ROOT / "benchmarks/on_gpu.sh", *arguments], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PATH": str(self.tools)})

    def report(self, expected_status, minutes="5"):
        run = self.run_it("--minutes", minutes, "--out", str(self.folder / "out"), "--programs", str(self.folder))
        self.assertEqual(run.returncode, expected_status, run.stdout + run.stderr)
        return (self.folder / "out/report.md").read_text(encoding="utf-8")

    def test_runs_every_step(self):
        report = self.report(0)
        self.assertIn("A GPU, 580.1", report)
        self.assertIn("Nothing failed.", report)
        for step in ("first-cases", "cases-0", "cases-7", "lenet-bf16-3", "train-resnet50-bf16-256", "train-darknet-f32-64-tuned",
                     "codec", "nccl"):
            self.assertIn(f"| {step} | passed |", report)
        self.assertIn("| ncu | not run: ncu is not installed |", report)
        self.assertIn("| sanitizer | not run: compute-sanitizer is not installed |", report)

    def test_uses_small_networks_in_a_rehearsal(self):
        self.script("benchmarks/train_step", 'echo "$@"')
        run = self.run_it("--rehearse", "--minutes", "5", "--out", str(self.folder / "out"), "--programs", str(self.folder))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        report = (self.folder / "out/report.md").read_text(encoding="utf-8")
        self.assertTrue(report.startswith("# Rehearsal with small networks, no measurements, of "), report)
        self.assertIn("--device cuda --tune lenet bf16 4 1 1", report)
        self.assertNotIn("resnet50", report)
        images = (self.folder / "out/mnist/train-images-idx3-ubyte").read_bytes()
        self.assertEqual(images[:16], bytes((0, 0, 8, 3, 0, 0, 0, 64, 0, 0, 0, 28, 0, 0, 0, 28)))
        self.assertEqual(len(images), 16 + 64 * 28 * 28)

    def test_continues_after_failures_and_reports_them_first(self):
        self.script(TESTS, 'echo "[  FAILED  ] ladder.dense (3 ms)"; exit 1')
        self.script("benchmarks/codec_benchmark", "echo a driver that is too old; exit 3")
        report = self.report(1)
        first, _, steps = report.partition("## Steps of this run")
        self.assertLess(report.index("**first-cases** failed: exit status 1"), report.index("**codec** failed: exit status 3"))
        self.assertIn("ladder.dense", first)
        self.assertIn("a driver that is too old", first)
        self.assertNotIn("**nccl**", first)
        self.assertIn("| nccl | passed |", steps)

    def test_a_missing_program_fails_its_step(self):
        (self.folder / NCCL).unlink()
        self.assertIn("**nccl** failed: backends_nccl_on_gpus_test is not built", self.report(1).replace("tests/", ""))

    def test_runs_ncu_and_compute_sanitizer_if_they_are_installed(self):
        self.script("tools/ncu", 'echo kernel,throughput; [[ $* == *resnet50* ]]')
        self.script("tools/compute-sanitizer", '[[ $* != *racecheck* ]] || { echo a race; exit 9; }')
        report = self.report(1)
        self.assertIn("kernel,throughput", report)
        self.assertIn("| sanitizer-memcheck | passed |", report)
        self.assertIn("**sanitizer-racecheck** failed: exit status 9", report)

    def test_also_measures_pytorch_if_it_is_installed(self):
        self.script("tools/python3", 'echo "python3 $*"')
        report = self.report(0)
        self.assertIn("| pytorch-resnet50-bf16-256 | passed |", report)
        self.assertIn("--device cuda --nets darknet --dtypes f32 --batch 64", report)

    def test_obeys_the_time_limit(self):
        script = (ROOT / "benchmarks/on_gpu.sh").read_text(encoding="utf-8")
        short = self.folder / "benchmarks/on_gpu.sh"  # a copy whose minutes have two seconds
        self.assertIn("60 * minutes", script)
        short.write_text(script.replace("60 * minutes", "2 * minutes"), encoding="utf-8")
        self.script(TESTS, "exec tail -f /dev/null")
        run = subprocess.run(["bash", short, "--minutes", "1", "--out", self.folder / "out", "--programs", self.folder],
                             capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": str(self.tools)})
        self.assertEqual(run.returncode, 1, run.stderr)
        report = (self.folder / "out/report.md").read_text(encoding="utf-8")
        self.assertRegex(report, r"\*\*first-cases\*\* failed: stopped after [12] s")
        self.assertIn("| nccl | not run: no time left |", report)

    def test_refuses_wrong_arguments(self):
        for arguments in ([], ["--minutes", "4"], ["--minutes", "0", "--out", "x"], ["--minutes"], ["--often", "1"]):
            with self.subTest(arguments=arguments):
                run = self.run_it(*arguments)
                self.assertEqual(run.returncode, 2)
                self.assertIn("usage: on_gpu.sh", run.stderr)


if __name__ == "__main__":
    unittest.main()
