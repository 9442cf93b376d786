# SPDX-License-Identifier: Apache-2.0
"""Every source of C++ is formatted by clang-format 14 with .clang-format."""
import os
import pathlib
import subprocess
import unittest

import clang_format

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
FORMATTER = pathlib.Path(clang_format.__file__).parent / "data/bin/clang-format"
KINDS = {".cpp", ".hpp", ".ipp", ".tpp"}


def complaints(*arguments, text=None):
    done = subprocess.run([FORMATTER, "--style=file", *arguments], input=text, capture_output=True, text=True, cwd=ROOT, timeout=250)
    return done.stdout + done.stderr


class sources(unittest.TestCase):
    def test_are_formatted(self):
        files = [path for folder in ("include", "backends", "examples", "benchmarks", "tests", "tools", "docs")
                 for path in sorted((ROOT / folder).rglob("*")) if path.suffix in KINDS]
        self.assertGreater(len(files), 1000)
        for first in range(0, len(files), 200):
            self.assertEqual(complaints("--dry-run", "-Werror", *files[first:first + 200]), "")

    def test_reports_an_unformatted_source(self):
        self.assertEqual(complaints("--assume-filename=a.cpp", text="int  f( );\n"), "int f();\n")


if __name__ == "__main__":
    unittest.main()
