# SPDX-License-Identifier: Apache-2.0
# needs: cudnn nccl mpi onednn
# label: slow long
"""benchmarks/on_gpu.sh runs its real programs to the end of its report, on a simulated GPU."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("COHORT_BUILD_DIR", ROOT / "build/full"))
PROGRAMS = ("tests/backends_cudnn_on_a_gpu_test", "tests/backends_nccl_on_gpus_test", "examples/lenet_mnist",
            "benchmarks/train_step", "benchmarks/codec_benchmark")


class on_gpu(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def test_rehearses_every_step(self):
        library = BUILD / "tests/libsimulated_libraries.so"
        self.assertTrue(library.exists(), library)
        for name in PROGRAMS:
            self.assertTrue((BUILD / name).exists(), f"{BUILD / name}: the preset full builds it")
            self.script(name, f'LD_PRELOAD={library} exec {BUILD / name} "$@"')
        self.script("tools/nvidia-smi", "echo A simulated GPU, 580.1, 80 GiB, 9.0")
        self.script("tools/python3", "exit 1")  # has no torch
        run = subprocess.run(
            ["bash", ROOT / "benchmarks/on_gpu.sh", "--minutes", "40", "--out", self.folder / "out", "--programs", self.folder,
             "--rehearse"],
            capture_output=True, text=True, timeout=2400,
            env={**os.environ, "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        report = (self.folder / "out/report.md").read_text(encoding="utf-8")
        self.assertEqual(run.returncode, 0, report)
        steps = [line for line in report.splitlines() if line.startswith("| ")][1:]  # below the head
        passed = [line for line in steps if "| passed |" in line]
        # Not installed here: compute-sanitizer and ncu.
        self.assertEqual([line for line in steps if line not in passed and "is not installed" not in line], [])
        self.assertEqual(len(passed), 1 + 1 + 8 + 3 * 3 + 2 * 3 + 1 + 1, report)
        self.assertRegex(report, r"decode_ms")
        tests = (self.folder / "out/cases-0.log").read_text(encoding="utf-8")
        self.assertRegex(tests, r"\[  PASSED  \] [1-9][0-9]* tests")
        self.assertNotIn("SKIPPED", tests)


if __name__ == "__main__":
    unittest.main()
