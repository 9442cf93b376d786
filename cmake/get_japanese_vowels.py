# SPDX-License-Identifier: Apache-2.0
"""get_japanese_vowels.py FOLDER: writes the two files of the data set JapaneseVowels into FOLDER.

The files are part of the Python package aeon, which pip downloads but does not install. Each file is checked by its SHA-256. It gets
its name only after it was written completely."""
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "aeon==1.6.0"
FILES = {
    "JapaneseVowels_TRAIN.ts": "68a430eabd919cc77f40b1f5f3bc0dcafacc1486bca9260785aeb7d262cc78cd",
    "JapaneseVowels_TEST.ts": "b3d41d6a0ca3bcad3afb9ca7d4365382aa51341e2e58bae2a574babdda5b9462",
}


def main():
    folder = sys.argv[1]
    if all(os.path.exists(os.path.join(folder, name)) for name in FILES):
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, PACKAGE],
                              capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            print(f"pip cannot download {PACKAGE}: {done.stderr.strip()}", file=sys.stderr)
            return 1
        with zipfile.ZipFile(os.path.join(scratch, os.listdir(scratch)[0])) as package:
            contents = {name: package.read(f"aeon/datasets/data/JapaneseVowels/{name}") for name in FILES}
    for name, digest in FILES.items():
        got = hashlib.sha256(contents[name]).hexdigest()
        if got != digest:
            print(f"{name} of {PACKAGE}: expected SHA-256 {digest}, got {got}", file=sys.stderr)
            return 1
    os.makedirs(folder, exist_ok=True)
    for name, content in contents.items():
        path = os.path.join(folder, name)
        partial = f"{path}.{os.getpid()}"
        with open(partial, "wb") as file:
            file.write(content)
        os.replace(partial, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
