# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# tools: clang++
# label: long
"""All public headers and the whole implementation compile together in one source with clang++, with warnings as errors."""
import unittest

import headers_test


class headers(headers_test.compilation):
    def test_compile_together(self):
        self.assertEqual(self.complaint_of_all("clang++", "-Wno-pragma-clang-attribute", implementation=True), "")


if __name__ == "__main__":
    unittest.main()
