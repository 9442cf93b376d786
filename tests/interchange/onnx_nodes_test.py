# SPDX-License-Identifier: Apache-2.0
# label: slow
"""Every case of ONNX's own tests is imported with the right outputs, or refused with operator and reason.

The cases are those stored in Debian's libonnx-testdata, and those that PyPI's onnx generates."""
import collections
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import node as node_cases

STORED = pathlib.Path("/usr/share/libonnx-testdata/data")
FOLDERS = ("node", "pytorch-converted", "pytorch-operator", "simple")
# Cases of a release: passed and refused.
EXPECTED = {
    ("libonnx-testdata", 1072): (304, 768),
    ("onnx", 1884): (284, 1600),
}


# A message states the fault, the place, what was expected, what was found, and what to do if a user can do
# something.
MESSAGE = (r"^cannot import the ONNX network: .+ \(model\.onnx.*\): expected .+, got .+; .+$"
           r"|^cannot read the ONNX file \(.+\): expected .+, got .+$")


def run(*folders):
    """The outcomes by name, and the reasons of those that are refused."""
    done = subprocess.run([os.environ["COHORT_PROGRAM"], *map(str, folders)], capture_output=True, text=True)
    outcomes = {}
    for line in done.stdout.splitlines():
        head, _, reason = line.partition(": ")
        what, _, name = head.partition(" ")
        outcomes[name] = (what, reason)
    if done.returncode not in (0, 1) or done.stderr:
        raise AssertionError(done.stderr + done.stdout[-2000:])
    return outcomes


def write_cases(folder):
    """Writes the cases of the installed onnx in the layout of the stored ones."""
    for case in node_cases.collect_testcases(None):
        data = folder / case.name / "test_data_set_0"
        data.mkdir(parents=True)
        (folder / case.name / "model.onnx").write_bytes(case.model.SerializeToString())
        for role, values in zip(("input", "output"), case.data_sets[0]):
            for number, value in enumerate(values):
                if isinstance(value, (numpy.ndarray, numpy.generic)):
                    value = numpy_helper.from_array(numpy.asarray(value))
                if isinstance(value, onnx.TensorProto):
                    (data / f"{role}_{number}.pb").write_bytes(value.SerializeToString())


class onnx_node_cases(unittest.TestCase):
    def check(self, source, outcomes):
        counts = collections.Counter(what for what, _ in outcomes.values())
        print(f"{source}: {len(outcomes)} cases, {counts['passed']} passed, {counts['refused']} refused, "
              f"{counts['failed']} failed")
        self.assertEqual([(name, reason) for name, (what, reason) in outcomes.items() if what == "failed"], [])
        for name, (what, reason) in outcomes.items():
            if what == "refused":
                self.assertRegex(reason, MESSAGE, name)
        if (source, len(outcomes)) in EXPECTED:
            self.assertEqual((counts["passed"], counts["refused"]), EXPECTED[source, len(outcomes)])

    def test_of_libonnx_testdata_match_or_are_refused(self):
        self.check("libonnx-testdata", run(*(STORED / folder for folder in FOLDERS)))

    def test_of_the_onnx_package_match_or_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = pathlib.Path(folder) / "cases"
            write_cases(cases)
            self.check("onnx", run(cases))


if __name__ == "__main__":
    unittest.main()
