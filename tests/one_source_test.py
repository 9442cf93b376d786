# SPDX-License-Identifier: Apache-2.0
# needs: onednn
# label: long
"""A program of one source that contains the whole implementation, compiled with each compiler, trains."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
BUILD = pathlib.Path(os.environ.get("COHORT_BUILD_DIR", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.dont_write_bytecode = True
import compile_time  # noqa: E402

PROGRAM = """#include <cohort/src.hpp>
#include <cohort/onednn/src.hpp>
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>

int main() {
  using namespace cohort;
  std::vector<float> inputs(64, 1);
  std::vector<std::int32_t> labels(16, 1);
  arrays const data(inputs, {4}, labels, 2);
  auto run = trainer<onednn>(graph::build([](builder& net) { return net.input({4}) | dense{.units = 2} | softmax_cross_entropy{}; }));
  run.fit(data, {.batch = 8, .epochs = 30});
  std::printf("accuracy %g\\n", run.evaluate(data).accuracy().value());
}
"""


class one_source(unittest.TestCase):
    def test_builds_a_program_without_a_compiled_cohort_library(self):
        _, flags = compile_time.configured(BUILD)
        folders = [flag.removeprefix("-I").removesuffix("include") + "lib" for flag in flags if flag.endswith("/include")]
        libraries = [flag for folder in folders for flag in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
        for compiler in ("g++", "clang++"):
            self.assertIsNotNone(shutil.which(compiler))
            with self.subTest(compiler=compiler), tempfile.TemporaryDirectory() as folder:
                source = pathlib.Path(folder) / "program.cpp"
                source.write_text(PROGRAM, encoding="utf-8")
                subprocess.run([*shlex.split(compiler), "-std=c++20", "-O1", *flags, source, "-o", f"{folder}/program", *libraries,
                                "-ldnnl", "-fopenmp", "-pthread"], check=True, timeout=1800)
                ran = subprocess.run([f"{folder}/program"], capture_output=True, text=True, check=True, timeout=60)
                self.assertEqual(ran.stdout, "accuracy 1\n")


if __name__ == "__main__":
    unittest.main()
