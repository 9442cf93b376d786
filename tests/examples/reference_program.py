# SPDX-License-Identifier: Apache-2.0
"""Code shared by the tests of the reference networks' programs."""
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import zlib

os.environ.update(BACKEND_PRIORITY_CPU="200", BACKEND_PRIORITY_GPU="100")  # bits are compared, so the backend is the processor's
BUILD = pathlib.Path(os.environ["COHORT_BUILD_DIR"])
EXAMPLES = BUILD / "examples"
COHORT = BUILD / "tools/cohort/cohort"
LONGEST = 300  # seconds that any command may take


def run(name, *flags, before=(), expect=0, timeout=LONGEST, **more):
    """`before`: the command that starts the program, with its flags; `expect`: an exit status, or several."""
    done = subprocess.run([*before, COHORT if name == "cohort" else EXAMPLES / name, *map(str, flags)], capture_output=True, text=True, timeout=timeout,
                          **more)
    wanted = (expect,) if isinstance(expect, int) else expect
    assert done.returncode in wanted, f"exit {done.returncode}: {done.stdout[-500:]}{done.stderr[-3000:]}"
    return done


def report(name, folder, *flags, **more):
    """The numbers of a run, and its output."""
    path = pathlib.Path(folder) / "report.json"
    done = run(name, "--json", path, *flags, **more)
    return json.loads(path.read_text(encoding="utf-8")), done


def png(width, height, pixels):
    """An image file of red, green and blue bytes, row by row."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + pixels[3 * width * y:3 * width * (y + 1)] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def write_images(folder, classes, each, side, part="", seed=1):
    """Files of noise in folder/class_0/part/…, brighter from class to class."""
    numbers = random.Random(seed)
    folder = pathlib.Path(folder)
    for label in range(classes):
        brightness = bytes(200 * label // classes + value // 8 for value in range(256))
        inside = folder / f"class_{label}" / part
        inside.mkdir(parents=True)
        for i in range(each):
            (inside / f"class_{label}_{i}.png").write_bytes(
                png(side, side, numbers.randbytes(3 * side * side).translate(brightness)))


class cases:
    """Requirements on every program. `name`: the program's; `few`: flags for a short run; `folder`: shared by all tests."""
    name = ""
    few = ()

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)

    def test_help_shows_flags_and_defaults(self):
        text = run(self.name, "--help").stdout
        for flag in ("--ranks", "--workers", "--strategy", "--batch", "--epochs", "--learning-rate", "--backend", "--seed",
                     "--save", "--load", "--checkpoints", "--resume", "--json", "--profile"):
            self.assertIn(flag, text)
        self.assertTrue(all(len(line) <= 120 for line in text.splitlines()))
        for default in self.defaults:
            self.assertIn(f"({default})", text)

    def test_refuses_invalid_flags_in_a_single_sentence(self):
        for flags, code in ((["--wrokers", "2"], 2), (["--batch", "0"], 2), (["--learning-rate"], 2), (["--resume"], 2),
                            ([*self.few, "--load", "/nowhere/x"], 1)):
            done = run(self.name, *flags, expect=code)
            sentences = [line for line in done.stderr.strip().splitlines() if line.startswith(f"{self.name}: ")]
            self.assertEqual(len(sentences), 1, f"{flags}: {done.stderr}")
            self.assertEqual(done.stderr.strip().splitlines()[-1], sentences[0])
