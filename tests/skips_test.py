# SPDX-License-Identifier: Apache-2.0
"""A test that has run nothing is not counted as passed: run_python.py and skips.py."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import skips

FOLDER = pathlib.Path(__file__).resolve().parent
TEST = """import unittest

class cases(unittest.TestCase):
{}

if __name__ == "__main__":
    unittest.main()
"""
GOOD = "    def test_a(self):\n        self.assertTrue(1)\n"
BAD = "    def test_b(self):\n        self.assertTrue(0)\n"
SKIPPED = '    @unittest.skip("{}")\n    def test_{}(self):\n        pass\n'
BF16, OTHER = SKIPPED.format("this processor has no bf16 instructions", "c"), SKIPPED.format("no luck", "d")
NOWHERE = '    @classmethod\n    def setUpClass(cls):\n        raise unittest.SkipTest("this processor has no bf16 instructions")\n'
LOG = """Start testing: Nov 28 18:28 UTC
----------------------------------------------------------
1/2 Testing: a
Output:
----------------------------------------------------------
case skipped: x.y: this processor has no bf16 instructions
case skipped: x.y: this processor has no bf16 instructions
case skipped: x.z: this processor has no bf16 instructions
<end of output>
----------------------------------------------------------

2/2 Testing: b
Output:
----------------------------------------------------------
the text case skipped: is not at the beginning
skipped: a damaged example, as a program reports it
{}
<end of output>
----------------------------------------------------------
"""


class run_python(unittest.TestCase):
    def test_exits_with_the_status_of_the_cases(self):
        for body, status, said in ((GOOD, 0, "OK"), (GOOD + BAD, 1, "FAILED"), (GOOD + BF16, 0, "case skipped: test_c"), (BF16, 77, "case skipped: test_c"),
                                   (GOOD + NOWHERE, 77, "this processor has no bf16 instructions"), (GOOD + OTHER, 1, "does not list"), (BF16 + OTHER, 1, "does not list"),
                                   ("    pass\n", 1, "no case has run")):
            with self.subTest(body), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "a_test.py")
                file.write_text(TEST.format(body), encoding="utf-8")
                done = subprocess.run([sys.executable, FOLDER / "run_python.py", file], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(said, done.stderr)

    def test_fails_a_test_that_runs_no_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "a_test.py")
            file.write_text("print('nothing')\n", encoding="utf-8")
            done = subprocess.run([sys.executable, FOLDER / "run_python.py", file], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("does not call unittest.main()", done.stderr)


class a_summary(unittest.TestCase):
    def test_counts_skipped_cases_by_reason(self):
        counts, others = skips.reasons_of(LOG.format("nothing"))
        self.assertEqual((counts, others), ({"this processor has no bf16 instructions": 2}, []))

    def test_fails_if_a_case_is_skipped_for_an_unlisted_reason(self):
        counts, others = skips.reasons_of(LOG.format("case skipped: p.q: no luck"))
        self.assertEqual((counts, others), ({"this processor has no bf16 instructions": 2}, ["b: p.q: no luck"]))
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "Testing/Temporary/LastTest.log")
            log.parent.mkdir(parents=True)
            for said, status in (("nothing", 0), ("case skipped: p.q: no luck", 1)):
                log.write_text(LOG.format(said), encoding="utf-8")
                done = subprocess.run([sys.executable, FOLDER / "skips.py", folder], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(done.stdout, "Skipped: 2 cases:\n  2: this processor has no bf16 instructions\n")


if __name__ == "__main__":
    unittest.main()
