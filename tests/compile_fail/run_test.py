# SPDX-License-Identifier: Apache-2.0
"""The checker of programs that must not compile, run on programs with known results."""
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
    def written(self, number, bad="int bad;", good="int good;", extra=""):
        path = os.path.join(self.folder, f"sample_{number}.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TWIN.format(bad=bad, good=good, extra=extra))
        return path

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def complaints(self, bad, extra=""):
        return run.complaints(self.written(0, bad=bad, extra=extra), os.environ["CXX"], [])

    def complaints_of_twins(self, *twins):
        written = [self.written(number, good=twin) for number, twin in enumerate(twins)]
        return run.complaints_of_twins(written, os.environ["CXX"], [])

    def test_accepts_a_compile_error_that_contains_the_expected_text(self):
        self.assertEqual(self.complaints('static_assert(false, "wanted");'), [])

    def test_reports_a_program_that_compiles(self):
        self.assertEqual(self.complaints("int bad;"), ["it compiles"])

    def test_reports_missing_text_of_the_compile_error(self):
        self.assertIn("the output lacks: wanted", self.complaints('static_assert(false, "other");'))

    def test_reports_a_corrected_program_that_does_not_compile(self):
        self.assertRegex(self.complaints_of_twins("int good;", "int;;x")[0], r"twin does not compile:\n(.|\n)*sample_1.cpp:")

    def test_accepts_corrected_programs_that_declare_the_same_names(self):
        self.assertEqual(self.complaints_of_twins("int good;", "int good;"), [])

    def test_reports_output_longer_than_the_expected_maximum(self):
        twice = 'static_assert(false, "wanted");\nstatic_assert(false, "and more");'
        found = self.complaints(twice, extra="// max-lines: 1")
        self.assertRegex(found[0], r"the output has \d+ lines, at most 1 are wanted")


if __name__ == "__main__":
    unittest.main()
