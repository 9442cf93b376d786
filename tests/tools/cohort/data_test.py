# SPDX-License-Identifier: Apache-2.0
# needs: zlib keras
"""cohort data indexes, shows, verifies and converts files of each format. Python's tarfile reads the archives that it writes."""
import io
import os
import pathlib
import struct
import sys
import tarfile
import tempfile
import unittest

import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program  # noqa: E402

HDF5 = pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "tests/golden/hdf5_rows.h5"
GOLDEN = pathlib.Path(os.environ["COHORT_SOURCE_DIR"]) / "tests/golden/sequence_files"


class data_command(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cohort_")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_it(self, *flags, expect=0):
        return reference_program.run("cohort", "data", *flags, expect=expect, cwd=self.folder, env=os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")})

    def refused(self, *flags, expect=2):
        done = self.run_it(*flags, expect=expect)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def write_array(self, name, rows):
        header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}".ljust(117) + "\n"
        content = b"".join(struct.pack(f"<{len(row)}i", *row) for row in rows)
        (self.folder / name).write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + content)

    def test_indexes_files_and_caches_the_index(self):
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

    def test_converts_records_into_shards_and_verifies_them(self):
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

    def test_converts_duplicate_keys_and_missing_fields(self):
        def shard(name, records):
            with tarfile.open(self.folder / name, "w") as archive:
                for key, field, content in records:
                    member = tarfile.TarInfo(f"{key}.{field}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
        shard("a.tar", [("0", "txt", b"a0"), ("1", "txt", b"a1"), ("1", "cls", b"7"), ("000000003", "txt", b"a2")])
        shard("b.tar", [("000000003", "txt", b"b0"), ("0", "txt", b"b1"), ("1", "txt", b"b2"), ("2", "cls", b"8")])
        self.assertEqual(self.run_it("convert", "a.tar", "b.tar", "--to", "all.tar").stdout, "7 records in 1 file, 0 skipped\n")
        with tarfile.open(self.folder / "all.tar") as archive:
            found = [(member.name, archive.extractfile(member).read()) for member in archive]
        self.assertEqual(found, [
            ("0.txt", b"a0"), ("1.txt", b"a1"), ("1.cls", b"7"), ("000000003.txt", b"a2"),
            ("000000003_.key.txt", b"000000003"), ("000000003_.txt", b"b0"), ("000000004.key.txt", b"0"), ("000000004.txt", b"b1"),
            ("000000005.key.txt", b"1"), ("000000005.txt", b"b2"), ("2.cls", b"8")])
        self.assertEqual(self.run_it("convert", "a.tar", "b.tar", "--to", "cls.tfrecord", "--field", "cls").stdout,
                         "2 records in 1 file, 0 skipped, 5 without the field cls\n")
        self.assertIn("2 records", self.run_it("index", "cls.tfrecord").stdout)

    def test_reports_damaged_records(self):
        self.run_it("convert", GOLDEN / "texts_plain", "--to", "good.tfrecord", "--field", "value")
        content = bytearray((self.folder / "good.tfrecord").read_bytes())
        content[-5] ^= 1  # in the last record, which has 39 * 39 % 97 bytes
        (self.folder / "bad.tfrecord").write_bytes(content)
        done = self.run_it("verify", "bad.tfrecord", expect=1)
        self.assertTrue(done.stderr.startswith("cohort data: a record is damaged (bad.tfrecord, record 39): expected checksum "), done.stderr)
        self.assertEqual(done.stdout, "1 file (tfrecord), 40 records, 1753 bytes, 1 damaged\n")
        self.assertIn("record 39", self.refused("convert", "bad.tfrecord", "--to", "none.tar", expect=1))
        self.assertFalse((self.folder / "none.tar").exists())
        done = self.run_it("convert", "bad.tfrecord", "--to", "some.tar", "--skip")
        self.assertEqual(done.stdout, "39 records in 1 file, 1 skipped\n")
        self.assertIn("cohort data: skipped: a record is damaged (bad.tfrecord, record 39)", done.stderr)
        done = self.run_it("verify", "good.tfrecord", "--decode", "caffe", expect=1)
        self.assertIn("40 damaged", done.stdout)
        (self.folder / "short.tfrecord").write_bytes(content[:-1])
        self.assertIn("the TFRecord file is truncated (short.tfrecord, byte ", self.refused("verify", "short.tfrecord", expect=1))

    def test_reads_arrays_of_hdf5_and_npz_files(self):
        done = self.run_it("inspect", HDF5, "--arrays", "train/label,bytes", "--record", "1")
        self.assertEqual(done.stdout.splitlines(), [
            "1 file (hdf5), 3 records", "field train/label: 3 records, 8 to 8 bytes, 24 in total", "field bytes: 3 records, 1 to 1 bytes, "
            "3 in total", f"{HDF5}, record 1", "  train/label: 8 bytes: f8 ff ff ff ff ff ff ff", "  bytes: 1 bytes: 02"])
        numpy.savez(self.folder / "a.npz", image=numpy.zeros((2, 2), "u1"), label=numpy.array([7, 8], "i4"))
        self.assertIn("fields: label\n", self.run_it("index", "a.npz", "--arrays", "label").stdout)
        self.run_it("convert", HDF5, "--arrays", "train/label,bytes", "--to", "rows.tar", "--skip")
        with tarfile.open(self.folder / "rows.tar") as archive:
            self.assertEqual(archive.getnames()[:2], ["000000000.train.label", "000000000.bytes"])
        numpy.savez(self.folder / "b.npz", **{"key.txt": numpy.zeros((2, 2), "u1")})
        self.assertIn("other than key.txt", self.refused("convert", "b.npz", "--to", "b.tar"))
        self.assertFalse((self.folder / "b.tar").exists())
        self.assertIn("there is no such array", self.refused("index", HDF5, "--arrays", "none", expect=1))

    def test_reads_tables(self):
        (self.folder / "a.csv").write_text("x,city\n1,Rome\n2.5,\n,Oslo\n")
        (self.folder / "b.csv").write_text("x,city\n4,\"Bern\n1\"\n")
        self.assertEqual(self.run_it("index", "a.csv", "b.csv").stdout, "2 files (csv), 4 rows, columns: x, city\n")
        self.assertEqual(len(list((self.folder / "cache").rglob("*.index"))), 2)
        shown = lambda row: self.run_it("inspect", "a.csv", "b.csv", "--record", row).stdout.splitlines()
        self.assertEqual(shown(0), ["2 files (csv), 4 rows", "column x: numbers", "column city: texts", "row 0", "  x: 1", '  city: "Rome"'])
        self.assertEqual(shown(1)[-2:], ["  x: 2.5", "  city: missing"])
        self.assertEqual(shown(2)[-2:], ["  x: missing", '  city: "Oslo"'])
        self.assertEqual(shown(3)[-2:], ["  x: 4", '  city: "Bern\\n1"'])
        self.assertEqual(self.run_it("verify", "a.csv", "b.csv").stdout, "2 files (csv), 4 rows, of which 0 in 0 damaged blocks\n")
        rows = [f"{k},{k % 7}" for k in range(120_000)]
        rows[60_000], rows[110_000] = "60000,6,9", "110000,a"
        (self.folder / "bad.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
        done = self.run_it("verify", "bad.csv", expect=1)
        self.assertRegex(done.stdout, r"^1 file \(csv\), 120000 rows, of which \d{5} in 2 damaged blocks\n$")
        self.assertIn("bad.csv:60002", done.stderr)
        self.assertIn("bad.csv:110002", done.stderr)
        # A damaged row ends no command about other rows, and no verification.
        self.assertEqual(self.run_it("inspect", "bad.csv", "--record", "60001").stdout.splitlines()[-2:], ["  x: 60001", "  y: 4"])
        self.assertIn("bad.csv:60002", self.run_it("inspect", "bad.csv", "--record", "60000", expect=1).stderr)
        for damaged in (0, 3):
            rows = [f"{k},{k % 7}" for k in range(50)]
            rows[damaged] += ",9"
            (self.folder / f"first{damaged}.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
            done = self.run_it("verify", f"first{damaged}.csv", expect=1)
            self.assertEqual(done.stdout, "1 file (csv), 50 rows, of which 50 in 1 damaged blocks\n")
            self.assertIn(f"first{damaged}.csv:{damaged + 2}", done.stderr)

    def test_refuses_invalid_commands(self):
        (self.folder / "text").write_text("no records")
        (self.folder / "exists.tar").write_text("")
        numbers = GOLDEN / "numbers"
        self.write_array("a.npy", [[1]])
        (self.folder / "t.csv").write_text("x\n1\n")
        for flags, sentence in (
                ((), "expected index, inspect, verify, convert or pack, got nothing; --help describes them"),
                (("show",), "command: expected one of index, inspect, verify, convert, pack; got 'show'"),
                (("verify",), "expected files, got none"),
                (("pack", "a"), "pack: expected FROM TO [FILES]: two folders and the number of images per archive"),
                (("pack", "a", "b", "0"), "FILES: expected a whole number from 1, got '0'"),
                (("pack", "a", "b", "4294967297"), "FILES: expected a whole number up to 2147483647, got '4294967297'"),
                (("pack", "a", "b", "--cache", "c"), "the command pack has no flag --cache; --help lists the flags"),
                (("verify", numbers, "--record", "1"), "the command verify has no flag --record; --help lists the flags"),
                (("verify", numbers, "--epochs"), "unknown flag '--epochs'; --help lists the flags"),
                (("verify", numbers, "--format", "zip"), "--format: expected one of webdataset, tfrecord, lmdb, sequence_file, npy, npz, hdf5, csv; got 'zip'"),
                (("verify", HDF5), "--arrays: expected the paths of arrays in the HDF5 files, such as data,label; got none"),
                (("verify", numbers, "--arrays", "a"), "--arrays: expected files of the format hdf5 or npz, got sequence_file"),
                (("convert", "t.csv", "--to", "a.tar"), "csv: expected the command index, inspect or verify, without --decode; got convert"),
                (("inspect", "t.csv", "--decode", "caffe"), "csv: expected the command index, inspect or verify, without --decode; got --decode"),
                (("inspect", "t.csv", "--record", "1"), "--record: expected 0 to 0, got 1"),
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
                self.assertEqual(done.stderr, f"cohort data: {sentence}\n")
        self.assertIn("one of key, value, got no", self.refused("convert", numbers, "--to", "a.tar", "--field", "no"))
        self.assertIn("cannot open the file (none.tar)", self.refused("verify", "none.tar", expect=1))
        for flags in (("--help",), ("pack", "--help"), ("pack", "a", "--help"), ("--quiet", "pack", "--help", "b")):
            self.assertIn("cohort data convert FILE... --to OUT", self.run_it(*flags).stdout)
        self.assertFalse((self.folder / "--help").exists())


if __name__ == "__main__":
    unittest.main()
