# SPDX-License-Identifier: Apache-2.0
# needs: configuration onednn transform zlib
# tools: cohort
"""Flags derive from the fields of documents: their names, allowed values, ranges and defaults are those of the table of fields."""
import json
import re
import tempfile
import unittest

import lenet_mnist_program as program
import reference_program

FLAGS = {"strategy": "strategy", "communicator": "ranks.communicator", "backend": "backend", "outer": "strategy.averaging.outer",
         "share": "strategy.sharing.share", "group": "strategy.sharing.group", "wire": "strategy.allreduce.wire"}


def names_in(schema, path):
    """The names that a schema allows at a path."""
    if path and path[0] in schema.get("properties", {}):
        return names_in(schema["properties"][path[0]], path[1:])
    if not path and "enum" in schema:
        return schema["enum"]
    return next((names for choice in schema.get("anyOf", ()) if (names := names_in(choice, path))), [])


class flags(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.help = re.sub(r"\n {10,}", " ", program.run("--help").stdout)
        cls.schema = json.loads(reference_program.run("cohort", "train", "--print-schema").stdout)
        cls.config = json.loads(reference_program.run("cohort", "train", cls.document(), "--print-config").stdout)

    @classmethod
    def document(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = f"{folder.name}/run.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "network": {"layers": [{"input": [1, 28, 28]}, {"dense": 10}, "softmax_cross_entropy"]}}, file)
        return path

    def text_of(self, flag):
        return re.search(rf"(?m)^  --{flag} .*$", self.help)[0]

    def refused(self, *flags):
        return program.run(*flags, expect=2).stderr

    def test_allowed_values_are_those_of_the_schema(self):
        for flag, path in FLAGS.items():
            names = names_in(self.schema, path.split("."))
            self.assertGreater(len(names), 1, flag)
            self.assertIn(f"{', '.join(names[:-1])} or {names[-1]}; ", self.text_of(flag))
            refused = self.refused(f"--{flag}", "nameless")
            self.assertRegex(refused, rf"^lenet_mnist: --{flag}: expected one of the .* {', '.join(names)}.*, got 'nameless'\n$")

    def test_defaults_are_those_of_the_run_document(self):
        for flag, value in (("workers", self.config["training"]["workers"]), ("batch", self.config["training"]["batch"]),
                            ("seed", self.config["training"]["seed"]), ("deadline", self.config["ranks"]["deadline"]),
                            ("keep", self.config["output"]["keep"]), ("communicator", self.config["ranks"]["communicator"]),
                            ("every", 5), ("density", 0.01), ("learning-rate", 0.02), ("staleness", 0)):
            self.assertTrue(self.text_of(flag).endswith(f" ({value:g})" if isinstance(value, (int, float)) else f" ({value})"),
                            self.text_of(flag))

    def test_a_value_has_the_type_of_its_field(self):
        for flag, value, expected in (("batch", "1.5", "an integer"), ("batch", "[1]", "an integer"), ("threshold", "true", "a number"),
                                      ("learning-rate", '{"step": {}}', "one of the schedules"), ("density", "2", "a number above 0 and at most 1"),
                                      ("workers", "0", "at least 1 without --tune")):
            self.assertRegex(self.refused(f"--{flag}={value}"), rf"^lenet_mnist: --{flag}: expected {expected}.*, got '{re.escape(value)}'\n$")

    def test_a_flag_of_another_strategy_is_checked(self):
        self.assertIn("--every: expected an integer from 1", self.refused("--strategy", "allreduce", "--every", "0"))


if __name__ == "__main__":
    unittest.main()
