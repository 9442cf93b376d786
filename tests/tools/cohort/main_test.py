# SPDX-License-Identifier: Apache-2.0
"""The table of commands of the program cohort."""
import pathlib
import re
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*flags, **more):
    return reference_program.run("cohort", *flags, **more)


class program_cohort(unittest.TestCase):
    def test_lists_its_commands(self):
        text = run("--help").stdout
        names = re.findall(r"^  ([a-z]+) +\S", text[text.index("--version"):], re.MULTILINE)
        self.assertGreater(len(names), 3)
        self.assertTrue(all(len(line) <= 120 for line in text.splitlines()))
        for name in names:
            text = run(name, "--help", expect=(0, 2)).stdout  # 2: without the components of the command
            self.assertTrue(all(len(line) <= 120 for line in text.splitlines()), name)
            self.assertTrue(text == "" or f"cohort {name} " in text, text)

    def test_prints_the_version_of_the_library(self):
        header = (ROOT / "include/cohort/version.hpp").read_text(encoding="utf-8")
        self.assertEqual(run("--version").stdout, f"cohort {re.search('version = .([0-9.]+)', header).group(1)}\n")

    def test_refuses_an_unknown_command_with_the_nearest_name(self):
        refused = run("trian", expect=2).stderr
        self.assertRegex(refused, r"^cohort: expected a command, one of train, .*; the nearest name is train; got 'trian'; "
                                  r"--help describes them\n$")
        self.assertIn("; got nothing; ", run(expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
