# SPDX-License-Identifier: Apache-2.0
"""The checker of programs that must not compile, tried on programs whose verdict is known."""
import os
import tempfile
import unittest

import run

TWIN = """// expect: wanted
{extra}
#ifdef MUST_FAIL
{bad}
#else
{good}
#endif
"""


class compile_fail_checker(unittest.TestCase):
    def complaints(self, bad, good="int good;", extra=""):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sample.cpp")
            with open(path, "w", encoding="utf-8") as file:
                file.write(TWIN.format(bad=bad, good=good, extra=extra))
            return run.complaints(path, os.environ["CXX"], [])

    def test_accepts_a_refusal_in_the_announced_words(self):
        self.assertEqual(self.complaints('static_assert(false, "wanted");'), [])

    def test_names_a_program_that_compiles(self):
        self.assertEqual(self.complaints("int bad;"), ["it compiles"])

    def test_names_missing_words(self):
        self.assertIn("the output lacks: wanted", self.complaints('static_assert(false, "other");'))

    def test_names_a_twin_that_does_not_compile(self):
        self.assertIn("twin does not compile", self.complaints('static_assert(false, "wanted");', "int;;x")[0])

    def test_counts_the_lines_of_the_output(self):
        twice = 'static_assert(false, "wanted");\nstatic_assert(false, "and more");'
        found = self.complaints(twice, extra="// max-lines: 1")
        self.assertRegex(found[0], r"the output has \d+ lines, at most 1 are wanted")


if __name__ == "__main__":
    unittest.main()
