# SPDX-License-Identifier: Apache-2.0
"""Checks the READMEs and docs/install.md: the program shown is the first example, and every named file and component exists."""
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs/install.md").read_text(encoding="utf-8")
EXAMPLES = (ROOT / "examples/README.md").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def program(source):
    """A source from its first #include on, without the comments before it and those for clang-format."""
    return re.sub(r"^ *// clang-format.*\n", "", source[source.index("#include"):], flags=re.MULTILINE)


def links(text):
    """The targets of links inside the project, without text in code that looks like a link."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\((?!https?:)([^)#]+)\)", prose)


def components(text):
    return set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))


class readme(unittest.TestCase):
    def test_shows_the_first_example_unchanged(self):
        source = (ROOT / "examples/01_lenet.cpp").read_text(encoding="utf-8")
        self.assertEqual(blocks(README, "cpp"), [program(source)])

    def test_requires_the_current_version(self):
        header = (ROOT / "include/cohort/version.hpp").read_text(encoding="utf-8")
        version = re.search(r'version = "(\d+\.\d+)', header)
        self.assertIn(f"find_package(cohort {version.group(1)} ", "".join(blocks(README, "cmake")))

    def test_links_the_components_of_the_first_example(self):
        source = (ROOT / "examples/01_lenet.cpp").read_text(encoding="utf-8")
        cmake = "".join(blocks(README, "cmake"))
        for component in re.search(r"^// needs: (.*)$", source, re.MULTILINE).group(1).split():
            self.assertRegex(cmake, rf"COMPONENTS [^)]*\b{component}\b")
            self.assertIn(f"cohort::{component}", cmake)

    def test_has_markers_around_the_measured_table(self):
        self.assertRegex(README, re.compile(r"^<!-- measured -->$.*^<!-- /measured -->$", re.MULTILINE | re.DOTALL))

    def test_names_only_existing_scripts_and_headers(self):
        for text in (README, EXAMPLES):
            for script in re.findall(r"^ +bash (\S+)", text, re.MULTILINE):
                self.assertTrue((ROOT / script).is_file(), script)
        for header in set(re.findall(r"`(cohort/[\w/]+\.hpp)`", README + INSTALL)):
            self.assertTrue(any(ROOT.glob(f"include/{header}")) or any(ROOT.glob(f"backends/*/include/{header}")), header)

    def test_all_markdown_files_link_to_existing_files(self):
        for path in ROOT.glob("**/*.md"):
            if "build" in path.relative_to(ROOT).parts:
                continue
            for link in links(path.read_text(encoding="utf-8")):
                self.assertTrue((path.parent / link).exists(), f"{path.relative_to(ROOT)}: {link}")


class install_page(unittest.TestCase):
    def test_names_every_component(self):
        cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertEqual(components(INSTALL), set(re.findall(r"^cohort_component\((\w+)", cmake, re.MULTILINE)))


class readme_of_the_examples(unittest.TestCase):
    def test_has_a_row_for_every_example(self):
        sources = {path.stem for path in (ROOT / "examples").glob("*.cpp")}
        projects = {f"{path.parent.name}/" for path in (ROOT / "examples").glob("*/CMakeLists.txt")}
        rows = {row.split()[0].replace("-", "_") for row in re.findall(r"^\| `([^`]+)` \|", EXAMPLES, re.MULTILINE)}
        self.assertEqual(rows, sources | projects)


class the_tests_themselves(unittest.TestCase):
    def test_blocks_links_and_programs_are_extracted(self):
        self.assertEqual(blocks("a\n```cpp\nint x;\n\nint y;\n```\nb\n", "cpp"), ["int x;\n\nint y;\n"])
        self.assertEqual(links("[a](b.md) `[c](d)`\n```\n[](e)\n```\n[f](https://g)"), ["b.md"])
        self.assertEqual(program("// head\n#include <x>\nint x;\n"), "#include <x>\nint x;\n")


if __name__ == "__main__":
    unittest.main()
