# SPDX-License-Identifier: Apache-2.0
"""get_mnist.py FOLDER: downloads MNIST's four files from their public mirrors into FOLDER.

Each file is checked in memory by the SHA-256 of its contents. It gets its name only after it was written completely."""
import hashlib
import os
import sys
import time
import urllib.request
import zlib

MIRRORS = ("https://storage.googleapis.com/cvdf-datasets/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/")
FILES = {  # name: (bytes, SHA-256) of the decompressed contents
    "train-images-idx3-ubyte": (47040016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
    "train-labels-idx1-ubyte": (60008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    "t10k-images-idx3-ubyte": (7840016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
    "t10k-labels-idx1-ubyte": (10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
}
SECONDS_OF_SILENCE = 8
SECONDS_PER_FILE = 120
LARGEST_DOWNLOAD_BYTES = 16 << 20


def fetch(url):
    deadline = time.monotonic() + SECONDS_PER_FILE
    content = b""
    with urllib.request.urlopen(url, timeout=SECONDS_OF_SILENCE) as answer:
        while part := answer.read(1 << 16):
            content += part
            if len(content) > LARGEST_DOWNLOAD_BYTES or time.monotonic() > deadline:
                raise OSError(f"{url}: too large or too slow")
    return content


def check(name, compressed):
    size, digest = FILES[name]
    try:
        content = zlib.decompressobj(wbits=31).decompress(compressed, size + 1)
    except zlib.error as error:
        raise OSError(f"{name}.gz is not a gzip file: {error}") from error
    got = hashlib.sha256(content).hexdigest()
    if got != digest:
        raise OSError(f"{name}: expected SHA-256 {digest}, got {got}")


def get(name, folder):
    path = os.path.join(folder, name + ".gz")
    if os.path.exists(path):
        return
    reasons = []
    for mirror in MIRRORS:
        try:
            compressed = fetch(mirror + name + ".gz")
            check(name, compressed)
        except OSError as error:
            reasons.append(f"{mirror}: {error}")
            continue
        os.makedirs(folder, exist_ok=True)
        partial = f"{path}.{os.getpid()}"
        with open(partial, "wb") as file:
            file.write(compressed)
        os.replace(partial, path)
        return
    raise OSError("; ".join(reasons))


def main():
    folder = sys.argv[1]
    try:
        for name in FILES:
            get(name, folder)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
