# SPDX-License-Identifier: Apache-2.0
"""Archives of Python's tarfile in each of its formats: Cohort lists the same files with the same bytes."""
import io
import os
import pathlib
import random
import subprocess
import tarfile
import tempfile
import unittest


def crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def files():
    numbers = random.Random(3)
    for number in range(40):
        folder = ("", "a/", "long/" * 30, "ä/")[number % 4]
        for field in ("jpg", "cls", "seg.png")[:1 + number % 3]:
            yield f"{folder}{number:06d}.{field}", numbers.randbytes(numbers.choice((0, 1, 511, 512, 513, 3000)))


class archives(unittest.TestCase):
    def test_have_the_same_files_in_each_format(self):
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            with self.subTest(form), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "shard.tar"
                with tarfile.open(path, "w", format=form) as archive:
                    for name, content in files():
                        entry = tarfile.TarInfo(name)
                        entry.size, entry.mtime = len(content), 1.5 if form == tarfile.PAX_FORMAT else 1
                        archive.addfile(entry, io.BytesIO(content))
                done = subprocess.run([os.environ["COHORT_PROGRAM"], path], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stdout)
                wanted = []
                for name, content in files():
                    start, _, base = name.rpartition("/")
                    key, _, field = base.partition(".")
                    wanted.append(f"{start + '/' if start else ''}{key} {field} {len(content)} {crc32c(content):08x}")
                self.assertEqual(sorted(done.stdout.splitlines()), sorted(wanted))


if __name__ == "__main__":
    unittest.main()
