# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
"""The JSON Schema of run documents accepts all documents that the reader accepts, and refuses every mutation that the reader refuses."""
import copy
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None  # the checker below is then the only one

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name in TYPES:
        return isinstance(value, TYPES[name])
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (name == "number" or float(value).is_integer())


def accepts(schema, value, root):
    """Whether a value has a schema of the keywords that run documents need."""
    checks = {
        "$schema": lambda _: True, "title": lambda _: True, "$defs": lambda _: True,
        "$ref": lambda to: accepts(root["$defs"][to.removeprefix("#/$defs/")], value, root),
        "anyOf": lambda all_of: any(accepts(one, value, root) for one in all_of),
        "type": lambda name: is_type(value, name),
        "enum": lambda names: value in names,
        "const": lambda constant: value == constant and not isinstance(value, bool),
        "required": lambda names: not isinstance(value, dict) or set(names) <= set(value),
        "properties": lambda known: not isinstance(value, dict)
        or all(accepts(known[name], one, root) for name, one in value.items() if name in known),
        "additionalProperties": lambda _: not isinstance(value, dict) or set(value) <= set(schema["properties"]),
        "minProperties": lambda n: not isinstance(value, dict) or len(value) >= n,
        "maxProperties": lambda n: not isinstance(value, dict) or len(value) <= n,
        "items": lambda one: not isinstance(value, list) or all(accepts(one, item, root) for item in value),
        "minItems": lambda n: not isinstance(value, list) or len(value) >= n,
        "maxItems": lambda n: not isinstance(value, list) or len(value) <= n,
        "maxLength": lambda n: not isinstance(value, str) or len(value) <= n,
        "minimum": lambda n: not is_type(value, "number") or value >= n,
        "maximum": lambda n: not is_type(value, "number") or value <= n,
        "exclusiveMinimum": lambda n: not is_type(value, "number") or value > n,
        "exclusiveMaximum": lambda n: not is_type(value, "number") or value < n}
    return all(checks[keyword](argument) for keyword, argument in schema.items())


