# SPDX-License-Identifier: Apache-2.0
# needs: onednn image
# label: slow
"""`cifar10 --original` has the published network and settings. Without the flag, it has settings with which the network learns."""
import json
import pathlib
import re
import struct
import tempfile
import unittest

import numpy
import reference_program as program


class model:
    """The network, the settings and the parameters of a saved model."""

    def __init__(self, path):
        content = path.read_bytes()
        begin = 8 + struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8:begin])
        texts = header.pop("__metadata__")
        layers = [next(iter(layer.items())) for layer in json.loads(texts["graph"])["layers"]]
        self.layers = {fields["name"]: fields for _, fields in layers}
        self.kinds = [kind for kind, _ in layers]
        self.settings = json.loads(texts["optimizer"])
        self.parameters = {name: numpy.frombuffer(content, "<f4", offset=begin + one["data_offsets"][0],
                                                  count=(one["data_offsets"][1] - one["data_offsets"][0]) // 4)
                           for name, one in header.items() if re.fullmatch(r"[a-z0-9_]+[.](weights|bias)", name)}
        self.shapes = {name: header[name]["shape"] for name in self.parameters}


class cifar10(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Saves both models before the first step."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for part in ("train", "test"):
                program.write_images(folder / "images" / part, 10, 1, 32)
            flags = ("--data", folder / "images", "--epochs", "0", "--save", folder / "model")
            program.run("cifar10", *flags, "--original")
            cls.page = model(folder / "model")
            program.run("cifar10", *flags)
            cls.own = model(folder / "model")

    def rates(self, settings):
        return tuple(rule["adam"]["learning_rate"] for rule in (settings["rule"], settings.get("bias_rule") or settings["rule"]))

    def test_with_original_has_the_published_network(self):
        page = self.page
        convolutions = ["conv2d", "relu"]
        self.assertEqual(page.kinds, ["input", *2 * convolutions, "max_pool", *6 * convolutions, "max_pool",
                                      *2 * ["dense", "sigmoid", "dropout"], "dense", "softmax_cross_entropy"])
        shapes = [page.shapes[f"conv2d_{n}.weights"] for n in range(1, 9)]
        self.assertEqual(shapes, [[64, 3, 4, 4], [64, 64, 4, 4], [96, 64, 4, 4], [96, 96, 4, 4], [128, 96, 3, 3], [128, 128, 3, 3],
                                  [256, 128, 2, 2], [256, 256, 2, 2]])
        self.assertEqual(sum(values.size for values in page.parameters.values()), 18_804_810)
        for name in ("dropout_1", "dropout_2"):  # keeps 20 %
            self.assertEqual(page.layers[name]["rate"], 0.8)

    def test_with_original_has_the_published_settings(self):
        page, settings = self.page, self.page.settings
        self.assertEqual(self.rates(settings), (0.01, 0.02))
        self.assertEqual([(one["layer"], *self.rates(one)) for one in settings["layers"]], [("dense_1", 0.001, 0.002)])
        self.assertEqual((settings["l1"], settings["l2"], settings["bias_l1"], settings["bias_l2"]), (1e-4, 5e-4, 0, 0))
        self.assertEqual(settings["normalisation"], "renormalize_l2_per_layer")
        for name, values in page.parameters.items():
            if name.endswith(".bias"):
                wanted = {"dense_1.bias": 1e-3, "dense_3.bias": 0}.get(name, 1e-2)
                self.assertEqual(set(values), {numpy.float32(wanted)}, name)
                continue
            outputs, inputs, *window = page.shapes[name]
            bound = (6 / ((inputs + outputs) * numpy.prod(window))) ** 0.5  # Xavier, uniform
            self.assertLessEqual(abs(values).max(), bound * (1 + 1e-6), name)
            self.assertGreater(abs(values).max(), 0.98 * bound, name)

    def test_without_original_has_other_activations_rates_and_regularisation(self):
        own = self.own
        self.assertNotIn("sigmoid", own.kinds)
        self.assertEqual(own.kinds.count("relu"), 10)
        self.assertEqual({own.layers[name]["rate"] for name in ("dropout_1", "dropout_2")}, {0.2})
        self.assertEqual(self.rates(own.settings), (0.0005, 0.0005))
        self.assertEqual((own.settings["l1"], own.settings["l2"]), (0, 0))
        self.assertEqual({float(value) for name in own.parameters if name.endswith(".bias") for value in set(own.parameters[name])}, {0})


if __name__ == "__main__":
    unittest.main()
