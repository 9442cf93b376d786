# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# tools: clang++
"""A program compiles in each mode with clang++, with warnings as errors. In the preset full, all public headers together do so
header-only."""
import unittest

import headers_test


class programs(headers_test.compilation):
    def test_compile_in_both_modes(self):
        for mode in ([], self.compiled):
            program = headers_test.ROOT / "examples/01_lenet.cpp"
            flags = [*self.flags, *mode, "-fsyntax-only", "-Wno-pragma-clang-attribute"]
            self.assertEqual(headers_test.complaint("clang++", flags, program), "")

    if headers_test.LONG:
        def test_may_include_all_public_headers(self):
            self.assertEqual(self.complaint_of_all("clang++", "-Wno-pragma-clang-attribute"), "")


if __name__ == "__main__":
    unittest.main()
