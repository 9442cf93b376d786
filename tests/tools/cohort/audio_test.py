# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib
"""cohort train, evaluate and predict on sounds: folders of WAV files, and records of them."""
import json
import math
import pathlib
import random
import struct
import sys
import tempfile
import unittest

sys.path.extend(str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("examples", "tools/cohort"))
import reference_program  # noqa: E402
from train_records_test import write_tar  # noqa: E402

RATE, SECONDS = 2000, 0.25
SOUND = {"seconds": SECONDS, "rate": RATE, "window": 128, "hop": 50, "bands": 8}
FRAMES = 1 + int(SECONDS * RATE) // 50
LAYERS = [{"input": [1, 8, FRAMES]}, "flatten", {"dense": 2}, "softmax_cross_entropy"]


def wav(hertz, numbers, rate=RATE):
    """A tone with noise as a WAV file of 16 bits."""
    samples = [int(9000 * math.sin(2 * math.pi * hertz * k / rate) + numbers.randint(-3000, 3000)) for k in range(int(SECONDS * rate))]
    data = struct.pack(f"<{len(samples)}h", *samples)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16) + b"data" + struct.pack("<I", len(data)) + data


class sounds(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        numbers = random.Random(1)
        self.files = [(wav(hertz, numbers), label) for _ in range(24) for label, hertz in enumerate((300, 700))]
        for number, (content, label) in enumerate(self.files):
            folder = self.folder / "tones" / ("low", "high")[label]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number:02d}.wav").write_bytes(content)

    def run_it(self, *words, **how):
        return reference_program.run("cohort", *words, cwd=self.folder, **how)

    def train(self, data, *flags, layers=LAYERS, **how):
        document = {"version": 1, "network": {"layers": layers}, "data": data, "normalise": {"inputs": "standardise"},
                    "optimizer": {"rule": {"adam": {"learning_rate": 0.02}}}, "training": {"epochs": 20, "batch": 8},
                    "output": {"model": "m.safetensors", "report": "r.json"}}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
        done = self.run_it("train", "run.json", *flags, **how)
        return done.stderr if how else json.loads((self.folder / "r.json").read_text(encoding="utf-8"))

    def test_in_folders_are_classified(self):
        report = self.train({"audio": {"folder": "tones", "test_fraction": 0.25, **SOUND}})
        self.assertGreater(report["accuracy"], 0.9)
        self.run_it("evaluate", "run.json", "--model", "m.safetensors", "--report", "e.json")
        evaluated = json.loads((self.folder / "e.json").read_text(encoding="utf-8"))
        self.assertEqual((evaluated["accuracy"], evaluated["examples"]), (report["accuracy"], 12))
        self.run_it("predict", "run.json", "--model", "m.safetensors", "--output", "out.csv")
        rows = (self.folder / "out.csv").read_text(encoding="utf-8").splitlines()
        self.assertRegex(rows[0], "high.*low")
        self.assertEqual((len(rows), rows[1].split(",")[0]), (49, "high/01.wav"))

    def test_have_a_test_folder(self):
        report = self.train({"audio": {"folder": "tones", "test_folder": "tones", **SOUND}}, "--ranks", 2)
        self.assertGreater(report["accuracy"], 0.9)

    def test_in_records_are_classified(self):
        write_tar(self.folder / "t.tar", self.files, lambda content, label: (("wav", content), ("cls", f"{label}".encode())))
        source = {"files": "t.tar", "test_files": "t.tar", "classes": ["low", "high"], "content": {"sounds": SOUND}, "cache": "none"}
        self.assertGreater(self.train({"records": source})["accuracy"], 0.9)
        refused = self.train({"records": {**source, "format": "tfrecord"}}, expect=2)
        self.assertIn("data.records.format): expected webdataset, because only its records contain sounds, got tfrecord", refused)

    def test_that_are_damaged_stop_the_run_or_are_skipped(self):
        (self.folder / "tones/low/00.wav").write_bytes(b"RIFF")
        data = {"audio": {"folder": "tones", "test_fraction": 0, **SOUND}}
        self.assertIn("tones/low/00.wav", self.train(data, expect=1))
        data["audio"]["bad"] = "skip"
        self.assertGreater(self.train(data)["skipped_records"], 0)
        refused = self.run_it("train", "run.json", "--set", "output.predictions=out.csv", expect=2).stderr
        self.assertIn("output.predictions): expected no file, because damaged examples that are skipped have no outputs, got out.csv", refused)
        self.assertIn("data.audio.bad", self.run_it("predict", "run.json", "--model", "m.safetensors", "--output", "out.csv", expect=1).stderr)

    def test_errors_name_the_fields(self):
        data = {"audio": {"folder": "tones", **SOUND}}
        refused = self.train(data, layers=[{"input": [1, 8, 3]}, *LAYERS[1:]], expect=1)
        self.assertIn(f"1x8x{FRAMES}", refused)
        self.assertIn("data.audio.window", self.train({"audio": {"folder": "tones", "window": 129}}, expect=1))
        self.assertIn("data.records.content.sounds.hop", self.train({"records": {"files": "x", "classes": 2, "content": {"sounds": {"hop": 0}}}}, expect=2))
        self.assertIn("data.audio.rate", self.train({"audio": {**data["audio"], "rate": 1000, "hop": 25}}, expect=1))
        self.assertIn("data.audio.folder", self.train({"audio": {}}, expect=2))


if __name__ == "__main__":
    unittest.main()
