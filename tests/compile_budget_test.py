# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# label: slow
"""Compiling the README's program does not take more memory than it does. The bound is lower, and with seconds a benchmark:
benchmarks/compile_time.py."""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.dont_write_bytecode = True
import compile_time  # noqa: E402


class compiling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        compiler, cls.flags = compile_time.configured(os.environ.get("COHORT_BUILD_DIR", ROOT / "build/release"))
        cls.compiler = os.environ.get("CXX", compiler)

    def test_the_lenet_program_takes_no_more_memory_than_it_did(self):
        _, _, most = compile_time.compiled(self.compiler, self.flags, compile_time.lenet())
        self.assertGreater(most, 50_000_000, "this is not the compiler's memory")
        self.assertLessEqual(most, compile_time.GUARD_BYTES)

    def test_the_larger_program_has_fifty_layers(self):
        program = compile_time.fifty_layers(compile_time.lenet())
        kinds = ("conv2d{", "relu{", "max_pool{", "dense{", "softmax_cross_entropy{")
        self.assertEqual(sum(program.count(kind) for kind in kinds), 50)

    def test_a_program_that_does_not_compile_is_reported(self):
        with self.assertRaisesRegex(compile_time.failure, "no_such_thing"):
            compile_time.compiled(self.compiler, [], "int x = no_such_thing;\n")


if __name__ == "__main__":
    unittest.main()
