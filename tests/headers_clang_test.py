# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# tools: clang++
"""All public headers compile together with clang++, with warnings as errors."""
import unittest

import headers_test


class headers(headers_test.compilation):
    def test_compile_together(self):
        self.assertEqual(self.complaint_of_all("clang++", "-Wno-pragma-clang-attribute"), "")


if __name__ == "__main__":
    unittest.main()
