# SPDX-License-Identifier: Apache-2.0
"""Databases of Python's lmdb: Cohort reads the same entries, and rejects databases that it cannot read."""
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import lmdb
from webdataset_python_test import crc32c


class databases(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cohort_")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "database"

    def read(self, path=None, expect=0):
        done = subprocess.run([os.environ["COHORT_PROGRAM"], path or self.folder], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def write(self, entries, **flags):
        environment = lmdb.open(str(self.folder), map_size=1 << 28, **flags)
        with environment.begin(write=True) as transaction:
            for key, value in entries.items():
                transaction.put(key, value)
        return environment

    def expect(self, entries):
        wanted = [f"{key.decode()} {len(value)} {crc32c(value):08x}" for key, value in sorted(entries.items())]
        self.assertEqual(self.read(), wanted)

    def test_are_read_with_the_written_keys_and_values(self):
        numbers = random.Random(7)
        entries = {f"{number:08d}_image".encode(): numbers.randbytes(numbers.choice((0, 1, 100, 1900, 2100, 4096, 9000)))
                   for number in range(700)}
        with self.write(entries):
            self.expect(entries)
            self.assertEqual(sorted(os.listdir(self.folder)), ["data.mdb", "lock.mdb"])
        self.assertEqual(len(self.read(self.folder / "data.mdb")), len(entries))

    def test_have_the_entries_of_the_last_transaction(self):
        entries = {f"{number:04d}".encode(): bytes(50) for number in range(300)}
        with self.write(entries) as environment:
            for number in range(0, 300, 3):
                with environment.begin(write=True) as transaction:
                    transaction.delete(f"{number:04d}".encode())
                del entries[f"{number:04d}".encode()]
                if number % 60 == 0:
                    self.expect(entries)

    def test_may_be_empty_or_have_one_entry(self):
        with self.write({}):
            self.assertEqual(self.read(), [])
            with lmdb.open(str(self.folder) + "2") as other:
                with other.begin(write=True) as transaction:
                    transaction.put(b"k", b"v")
        self.assertEqual(self.read(str(self.folder) + "2"), [f"k 1 {crc32c(b'v'):08x}"])

    def test_are_rejected_with_named_databases_or_duplicates(self):
        with self.write({}, max_dbs=2) as environment:
            environment.open_db(b"named")
        self.assertIn("named databases or several values for a key", self.read(expect=1)[0])
        with lmdb.open(str(self.folder) + "2") as environment, environment.begin(write=True) as transaction:
            transaction.put(b"k", b"1")
        path = pathlib.Path(str(self.folder) + "2") / "data.mdb"
        content = bytearray(path.read_bytes())
        for page in (0, 4096):
            content[page + 92] |= 4  # MDB_DUPSORT, which this package does not set for an unnamed database
        path.write_bytes(content)
        self.assertIn("several values for a key", self.read(path, expect=1)[0])

    def test_are_rejected_if_damaged(self):
        entries = {f"{number:08d}".encode(): bytes([number % 256]) * (number * 37 % 5000) for number in range(200)}
        with self.write(entries):
            whole = (self.folder / "data.mdb").read_bytes()
        used = whole.rstrip(b"\0")
        damaged = self.folder / "damaged.mdb"
        for length in (0, 100, 4095, 4096, 8191, 8192, len(used) // 2):
            damaged.write_bytes(whole[:length])
            self.assertIn("cannot read the LMDB file", self.read(damaged, expect=1)[0])
        damaged.write_bytes(b"x" * 10000)
        self.assertIn("it is not an LMDB file", self.read(damaged, expect=1)[0])
        numbers = random.Random(1)
        for _ in range(150):
            bytes_of = bytearray(used)
            for _ in range(numbers.randint(1, 4)):
                page = 4096 * numbers.randrange(len(used) // 4096)
                at = min(page + numbers.choice((0, 8, 10, 12, 14, 16, 18, 20, numbers.randrange(4096))), len(used) - 1)
                bytes_of[at] = numbers.randrange(256)
            damaged.write_bytes(bytes_of)
            done = subprocess.run([os.environ["COHORT_PROGRAM"], damaged], capture_output=True, text=True, errors="replace", timeout=60)
            self.assertIn(done.returncode, (0, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
