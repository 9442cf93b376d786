#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads examples in batches by PyTorch's DataLoader (or pandas), and prints the examples per second as JSON, one line per block.

    pytorch_load.py jpeg TAR WORKERS      images of a tar archive, randomly cropped and flipped; batches of 64
    pytorch_load.py lmdb FOLDER WORKERS   raw Datums of 3x32x32 bytes; batches of 128
    pytorch_load.py csv FILE ROWS         a table of numbers in pieces of ROWS rows by pandas' C reader, in the order of the file

The first line describes the program. Each line of standard input contains the seconds of a block. compare_loading.py runs it;
load_examples is its counterpart.
"""
import json
import os
import resource
import sys
import tarfile
import time


class jpeg_images:
    """Images at known places of an archive. A worker opens the file when it reads the first image."""

    def __init__(self, path):
        self.path, self.file = path, None
        with tarfile.open(path) as archive:
            members = {entry.name: (entry.offset_data, entry.size) for entry in archive}
            self.images = [place for name, place in members.items() if name.endswith(".jpg")]
            self.labels = [int(archive.extractfile(name).read()) for name in members if name.endswith(".cls")]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        if self.file is None:
            self.file = os.open(self.path, os.O_RDONLY)
        offset, size = self.images[index]
        packed = torch.frombuffer(bytearray(os.pread(self.file, size, offset)), dtype=torch.uint8)
        image = torch.nn.functional.pad(torchvision.io.decode_jpeg(packed), (8, 8, 8, 8))
        top, left, flip = torch.randint(0, 17, (3,)).tolist()
        image = image[:, top:top + 224, left:left + 224]
        return (image.flip(2) if flip % 2 else image), self.labels[index]


class datums:
    """Values of an LMDB database, at the fixed places of this benchmark's Datums instead of by a parser of protocol buffers."""

    def __init__(self, folder):
        import lmdb
        self.folder, self.transaction = folder, None
        with lmdb.open(folder, readonly=True, lock=False) as database, database.begin() as transaction:
            self.keys = [key for key, _ in transaction.cursor()]

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, index):
        if self.transaction is None:
            import lmdb
            self.transaction = lmdb.open(self.folder, readonly=True, lock=False).begin(buffers=True)
        value = self.transaction.get(self.keys[index])
        return torch.frombuffer(bytearray(value[9:9 + 3072]), dtype=torch.uint8).view(3, 32, 32), value[-1]


def batch_of(examples):
    images, labels = zip(*examples)
    return torch.stack(images).float().div_(255), torch.tensor(labels)


def batches(kind, path, workers):
    data = jpeg_images(path) if kind == "jpeg" else datums(path)
    loader = torch.utils.data.DataLoader(data, batch_size=64 if kind == "jpeg" else 128, shuffle=True, num_workers=workers,
                                         collate_fn=batch_of, persistent_workers=workers > 0)
    while True:
        for images, _ in loader:
            yield len(images), float(images[0, 0, 0, 0])


def pieces(path, rows):
    while True:
        for piece in pandas.read_csv(path, engine="c", chunksize=rows, dtype="float32"):
            values = piece.to_numpy()
            yield len(values), float(values[0, 0])


def memory():
    """The largest resident memory of this process and of its largest worker."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) << 10


def block(source, wanted):
    begin, examples, total = time.perf_counter(), 0, 0.0
    while (passed := time.perf_counter() - begin) < wanted:
        count, first = next(source)
        examples += count
        total += first
    print(json.dumps({"examples_per_second": examples / passed, "examples": examples, "memory_bytes": memory(), "sum": total}),
          flush=True)


def main():
    global torch, torchvision, pandas
    if len(sys.argv) != 4 or sys.argv[1] not in ("jpeg", "lmdb", "csv"):
        print("usage: pytorch_load.py jpeg|lmdb PATH WORKERS, or csv FILE ROWS", file=sys.stderr)
        return 2
    kind, path, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if kind == "csv":
        import pandas
        source, about = pieces(path, number), {"name": "pandas", "version": pandas.__version__}
    else:
        import torch
        import torch.utils.data
        if kind == "jpeg":
            import torchvision
        torch.set_num_threads(1 if number else 2)
        source, about = batches(kind, path, number), {"name": "pytorch", "version": torch.__version__}
    next(source)  # starts the workers
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        block(source, float(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
