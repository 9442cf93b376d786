# SPDX-License-Identifier: Apache-2.0
# needs: cudnn image onednn zlib
"""The names that docs/coming_from.md gives in place of other libraries' names compile."""
import os
import re
import shlex
import subprocess
import sys
import unittest

import docs_test

sys.path.insert(0, str(docs_test.ROOT / "benchmarks"))
sys.dont_write_bytecode = True
import compile_time  # noqa: E402


class names(unittest.TestCase):
    maxDiff = None

    def test_name_only_types_and_functions_that_compile(self):
        """Every `name`, `name{…}` and `scope::name` in the columns for Cohort is declared in namespace cohort, or is a member
        of training."""
        spans = [span for page in ("coming_from.md",) for cell in docs_test.column(docs_test.PAGES[page], "Cohort") for span in docs_test.code_spans(cell)]
        names = sorted({found.group(1) for span in spans if (found := re.fullmatch(r"([a-z]\w*(?:::\w+)*)(?:\{.*\}|\(.*\))?", span))})
        self.assertGreater(len(names), 60)
        compiler, flags = compile_time.configured(os.environ.get("COHORT_BUILD_DIR", docs_test.ROOT / "build/release"))
        headers = [path.relative_to(folder) for folder in (docs_test.ROOT / "include", *sorted(docs_test.ROOT.glob("backends/*/include")))
                   for path in sorted(folder.rglob("*.hpp")) if path.parent.name != "detail" and path.parent.parent.name != "kernels"
                   and not any(part in path.parts for part in ("mpi", "nccl", "xtensor")) and path.stem not in ("mpi", "nccl", "xtensor")]
        members = docs_test.sources("include/cohort/trainer/training.hpp").popitem()[1]
        names = [name for name in names if not re.search(rf"\b{name}\(", members)]
        program = "".join(f"#include <{path}>\n" for path in headers) + "".join(
            f"namespace n{number} {{ using cohort::{name}; }}\n" for number, name in enumerate(names))
        done = subprocess.run([*shlex.split(os.environ.get("CXX", compiler)), "-std=c++20", "-fsyntax-only", "-fmax-errors=0",
                               *(f"-DCOHORT_{name}_COMPILED" for name in ("CORE", "CUDNN", "IMAGE", "ONEDNN", "ZLIB")), *flags, "-x", "c++", "-"],
                              input=program, capture_output=True, text=True, timeout=120)
        in_class = ("using-declaration for member at non-class scope", "using declaration cannot refer to class member")
        wrong = [line for line in done.stderr.splitlines() if "error:" in line and not any(known in line for known in in_class)]
        self.assertEqual("\n".join(wrong), "")


if __name__ == "__main__":
    unittest.main()
