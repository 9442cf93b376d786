# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# tools: clang++
"""One program compiles in each mode with clang++, with warnings as errors."""
import unittest

import headers_test


class programs(headers_test.compilation):
    def test_compile_in_both_modes(self):
        for mode in ([], self.compiled):
            program = headers_test.ROOT / "examples/01_lenet.cpp"
            flags = [*self.flags, *mode, "-fsyntax-only", "-Wno-pragma-clang-attribute"]
            self.assertEqual(headers_test.complaint("clang++", flags, program), "")


if __name__ == "__main__":
    unittest.main()
