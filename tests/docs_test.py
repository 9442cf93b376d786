# SPDX-License-Identifier: Apache-2.0
"""Checks the claims of docs/: fields and defaults of types, programs, replacements of other libraries' options, flags and
links; and the numbers of DECISIONS.md."""
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
COMING_FROM = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("**/coming_from*.md"))}
COMPILED = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").glob("**/pages_test.cpp")))


def sources(*patterns):
    return {path: path.read_text(encoding="utf-8") for pattern in patterns for path in sorted(ROOT.glob(pattern))}


def blocks(text):
    return re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def prose(text):
    """The text without blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def code_spans(text):
    return re.findall(r"`([^`\n]+)`", text)


def on_one_line(code):
    return " ".join(code.split())


def is_type(block):
    return block.startswith("struct ")


def types(code):
    """Name → fields, each with type, name and default, of the aggregates that code defines."""
    found = {}
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};$", code, re.MULTILINE | re.DOTALL):
        lines = (line.split("//")[0].strip() for line in body.splitlines() if re.match(r"  \S", line))
        field = re.compile(r"(?!using|static|constexpr|enum)([\w:<>, ]+?) (\w+)( = [^;]+|\{.*\})?;")
        found[name] = [match.groups() for match in map(field.fullmatch, lines) if match]
    return found


def headings(text):
    """The anchors of the headings."""
    plain = (re.sub(r"[^\w\- ]", "", line.lower()) for line in re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE))
    return {line.replace(" ", "-") for line in plain}


def column(text, title):
    """The cells of all columns with this title, apart from text in parentheses."""
    cells, place = [], None
    for line in prose(text).splitlines():
        row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []
        if place is None and row:
            place = next((k for k, cell in enumerate(row) if cell.split("(")[0].strip() == title), -1)
        elif not row:
            place = None
        elif place >= 0:
            cells.append(row[place])
    return cells


# What coming_from.md calls not supported → code that refuses it.
NOT_SUPPORTED = {
    "recurrent attention": '{"RecurrentAttentionLayer", no_attention}',
    "autoencoders pretrained layer by layer": '{"AutoEncoder", no_pretraining}',
    "variational autoencoders": '{"VariationalAutoencoder", no_pretraining}',
    "3D convolutions": '{"Convolution3D", no_volumes}',
    "locally connected": '{"LocallyConnected2D", no_local}',
    "capsule layers": '{"CapsuleLayer", no_capsules}',
    "SameDiff": '{"SameDiffLayer", is_code}',
    "LevelDB data": '"LevelDB cannot be read"',
    "a `cont` input of recurrent layers that restarts the state within a sequence": "check_continuation(",
    "stochastic pooling": '"no layer pools at random"',
    "MVN": '{"MVN", "it adds eps',
    "Python layers": '{"Python", "it runs a program in Python',
}


class docs_pages(unittest.TestCase):
    def test_show_types_with_their_fields_and_defaults(self):
        headers = {}
        for text in sources("include/cohort/strategy/*.hpp", "include/cohort/codec/*.hpp", "include/cohort/training/*.hpp", "include/cohort/prediction/*.hpp").values():
            headers.update(types(text))
        seen = set()
        for page, text in PAGES.items():
            for block in filter(is_type, blocks(text)):
                for name, fields in types(block).items():
                    self.assertEqual(fields, headers.get(name), f"{page}: {name}")
                    self.assertTrue(fields, f"{page}: {name}")
                    seen.add(name)
        self.assertGreaterEqual(seen, {"allreduce", "parameter_averaging", "threshold_sharing", "sharing_by", "dynamic_batching"})

    def test_show_programs_that_are_compiled(self):
        compiled = on_one_line(COMPILED)
        for page, text in PAGES.items():
            for block in blocks(text):
                if is_type(block):
                    continue
                includes = re.findall(r"^#include .*$", block, re.MULTILINE)
                body = re.sub(r"^#include .*$", "", block, flags=re.MULTILINE)
                self.assertTrue(on_one_line(body) in compiled, f"{page}: not in pages_test.cpp: {block}")
                for include in includes:
                    self.assertTrue(include + "\n" in COMPILED, f"{page}: not in pages_test.cpp: {include}")

    def test_migration_tables_name_only_existing_identifiers_and_flags(self):
        code = " ".join(sources("include/cohort/**/*.hpp", "backends/*/include/cohort/**/*.hpp", "backends/tcp/**/impl/tcp.ipp").values())
        known = set(re.findall(r"\w+", re.sub(r"//.*", "", code)))
        flags = set(re.findall(r'^    \{"([\w-]+)",', options(), re.MULTILINE))
        cells = [cell for page in COMING_FROM.values() for cell in column(page, "Cohort")]
        self.assertGreater(len(cells), 200)
        theirs = {"gamma", "power", "stepsize", "max_iter", "alpha", "local_size", "n", "p", "a", "b", "F", "conv"}
        for cell in cells:
            for span in code_spans(cell):
                if span.startswith("--"):
                    self.assertIn(span[2:], flags, cell)
                    continue
                for word in re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"|\b[\d.]+(e-?\d+)?', "", span)):
                    self.assertTrue(word in known or word in theirs, f"{word} in: {cell}")

    def test_migration_pages_call_only_refused_features_not_supported(self):
        paragraphs = re.findall(r"^Not supported: (.*?)\.$", COMING_FROM["coming_from.md"], re.MULTILINE | re.DOTALL)
        listed = [item for text in paragraphs for item in re.split(r"[;,] | and ", on_one_line(text))]
        self.assertEqual(sorted(listed), sorted(NOT_SUPPORTED))
        refusing = "".join(sources("include/cohort/caffe/**/*.?pp", "include/cohort/interchange/impl/deeplearning4j*.ipp", "tools/cohort/caffe*.cpp").values())
        for name, code in NOT_SUPPORTED.items():
            self.assertIn(code, on_one_line(refusing), name)

    def test_migration_tables_deny_only_options_that_do_not_exist(self):
        code = " ".join(sources("include/cohort/**/*.hpp", "backends/*/include/cohort/**/*.hpp").values())
        known = set(re.findall(r"\w+", re.sub(r"//.*", "", code)))
        denied = []
        for line in prose(COMING_FROM["coming_from.md"]).splitlines():
            row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []
            if len(row) > 1 and re.match(r"none\b|no counterpart", row[1]):
                denied += [re.sub(r"(?<=[a-z])([A-Z])", r"_\1", re.match(r"-?(\w+)", span)[1]).lower() for span in code_spans(row[0])]
        self.assertGreater(len(denied), 20)
        self.assertEqual([name for name in denied if name in known], [])

    def test_migration_tables_state_the_defaults_of_fields(self):
        headers, compared = {}, 0
        for text in sources("include/cohort/**/*.hpp").values():
            headers.update({name: {field: default for _, field, default in fields} for name, fields in types(text).items()})
        for cell in column(COMING_FROM["coming_from.md"], "Cohort"):
            stated = re.findall(r"`(\w+)::(\w+)` \(([\d.e-]+|true|false)\)", cell)
            for name, fields in re.findall(r"`(\w+)` \((`\.\w+` [^)]*)\)", cell):
                stated += [(name, *one) for one in re.findall(r"`\.(\w+)` ([\d.e-]+)", fields)]
            for name, field, default in stated:
                compared += 1
                self.assertEqual(headers[name][field], f" = {default}", cell)
        self.assertGreater(compared, 10)

    def test_list_the_fields_of_recurrent_layers(self):
        structs = {}
        for name in ("simple_rnn", "lstm", "gru"):
            structs.update(types((ROOT / f"include/cohort/layer/{name}.hpp").read_text(encoding="utf-8")))
        head, rows = re.search(r"^\| layer \| fields besides (.*?) \|.*\n\|.*\n((?:\|.*\n)+)", PAGES["sequences.md"], re.MULTILINE).groups()
        for row in rows.splitlines():
            name, *listed = code_spans(row)
            fields = {field for _, field, _ in structs[name]} - {"settings", "name", "at", "returns_state"}
            self.assertEqual(set(listed) | set(code_spans(head)), fields | {"units"}, name)
        self.assertEqual(len(rows.splitlines()), 3)

    def test_name_the_variables_of_the_environment_that_programs_read(self):
        patterns = (f"{folder}/**/*.{kind}" for folder in ("include", "backends", "tools", "examples") for kind in ("hpp", "ipp", "cpp", "py"))
        read = set(re.findall(r'"(COHORT_[A-Z]+(?:_[A-Z]+)*)"', "".join(sources(*patterns).values())))
        self.assertGreater(len(read), 15)
        for name in sorted(read):
            self.assertTrue(any(re.search(rf"\b{name}\b", text) for text in PAGES.values()), name)

    def test_name_only_existing_flags(self):
        flags = set(re.findall(r'^    \{"([\w-]+)",', options(), re.MULTILINE))
        for source in sources("tools/cohort/*.cpp").values():
            flags |= set(re.findall(r'"--([a-z][\w-]*)"', source))
        flags |= set(re.findall(r'"--([a-z][\w-]*)"', (ROOT / "benchmarks/scaling_simulator.cpp").read_text(encoding="utf-8")))
        flags |= set(re.findall(r"--([a-z][\w-]*)", (ROOT / "examples/launchers/slurm.sbatch").read_text(encoding="utf-8")))  # flags of sbatch
        flags |= set(re.findall(r"^    --([\w-]+)\)", (ROOT / "cmake/setup.sh").read_text(encoding="utf-8"), re.MULTILINE))
        flags |= {"logdir", "variable"}  # flags of tensorboard and pkg-config
        for page, text in PAGES.items():
            for flag in re.findall(r"(?<![\w-])--([a-z][\w-]*)", prose(text)):
                self.assertIn(flag, flags, page)

    def test_list_only_measurements_that_the_strategies_report(self):
        code = "".join(sources("include/cohort/strategy/**/*.?pp").values())
        told = {name for cell in column(PAGES["threshold_sharing.md"], "measurement") for name in code_spans(cell)}
        self.assertGreater(len(told), 8)
        self.assertLessEqual(told, set(re.findall(r'\{"(\w+)", ', code)))

    def test_have_markers_around_the_table_of_link_measurements(self):
        self.assertRegex(PAGES["strategies.md"], re.compile(r"^<!-- links -->$.*^<!-- /links -->$", re.M | re.DOTALL))

    def test_link_to_existing_files_and_headings(self):
        for page, text in PAGES.items():
            for target in re.findall(r"\]\((?!https?:)([^)]+)\)", re.sub(r"`[^`\n]*`", "", prose(text))):
                path, _, heading = target.partition("#")
                there = ROOT / "docs" / path if path else ROOT / "docs" / page
                self.assertTrue(there.exists(), f"{page}: {target}")
                if heading:
                    self.assertIn(heading, headings(there.read_text(encoding="utf-8")), f"{page}: {target}")

    def test_are_reachable_from_the_readme(self):
        for page in ("README.md", "ARCHITECTURE.md"):
            self.assertIn("](docs/README.md)", (ROOT / page).read_text(encoding="utf-8"), page)
        for page in PAGES:
            if page != "README.md":
                self.assertIn(f"]({page})", PAGES["README.md"])

    def test_keep_lines_within_160_columns(self):
        for page, text in PAGES.items():
            for line in text.splitlines():
                self.assertLessEqual(len("" if line.startswith("|") else line), 160, f"{page}: {line}")


def decision_numbers(text):
    """The numbers of the headings of DECISIONS.md."""
    return [int(number) for number in re.findall(r"^### (\d+)\. ", text, re.MULTILINE)]


def indexed_decisions(text):
    """The numbers in the table of topics of DECISIONS.md, where `1-3` are three numbers."""
    found = []
    for cell in column(text, "decisions")[1:]:
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", cell):
            found += range(int(first), int(last or first) + 1)
    return found


def cited_decisions(text):
    """The numbers in text such as `decision 3` or `(DECISIONS 3, 4)`, also behind a link."""
    cited = re.findall(r"\b(?:decisions?|DECISIONS)(?:\]\([^)]*\))?\s+(\d+(?:(?:, | and )\d+)*)", text, re.IGNORECASE)
    return [int(number) for numbers in cited for number in re.findall(r"\d+", numbers)]


class decisions(unittest.TestCase):
    TEXT = (ROOT / "DECISIONS.md").read_text(encoding="utf-8")

    def test_have_unique_ascending_numbers(self):
        numbers = decision_numbers(self.TEXT)
        self.assertGreater(len(numbers), 50)
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(len(numbers), len(re.findall(r"^#{2,} ", self.TEXT, re.MULTILINE)), "a heading without a number")

    def test_are_listed_once_in_the_table_of_topics(self):
        self.assertEqual(sorted(indexed_decisions(self.TEXT)), decision_numbers(self.TEXT))

    def test_that_files_cite_exist(self):
        folders = ("backends", "benchmarks", "cmake", "docs", "examples", "include", "tests", "tools")
        patterns = [f"{folder}/**/*.{ending}" for folder in folders for ending in ("hpp", "ipp", "tpp", "inc", "cpp", "py", "md", "sh", "cmake", "txt")]
        numbers, cited = decision_numbers(self.TEXT), 0
        for path, text in sources("*.md", "CMakeLists.txt", *patterns).items():
            if path.name == "docs_test.py":
                continue
            for number in cited_decisions(text):
                cited += 1
                self.assertIn(number, numbers, f"{path.relative_to(ROOT)} cites decision {number}")
        self.assertGreater(cited, 3)


def options():
    return (ROOT / "examples/reference_program/options.cpp").read_text(encoding="utf-8")


class the_tests_themselves(unittest.TestCase):
    def test_fields_of_structs_are_parsed_and_functions_ignored(self):
        code = "struct x {\n  int a = 1;  // b\n  std::optional<t> c{};\n  t d;\n  int f() const;\n  using u = int;\n};\n"
        self.assertEqual(types(code), {"x": [("int", "a", " = 1"), ("std::optional<t>", "c", "{}"), ("t", "d", None)]})

    def test_table_columns_are_found_by_their_header(self):
        self.assertEqual(column("|A|B (x)|\n|---|---|\n|1|`2 \\| 3`|\n\n|B|\n|---|\n|4|\n", "B")[1:], ["`2 \\| 3`", "---", "4"])

    def test_decisions_are_read_from_headings_topics_and_citations(self):
        self.assertEqual(decision_numbers("### 3. a\n## 4. b\n### 5. c\n"), [3, 5])
        self.assertEqual(indexed_decisions("| topic | decisions |\n|---|---|\n| a | 1-3, 7 |\n"), [1, 2, 3, 7])
        self.assertEqual(cited_decisions("(DECISIONS 1, 2) [DECISIONS](../DECISIONS.md) 3 decisions 4 and 5, decision\n6"), [1, 2, 3, 4, 5, 6])

    def test_headings_are_converted_to_link_anchors(self):
        self.assertEqual(headings("# A `b`, c: d\n```\n# e\n```\n"), {"a-b-c-d"})


if __name__ == "__main__":
    unittest.main()
