# SPDX-License-Identifier: Apache-2.0
"""Checks the pages of docs/guide/: each shows its program completely, the index names every page, and the quoted compile errors exist.
Also checks links and line lengths."""
import pathlib
import re
import tempfile
import unittest

import docs_test
import guide_page

FOLDER = docs_test.ROOT / "docs/guide"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
PROGRAMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.cpp"))}


def lines_that_matter(source):
    """The program without its first lines for the build, blank lines and directives to clang-format."""
    body = source[source.index("#include"):]
    return [line for line in body.splitlines() if line.strip() and "clang-format" not in line]


def shown(page):
    return [line for block in docs_test.blocks(page) for line in block.splitlines() if line.strip()]


class guide(unittest.TestCase):
    maxDiff = None

    def test_has_a_page_for_every_program(self):
        self.assertGreaterEqual(len(PROGRAMS), 8)
        for name in PROGRAMS:
            self.assertIn(f"{name}.md", PAGES)

    def test_shows_every_program_completely_and_in_order(self):
        for page, text in PAGES.items():
            name = page.removesuffix(".md")
            source = lines_that_matter(PROGRAMS[name]) if name in PROGRAMS else []
            self.assertEqual("\n".join(shown(text)), "\n".join(source), page)

    def test_readme_links_every_page(self):
        for page in PAGES:
            if page != "README.md":
                self.assertIn(f"]({page})", PAGES["README.md"])

    def test_quotes_only_existing_compiler_messages(self):
        sources = "".join(docs_test.sources("include/**/*.hpp", "include/**/*.tpp", "include/**/*.ipp").values())
        joined = re.sub(r'"\s*"', "", sources)
        cells = docs_test.column(PAGES["troubleshooting.md"], "the compiler's sentence")[1:]
        self.assertGreater(len(cells), 5)
        for cell in cells:
            for span in docs_test.code_spans(cell):
                self.assertIn(span, joined)

    def test_links_to_existing_files_and_headings(self):
        for page, text in PAGES.items():
            for target in re.findall(r"\]\((?!https?:)([^)]+)\)", re.sub(r"`[^`\n]*`", "", docs_test.prose(text))):
                path, _, heading = target.partition("#")
                there = FOLDER / (path or page)
                self.assertTrue(there.exists(), f"{page}: {target}")
                if heading:
                    self.assertIn(heading, docs_test.headings(there.read_text(encoding="utf-8")), f"{page}: {target}")

    def test_keeps_lines_within_120_columns(self):
        for page, text in PAGES.items():
            for line in docs_test.prose(text).splitlines():
                self.assertLessEqual(len("" if line.startswith("|") else line), 120, f"{page}: {line}")


class guide_page_itself(unittest.TestCase):
    def test_decimals_and_ellipses_match_any_text(self):
        self.assertIsNone(guide_page.missing(["accuracy 0.98", "b … d"], ["x", "accuracy 0.913", "b c d"]))
        self.assertEqual(guide_page.missing(["b", "a"], ["a", "b"]), "a")
        self.assertEqual(guide_page.missing(["3 steps"], ["4 steps"]), "3 steps")

    def test_outputs_and_statuses_of_commands_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            program, page = pathlib.Path(folder, "program"), pathlib.Path(folder, "page.md")
            program.write_text("#!/bin/sh\necho one\necho two ${1:-0}\nexit ${1:-0}\n", encoding="utf-8")
            program.chmod(0o755)
            for text, good in (("```text\ntwo …\n```\n", True), ("```text\nthree\n```\n", False),
                               ("```console\n$ ./page 3\ntwo 3\n$ echo $?\n3\n```\n", True),
                               ("```console\n$ ./page 3\n$ ./page\n```\n", False),
                               ("```console\n$ ./page\ntwo\none\n```\n", False)):
                page.write_text(text, encoding="utf-8")
                self.assertEqual(guide_page.complaints(str(program), page) == [], good, text)


class the_tests_themselves(unittest.TestCase):
    def test_a_program_is_its_lines_from_the_first_include(self):
        self.assertEqual(lines_that_matter("// a\n#include <b>\n\n// clang-format off\nint c;\n"), ["#include <b>", "int c;"])


if __name__ == "__main__":
    unittest.main()
