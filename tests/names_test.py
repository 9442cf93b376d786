# SPDX-License-Identifier: Apache-2.0
"""Refuses local names without a meaning, except for those of names.txt, whose counts only fall."""
import os
import pathlib
import re
import unittest

import layering_test

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
# `source_line at` is the member that every layer has.
NAMES = "one made how what its now mine at there".split()
DECLARATION = re.compile(r"(?:\b(?:auto|const|int|bool|double|float|char|size_t|[a-z_]+_t|[a-z_:]+|[A-Z]\w*)|[>&*])[ &*]+"
                         rf"(?<!return )(?<!else )(?<!source_line )(?<!case )(?<!new )\b({'|'.join(NAMES)})\b(?=\s*(?:[=;,:){{\[]|\((?!\))))")


def declarations(text):
    """The names of the list that a source declares, each with the number of its declarations."""
    counts = {}
    for name in DECLARATION.findall("\n".join(layering_test.code(text))):
        counts[name] = counts.get(name, 0) + 1
    return counts


def accepted():
    lines = (ROOT / "tests/names.txt").read_text(encoding="utf-8").splitlines()
    return {tuple(line.split()[:2]): int(line.split()[2]) for line in lines if not line.startswith("#")}


def found():
    return {(str(path.relative_to(ROOT)), name): count
            for path, text in layering_test.sources(*(f"{folder}/**/*.{kind}" for folder in ("include", "backends")
                                                      for kind in ("hpp", "ipp", "tpp", "inc", "cpp")))
            for name, count in declarations(text).items()}


class local_names(unittest.TestCase):
    maxDiff = None

    def test_vague_names_occur_only_as_often_as_accepted(self):
        known, now_there = accepted(), found()
        more = [f"{path}: {count} declarations of `{name}`, at most {known.get((path, name), 0)} are accepted: choose a name that "
                "describes the value" for (path, name), count in now_there.items() if count > known.get((path, name), 0)]
        fewer = [f"tests/names.txt: {path} {name} has only {now_there.get((path, name), 0)} declarations: lower the number"
                 for (path, name), count in known.items() if count > now_there.get((path, name), 0)]
        self.assertEqual("\n".join(more + fewer), "")

    def test_declarations_are_found(self):
        self.assertEqual(declarations("auto const one = f();\nfor (int now : all) {}\nvoid f(text const& how, shape what);\n"),
                         {"one": 1, "now": 1, "how": 1, "what": 1})
        self.assertEqual(declarations("x.one = 2;\nreturn made;\nf(how);\nint total = one + 1;\n"), {})


if __name__ == "__main__":
    unittest.main()
