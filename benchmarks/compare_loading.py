#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares loading examples with PyTorch's DataLoader and with pandas' C reader, interleaved.

    compare_loading.py --data DIR [--kinds jpeg,lmdb,csv,csv_shuffled] [--rounds 5] [--seconds 3] [--python PATH] [--json FILE]

  jpeg  a tar archive of 224x224 images, mosaics of 49 images of CIFAR-10 with quality 90, cropped and flipped at random; batches
        of 64. PyTorch reads the archive at the places of its members and decodes by torchvision
  lmdb  a database of 10,000 Datums of 3x32x32 bytes; batches of 128
  csv   a table of 20 columns of numbers with 6 digits, 366 MB, in 100 MB of memory. Cohort delivers batches of 1,024 rows, pandas
        pieces of 2,000 or 20,000, both in the order of the file
  csv_shuffled  the same, but Cohort shuffles the rows by blocks

Each round measures one block of Cohort with one reader and with as many readers as processors, then one of each number of
DataLoader workers (0, 1, as many as processors, one more). The ratio is the median over the rounds of Cohort's faster mode divided
by the other side's fastest mode; its spread is the quartiles over the rounds. All files are in the file system's cache. DIR
contains cifar10/cifar10_12k_jpeg.tar.xz. --python is an interpreter with torch, torchvision, pandas, lmdb and Pillow.
"""
import argparse
import io
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import quiet
from compare_pytorch import HERE, competitor, quartiles, report
from compare_read_table import write_table

KINDS = ("jpeg", "lmdb", "csv", "csv_shuffled")
CSV_ROWS = 2_000_000
PIECES = (2_000, 20_000)  # rows that pandas reads at a time


class source(competitor):
    def rate(self):
        return statistics.median(block["examples_per_second"] for block in self.blocks)


def cifar(data):
    with tarfile.open(data / "cifar10/cifar10_12k_jpeg.tar.xz") as archive:
        for entry in archive:
            if entry.name.endswith((".jpg", ".jpeg", ".png")):
                yield archive.extractfile(entry).read()


def write_mosaics(path, data, count=2_000):
    from PIL import Image
    numbers = random.Random(1)
    images = [Image.open(io.BytesIO(one)).convert("RGB") for one, _ in zip(cifar(data), range(2_000))]
    with tarfile.open(path, "w") as archive:
        def add(name, content):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for number in range(count):
            mosaic = Image.new("RGB", (224, 224))
            for tile in range(49):
                mosaic.paste(numbers.choice(images), (tile % 7 * 32, tile // 7 * 32))
            packed = io.BytesIO()
            mosaic.save(packed, "JPEG", quality=90)
            add(f"{number:06d}.jpg", packed.getvalue())
            add(f"{number:06d}.cls", str(number % 10).encode())


def write_datums(path, data, count=10_000):
    import lmdb
    from PIL import Image
    with lmdb.open(str(path), map_size=1 << 30) as database, database.begin(write=True) as transaction:
        for number, packed in zip(range(count), cifar(data)):
            blue, green, red = reversed(Image.open(io.BytesIO(packed)).convert("RGB").split())
            planes = blue.tobytes() + green.tobytes() + red.tobytes()
            transaction.put(f"{number:08d}".encode(), b"\x08\x03\x10\x20\x18\x20\x22\x80\x18" + planes + bytes((0x28, number % 10)))


def write_numbers(path):
    """A table of numbers whose last column is the target y: 20,000 different rows, repeated."""
    write_table(path, "6_digits", 20_000, 20)
    head, _, rows = path.read_text(encoding="ascii").partition("\n")
    with open(path, "w", encoding="ascii") as file:
        file.write(head.replace("column19", "y") + "\n")
        for _ in range(CSV_ROWS // 20_000):
            file.write(rows)


def competitors(kind, path, settings):
    count = os.cpu_count()
    for readers in sorted({1, count}):
        yield f"cohort {readers} readers", [settings.programs / "load_examples", kind, path, readers]
    for number in PIECES if kind.startswith("csv") else sorted({0, 1, count, count + 1}):
        name = f"pandas {number} rows" if kind.startswith("csv") else f"pytorch {number} workers"
        yield name, [settings.python, HERE / "pytorch_load.py", kind.removesuffix("_shuffled"), path, number]


def compare(kind, path, settings):
    everyone = []
    try:
        for name, command in competitors(kind, path, settings):
            everyone.append(source(name, command))
        for number in range(settings.rounds):
            for one in everyone:
                quiet.wait_for_idle(time.monotonic() + settings.wait)
                one.blocks.append(one.block(settings.seconds))
            print(f"{kind}, round {number + 1} of {settings.rounds}: "
                  + ", ".join(f"{one.name} {one.blocks[-1]['examples_per_second']:.0f}/s" for one in everyone), file=sys.stderr)
    finally:
        for one in everyone:
            one.close()
    ours = max((one for one in everyone if one.name.startswith("cohort")), key=source.rate)
    theirs = max((one for one in everyone if not one.name.startswith("cohort")), key=source.rate)
    ratios = [mine["examples_per_second"] / other["examples_per_second"] for mine, other in zip(ours.blocks, theirs.blocks)]
    memory = lambda one: max(block["memory_bytes"] for block in one.blocks)
    row = {"kind": kind, "bytes": sum(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir())),
           "ratio": statistics.median(ratios), "ratio_quartiles": quartiles(ratios), "rounds": settings.rounds,
           "cohort": ours.name, "other": theirs.name,
           "rates": {one.name: one.rate() for one in everyone}, "memory_bytes": {one.name: memory(one) for one in everyone},
           "blocks": {one.name: one.blocks for one in everyone}}
    return row, {one.name: one.about for one in everyone}


def table_of(rows):
    lines = [("kind", "by", "examples/s", "MB", "ratio", "quartiles")]
    for row in rows:
        for name, rate in row["rates"].items():
            low, high = row["ratio_quartiles"]
            best = name == row["cohort"]
            lines.append((row["kind"], name, f"{rate:,.0f}", f"{row['memory_bytes'][name] / 1e6:.0f}",
                          f"{row['ratio']:.2f}" if best else "", f"{low:.2f} to {high:.2f}" if best else ""))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def settings_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with cifar10/cifar10_12k_jpeg.tar.xz")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of data (all)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    parser.add_argument("--seconds", type=float, default=3, help="seconds per block (3)")
    parser.add_argument("--wait", type=float, default=30, help="seconds to wait for idle before a block (30)")
    parser.add_argument("--programs", type=pathlib.Path, default=quiet.PROGRAMS,
                        help="folder of the built benchmarks (build/release/benchmarks)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the other side's packages (this one)")
    parser.add_argument("--json", type=pathlib.Path, help="file for the results with all blocks and the context")
    settings = parser.parse_args(arguments)
    settings.kinds = settings.kinds.split(",")
    for kind in settings.kinds:
        if kind not in KINDS:
            parser.error(f"--kinds: expected {', '.join(KINDS)}, got {kind}")
    if not (settings.programs / "load_examples").exists():
        parser.error(f"--programs: expected the folder of load_examples, got {settings.programs}; build it with\n"
                     "  cmake --preset release && cmake --build --preset release --target load_examples")
    return settings


def write(kind, folder, settings):
    path = folder / kind
    if kind.startswith("csv"):
        write_numbers(path)
    else:
        # The other side's interpreter has the packages that write the data.
        call = "write_mosaics" if kind == "jpeg" else "write_datums"
        subprocess.run([settings.python, "-c", f"import sys, pathlib; sys.path.insert(0, {str(HERE)!r}); import compare_loading as c; "
                        f"c.{call}(pathlib.Path({str(path)!r}), pathlib.Path({str(settings.data)!r}))"], check=True)
    return path


def results(settings):
    with tempfile.TemporaryDirectory() as folder:
        for kind in settings.kinds:
            yield compare(kind, write(kind, pathlib.Path(folder), settings), settings)


if __name__ == "__main__":
    options = settings_of(sys.argv[1:])
    sys.exit(report("compare_loading.py", results(options), table_of, options))
