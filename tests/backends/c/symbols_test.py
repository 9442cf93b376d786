# SPDX-License-Identifier: Apache-2.0
"""libcohort_c exports the functions of its header and nothing else; the header is C99 and C++98."""
import os
import pathlib
import re
import shlex
import subprocess
import unittest

ROOT = pathlib.Path(os.environ["COHORT_SOURCE_DIR"])
HEADER = ROOT / "backends/c/include/cohort/cohort.h"
LIBRARY = pathlib.Path(os.environ["COHORT_BUILD_DIR"]) / "backends/c/libcohort_c.so"


class symbols(unittest.TestCase):
    def test_are_those_of_the_header(self):
        declared = set(re.findall(r"^COHORT_API [\w *]+?(cohort_\w+)\(", HEADER.read_text(encoding="utf-8"), re.MULTILINE))
        self.assertGreater(len(declared), 12)
        lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout.splitlines()
        exported = {line.split()[-1] for line in lines if line.split()[1] != "A"}
        self.assertEqual(exported, {f"{name}@@COHORT_C_1" for name in declared})

    def test_the_soname_has_the_abi_version_of_the_header(self):
        number = re.search(r"^#define COHORT_ABI_VERSION (\d+)$", HEADER.read_text(encoding="utf-8"), re.MULTILINE).group(1)
        dynamic = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"Library soname: [libcohort_c.so.{number}]", dynamic)

    def test_the_header_is_plain_c(self):
        for language in ("-xc -std=c99", "-xc++ -std=c++98"):
            subprocess.run([*shlex.split(os.environ.get("CXX", "c++")), *language.split(), "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                            "-Wno-long-long", "-fsyntax-only", "-include", HEADER, "/dev/null"], check=True, timeout=60)

    def test_the_program_of_the_documentation_page_compiles(self):
        page = (ROOT / "docs/predict_from_c_and_python.md").read_text(encoding="utf-8")
        program = re.search(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1)
        subprocess.run([*shlex.split(os.environ.get("CXX", "c++")), "-xc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                        f"-I{HEADER.parent.parent}", "-"], input=program, text=True, check=True, timeout=60)


if __name__ == "__main__":
    unittest.main()
