# SPDX-License-Identifier: Apache-2.0
# needs: zlib
"""cohort-data indexes, shows, verifies and converts files of each format. Python's tarfile reads the archives that it writes."""
import os
import pathlib
import struct
import tarfile
import tempfile
import unittest

import numpy
import reference_program

GOLDEN = pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "tests/golden/sequence_files"


class cohort_data(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cohort_")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_it(self, *flags, expect=0):
        return reference_program.run("cohort-data", *flags, expect=expect, cwd=self.folder, env=os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")})

    def refused(self, *flags, expect=2):
        done = self.run_it(*flags, expect=expect)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def write_array(self, name, rows):
        header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}".ljust(117) + "\n"
        content = b"".join(struct.pack(f"<{len(row)}i", *row) for row in rows)
        (self.folder / name).write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + content)

    def test_indexes_files_and_keeps_the_index(self):
        done = self.run_it("index", GOLDEN / "texts_zlib_blocks", GOLDEN / "texts_plain")
        self.assertEqual(done.stdout, "2 files (sequence_file), 80 records, fields: key, value\n")
        self.assertEqual(done.stderr, "")
        self.assertEqual(len(list((self.folder / "cache").rglob("*.index"))), 2)
        self.run_it("index", GOLDEN / "numbers", "--cache", "")
        self.assertEqual(len(list((self.folder / "cache").rglob("*.index"))), 2)
        self.run_it("index", GOLDEN / "numbers", "--cache", self.folder / "other", "--quiet")
        self.assertEqual(len(list((self.folder / "other").glob("*.index"))), 1)

    def test_shows_fields_and_a_record(self):
        path = GOLDEN / "caffe_on_spark"
        shown = self.run_it("inspect", path, "--decode", "caffe_on_spark").stdout.splitlines()
        self.assertEqual(shown[:4], ["1 file (sequence_file), 3 records", "field key: 3 records, 83 to 264 bytes, 606 in total",
                                     "field value: 3 records, 4 to 12 bytes, 22 in total", f"{path}, record 0"])
        self.assertTrue(shown[4].startswith("  key: 264 bytes: ac ed 00 05 73 72") and shown[4].endswith(" ..."), shown[4])
        self.assertEqual(shown[5:], ["  value: 6 bytes: 01 02 03 04 05 06", "  id 00000000, label 1, 3x1x2, not encoded"])
        self.assertIn('  value: 12 bytes: "not an image"', self.run_it("inspect", path, "--record", "2").stdout)
        self.write_array("a.npy", [[1, 2], [3, 4], [5, 6]])
        self.assertEqual(self.run_it("inspect", "a.npy", "--record", 2).stdout.splitlines(),
                         ["1 file (npy), 3 records", "field row: 3 records, 8 to 8 bytes, 24 in total", "a.npy, record 2",
                          "  row: 8 bytes: 05 00 00 00 06 00 00 00"])
        numpy.savez(self.folder / "a.npz", image=numpy.array([[1, 2], [3, 4]], "u1"), label=numpy.array([7, 8], "i4"))
        self.assertEqual(self.run_it("inspect", "a.npz", "--record", 1).stdout.splitlines(),
                         ["1 file (npz), 2 records", "field image: 2 records, 2 to 2 bytes, 4 in total",
                          "field label: 2 records, 4 to 4 bytes, 8 in total", "a.npz, record 1", "  image: 2 bytes: 03 04",
                          "  label: 4 bytes: 08 00 00 00"])

    def test_converts_and_verifies(self):
        done = self.run_it("convert", GOLDEN / "texts_gzip_blocks", "--to", "out-{}.tar", "--shard", 15)
        self.assertEqual(done.stdout, "40 records in 3 files, 0 skipped\n")
        with tarfile.open(self.folder / "out-000001.tar") as archive:
            names = archive.getnames()
            self.assertEqual(names[:2] + names[-1:], ["000000015.key", "000000015.value", "000000029.value"])
            self.assertEqual(archive.extractfile("000000020.value").read(), bytes([20]) * (20 * 20 % 97))
        self.assertEqual(self.run_it("verify", "out-{000000..000002}.tar").stdout, "3 files (webdataset), 40 records, 2049 bytes, 0 damaged\n")
        self.run_it("convert", "out-{000000..000002}.tar", "--to", "all.tfrecord", "--field", "value")
        self.assertEqual(self.run_it("verify", "all.tfrecord").stdout, "1 file (tfrecord), 40 records, 1819 bytes, 0 damaged\n")
        again = self.run_it("convert", "out-000000.tar", "out-000001.tar", "--to", "again.tar")
        self.assertEqual(again.stdout, "30 records in 1 file, 0 skipped\n")
        self.assertIn("again.tar, record 15, 000000015\n", self.run_it("inspect", "again.tar", "--record", 15).stdout)

    def test_reports_damaged_records(self):
        self.run_it("convert", GOLDEN / "texts_plain", "--to", "good.tfrecord", "--field", "value")
        content = bytearray((self.folder / "good.tfrecord").read_bytes())
        content[-5] ^= 1  # in the last record, which has 39 * 39 % 97 bytes
        (self.folder / "bad.tfrecord").write_bytes(content)
        done = self.run_it("verify", "bad.tfrecord", expect=1)
        self.assertTrue(done.stderr.startswith("cohort-data: a record is damaged (bad.tfrecord, record 39): expected checksum "), done.stderr)
        self.assertEqual(done.stdout, "1 file (tfrecord), 40 records, 1753 bytes, 1 damaged\n")
        self.assertIn("record 39", self.refused("convert", "bad.tfrecord", "--to", "none.tar", expect=1))
        self.assertFalse((self.folder / "none.tar").exists())
        done = self.run_it("convert", "bad.tfrecord", "--to", "some.tar", "--skip")
        self.assertEqual(done.stdout, "39 records in 1 file, 1 skipped\n")
        self.assertIn("cohort-data: skipped: a record is damaged (bad.tfrecord, record 39)", done.stderr)
        done = self.run_it("verify", "good.tfrecord", "--decode", "caffe", expect=1)
        self.assertIn("40 damaged", done.stdout)
        (self.folder / "short.tfrecord").write_bytes(content[:-1])
        self.assertIn("the TFRecord file is truncated (short.tfrecord, byte ", self.refused("verify", "short.tfrecord", expect=1))

    def test_explains_invalid_commands(self):
        (self.folder / "text").write_text("no records")
        (self.folder / "exists.tar").write_text("")
        numbers = GOLDEN / "numbers"
        self.write_array("a.npy", [[1]])
        for flags, sentence in (
                ((), "expected index, inspect, verify or convert, got nothing; --help shows how to use this program"),
                (("show",), "command: expected one of index, inspect, verify, convert; got 'show'"),
                (("verify",), "expected files, got none"),
                (("verify", numbers, "--record", "1"), "the command verify has no flag --record; --help lists the flags"),
                (("verify", numbers, "--epochs"), "unknown flag '--epochs'; --help lists the flags"),
                (("verify", numbers, "--format", "zip"), "--format: expected one of webdataset, tfrecord, lmdb, sequence_file, npy, npz; got 'zip'"),
                (("inspect", numbers, "--record", "x"), "--record: expected a whole number from 0, got 'x'"),
                (("inspect", numbers, "--record"), "--record: expected a value, got none"),
                (("inspect", numbers, "--record", "20"), "--record: expected 0 to 19, got 20"),
                (("verify", "text"), "text: expected a file of a known format, or the flag --format, got other bytes"),
                (("verify", numbers, "a.npy"), "expected files of one format, got sequence_file and npy (a.npy)"),
                (("convert", numbers), "--to: expected a name that ends in .tar or .tfrecord, got ''"),
                (("convert", numbers, "--to", "exists.tar"), "--to: expected a file that does not exist, got exists.tar"),
                (("convert", numbers, "--to", "a-{}.tar"), "--to and --shard: expected {} in the name and a number of records, or neither"),
                (("convert", numbers, "--to", "a.tfrecord"), "--field: expected one of the fields for a TFRecord file (key, value), got none")):
            with self.subTest(sentence):
                done = self.run_it(*flags, expect=2)
                self.assertEqual(done.stderr, f"cohort-data: {sentence}\n")
        self.assertIn("one of key, value, got no", self.refused("convert", numbers, "--to", "a.tar", "--field", "no"))
        self.assertIn("cannot open the file (none.tar)", self.refused("verify", "none.tar", expect=1))
        self.assertIn("cohort-data convert FILE... --to OUT", self.run_it("--help").stdout)


if __name__ == "__main__":
    unittest.main()
