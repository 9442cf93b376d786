# SPDX-License-Identifier: Apache-2.0
"""A header that declares a function of an implementation file includes this file, directly or through other headers. Without
it, a header-only program that includes the header does not link."""
import functools
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
# Functions that only the implementation of another header calls, which programs include: the header for
# programs is named.
CALLED_BY = {
    "cohort/trainer/metric.hpp": "cohort/trainer/training.hpp",  # reports of a run
}
DEFINITION = re.compile(r"^(?:\[\[[^\]]*\]\] )*COHORT_\w+_INLINE\b[^;{}(]*?\b([\w:~]+)\(", re.MULTILINE)
DECLARATION = re.compile(r"(?<!>\n)^(?:\[\[[^\]]*\]\] )*[A-Za-z_][\w:<>,&* ]*?[ &*](\w+)\((?:[^;{}()]|\((?:[^()]|\([^()]*\))*\))*\)"
                         r"(?: const)?(?: noexcept)?;", re.MULTILINE)


def read_files():
    """The text of each file by its name in #include."""
    files = {}
    for folder in [ROOT / "include", *ROOT.glob("backends/*/include")]:
        for path in folder.rglob("*.[hi]pp"):
            files[str(path.relative_to(folder))] = path.read_text()
    return files


def findings(files):
    definitions = {}
    for name, text in files.items():
        if name.endswith(".ipp"):
            for function in DEFINITION.findall(text):
                definitions.setdefault(function, set()).add(name)
    direct = {name: set(re.findall(r"#include <(cohort/[^>]+)>", text)) & files.keys() for name, text in files.items()}

    @functools.lru_cache(maxsize=None)
    def reached(name):
        found, pending = {name}, [name]
        while pending:
            for one in direct[pending.pop()] - found:
                found.add(one)
                pending.append(one)
        return found

    for name, text in sorted(files.items()):
        if not name.endswith(".hpp"):
            continue
        for function in DECLARATION.findall(re.sub(r"//[^\n]*", "", text)):
            places = definitions.get(function)
            if places and not places & reached(CALLED_BY.get(name, name)):
                yield f"{name} declares {function} and does not include {' or '.join(sorted(places))}"


class Definitions(unittest.TestCase):
    def test_headers_include_the_definitions_of_their_functions(self):
        files = read_files()
        self.assertGreater(len(files), 500)
        self.assertEqual(list(findings(files)), [])

    def test_a_missing_include_is_found(self):
        files = {"cohort/a.hpp": "namespace cohort {\nint f(int (*g)(int), int x = 0);\nclass c {\n  int f();\n};\n}\n",
                 "cohort/b.hpp": "#include <cohort/impl/b.ipp>\n",
                 "cohort/impl/b.ipp": "COHORT_CORE_INLINE int f(int (*g)(int), int x) { return x; }\n"}
        self.assertEqual(list(findings(files)), ["cohort/a.hpp declares f and does not include cohort/impl/b.ipp"])
        files["cohort/a.hpp"] += "#include <cohort/b.hpp>\n"
        self.assertEqual(list(findings(files)), [])


if __name__ == "__main__":
    unittest.main()
