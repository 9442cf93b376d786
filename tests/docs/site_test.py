# SPDX-License-Identifier: Apache-2.0
"""The sources of the documentation site: navigation, links and figures; and the check of built pages. Does not run Sphinx."""
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent.parent)).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "docs/site"))

import check_html  # noqa: E402
import figures  # noqa: E402
import pages  # noqa: E402

TABLE = "# Page\n\n## Steps\n\n| net | time | ratio |\n|---|---|---|\n| A | 1,234.5 ms | 2.5 (2.0 to 3.0) |\n| B | 2 s | 1.5 |\n"


class site_sources(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.pages = pages.site_pages(ROOT, pathlib.Path(folder) / "reference")

    def test_have_every_page_in_the_navigation(self):
        listed = set()
        for page, text in self.pages.items():
            for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
                for line in tree.splitlines():
                    if line and not line.startswith(":"):
                        name = re.sub(r".*<(.*)>", r"\1", line)
                        listed.add(os.path.normpath(os.path.join(os.path.dirname(page), name + ".md")))
        usual = {page for page, text in self.pages.items() if not text.startswith("---\norphan: true\n") and page != "index.md"}
        self.assertEqual(listed, usual)
        self.assertGreater(len(usual), 80)

    def test_link_only_to_existing_pages(self):
        for page, text in self.pages.items():
            for part in pages.CODE.split(text)[::2]:
                for link in pages.LINK.finditer(part):
                    if link.group(1):
                        target = os.path.normpath(os.path.join(os.path.dirname(page), link.group(1)))
                        self.assertIn(target, self.pages, f"{page}: {link.group()}")

    def test_show_every_figure_on_its_results_page_and_some_on_the_first_page(self):
        for one in figures.FIGURES:
            self.assertIn(f"<figcaption>{one.title}", self.pages[f"benchmarks/results/{one.page}.md"])
        self.assertEqual(self.pages["index.md"].count("<figure"), sum(one.landing for one in figures.FIGURES))


class navigation(unittest.TestCase):
    def test_refuses_a_page_that_its_readme_does_not_link(self):
        with self.assertRaisesRegex(pages.broken_page, r"a/README\.md has no link in a table to: c\.md"):
            pages.listed({"a/README.md": "[c](c.md)\n\n| [b](b.md) | `[c](c.md)` |", "a/b.md": "", "a/c.md": ""}, "a")
        self.assertEqual(pages.listed({"a/README.md": "[b](b.md)\n\n| [c](c.md) |\n| [b](b.md#x) |", "a/b.md": "", "a/c.md": ""}, "a"), ["c", "b"])


class a_figure(unittest.TestCase):
    def test_has_the_numbers_and_quartiles_of_its_table(self):
        one = figures.figure("t", "p", "Steps", {"time": 1, "ratio": 2}, "ms", scale=figures.TIME)
        self.assertEqual(figures.data_of(TABLE, one), [("A", [("1,234.5 ms", 1234.5, None, None), ("2.5", 2.5, 2.0, 3.0)]),
                                                       ("B", [("2 s", 2000.0, None, None), ("1.5", 1.5, None, None)])])

    def test_reads_ranges_and_the_chosen_number_of_a_list(self):
        self.assertEqual(figures.value_of("0.84 to 1.0 ms", None, figures.TIME)[1:], (None, 0.84, 1.0))
        self.assertEqual(figures.value_of("271.9, 108.8, 1.1", 1, {})[:2], ("108.8", 108.8))

    def test_without_its_section_column_or_number_is_refused(self):
        for section, column, text in (("Steps", 1, TABLE.replace("2 s", "fast")), ("Steps", 3, TABLE), ("Memory", 1, TABLE)):
            with self.assertRaises(figures.broken_table):
                figures.data_of(text, figures.figure("t", "p", section, {"time": column}, "ms"))


class built_pages(unittest.TestCase):
    def test_with_broken_links_or_external_files_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "a.html")
            for text, good in (('<p id="x"><a href="#x">', True), ('<a href="#y">', False), ('<a href="b.html">', False),
                               ('<a href="https://example.org">', True), ('<script src="https://example.org/x.js">', False),
                               ('<link rel="stylesheet" href="//example.org/x.css">', False)):
                page.write_text(text, encoding="utf-8")
                self.assertEqual(list(check_html.problems(pathlib.Path(folder))) == [], good, text)


if __name__ == "__main__":
    unittest.main()
