# SPDX-License-Identifier: Apache-2.0
# needs: onednn image tcp
# tools: cohort
# label: slow
"""File batches of cohort data pack, and the program that trains from them."""
import json
import socket
import subprocess
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

    def test_processes_meet_at_the_master_address(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        reports = [self.folder / f"{k}.json" for k in range(2)]
        flags = ("--dataPath", self.packed, "--batch", "7", "--epochs", "0", "--masterIP", "127.0.0.1", "--port", port, "--numNodes", 2,
                 "--networkMask", "127.0.0.0/8")
        jobs = [subprocess.Popen([program.EXAMPLES / self.name, *map(str, flags), "--json", report], stdout=subprocess.DEVNULL)
                for report in reports]
        self.assertEqual([job.wait(program.LONGEST) for job in jobs], [0, 0])
        written = [json.loads(report.read_text(encoding="utf-8")) for report in reports if report.exists()]
        self.assertEqual([(report["communicator"], report["ranks"]) for report in written], [("tcp", 2)])

    def test_a_launcher_needs_the_host_of_rank_0_as_master(self):
        flags = ("--dataPath", self.packed, "--batch", "7", "--epochs", "0", "--masterIP")
        started = ("run", "-n", 2, program.EXAMPLES / self.name, *flags)
        self.assertIn("2 ranks over tcp", program.run("cohort", *started, "127.0.0.1").stdout)
        self.assertIn("--masterIP: expected an address of rank 0's host, the first one in the launcher's list of hosts, got '192.0.2.1'",
                      program.run("cohort", *started, "192.0.2.1", expect=2).stderr)  # an address for documentation, RFC 5737

    def test_refuses_incomplete_flags_of_a_cluster(self):
        refused = program.run(self.name, "--masterIP", "127.0.0.1", expect=2).stderr
        self.assertIn("--masterIP: expected --numNodes N as well, the number of processes, got none; start the program once on each host, "
                      "or use a launcher", refused)
        self.assertIn("--numNodes: expected --masterIP HOST as well, got none", program.run(self.name, "--numNodes", 2, expect=2).stderr)

    def test_a_folder_without_file_batches_is_refused(self):
        self.assertIn("no file batches found",
                      program.run(self.name, "--data", self.folder / "images", expect=1).stderr)


if __name__ == "__main__":
    unittest.main()
