# SPDX-License-Identifier: Apache-2.0
# needs: onednn
# label: slow
"""The programs of sequences: they learn from small files, also on two ranks, and generate text."""
import math
import os
import random
import unittest

import reference_program as program


def control_charts(path, each=100, steps=60):
    """Six classes: flat, cyclic, rising, falling, shifted upwards and downwards."""
    numbers = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        for label in range(6):
            for _ in range(each):
                trend, shift = (0, 0, 0.4, -0.4, 0, 0)[label], (0, 0, 0, 0, 15, -15)[label]
                file.write(" ".join(
                    f"{30 + numbers.gauss(0, 1) + trend * t + (shift if t > 30 else 0) + (12 * math.sin(t / 2) if label == 1 else 0):.4f}"
                    for t in range(steps)) + "\n")


def vowels(path, count, columns=3):
    """Series of 5 to 12 steps; the class is the column that is largest."""
    numbers = random.Random(count)
    with open(path, "w", encoding="utf-8") as file:
        file.write("@problemName drawn\n@data\n")
        for k in range(count):
            label, steps = k % columns, numbers.randint(5, 12)
            rows = [",".join(f"{numbers.gauss(1 if column == label else 0, 0.5):.4f}" for _ in range(steps)) for column in range(columns)]
            file.write(":".join(rows) + f":{label + 1}\n")


class sequence_classification(program.cases, unittest.TestCase):
    name = "sequence_classification"
    defaults = ("32", "0.005", "123")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.charts = os.path.join(cls.folder, "charts.data")
        control_charts(cls.charts)
        cls.few = ("--data", cls.charts, "--epochs", "2")

    def test_learns_control_charts_and_reloads_a_saved_model(self):
        model = os.path.join(self.folder, "charts.safetensors")
        once, done = program.report(self.name, self.folder, "--data", self.charts, "--epochs", "6", "--save", model)
        self.assertIn("450 training and 150 test", done.stdout)
        self.assertGreater(once["accuracy"], 0.8)
        loaded, _ = program.report(self.name, self.folder, *self.few, "--load", model, "--epochs", "0")
        self.assertEqual((loaded["checksum"], loaded["accuracy"]), (once["checksum"], once["accuracy"]))

    def test_learns_series_of_different_lengths_over_ranks(self):
        folder = os.path.join(self.folder, "vowels")
        os.makedirs(folder, exist_ok=True)
        vowels(os.path.join(folder, "JapaneseVowels_TRAIN.ts"), 120)
        vowels(os.path.join(folder, "JapaneseVowels_TEST.ts"), 60)
        for flags in (("--ranks", "1"), ("--ranks", "2", "--strategy", "averaging"), ("--ranks", "2", "--batch", "16")):
            made, _ = program.report(self.name, self.folder, "--data", folder, "--epochs", "12", *flags)
            self.assertGreater(made["accuracy"], 0.9, flags)

    def test_reports_the_line_of_an_invalid_number(self):
        path = os.path.join(self.folder, "wrong.data")
        with open(path, "w", encoding="utf-8") as file:
            file.write("1 2 3\n1 x 3\n")
        done = program.run(self.name, "--data", path, expect=1)
        self.assertIn(f"cannot read a series ({path}, line 2): expected numbers, got 'x'", done.stderr)


class text_generators:
    """Requirements on the programs that generate text."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = os.path.join(cls.folder, "text.txt")
        with open(text, "w", encoding="utf-8") as file:
            file.write("to be or not to be, that is the question.\n" * 200)
        cls.few = ("--data", text, "--batch", "16", "--epochs", "1")

    def test_learns_and_generates_text(self):
        model = os.path.join(self.folder, f"{self.name}.safetensors")
        made, done = program.report(self.name, self.folder, *self.few, "--epochs", self.epochs, "--generate", "80", "--save", model)
        self.assertLess(made["loss"], 1.5)  # from ln 17
        sample = "".join(line + "\n" for line in done.stdout.split("\n\n")[1].splitlines())
        self.assertTrue(set(sample) <= set("to be or not to be, that is the question.\n"), sample)
        again = [program.run(self.name, *self.few, "--load", model, "--epochs", "0", "--generate", "40").stdout for _ in range(2)]
        self.assertEqual(again[0], again[1])

    def test_learns_on_two_ranks(self):
        two, _ = program.report(self.name, self.folder, *self.few, "--epochs", self.epochs, "--ranks", "2", "--batch", "8", "--generate", "0")
        self.assertLess(two["loss"], 1.5)


class char_lstm(text_generators, program.cases, unittest.TestCase):
    name = "char_lstm"
    epochs = "10"
    defaults = ("32", "0.002", "123", "300")


class gpt(text_generators, program.cases, unittest.TestCase):
    name = "gpt"
    epochs = "4"
    defaults = ("12", "0.001", "123", "300", "small")

    def test_refuses_an_unknown_size(self):
        done = program.run(self.name, "--size", "huge", expect=2)
        self.assertIn("--size: unknown value 'huge'", done.stderr)


if __name__ == "__main__":
    unittest.main()
