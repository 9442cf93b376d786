# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
# label: slow
"""The program features_logistic: the accuracy of a logistic regression on LeNet's features, and the saved models."""
import os
import pathlib
import re
import unittest

import lmdb
import reference_program as program
from lenet_mnist_program import write_digits


class features_logistic(program.cases, unittest.TestCase):
    name = "features_logistic"
    defaults = ("32", "0.02", "123")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.few = ("--data", write_digits(os.path.join(cls.folder, "digits"), train=640))

    def regression(self, *flags):
        """Returns the regression's accuracy, the run's numbers, and the finished process."""
        numbers, done = program.report(self.name, self.folder, *self.few, *flags)
        found = re.search(r"^logistic regression on the 200 features: accuracy ([\d.]+) %$", done.stdout, re.MULTILINE)
        self.assertTrue(found, done.stdout)
        return float(found.group(1)), numbers, done

    def test_trains_a_regression_on_features_and_saves_both_models(self):
        model = os.path.join(self.folder, "lenet.safetensors")
        accuracy, first, done = self.regression("--epochs", "2", "--save", model)
        self.assertGreater(accuracy, 50)  # in %, of ten classes
        self.assertIn(f"saved in {model}.logistic\n", done.stdout)
        self.assertGreater(os.path.getsize(f"{model}.logistic"), 4 * 2010)
        again, loaded, _ = self.regression("--epochs", "0", "--load", model)
        self.assertEqual((again, loaded["checksum"]), (accuracy, first["checksum"]))  # LeNet is unchanged

    def test_trains_a_regression_on_two_ranks(self):
        accuracy, _, _ = self.regression("--epochs", "2", "--ranks", "2")
        self.assertGreater(accuracy, 50)

    def test_reads_the_databases_of_caffe(self):
        digits, folder = pathlib.Path(self.few[1]), pathlib.Path(self.folder) / "caffe"
        for name, files in (("mnist_train_lmdb", "train"), ("mnist_test_lmdb", "t10k")):
            images = (digits / f"{files}-images-idx3-ubyte").read_bytes()[16:]
            labels = (digits / f"{files}-labels-idx1-ubyte").read_bytes()[8:]
            (folder / name).mkdir(parents=True)
            with lmdb.open(str(folder / name), map_size=1 << 24) as database, database.begin(write=True) as transaction:
                for k, label in enumerate(labels):
                    # Datum: channels 1, height 28, width 28, data of 784 bytes, label
                    datum = b"\x08\x01\x10\x1c\x18\x1c\x22\x90\x06" + images[784 * k:784 * (k + 1)] + bytes((0x28, label))
                    transaction.put(f"{k:08d}".encode(), datum)
        accuracy, first, _ = self.regression("--epochs", "1")
        flags = ("--data", str(folder), "--epochs", "1")
        made, done = program.report(self.name, self.folder, *flags)
        self.assertEqual((made["checksum"], made["accuracy"]), (first["checksum"], first["accuracy"]))
        self.assertIn(f"accuracy {accuracy:.2f} %", done.stdout)
        # Databases in a folder that is searched are found without --data.
        (folder / "mnist").mkdir()
        for name in ("mnist_train_lmdb", "mnist_test_lmdb"):
            os.rename(folder / name, folder / "mnist" / name)
        searched, _ = program.report(self.name, self.folder, "--epochs", "1", env=os.environ | {"COHORT_DATA": str(folder)})
        self.assertEqual(searched["checksum"], made["checksum"])
        folder = folder / "mnist"
        flags = ("--data", str(folder), "--epochs", "1")
        with lmdb.open(str(folder / "mnist_train_lmdb")) as database, database.begin(write=True) as transaction:
            transaction.put(b"00000005", b"\x08\x01\x10\x02\x18\x02\x22\x04abcd\x28\x03")
        refused = program.run(self.name, *flags, expect=1).stderr
        self.assertIn("a Datum is not a digit of MNIST", refused)
        self.assertIn("mnist_train_lmdb/data.mdb, record 5, 00000005", refused)
        self.assertIn("expected 1x28x28 bytes and a label from 0 to 9, got 1x2x2, label 3", refused)

    def test_writes_the_same_features_on_any_number_of_ranks(self):
        model = os.path.join(self.folder, "for_features.safetensors")
        self.regression("--epochs", "1", "--save", model)
        made = []
        for ranks in ("1", "2", "3"):
            path = os.path.join(self.folder, f"features{ranks}.csv")
            _, _, done = self.regression("--epochs", "0", "--load", model, "--ranks", ranks, "--features", path)
            self.assertIn(f"images in {path}\n", done.stdout)
            with open(path, encoding="utf-8") as file:
                made.append(file.read())
        lines = made[0].splitlines()
        self.assertTrue(lines[0].startswith("example,features.0,features.1,"))
        self.assertTrue(all(line.count(",") == 200 for line in lines))
        self.assertEqual(made[1:], made[:1] * 2)
        path = os.path.join(self.folder, "features.npy")
        self.regression("--epochs", "0", "--load", model, "--ranks", "2", "--features", path)
        self.assertEqual(os.path.getsize(path), 128 + 4 * 200 * (len(lines) - 1))


if __name__ == "__main__":
    unittest.main()
