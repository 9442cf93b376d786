# SPDX-License-Identifier: Apache-2.0
"""get_data.py mnist|cifar10|tiny_imagenet FOLDER: downloads a data set from its public mirrors into FOLDER.

mnist          four .gz files, 12 MB
cifar10        the archive of the binary version, 170 MB: FOLDER contains data_batch_1.bin to test_batch.bin
tiny_imagenet  its archive, 248 MB: FOLDER contains train, val, test and words.txt, which `cohort data pack` reads

Each download is checked by its size and its SHA-256. The files of an archive are extracted without the archive's first folder, into a new
or empty FOLDER. A file or a folder gets its name only after it was written completely. Files of MNIST that exist are not downloaded again."""
import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile

MNIST_MIRRORS = ("https://storage.googleapis.com/cvdf-datasets/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/")
DATA_SETS = {  # name: mirrors, {file: (bytes, SHA-256)}
    "mnist": (MNIST_MIRRORS, {
        "train-images-idx3-ubyte.gz": (9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        "train-labels-idx1-ubyte.gz": (28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        "t10k-images-idx3-ubyte.gz": (1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        "t10k-labels-idx1-ubyte.gz": (4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    }),
    "cifar10": (("https://www.cs.toronto.edu/~kriz/",), {
        "cifar-10-binary.tar.gz": (170052171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9dddda3db29a59bca1dd"),
    }),
    "tiny_imagenet": (("https://cs231n.stanford.edu/", "http://cs231n.stanford.edu/"), {
        "tiny-imagenet-200.zip": (248100043, "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821"),
    }),
}
SECONDS_OF_SILENCE = 20
SECONDS_PER_FILE = 120
LEAST_BYTES_PER_SECOND = 50_000  # of a large file


def download(url, size, digest, path):
    """Writes the file at an address to a path.  Errors: OSError if the file is not the expected one, or comes too slowly."""
    deadline = time.monotonic() + max(SECONDS_PER_FILE, size / LEAST_BYTES_PER_SECOND)
    received, got = hashlib.sha256(), 0
    with urllib.request.urlopen(url, timeout=SECONDS_OF_SILENCE) as answer, open(path, "wb") as file:
        while part := answer.read(1 << 16):
            got += len(part)
            if got > size or time.monotonic() > deadline:
                raise OSError(f"too large or too slow after {got} of {size} bytes")
            received.update(part)
            file.write(part)
    if received.hexdigest() != digest:
        raise OSError(f"expected {size} bytes with SHA-256 {digest}, got {got} bytes with {received.hexdigest()}")


def download_from(mirrors, name, size, digest, path):
    """Downloads a file from the first mirror that has it."""
    reasons = []
    for mirror in mirrors:
        try:
            return download(mirror + name, size, digest, path)
        except (OSError, ValueError) as error:
            reasons.append(f"{mirror}{name}: {error}")
    raise OSError("; ".join(reasons))


def extract(archive, folder):
    """Extracts the files of a .tar.gz or .zip file into a folder, without the first folder of their names."""
    def write(name, source):
        path = os.path.join(folder, *name.split("/")[1:])
        if not os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep):
            raise OSError(f"{archive}: expected files in one folder, got {name}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with source, open(path, "wb") as file:
            shutil.copyfileobj(source, file)

    try:
        if archive.endswith(".zip"):
            with zipfile.ZipFile(archive) as opened:
                for entry in opened.infolist():
                    if not entry.is_dir():
                        write(entry.filename, opened.open(entry))
        else:
            with tarfile.open(archive) as opened:
                for entry in opened:
                    if entry.isfile():
                        write(entry.name, opened.extractfile(entry))
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        raise OSError(f"{archive}: {error}") from error


def get(data_set, folder):
    """Downloads the missing files of a data set into a folder."""
    mirrors, files = DATA_SETS[data_set]
    parent = os.path.dirname(os.path.abspath(folder))
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".get_data-") as scratch:
        for name, (size, digest) in files.items():
            path, is_archive = os.path.join(scratch, name), name.endswith((".zip", ".tar.gz"))
            if is_archive and os.path.exists(folder) and os.listdir(folder):
                raise OSError(f"{folder}: expected a new or an empty folder, got one with files")
            if os.path.exists(os.path.join(folder, name)):
                continue
            download_from(mirrors, name, size, digest, path)
            if is_archive:
                contents = os.path.join(scratch, "contents")
                extract(path, contents)
                os.rename(contents, folder)
            else:
                os.makedirs(folder, exist_ok=True)
                os.replace(path, os.path.join(folder, name))


def main(words):
    if len(words) != 2 or words[0] not in DATA_SETS:
        print(f"get_data.py: expected {'|'.join(DATA_SETS)} FOLDER, got {' '.join(words)}", file=sys.stderr)
        return 2
    try:
        get(*words)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
