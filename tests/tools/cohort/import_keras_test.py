# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib keras
"""cohort import reads the files that Keras has written."""
import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program  # noqa: E402

FILES = pathlib.Path(__file__).resolve().parents[2] / "golden/keras"


class keras_files(unittest.TestCase):
    def test_give_equal_models(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder, networks = pathlib.Path(scratch), set()
            for name in ("cnn.keras", "cnn.h5"):
                done = reference_program.run("cohort", "import", FILES / name, "--to", folder / "m.safetensors")
                self.assertRegex(done.stdout, r"m.safetensors: \d+ layers, \d+ parameters; inputs .*; outputs ")
                networks.add(reference_program.run("cohort", "describe", folder / "m.safetensors").stdout)
            self.assertEqual(len(networks), 1)
            done = reference_program.run("cohort", "import", FILES / "nested.h5", "--to", folder / "m.safetensors")
            self.assertIn("fixed: not trained by the file; to freeze it here, too, set optimizer.layers: [{layer: fixed, frozen: true}]", done.stdout)
            refused = reference_program.run("cohort", "import", FILES / "layers.txt", "--to", folder / "m.safetensors", expect=2)
            self.assertIn("expected a file that ends in .onnx, .keras, .h5, .hdf5 or .prototxt", refused.stderr)


if __name__ == "__main__":
    unittest.main()