def places(value, path=()):
    """The paths of all values in a document."""
    yield path
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(one, (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def changed(document, path, value):
    made = copy.deepcopy(document)
    at(made, path[:-1])[path[-1]] = value
    return made


NETWORK = {"layers": [{"input": {"extents": [1, 8, 8], "name": "pixels"}},
                      {"conv2d": {"filters": 4, "kernel": [3, 3], "padding": [1, 1, 1, 1], "name": "first",
                                  "settings": {"weights": {"normal": {"deviation": 0.5}}, "bias": "zeros"}}},
                      {"max_pool": {"window": 2, "padding": "same"}}, "flatten", {"dense": 16},
                      {"dense": {"units": 16, "inputs": "flatten_1"}}, {"add": {"inputs": ["dense_1", "dense_2"]}}, {"dropout": 0.5},
                      {"dense": 3}, "softmax_cross_entropy"]}
PARTS = [
    {"strategy": {"allreduce": {"wire": "bf16"}}, "data": {"digits": {}}},
    {"strategy": {"averaging": {"outer": "diloco"}}, "data": {"mnist": {"folder": "a"}}},
    {"strategy": {"sharing": {"threshold": {"adaptive": {}}, "residual": {"clip": {}}}},
     "data": {"idx": {"images": "a", "labels": "b", "test_images": "c", "test_labels": "d"}}},
    {"strategy": {"sharing": {"threshold": {"fixed": {"value": 0.5}}, "share": "update", "max_staleness": "unbounded"}},
     "data": {"table": {"file": "a.csv", "target": "t", "format": {"separator": ";", "header": True}}}},
    {"data": {"table": {"file": "a.csv", "target": "t", "bad": "skip", "transform": {
        "schema": [{"name": "x", "type": "number", "lowest": 0, "highest": 9}, {"name": "t", "type": "category", "values": ["a", "b"]},
                   {"name": "c", "type": "text", "required": True, "optional": True}],
        "steps": [{"filter": {"keep": "x > 1"}}, {"derive": {"column": "y", "formula": "x * 2"}},
                  {"impute": {"columns": ["x"], "with": "constant", "number": 3}}, {"categories": {"columns": ["c"], "other": "z"}},
                  {"one_hot": {"columns": ["c"]}}, {"normalise": {"columns": ["x"], "how": "min_max"}},
                  {"rename": {"from": "x", "to": "w"}}, {"drop": {"columns": ["y"]}}]}}}},
    {"strategy": {"top_k": {"density": 0.5}}, "data": {"text": {"file": "a.txt", "tokens": {"byte_pairs": {"size": 300}}}}},
    {"strategy": "none", "data": {"series": {"file": "a.csv", "length": 3, "targets": ["x"]}}},
    {"strategy": "auto", "data": {"images": {"folder": "a", "mean": [0.5, 0.5, 0.5], "deviation": [1, 1, 1]}}},
    {"data": {"records": {"files": "a-{0..9}.tar", "test_files": ["b.tar"], "classes": 3, "bad": "skip",
                          "content": {"images": {"image": "jpg", "mean": [0.5, 0.5, 0.5], "deviation": [1, 1, 1]}}}}},
    {"data": {"audio": {"folder": "a", "seconds": 0.5, "scale": "htk"}}, "remote": {"command": ["cp", "{name}", "{file}"], "deadline": 9}},
    {"data": {"records": {"files": "a.tar", "classes": 3, "weight": "w", "content": {"sounds": {"sound": "wav", "edges": "reflect"}}}}},
    {"data": {"records": {"format": "tfrecord", "files": ["a"], "classes": ["x", "y", "z"],
                          "content": {"numbers": {"extents": [1, 8, 8], "values": "x", "type": "f32"}}}}},
    {"optimizer": {"rule": {"lars": {"learning_rate": {"map": {"values": [{"from": 0, "value": 0.1}], "warm_up": 3}},
                                        "momentum": {"cosine": {"initial": 0.5, "length": 9, "restarts": True}}}},
                   "bias_rule": "no_op", "normalisation": {"clip_elementwise": {"at": 2}}, "constraint": {"max_norm": {}},
                   "layers": [{"layer": "first", "rule": "sgd", "l2": 0.5, "frozen": False}], "plateau": {}}},
]


class schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.schema = json.loads(reference_program.run("cohort", "train", "--print-schema").stdout)
        cls.documents = [cls.effective({"version": 1, "network": NETWORK, **part}) for part in PARTS]
        imported = {"file": "a.onnx", "inputs": [{"name": "x", "extents": [1, 8, 8]}], "loss": "softmax_cross_entropy"}
        cls.documents.append(cls.effective({"version": 1, "network": {"import": imported}}))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def read(cls, document):
        path = pathlib.Path(cls.scratch.name) / "run.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return reference_program.run("cohort", "train", path, "--print-config", expect=(0, 2))

    @classmethod
    def effective(cls, document):
        done = cls.read(document)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def test_documentation_lists_the_fields_of_each_data_set(self):
        page = (pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "docs/configuration.md").read_text(encoding="utf-8")
        sets = next(form for form in self.schema["properties"]["data"]["anyOf"] if "properties" in form)["properties"]

        def listed(heading):
            table = re.split(r"\n##+ ", page.split(f"\n{heading}\n")[1])[0]
            cells = re.findall(r"^\| (`[^|]+`) \|", table, re.MULTILINE)
            return sorted(name for cell in cells for name in re.findall(r"`([\w.]+)`", cell))

        for name in ("idx", "table", "text", "series", "images", "audio"):
            self.assertEqual(listed(f"### {name}"), sorted(sets[name]["properties"]), name)
        self.assertEqual(listed("### digits, mnist"),
                         sorted(f"{name}.{field}" for name in ("digits", "mnist") for field in sets[name]["properties"]))
        self.assertEqual(listed("### Format of a table"), sorted(sets["table"]["properties"]["format"]["properties"]))
        records = [name.removeprefix("records.") for name in listed("## Records: shards and databases") if name.startswith("records.")]
        self.assertEqual(sorted(records), sorted(sets["records"]["properties"]))

    def test_documentation_states_the_defaults(self):
        page = (pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "docs/configuration.md").read_text(encoding="utf-8")

        def is_default(stated, value):
            if name := re.fullmatch(r"`([\w.]+)`(: .*)?", stated):
                return name[1] in (value if isinstance(value, dict) else [value])
            if re.fullmatch(r"\[.*\]|true|false|null|[\d.]+(e-\d+)?", stated):
                return json.loads(stated) == value
            return value in ("", 0, None) or isinstance(value, (list, dict))  # prose, such as "no test set"

        def compare(heading, fields, prefix=""):
            section = re.split(r"\n##+ ", page.split(f"\n{heading}\n")[1])[0]
            compared = 0
            for cells, stated in re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+) \| (?:[^|\n]*) \| ([^|\n]+) \|", section, re.MULTILINE):
                names = [name for name in re.findall(r"`([\w.]+)`", cells) if name.startswith(prefix)]
                defaults = stated.split(", ") if len(names) > 1 and stated != "required" and stated.count(", ") == len(names) - 1 else [stated] * len(names)
                for name, default in zip(names, defaults):
                    if default == "required":
                        continue
                    value = fields
                    for key in name.removeprefix(prefix).split("."):
                        value = value[key]
                    compared += 1
                    self.assertTrue(is_default(default, value), f"{heading}, {name}: {default}, not {value}")
            return compared

        def data(name, **required):
            return self.effective({"version": 1, "network": NETWORK, "data": {name: required}})["data"][name]

        table = data("table", file="a.csv", target="t")
        compared = compare("### table", table) + compare("### Format of a table", table["format"])
        compared += sum(compare("### digits, mnist", data(name), f"{name}.") for name in ("digits", "mnist"))
        compared += compare("### idx", data("idx", images="a", labels="a")) + compare("### text", data("text", file="a"))
        compared += compare("### series", data("series", file="a.csv", length=2)) + compare("### images", data("images", folder="a"))
        compared += compare("### audio", data("audio", folder="a"))
        compared += compare("## Records: shards and databases", data("records", files="a", classes=2) | {"classes": 0}, "records.")
        everything = self.effective({"version": 1, "network": NETWORK, "training": {"early_stopping": {}}})
        compared += compare("## Remote files", everything["remote"])
        compared += compare("## Metrics, class weights, early stopping", everything["training"])
        imported = self.effective({"version": 1, "network": {"import": {"file": "a.onnx"}}})
        compared += compare("### A network of another library", imported["network"]["import"], "import.")
        self.assertGreater(compared, 100)

    def test_documentation_lists_the_fields_of_each_section(self):
        page = (pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "docs/configuration.md").read_text(encoding="utf-8")
        table = page.split("| section | contains |")[1].split("\n\n")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
        self.assertEqual(sorted(rows), sorted(set(self.schema["properties"]) - {"$schema", "version"}))
        for name, contents in rows.items():
            section = self.schema["properties"][name]
            for form in section.get("anyOf", [section]):
                for field in form.get("properties", ()):
                    self.assertIn(f"`{field}`", contents, name)
        values = self.schema["properties"]
        for name, choices in {"backend": values["backend"], "strategy": values["strategy"]["anyOf"][0], "ranks": values["ranks"]["properties"]["communicator"]}.items():
            for choice in choices["enum"]:
                self.assertIn(f"`{choice}`", rows[name].replace("[", "").replace("]", ""), name)

    def accepts(self, document):
        ours = accepts(self.schema, document, self.schema)
        if jsonschema:
            self.assertEqual(jsonschema.Draft202012Validator(self.schema).is_valid(document), ours)
        return ours

    def test_is_a_valid_json_schema(self):
        if jsonschema:
            jsonschema.Draft202012Validator.check_schema(self.schema)
        self.assertEqual(self.schema["required"], ["version", "network"])

    def test_accepts_documents_as_written_by_hand_and_with_all_fields(self):
        for part, document in zip(PARTS, self.documents):
            self.assertTrue(self.accepts({"version": 1, "network": NETWORK, **part}), part)
            self.assertTrue(self.accepts(document), part)

    def test_accepts_every_choice_by_name(self):
        for path in (("data",), ("strategy",), ("optimizer", "rule"), ("optimizer", "normalisation"), ("optimizer", "constraint"),
                     ("initial", "weights"), ("initial", "bias")):
            node = self.schema
            for key in path:
                node = node["properties"][key]
            node = self.schema["$defs"][node["$ref"].rsplit("/")[-1]] if "$ref" in node else node
            names = node["anyOf"][0]["enum"]
            self.assertEqual(names, list(node["anyOf"][1]["properties"]))
            for name in names:
                with self.subTest("/".join(path), name=name):
                    document = changed(self.documents[0], path, name)
                    self.assertTrue(self.accepts(document))
                    stderr = self.read(document).stderr
                    self.assertNotIn("cannot read", stderr)  # files may be missing
                    self.assertTrue(self.accepts(changed(self.documents[0], path, {name: {}})))
                    document = changed(self.documents[0], path, {name: None})
                    self.assertTrue(self.accepts(document))
                    self.assertNotIn("cannot read", self.read(document).stderr)

    def test_refuses_every_unknown_field_and_every_value_of_another_type(self):
        seen = set()
        for document in self.documents:
            for path in places(document):
                kind = tuple("#" if isinstance(key, int) else key for key in path)
                if kind in seen:
                    continue  # one place of each kind is enough
                seen.add(kind)
                mutated = []
                if isinstance(at(document, path), dict):
                    mutated.append(changed(document, (*path, "unknown_field"), 1))
                if path:
                    wrong = [[["x"]], {"unknown": 1}] if not isinstance(at(document, path), dict) else [[{}]]
                    mutated += [changed(document, path, value) for value in wrong]
                for one in mutated:
                    with self.subTest(path=path, value=at(one, path) if path else one):
                        self.assertFalse(self.accepts(one))
        self.assertGreater(len(seen), 200)

    def test_the_reader_refuses_what_the_schema_refuses(self):
        document = self.documents[3]
        for path in places(document):
            if not path or any(isinstance(key, int) and key > 0 for key in path):
                continue
            value = [["x"]] if not isinstance(at(document, path), dict) else [{}]
            done = self.read(changed(document, path, value))
            self.assertEqual(done.returncode, 2, path)
            self.assertIn("cannot read the document", done.stderr, path)

    def test_schema_and_reader_accept_null_for_the_same_fields(self):
        seen, accepted = set(), 0
        for document in self.documents:
            for path in places(document):
                kind = tuple("#" if isinstance(key, int) else key for key in path)
                if not path or kind in seen or kind[-1] in ("add", "map", "cosine"):  # whose defaults do not fit here
                    continue
                seen.add(kind)
                one = changed(document, path, None)
                if document is not self.documents[3] and not self.accepts(one):
                    continue  # all places of one document are enough
                with self.subTest(path=path):
                    read = "cannot read the document" not in self.read(one).stderr
                    self.assertEqual(self.accepts(one), read)
                    accepted += read
        self.assertGreater(len(seen), 200)
        self.assertGreater(accepted, 10)

    def test_integers_may_have_a_point_or_an_exponent(self):
        for text in ("1e2", "100.0", "1.5", "1e-1"):
            document = json.dumps({"version": 1, "network": NETWORK, "training": {"batch": "?"}}).replace('"?"', text)
            path = pathlib.Path(self.scratch.name) / "run.json"
            path.write_text(document, encoding="utf-8")
            done = reference_program.run("cohort", "train", path, "--print-config", expect=(0, 2))
            self.assertEqual(self.accepts(json.loads(document)), done.returncode == 0, text)

    def test_refuses_numbers_out_of_range(self):
        for path, value in ((("training", "batch"), 0), (("training", "epochs"), -1), (("ranks", "count"), 0), (("version",), 2),
                            (("optimizer", "l2"), -0.5), (("evaluation", "top"), 0), (("optimizer", "decay_from_rank"), 9),
                            (("data", "table", "test_fraction"), 1), (("data", "table", "test_fraction"), -0.1)):
            document = changed(self.documents[3], path, value)
            self.assertFalse(self.accepts(document), path)
            self.assertEqual(self.read(document).returncode, 2, path)


if __name__ == "__main__":
    unittest.main()
