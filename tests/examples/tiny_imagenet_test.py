# SPDX-License-Identifier: Apache-2.0
# needs: onednn image
# tools: cohort
# label: slow
"""File batches of cohort data pack, and the program that trains from them."""
import unittest

import reference_program as program

CLASSES = 7


class tiny_imagenet(program.cases, unittest.TestCase):
    name = "tiny_imagenet"
    defaults = ("32", "0.008", "123")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program.write_images(cls.folder / "images/train", CLASSES, 10, 24)
        program.write_images(cls.folder / "images/test", CLASSES, 2, 24, seed=2)
        cls.packed = cls.folder / "packed"
        program.run("cohort", "data", "--quiet", "pack", cls.folder / "images", cls.packed, 30)
        cls.few = ("--data", cls.packed, "--batch", "14", "--epochs", "1")

    def test_learns_and_reports_that_the_images_are_not_tiny_imagenet(self):
        model = self.folder / "tiny.safetensors"
        first, done = program.report(self.name, self.folder, *self.few)
        self.assertEqual(done.stdout.splitlines()[0],
                         f"Not TinyImageNet, but {CLASSES} classes of images of 24x24 pixels, scaled to 64x64; "
                         "the accuracy is not that of TinyImageNet.")
        self.assertEqual((first["steps"], first["data"]), (5, "scaled"))
        self.assertGreaterEqual(first["top_accuracy"], first["accuracy"])
        more, done = program.report(self.name, self.folder, *self.few, "--epochs", "3", "--save", model)
        self.assertLess(more["loss"], first["loss"])
        self.assertRegex(done.stdout, r"epoch 3: accuracy [\d.]+ %, top-5 [\d.]+ %")
        self.assertRegex(done.stdout, r"\nclass_\d/class_\d_\d.png: class_\d, \d+ %\n")
        self.assertIn(b"optimizer", model.read_bytes()[:100_000])
        loaded, _ = program.report(self.name, self.folder, *self.few, "--load", model, "--epochs", "0")
        self.assertEqual((loaded["checksum"], loaded["top_accuracy"]), (more["checksum"], more["top_accuracy"]))

    def test_pack_reads_the_distributed_folders_of_tiny_imagenet(self):
        source, packed = self.folder / "distributed", self.folder / "distributed_packed"
        program.write_images(source / "train", 2, 4, 64, part="images")
        val = source / "val"
        (val / "images").mkdir(parents=True)
        for n in range(6):
            (val / f"images/val_{n}.png").write_bytes(program.png(64, 64, bytes(3 * 64 * 64)))
        (val / "val_annotations.txt").write_text(
            "".join(f"val_{n}.png\tclass_{n % 2}\t0\t0\t62\t62\n" for n in range(6)), encoding="ascii")
        words = "class_0\tgoldfish, Carassius auratus\nclass_1\tEuropean fire salamander\nn00001740\tentity\n"
        (source / "words.txt").write_text("class_0 goldfish\n", encoding="utf-8")
        self.assertIn("a line does not name a class", program.run("cohort", "data", "pack", source, packed, 3, expect=1).stderr)
        (source / "words.txt").write_text(words, encoding="utf-8")
        done = program.run("cohort", "data", "pack", source, packed, 3)
        self.assertEqual(done.stdout, f"{packed}/train: 3 archives\n{packed}/test: 2 archives\n")
        self.assertEqual(sorted(path.name for path in packed.iterdir()), ["test", "train", "words.txt"])
        self.assertEqual((packed / "words.txt").read_text(encoding="utf-8"), words)
        _, done = program.report(self.name, self.folder, "--dataPath", packed, "--batch", "8", "--epochs", "0")
        self.assertRegex(done.stdout, r"\nclass_\d/val_\d.png: (goldfish, Carassius auratus|European fire salamander), \d+ %\n")
        self.assertIn("8 training and 6 test images", done.stdout)
        self.assertIn("but 2 classes of images of 64x64 pixels; ", done.stdout.splitlines()[0])

    def test_pack_refuses_invalid_arguments(self):
        for arguments, code in (((), 2), ((self.folder, self.packed, "0"), 2), ((self.folder / "nowhere", self.packed), 1)):
            self.assertRegex(program.run("cohort", "data", "pack", *arguments, expect=code).stderr, "^cohort data: .*\n$")

    def test_a_master_address_is_refused_without_mpirun(self):
        flags = ("--dataPath", self.packed, "--batch", "14", "--epochs", "0")
        done = program.run(self.name, *flags, "--masterIP", "127.0.0.1", expect=2)
        self.assertEqual(done.stderr.splitlines()[-1],
                         "tiny_imagenet: --masterIP: expected ranks that mpirun starts, got none; there is no master process: name the "
                         "hosts in mpirun's list instead, as in mpirun -n 2 --host HOST:1,HOST:1 PROGRAM, or use --ranks on one host")

    def test_a_folder_without_file_batches_is_refused(self):
        self.assertIn("no file batches found",
                      program.run(self.name, "--data", self.folder / "images", expect=1).stderr)


if __name__ == "__main__":
    unittest.main()
