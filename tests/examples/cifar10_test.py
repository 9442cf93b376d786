# SPDX-License-Identifier: Apache-2.0
# needs: onednn image
# label: slow long
"""The CIFAR-10 program: from class folders and from binary files, with its own settings and the page's."""
import unittest

import reference_program as program

TRAIN, TEST = 160, 20


def write_binary(folder):
    """CIFAR-10's files with few records: a label, then the planes of an image as bright as its label."""
    folder.mkdir()
    for name, count in [(f"data_batch_{n}.bin", TRAIN // 5) for n in range(1, 6)] + [("test_batch.bin", TEST)]:
        (folder / name).write_bytes(b"".join(bytes([i % 10]) + bytes([20 * (i % 10)]) * 3072 for i in range(count)))


class cifar10(program.cases, unittest.TestCase):
    name = "cifar10"
    defaults = ("32", "0.0005", "123")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.images = cls.folder / "images"
        program.write_images(cls.images / "train", 10, TRAIN // 10, 32)
        program.write_images(cls.images / "test", 10, TEST // 10, 32, seed=2)
        cls.few = ("--data", cls.images, "--epochs", "1")

    def test_learns_from_class_folders(self):
        first, _ = program.report(self.name, self.folder, *self.few)
        self.assertEqual((first["steps"], first["data"]), (5, "real"))
        more, done = program.report(self.name, self.folder, *self.few, "--epochs", "4", "--batch", "16")
        self.assertLess(more["loss"], first["loss"])
        self.assertIn("class_9", done.stdout)

    def test_reads_the_binary_files(self):
        binary = self.folder / "binary"
        write_binary(binary)
        made, done = program.report(self.name, self.folder, "--data", binary, "--epochs", "0")
        self.assertIn(f"{TRAIN} training and {TEST} test images", done.stdout)
        self.assertEqual((made["steps"], made["loss"]), (0, None))
        (binary / "data_batch_3.bin").unlink()
        done = program.run(self.name, "--data", binary, expect=1)
        self.assertIn("data_batch_3.bin", done.stderr)

    def test_original_uses_the_published_learning_rate(self):
        made, _ = program.report(self.name, self.folder, *self.few, "--original")
        self.assertEqual((made["learning_rate"], made["steps"]), (0.01, 5))

    def test_refuses_a_missing_folder(self):
        done = program.run(self.name, "--data", self.folder / "nowhere", expect=1)
        self.assertIn("CIFAR-10 not found", done.stderr)


if __name__ == "__main__":
    unittest.main()
