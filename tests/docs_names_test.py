# SPDX-License-Identifier: Apache-2.0
# needs: cudnn image keras onednn zlib
"""The names that the pages coming_from*.md of docs/ give in place of other libraries' names compile."""
import re
import shlex
import subprocess
import unittest

import docs_test
import headers_test

COMPONENTS = ("core", "cudnn", "image", "keras", "onednn", "zlib")
# The compilers' errors for a using-declaration of a class member. They do not contain whether the member
# exists.
OF_MEMBERS = ("using-declaration for member at non-class scope", "using declaration cannot refer to class member")


def public_headers():
    for component in COMPONENTS:
        folder = docs_test.ROOT / ("include" if component == "core" else f"backends/{component}/include")
        yield from (path.relative_to(folder) for path in sorted(folder.rglob("*.hpp")) if "detail" not in path.parts and path.name != "src.hpp")


class names_in_the_docs(headers_test.compilation):
    maxDiff = None

    def test_in_the_coming_from_tables_compile(self):
        """Every `name`, `name{…}` and `scope::name` in the columns for Cohort is declared in namespace cohort, or is a member
        of training, or of the class `scope`."""
        cells = [cell for page in docs_test.COMING_FROM.values() for cell in docs_test.column(page, "Cohort")]
        spans = [span for cell in cells for span in docs_test.code_spans(cell)]
        found = (re.fullmatch(r"([a-z]\w*(?:::\w+)*)(?:\{.*\}|\(.*\))?", span) for span in spans)
        members = (docs_test.ROOT / "include/cohort/training/training.hpp").read_text(encoding="utf-8")
        known = sorted({one.group(1) for one in found if one and not re.search(rf"\b{one.group(1)}\(", members)})
        self.assertGreater(len(known), 120)
        members_of = [(number, *name.rsplit("::", 1)) for number, name in enumerate(known) if "::" in name]
        program = "".join(f"#include <{path}>\n" for path in public_headers()) + "".join(
            f"namespace n{number} {{ using cohort::{name}; }}\n" for number, name in enumerate(known))
        last = program.count("\n")
        program += "".join(f"void member{number}(cohort::{scope}& of) {{ of.{member}; }}\n" for number, scope, member in members_of)
        done = subprocess.run([*shlex.split(self.compiler), "-std=c++20", "-fsyntax-only", *self.flags, "-x", "c++", "-"],
                              input=program, capture_output=True, text=True, timeout=headers_test.LONGEST)
        errors = [line for line in done.stderr.splitlines() if "error:" in line and not any(one in line for one in OF_MEMBERS)
                  and ("no member named" in line or not line.startswith("<stdin>:") or int(line.split(":")[1]) <= last)]
        self.assertEqual("\n".join(errors), "")


if __name__ == "__main__":
    unittest.main()
