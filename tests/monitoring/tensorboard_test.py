# SPDX-License-Identifier: Apache-2.0
"""TensorBoard reads every kind of value that tensorboard_listener writes."""
import io
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

from PIL import Image
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import metadata, plugin_data_pb2
from tensorboard.util import tensor_util

# Some of the hyperparameters: the others are further fields of the settings.
SETTINGS = {"optimizer.rule", "optimizer.rule.learning_rate", "optimizer.l1", "optimizer.l2", "initial.weights", "batch_per_rank", "ranks", "workers", "seed", "parameters",
            "strategy", "backend", "width"}
TENSORS = {"first.weights", "first.bias", "dense_1.weights", "dense_1.bias"}


class tensorboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name) / "run"
        subprocess.run([os.environ["COHORT_PROGRAM"], str(folder)], check=True, timeout=120)
        cls.files = list(folder.iterdir())
        sizes = {"scalars": 0, "histograms": 0, "images": 0, "tensors": 0, "compressedHistograms": 0}
        cls.read = event_accumulator.EventAccumulator(str(folder), size_guidance=sizes).Reload()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def curve(self, tag):
        return {event.step: event.value for event in self.read.Scalars(tag)}

    def text(self, tag):
        return [tensor_util.make_ndarray(event.tensor_proto).tolist() for event in self.read.Tensors(tag)]

    def hparams(self, tag):
        content = self.read.SummaryMetadata(tag).plugin_data
        self.assertEqual(content.plugin_name, metadata.PLUGIN_NAME)
        return plugin_data_pb2.HParamsPluginData.FromString(content.content)

    def test_rank_0_alone_writes_one_file(self):
        self.assertEqual(len(self.files), 1)

    def test_curves_have_a_point_in_each_period(self):
        loss = self.curve("train/loss")
        self.assertEqual(list(loss), [2, 4, 6, 8, 10, 12])
        self.assertTrue(all(math.isfinite(value) and value > 0 for value in loss.values()))
        self.assertEqual(set(self.curve("train/learning_rate").values()), {0.125})
        for tag in ("speed/samples_per_second", "speed/step_ms", "exchange/bytes_per_step"):
            self.assertTrue(all(value > 0 for value in self.curve(tag).values()), tag)
            self.assertEqual(list(self.curve(tag)), list(loss), tag)

    def test_epochs_have_loss_and_metrics(self):
        self.assertEqual(list(self.curve("epoch/loss")), [6, 12])
        self.assertEqual(list(self.curve("validation/loss")), [6, 12])
        self.assertTrue(all(0 <= value <= 1 for value in self.curve("validation/accuracy").values()))

    def test_parameters_gradients_and_updates_have_histograms(self):
        for kind in ("parameters", "gradients", "updates"):
            for name in TENSORS:
                events = self.read.Histograms(f"{kind}/{name}")
                self.assertEqual([event.step for event in events], [4, 8, 12])
                for event in events:
                    count = {"first.weights": 27, "first.bias": 3, "dense_1.weights": 24, "dense_1.bias": 2}[name]
                    self.assertEqual(event.histogram_value.num, count)
                    self.assertEqual(sum(event.histogram_value.bucket), count)
                    self.assertLessEqual(event.histogram_value.min, event.histogram_value.max)
                    self.assertEqual(event.histogram_value.bucket_limit[-1], event.histogram_value.max)
        self.assertTrue(self.read.CompressedHistograms("updates/dense_1.weights"))

    def test_an_update_of_sgd_is_the_gradient_times_minus_the_rate(self):
        for name in TENSORS:
            for gradient, update in zip(self.read.Histograms(f"gradients/{name}"), self.read.Histograms(f"updates/{name}")):
                of, made = gradient.histogram_value, update.histogram_value
                self.assertGreater(of.sum_squares, 0)
                for expected, got in ((of.sum, made.sum), (of.max, made.min), (of.min, made.max)):
                    self.assertAlmostEqual(got, -0.125 * expected, delta=1e-6)

    def test_update_ratios_are_between_0_and_1(self):
        for name in TENSORS:
            ratios = self.curve(f"update_ratio/{name}")
            self.assertEqual(list(ratios), [4, 8, 12])
            self.assertTrue(all(0 < value < 1 for value in ratios.values()), ratios)

    def test_images_are_decoded(self):
        filters = self.read.Images("filters/first.weights")
        self.assertEqual([(event.step, event.width, event.height) for event in filters], [(step, 9, 9) for step in (4, 8, 12)])
        own = self.read.Images("own/pixels")[0]
        self.assertEqual(list(Image.open(io.BytesIO(own.encoded_image_string)).convert("RGB").tobytes()), [255, 0, 0, 0, 0, 255])
        grey = Image.open(io.BytesIO(filters[0].encoded_image_string))
        self.assertEqual((grey.mode, grey.size, grey.getextrema()), ("L", (9, 9), (0, 255)))

    def test_texts_contain_the_network_the_settings_and_the_programs_note(self):
        self.assertEqual(self.text("own/note"), [[b"**bold**"]])
        self.assertEqual(self.read.SummaryMetadata("own/note").plugin_data.plugin_name, "text")
        self.assertIn(b"conv2d: filters 3", self.text("network")[0][0])
        self.assertIn(b"sgd", self.text("settings")[0][0])

    def test_scalars_that_the_program_adds_are_stored(self):
        self.assertEqual(self.curve("own/scalar"), {1: 0.25})

    def test_hyperparameters_contain_the_settings_and_the_programs_value(self):
        start = self.hparams(metadata.SESSION_START_INFO_TAG).session_start_info
        self.assertLessEqual(SETTINGS, set(start.hparams))
        self.assertEqual(start.hparams["optimizer.rule.learning_rate"].number_value, 0.125)
        self.assertEqual(start.hparams["batch_per_rank"].number_value, 4.5)  # the program's value replaces ours
        self.assertEqual(start.hparams["ranks"].number_value, 2)
        self.assertEqual(start.hparams["optimizer.rule"].string_value, "sgd")
        self.assertIn("allreduce", start.hparams["strategy"].string_value)
        experiment = self.hparams(metadata.EXPERIMENT_TAG).experiment
        self.assertEqual({info.name for info in experiment.hparam_infos}, set(start.hparams))
        types = {info.name: info.type for info in experiment.hparam_infos}
        self.assertEqual((types["optimizer.rule"], types["optimizer.rule.learning_rate"]), (1, 3))  # DATA_TYPE_STRING, DATA_TYPE_FLOAT64
        self.assertEqual([info.name.tag for info in experiment.metric_infos], ["epoch/loss", "validation/loss", "validation/accuracy"])
        self.assertEqual(self.hparams(metadata.SESSION_END_INFO_TAG).session_end_info.status, 1)  # STATUS_SUCCESS


if __name__ == "__main__":
    unittest.main()
