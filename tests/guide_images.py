# SPDX-License-Identifier: Apache-2.0
"""Writes the folder of photographs that a page of the guide trains on: 300 images each of four classes of CIFAR-10 if
$COHORT_DATA has them, otherwise synthetic images of the same names and sizes.
"""
import os
import pathlib
import random
import struct
import tarfile
import zlib

CLASSES = ["airplane", "frog", "horse", "truck"]
COUNT = 300
SIDE = 32
ARCHIVE = "cifar10/cifar10_12k_jpeg.tar.xz"


def unpack(archive, folder):
    with tarfile.open(archive) as packed:
        for entry in packed:
            part, _, path = entry.name.partition("/")
            label, _, name = path.partition("/")
            there = folder / label
            if part == "train" and label in CLASSES and name and len(list(there.glob("*"))) < COUNT:
                there.mkdir(parents=True, exist_ok=True)
                (there / name).write_bytes(packed.extractfile(entry).read())


def png(rows):
    """A PNG file; each of the rows is a list of red, green and blue in turn."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(row) for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def drawn(label, numbers):
    """Noise with a bright stripe, whose direction depends on the label."""
    place, length = numbers.randrange(8, SIDE - 8), numbers.randrange(3, 6)
    across = [lambda x, y: x, lambda x, y: y, lambda x, y: (x + y) / 2, lambda x, y: (x - y + SIDE) / 2][label]
    return png([[numbers.randrange(100) + (120 if abs(across(x, y) - place) < length else 0) for x in range(SIDE) for _ in "rgb"]
                for y in range(SIDE)])


def write(folder):
    folder = pathlib.Path(folder)
    archive = pathlib.Path(os.environ.get("COHORT_DATA") or "", ARCHIVE)
    if archive.exists():
        unpack(archive, folder)
        return
    numbers = random.Random(1)
    for label, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for i in range(COUNT):
            (folder / name / f"{i:04}.png").write_bytes(drawn(label, numbers))
