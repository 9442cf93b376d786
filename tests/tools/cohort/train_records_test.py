# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib image
"""cohort train on records: the bits of the C++ program, for the same images in each format, and damaged records."""
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

import lmdb

sys.path.extend(str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("examples", "records", "tools/cohort"))
import reference_program as program  # noqa: E402
from protobuf_fields import content as text, integer, varint  # noqa: E402
from webdataset_python_test import crc32c  # noqa: E402

LAYERS = [{"input": [3, 8, 8]}, "flatten", {"dense": 2}, "softmax_cross_entropy"]
PIXELS = 8 * 8


def pictures(count, seed):
    """Pairs of pixels (red, green, blue by pixel) and a class: noise, brighter in class 1."""
    numbers = random.Random(seed)
    for i in range(count):
        yield bytes(150 * (i % 2) + numbers.randrange(60) for _ in range(3 * PIXELS)), i % 2


def planes(pixels, order):
    return b"".join(pixels[channel::3] for channel in order)


def datum(pixels, label):
    """A Datum as Caffe's convert_imageset writes it: planes of blue, green and red."""
    return integer(1, 3) + integer(2, 8) + integer(3, 8) + text(4, planes(pixels, (2, 1, 0))) + integer(5, label)


def write_tar(path, examples, fields):
    with tarfile.open(path, "w") as archive:
        for number, (pixels, label) in enumerate(examples):
            for field, content in fields(pixels, label):
                entry = tarfile.TarInfo(f"{number:04d}.{field}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


def image_fields(pixels, label):
    return ("png", program.png(8, 8, pixels)), ("cls", f"{label}\n".encode())


def write_lmdb(path, examples):
    with lmdb.open(str(path), map_size=1 << 24) as environment, environment.begin(write=True) as transaction:
        for number, (pixels, label) in enumerate(examples):
            transaction.put(f"{number:08d}".encode(), datum(pixels, label))


def write_sequence_file(path, examples):
    word = lambda content: varint(len(content)) + content
    content = b"SEQ\6" + word(b"org.apache.hadoop.io.Text") + word(b"org.apache.hadoop.io.BytesWritable") + b"\0\0"
    content += struct.pack(">I", 0) + bytes(range(16))
    for number, (pixels, label) in enumerate(examples):
        key, value = word(f"{number:08d}".encode()), datum(pixels, label)
        value = struct.pack(">I", len(value)) + value
        content += struct.pack(">II", len(key) + len(value), len(key)) + key + value
    path.write_bytes(content)


def write_tfrecord(path, examples, features):
    masked = lambda content: struct.pack("<I", ((crc := crc32c(content)) >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)
    content = b""
    for pixels, label in examples:
        entries = b"".join(text(1, text(1, name) + text(2, value)) for name, value in features(pixels, label))
        example = text(1, entries)
        length = struct.pack("<Q", len(example))
        content += length + masked(length) + example + masked(example)
    path.write_bytes(content)


class records(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.train = list(pictures(24, seed=1))
        for shard in (0, 1):
            write_tar(cls.folder / f"train-{shard}.tar", cls.train[12 * shard:12 * shard + 12], image_fields)
        write_tar(cls.folder / "test.tar", pictures(8, seed=2), image_fields)
        write_lmdb(cls.folder / "database", cls.train)
        cls.images = {"format": "webdataset", "files": str(cls.folder / "train-{0..1}.tar"), "classes": 2, "cache": "none"}

    def document(self, source, **more):
        return {"version": 1, "backend": "reference", "network": {"layers": LAYERS}, "data": {"records": source},
                "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"batch": 5, "epochs": 3}, **more}

    def run_it(self, source, *flags, expect=0):
        path = self.folder / "run.json"
        path.write_text(json.dumps(self.document(source)), encoding="utf-8")
        return program.run("cohort", "train", path, *flags, expect=expect)

    def report(self, source, *flags):
        path = self.folder / "report.json"
        done = self.run_it(source, "--set", f"output.report={path}", *flags)
        return json.loads(path.read_text(encoding="utf-8")), done

    def in_cpp(self, form, path):
        done = subprocess.run([os.environ["COHORT_PROGRAM"], form, path], capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()

    def test_give_the_same_checksum_as_the_cpp_program(self):
        ours, done = self.report(self.images)
        self.assertEqual(ours["checksum"], self.in_cpp("webdataset", self.images["files"]))
        self.assertEqual(done.stdout.splitlines()[0], f"data: {self.folder}/train-0.tar and 1 more, 24 training examples")
        self.assertEqual(ours["skipped_records"], 0)
        self.assertRegex(done.stdout, r"samples/s, \d+ % waiting for data, checksum")
        self.assertGreaterEqual(ours["seconds"], ours["wait_seconds"])
        self.assertGreater(ours["wait_seconds"], 0)
        database = {**self.images, "format": "lmdb", "files": [str(self.folder / "database")]}
        caffe, _ = self.report(database)
        self.assertEqual(caffe["checksum"], self.in_cpp("lmdb", self.folder / "database"))
        self.assertEqual(caffe["checksum"], ours["checksum"])

    def test_give_the_same_checksum_in_each_format(self):
        wanted = self.report(self.images)[0]["checksum"]
        write_sequence_file(self.folder / "part-00000", self.train)
        write_tfrecord(self.folder / "train.tfrecord", self.train, lambda pixels, label: (
            (b"image/encoded", text(1, text(1, program.png(8, 8, pixels)))), (b"image/class/label", text(3, text(1, varint(label))))))
        for form, file in (("sequence_file", "part-00000"), ("tfrecord", "train.tfrecord")):
            made, _ = self.report({**self.images, "format": form, "files": str(self.folder / file)})
            self.assertEqual(made["checksum"], wanted, form)
        numbers = {"numbers": {"extents": [3, 8, 8], "values": "rgb", "type": "u8", "scale": 1 / 255}}
        write_tar(self.folder / "raw.tar", self.train, lambda pixels, label: (
            ("rgb", planes(pixels, (0, 1, 2))), ("cls", str(label).encode())))
        made, _ = self.report({**self.images, "files": str(self.folder / "raw.tar"), "content": numbers})
        self.assertEqual(made["checksum"], wanted)

    def test_of_numbers_are_read_in_each_format(self):
        floats = lambda pixels: struct.pack(f"<{len(pixels)}f", *(value / 255 for value in pixels))
        write_tar(self.folder / "floats.tar", self.train, lambda pixels, label: (
            ("f32", floats(planes(pixels, (2, 1, 0)))), ("cls", str(label).encode())))
        write_tfrecord(self.folder / "floats.tfrecord", self.train, lambda pixels, label: (
            (b"x", text(2, text(1, floats(planes(pixels, (2, 1, 0)))))), (b"label", text(3, text(1, varint(label))))))
        made = {}
        for form, file, content in (("webdataset", "floats.tar", {"values": "f32"}), ("tfrecord", "floats.tfrecord", {"values": "x"}),
                                    ("lmdb", "database", {"scale": 1 / 255})):
            numbers = {"numbers": {"extents": [3, 8, 8], **content}}
            made[form], _ = self.report({**self.images, "format": form, "files": str(self.folder / file), "content": numbers})
        self.assertEqual(made["tfrecord"]["checksum"], made["webdataset"]["checksum"])
        self.assertAlmostEqual(made["lmdb"]["loss"], made["webdataset"]["loss"], places=5)

    def test_are_validated_on_other_files_with_class_names(self):
        words = self.folder / "words.txt"
        words.write_text("n2\tEuropean fire salamander\nn1\tgoldfish\n", encoding="utf-8")
        source = {**self.images, "test_files": str(self.folder / "test.tar"), "words": str(words)}
        made, done = self.report(source, "--set", "training.epochs=10")
        self.assertEqual(made["accuracy"], 1)
        self.assertIn("goldfish", done.stdout)
        same, _ = self.report({**source, "classes": ["n1", "n2"]}, "--set", "training.epochs=10")
        self.assertEqual(same["checksum"], made["checksum"])
        other = self.run_it({**source, "classes": ["n1", "n3"]}, expect=1).stderr
        self.assertIn("a class has no words (class n3)", other)
        other = self.run_it({**source, "classes": 3}, expect=1).stderr
        self.assertIn("the file of words has another number of classes", other)

    def test_train_with_a_cached_index_and_on_two_ranks(self):
        cache = self.folder / "indices"
        one, _ = self.report(self.images)
        source = {**self.images, "cache": str(cache)}
        for _ in range(2):
            made, _ = self.report(source)
            self.assertEqual(made["checksum"], one["checksum"])
            self.assertEqual(len(list(cache.iterdir())), 2)
        two, done = self.report(source, "--ranks", "2")
        self.assertIn("2 ranks over threads", done.stdout)

    def test_that_are_damaged_are_refused_or_skipped(self):
        damaged = lambda pixels, label: (("png", b"no image" if pixels == self.train[3][0] else program.png(8, 8, pixels)),
                                         ("cls", str(label).encode()))
        write_tar(self.folder / "damaged.tar", self.train, damaged)
        source = {**self.images, "files": str(self.folder / "damaged.tar"), "content": {"images": {"flip": True}}}
        self.assertIn("damaged.tar, record 3, 0003", self.run_it(source, expect=1).stderr)
        made, done = self.report({**source, "bad": "skip"})
        self.assertEqual(made["skipped_records"], 3)  # one read in each epoch
        self.assertIn("\ndamaged records: 3 reads skipped\n", done.stdout)
        self.assertEqual(done.stderr.count("skipped: "), 3)
        self.assertRegex(done.stderr, "epoch 1 of [0-9]+: loss 0[.][0-9]+, 23 of 24 examples in")
        two, _ = self.report({**source, "bad": "skip"}, "--ranks", "2")
        self.assertEqual(two["skipped_records"], 5)  # each of the ranks also reads it to compare samples of the data

    def test_of_a_test_set_must_not_all_be_damaged(self):
        good, bad = self.folder / "good.tar", self.folder / "bad.tar"
        for path, bytes_of in ((good, 16), (bad, 15)):
            with tarfile.open(path, "w") as archive:
                for number in range(8):
                    for field, content in (("cls", b"1"), ("values", bytes(bytes_of))):
                        entry = tarfile.TarInfo(f"{number:04d}.{field}")
                        entry.size = len(content)
                        archive.addfile(entry, io.BytesIO(content))
        source = {"files": str(good), "test_files": str(bad), "classes": 3, "bad": "skip",
                  "content": {"numbers": {"extents": [4], "values": "values", "type": "f32"}}}
        layers = [{"input": [4]}, {"dense": 3}, "softmax_cross_entropy"]
        model = self.folder / "untested.safetensors"
        refused = self.run_it(source, "--set", f"network.layers={json.dumps(layers)}", "--set", f"output.model={model}", expect=1)
        self.assertIn("no example of the validation data has a weight above 0 (validation): expected examples with a weight; a damaged record "
                      "that is skipped has weight 0, got 8 examples of weight 0\n", refused.stderr)
        self.assertFalse(model.exists())

    def test_must_not_all_be_damaged(self):
        """The members of one example do not follow each other: all images, then all classes."""
        path = self.folder / "unsorted.tar"
        with tarfile.open(path, "w") as archive:
            for part in (0, 1):
                for number, (pixels, label) in enumerate(self.train[:6]):
                    field, content = image_fields(pixels, label)[part]
                    entry = tarfile.TarInfo(f"{number:04d}.{field}")
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        source = {**self.images, "files": str(path)}
        grouping = (r"expected (a field png|the field cls); the members of one example must follow each other in the archive "
                    r"\(tar --sort=name\), got none")
        self.assertRegex(self.run_it(source, expect=1).stderr, grouping)
        model = self.folder / "none.safetensors"
        for ranks in ("1", "2"):
            refused = self.run_it({**source, "bad": "skip"}, "--ranks", ranks, "--set", f"output.model={model}", expect=1)
            self.assertIn("no example of the epoch has a weight above 0 (fit, epoch 1): expected examples with a weight; a damaged record that "
                          "is skipped has weight 0, got 12 examples of weight 0\n", refused.stderr)
            self.assertRegex(refused.stderr, grouping)
            self.assertFalse(model.exists())


if __name__ == "__main__":
    unittest.main()
