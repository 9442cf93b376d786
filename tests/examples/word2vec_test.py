# SPDX-License-Identifier: Apache-2.0
# needs: onednn
# label: slow
"""The program word2vec: the nearest words belong to the same topic, also over ranks, and it writes files for other tools."""
import os
import pathlib
import random
import struct
import tempfile
import unittest

import reference_program as program


def write_topics(path):
    """Sentences about the sea and about the land."""
    numbers = random.Random(3)
    with open(path, "w", encoding="utf-8") as file:
        for k in range(1200):
            words = ("ship", "wave", "sail", "storm", "harbour") if k % 2 else ("field", "plough", "barn", "wheat", "cart")
            file.write(" ".join(numbers.choice(words) for _ in range(7)).capitalize() + ".\n")


class word2vec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        write_topics(cls.folder / "topics.txt")
        cls.few = ("--data", cls.folder / "topics.txt", "--batch", "64", "--epochs", "8", "--words", "ship,plough,moon")

    def test_nearest_words_belong_to_the_same_topic(self):
        for ranks in ("1", "2"):
            made, done = program.report("word2vec", self.folder, *self.few, "--ranks", ranks)
            lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
            self.assertEqual(set(lines["ship"][0:8:2]), {"wave", "sail", "storm", "harbour"})
            self.assertEqual(set(lines["plough"][0:8:2]), {"field", "barn", "wheat", "cart"})
            self.assertIn("not in the vocabulary", done.stdout)
            self.assertEqual(made["words"], 10)
            self.assertEqual(made["bytes_sent"] > 0, ranks == "2")

    def test_writes_vectors_in_both_formats_and_resumes_from_a_state(self):
        text, binary, state = (os.path.join(self.folder, name) for name in ("vectors.txt", "vectors.bin", "state.safetensors"))
        for path in (text, binary, state):
            program.run("word2vec", *self.few, "--save", path)
        lines = pathlib.Path(text).read_text(encoding="utf-8").splitlines()
        self.assertEqual(lines[0], "10 100")
        content = pathlib.Path(binary).read_bytes()
        self.assertEqual(content[:7], b"10 100\n")
        word, numbers = content[7:].split(b" ", 1)
        self.assertEqual(word.decode(), lines[1].split()[0])
        self.assertEqual(struct.unpack("<f", numbers[:4])[0], struct.unpack("<f", struct.pack("<f", float(lines[1].split()[1])))[0])
        again = os.path.join(self.folder, "again.txt")
        program.run("word2vec", *self.few, "--load", state, "--save", again)
        self.assertEqual(pathlib.Path(again).read_text(encoding="utf-8").splitlines(), lines)

    def test_help_lists_only_supported_flags(self):
        text = program.run("word2vec", "--help").stdout
        for flag in ("--data", "--ranks", "--batch", "--epochs", "--learning-rate", "--seed", "--save", "--load", "--words", "--deadline"):
            self.assertIn(flag, text)
        for flag in ("--strategy", "--backend", "--checkpoints", "--workers ", "--profile", "--generate"):
            self.assertNotIn(f"\n  {flag}", text)
        self.assertTrue(all(len(line) <= 120 for line in text.splitlines()))

    def test_refuses_invalid_flags_in_a_single_sentence(self):
        for flags, code in ((["--strategy", "allreduce"], 2), (["--batch", "0"], 2), ([*self.few, "--load", "/nowhere/x"], 1)):
            done = program.run("word2vec", *flags, expect=code)
            sentences = [line for line in done.stderr.strip().splitlines() if line.startswith("word2vec: ")]
            self.assertEqual(len(sentences), 1, f"{flags}: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
