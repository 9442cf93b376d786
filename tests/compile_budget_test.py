# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# label: slow
"""Compile cost of the README's program: the compiler's memory, and the code that users of the library still compile.
benchmarks/compile_time.py measures seconds."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.dont_write_bytecode = True
import compile_time  # noqa: E402

# Names of functions that compute on tensors, or that prepare such functions.
KERNELS = re.compile(r"forward|backward|host_kernels|prepare|parameter_store|bound_context|compiler|backend_plan|update_range"
                     r"|avx|baseline_f32|scalar_f64|dnnl_")


class compiling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        compiler, cls.flags = compile_time.configured(os.environ.get("COHORT_BUILD_DIR", ROOT / "build/release"))
        cls.compiler = os.environ.get("CXX", compiler)

    def test_lenet_stays_within_the_memory_budget_and_defines_no_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/lenet.o"
            _, _, most = compile_time.compiled(self.compiler, self.flags, compile_time.lenet(), program)
            self.assertGreater(most, 50_000_000, "this is not the compiler's memory")
            self.assertLessEqual(most, compile_time.MOST_BYTES)
            listing = subprocess.run(["nm", "-C", "--defined-only", program], capture_output=True, text=True, check=True).stdout
        names = [line.split(" ", 2)[2] for line in listing.splitlines()]
        self.assertIn("main", names)
        functions = [re.sub(r"\(.*", "", name) for name in names]
        self.assertEqual([name for name in functions if KERNELS.search(name)], [])

    def test_the_larger_program_has_fifty_layers(self):
        program = compile_time.fifty_layers(compile_time.lenet())
        kinds = ("conv2d{", "relu{", "max_pool{", "dense{", "softmax_cross_entropy{")
        self.assertEqual(sum(program.count(kind) for kind in kinds), 50)

    def test_a_program_that_does_not_compile_is_reported(self):
        with self.assertRaisesRegex(compile_time.failure, "no_such_thing"):
            compile_time.compiled(self.compiler, [], "int x = no_such_thing;\n")


if __name__ == "__main__":
    unittest.main()
