# SPDX-License-Identifier: Apache-2.0
# needs: cudnn nccl mpi onednn
# label: slow long
# alone: its steps have time limits
"""benchmarks/on_gpu.sh runs its real programs to the end of its report, on a simulated GPU. NVIDIA's tools are replaced."""
import os
import pathlib
import shlex
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

    def test_every_step_of_a_rehearsal_passes_on_a_simulated_gpu(self):
        library = BUILD / "tests/libsimulated_libraries.so"
        self.assertTrue(library.exists(), library)
        self.assertNotRegex(str(library), "[ :]")  # they separate libraries
        for name in PROGRAMS:
            self.assertTrue((BUILD / name).exists(), f"{BUILD / name}: the preset full builds it")
            self.script(name, f'LD_PRELOAD={library} exec {shlex.quote(str(BUILD / name))} "$@"')
        self.script("tools/nvidia-smi", "echo A simulated GPU, 580.1, 80 GiB, 9.0")
        self.script("tools/python3", "exit 1")  # has no torch
        for tool in ("compute-sanitizer", "ncu"):  # cannot use the simulated GPU
            self.script(f"tools/{tool}", "echo replaced")
        run = subprocess.run(
            ["bash", ROOT / "benchmarks/on_gpu.sh", "--minutes", "40", "--out", self.folder / "out", "--programs", self.folder,
             "--rehearse"],
            capture_output=True, text=True, timeout=2400,
            env={**os.environ, "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "XDG_CACHE_HOME": str(self.folder / "cache")})
        report = (self.folder / "out/report.md").read_text(encoding="utf-8")
        self.assertEqual(run.returncode, 0, report)
        steps = ["gpu", "first-cases", *(f"cases-{part}" for part in range(8)),
                 *(f"sanitizer-{check}" for check in ("memcheck", "racecheck", "initcheck")),
                 *(f"lenet-{kind}-{seed}" for kind in ("f32", "tf32", "bf16") for seed in (1, 2, 3)),
                 *(f"train-lenet-{kind}-4{tuned}" for kind in ("bf16", "tf32", "f32") for tuned in ("-tuned", "")),
                 "ncu", "codec", "nccl"]
        for step in steps:
            self.assertIn(f"| {step} | passed |", report)
        self.assertEqual(report.count("| passed |"), len(steps), report)
        self.assertRegex(report, r"decode_ms")
        tests = (self.folder / "out/cases-0.log").read_text(encoding="utf-8")
        self.assertRegex(tests, r"\[  PASSED  \] [1-9][0-9]* tests")
        self.assertNotIn("SKIPPED", tests)


if __name__ == "__main__":
    unittest.main()
