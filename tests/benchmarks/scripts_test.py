# SPDX-License-Identifier: Apache-2.0
"""The Python programs of benchmarks/ that need only Python start, and print their flags."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
SCRIPTS = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "benchmarks").glob("*.py"))}
FOREIGN = re.compile(r"^(?:import|from) (?:gensim|keras|numpy|onnx|sklearn|torch)", re.MULTILINE)


class scripts(unittest.TestCase):
    def test_print_usage_with_help(self):
        started = [path for path, text in SCRIPTS.items() if "argparse" in text and not FOREIGN.search(text)]
        self.assertGreaterEqual(len(started), 6)
        for path in started:
            with self.subTest(script=path.name):
                run = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True, timeout=60)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn(f"usage: {path.name}", run.stdout)


if __name__ == "__main__":
    unittest.main()
