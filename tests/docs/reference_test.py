# SPDX-License-Identifier: Apache-2.0
"""docs/reference.py writes the reference from the headers' contracts, and refuses a header without one."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent.parent))
sys.path.insert(0, str(ROOT / "tests"))

import layering_test  # noqa: E402

# Public names that the pages' programs declare themselves, or that a page explains.
OWN_NAMES = {"forecast", "from_json", "kind", "message_coding", "message_header", "message_kind", "outer_step", "residual_policy", "same", "tensor_table",
             "text_of", "threshold_policy", "thresholds", "top_k_compressor"}


def build(root, folder):
    return subprocess.run([sys.executable, root / "docs/reference.py", root, folder], capture_output=True, text=True, timeout=60)


def entry(page, name):
    """The text of one entry."""
    return re.search(rf"^## {name}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL).group(1)


def rows(text):
    """Field → type and default."""
    return {row[0].strip("`"): (row[1].strip("`"), row[2].strip("`")) for row in
            ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines() if line.startswith("| `"))}


class reference(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        cls.done = build(ROOT, folder)
        cls.pages = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_is_built_with_all_its_pages(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(set(self.pages), {"README", "runs", "data", "text", "models", "networks", "layers", "losses", "optimizers", "schedules", "values", "settings",
                                           "listeners", "metrics", "strategies", "backends", "errors", "extensions"})

    def test_has_a_layer_with_its_shapes_and_fields(self):
        text = entry(self.pages["layers"], "dense")
        self.assertIn("`#include <cohort/layer/dense.hpp>`", text)
        self.assertIn("- **Shapes:** input of n elements", text)
        self.assertEqual(rows(text), {"units": ("int", "required"), "bias": ("bool", "true"), "settings": ("layer_settings", "{}")})
        self.assertNotIn("settings", rows(entry(self.pages["layers"], "dropout")))
        self.assertNotIn("```cpp", self.pages["layers"])  # members for kernels: see `layer`

    def test_has_an_optimizer_with_its_formula_and_defaults(self):
        text = entry(self.pages["optimizers"], "adam")
        self.assertIn("u = η·m̂ / (√v̂ + epsilon)", text)
        self.assertEqual(rows(text), {"learning_rate": ("rate_schedule", "1e-3"), "beta1": ("double", "0.9"), "beta2": ("double", "0.999"),
                                      "epsilon": ("double", "1e-8"), "epsilon_hat": ("double", "0")})

    def test_has_all_fields_of_settings(self):
        found = rows(entry(self.pages["settings"], "fit_settings"))
        self.assertEqual(list(found), ["batch", "epochs", "shuffle", "blocks", "prefetch", "bucket", "readers", "accumulate", "sharding", "validation",
                                       "metrics", "listeners"])
        self.assertEqual(found["sharding"], ("cohort::sharding", "cohort::sharding::global"))
        settings = (ROOT / "include/cohort/training/settings.hpp").read_text(encoding="utf-8")
        body = re.search(r"^struct training_settings \{$(.*?)^\};", settings, re.MULTILINE | re.DOTALL).group(1)
        names = re.findall(r"^  [\w:<>]+ (\w+)(?: = |\{|;)", body, re.MULTILINE)
        self.assertEqual(list(rows(entry(self.pages["settings"], "training_settings"))), names)
        self.assertGreater(len(names), 10)

    def test_has_a_strategy_with_all_its_sections(self):
        text = entry(self.pages["strategies"], "allreduce")
        self.assertEqual(re.findall(r"^- \*\*(\w+):\*\*", text.split("```cpp")[0], re.MULTILINE),
                         ["Shapes", "Units", "Order", "Before", "After", "Moves", "Errors", "Exact", "Source"])
        self.assertIn("- **Order:** collective.\n- **Errors:** setting\\_error for an invalid setting.", text)
        self.assertEqual(rows(text)["resync"], ("int", "100"))

    def test_has_the_functions_that_a_custom_strategy_overrides_and_uses(self):
        text = entry(self.pages["extensions"], "strategy")
        self.assertIn("void after_update(step_info const&, replica const&, bool /*updated*/)\n", text)
        self.assertIn("(`updated` false) have not taken it", text)
        self.assertIn("void read(int array, std::byte* dense) const\n", entry(self.pages["extensions"], "replica"))
        self.assertIn("std::span<bucket const> buckets() const\n", entry(self.pages["extensions"], "parameter_set"))
        self.assertIn("std::unique_ptr<communicator> duplicate() = 0\n", entry(self.pages["extensions"], "communicator"))

    def test_has_the_interface_of_a_custom_layer(self):
        self.assertIn("`reads_scalars` ", entry(self.pages["extensions"], "layer"))
        arguments = rows(entry(self.pages["extensions"], "host_arguments"))
        self.assertEqual(arguments["diff_inputs"], ("T* const*", "nullptr"))
        self.assertEqual(arguments["parameters"], ("T const* const*", "nullptr"))

    def test_has_the_enumerations_of_settings(self):
        text = entry(self.pages["values"], "sharding")
        self.assertIn("```cpp\nenum class sharding { global, local };\n```", text)
        self.assertIn("its own data set", text)
        self.assertIn("enum class rescaling {", entry(self.pages["values"], "rescaling"))
        self.assertIn("sides     the given number of elements per side", entry(self.pages["values"], "padding"))

    def test_has_every_layer_optimizer_and_listener(self):
        header = (ROOT / "include/cohort/layer/detail/built_in_layers.hpp").read_text(encoding="utf-8")
        kinds = set(re.findall(r"\w+", re.search(r"layer_list<\s([^>]*)>;", header).group(1)))
        self.assertGreater(len(kinds), 40)
        titles = set(re.findall(r"^## (\w+)$", self.pages["layers"] + self.pages["losses"], re.MULTILINE))
        self.assertEqual((kinds | {"separable_conv2d"}) - titles, set())
        rules = re.search(r"enum class update_rule.*?\{(.*?)\}", (ROOT / "include/cohort/optimizer/detail/update_rows.hpp").read_text(encoding="utf-8"),
                          re.DOTALL).group(1)
        self.assertEqual(set(re.findall(r"^## (\w+)$", self.pages["optimizers"], re.MULTILINE)), set(re.findall(r"\w+", rules)) - {"own"})
        for header in (ROOT / "include/cohort").glob("*/*_listener.hpp"):
            self.assertIn(f"## {header.stem}\n", self.pages["listeners"])

    def test_has_public_members_of_classes_only(self):
        text = entry(self.pages["listeners"], "checkpoint_listener")
        self.assertEqual(rows(text), {})
        self.assertIn("std::string const& newest() const\n", text)
        text = entry(self.pages["metrics"], "regression_report")
        self.assertIn("std::optional<double> mse(int c) const\nstd::optional<double> mae(int c) const\n", text)
        self.assertNotIn("magnitude_limit", text)
        text = entry(self.pages["listeners"], "score_listener")
        self.assertIn("```cpp\nscore_listener(std::int64_t every = 100, sink to = stderr_sink())\n```", text)

    def test_has_the_functions_that_programs_call(self):
        text = entry(self.pages["runs"], "training")
        self.assertIn("predictions predict(data_table const& rows) const\n", text)
        self.assertIn("table_encoder const& encoder() const\n", text)
        self.assertNotIn("detail::", text)
        text = entry(self.pages["runs"], "predictions")
        self.assertEqual(rows(text)["values"], ("std::vector<float>", "{}"))
        self.assertIn("int count() const\n", text)
        self.assertEqual(rows(entry(self.pages["runs"], "fit_report"))["stopped"], ("bool", "false"))
        self.assertIn("training load_trained<Choice, UserLayers...>(std::string const& path, training_settings settings = {})\n",
                      entry(self.pages["runs"], "load_trained"))
        self.assertIn("training trainer<Choice>(graph net, communicator& world, Description const& how, training_settings settings = {})\n",
                      entry(self.pages["runs"], "trainer"))
        text = entry(self.pages["data"], "data_table")
        for call in ("int rows() const", "text_column texts(std::string_view column) const"):
            self.assertIn(f"{call}\n", text)
        text = entry(self.pages["data"], "split")  # overloads of two headers
        for header in ("data_table", "split"):
            self.assertIn(f"`#include <cohort/data/{header}.hpp>`", text)
        self.assertIn("concept indexed_dataset\n", entry(self.pages["data"], "indexed_dataset"))
        self.assertIn("Has members of confusion\\_matrix: `accuracy`", entry(self.pages["metrics"], "classification_report"))

    def test_has_the_template_arguments_of_calls(self):
        self.assertIn("\nint launch<Kind>(int ranks, communicator_settings settings, Body&& body)\n", entry(self.pages["runs"], "launch"))
        self.assertIn("\ngraph network<UserLayers...>() const\n", entry(self.pages["runs"], "model_file"))
        self.assertIn("\nstd::span<T> gradients<T = float>()\n", entry(self.pages["runs"], "training_loop"))
        self.assertIn("\nstatic graph build(F&& describe)\n", entry(self.pages["networks"], "graph"))
        self.assertIn("\ntime_series(R&& values, int columns)\n", entry(self.pages["data"], "time_series"))
        for page, text in self.pages.items():
            for call in re.findall(r"^```cpp\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
                self.assertNotRegex(call, r"^(:|template|requires)", page)

    def test_marks_headers_that_cohort_hpp_does_not_include(self):
        self.assertIn("`#include <cohort/graph/summary.hpp>`, which `cohort.hpp` does not include", entry(self.pages["networks"], "summary"))
        self.assertIn("`#include <cohort/training/trainer.hpp>`\n", entry(self.pages["runs"], "trainer"))
        self.assertIn("`#include <cohort/onednn.hpp>`\n", entry(self.pages["backends"], "onednn"))

    def test_has_constants(self):
        text = entry(self.pages["metrics"], "metrics::rmse")
        self.assertIn("Square root of the mean squared error.", text)
        self.assertIn("constexpr int communicator_exit_status = 75\n", entry(self.pages["errors"], "communicator_exit_status"))

    def test_has_function_fields_fields_of_nested_types_and_lists_of_fields(self):
        self.assertEqual(rows(entry(self.pages["metrics"], "metric"))["of"], ("std::function<double(training&)>", "{}"))
        self.assertEqual(rows(entry(self.pages["settings"], "early_stopping_settings"))["on_best"], ("std::function<void(training&)>", "{}"))
        self.assertEqual(rows(entry(self.pages["schedules"], "schedule::map"))["entry::from"], ("std::int64_t", "-1"))
        self.assertEqual(rows(entry(self.pages["runs"], "rate_table"))["row::rate"], ("double", "0"))
        padding = rows(entry(self.pages["values"], "padding"))
        self.assertEqual({side: padding[side] for side in ("top", "bottom", "left", "right")},
                         dict.fromkeys(("top", "bottom", "left", "right"), ("int", "0")))

    def test_has_aliases(self):
        text = entry(self.pages["data"], "tensor_view")
        self.assertEqual(rows(text)["data"], ("std::byte const*", "nullptr"))
        self.assertIn("tensor_view rows(int first, int count) const\n", text)
        self.assertIn("using sink = std::function<void(std::string_view line)>\n", entry(self.pages["runs"], "sink"))

    def test_has_every_public_name_that_the_docs_use(self):
        public = {name for _, text in layering_test.sources("include/cohort/**/*.hpp", "backends/*/include/**/*.hpp")
                  for namespace, name in layering_test.declared_names(text) if "detail" not in namespace.split("::")}
        titles = {title.split("::")[-1] for text in self.pages.values() for title in re.findall(r"^## (.*)$", text, re.MULTILINE)}
        unknown = public - titles - OWN_NAMES
        for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md"), ROOT / "README.md"]:
            blocks = re.findall(r"^```cpp\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
            program = re.sub(r'//.*|"(?:\\.|[^"\n])*"|#include.*', "", "\n".join(blocks))
            self.assertEqual(unknown & set(re.findall(r"(?<![\w.>])(?<!element_type::)[a-z_]\w*", program)), set(), page.name)

    def test_omits_the_enclosing_namespaces_of_types(self):
        """Also if another namespace is closed before the types."""
        self.assertIn("inputs", rows(entry(self.pages["settings"], "encoder_settings")))

    def test_has_each_entry_once(self):
        for page, text in self.pages.items():
            titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
            self.assertEqual(sorted(set(titles)), sorted(titles), page)

    def test_links_every_entry_from_its_index(self):
        for page, text in self.pages.items():
            for name in re.findall(r"^## ([\w:]+)$", text, re.MULTILINE):
                self.assertIn(f"[{name}]({page}.md#{name.lower().replace('::', '')})", self.pages["README"])


class a_copy_of_the_headers(unittest.TestCase):
    """Builds the reference from a copy of the headers in which one header is changed."""

    def built_with(self, header, before, after):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(ROOT / "include", root / "include")
            shutil.copytree(ROOT / "docs", root / "docs", ignore=lambda _, names: [n for n in names if n.endswith(".md")])
            text = (root / header).read_text(encoding="utf-8")
            self.assertIn(before, text)
            (root / header).write_text(text.replace(before, after), encoding="utf-8")
            return build(root, root / "out")

    def test_without_a_contract_is_refused_with_file_and_line(self):
        header = "include/cohort/optimizer/plateau.hpp"
        lines = (ROOT / header).read_text(encoding="utf-8").splitlines()
        line = lines.index("struct reduce_on_plateau {")
        first = max(k for k in range(line) if not lines[k].startswith("///")) + 1
        contract = "\n".join(lines[first:line]) + "\n"
        done = self.built_with(header, contract, "")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{header}:{line + 1 - (line - first)}: reduce_on_plateau has no contract", done.stderr)

    def test_refuses_a_class_or_alias_without_a_contract(self):
        for header, name, before in (
                ("include/cohort/training/score_listener.hpp", "score_listener", "class score_listener final"),
                ("include/cohort/layer/rectifying_activations.hpp", "mish", "using mish =")):
            done = self.built_with(header, before, f"int separated;\n{before}")
            self.assertEqual(done.returncode, 1, name)
            self.assertRegex(done.stderr, rf"{header}:\d+: {name} has no contract")


if __name__ == "__main__":
    unittest.main()
