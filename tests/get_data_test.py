# SPDX-License-Identifier: Apache-2.0
"""cmake/get_data.py: downloads from addresses of files, without a network."""
import hashlib
import io
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
import zipfile

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[1]))
sys.path.append(str(ROOT / "cmake"))
import get_data  # noqa: E402

CIFAR10 = {f"cifar-10-batches-bin/{name}": name.encode() for name in ("data_batch_1.bin", "test_batch.bin")}
TINY_IMAGENET = {"tiny-imagenet-200/words.txt": b"n01\tdog\n", "tiny-imagenet-200/train/n01/images/n01_0.JPEG": b"pixels",
                 "tiny-imagenet-200/val/val_annotations.txt": b"val_0.JPEG\tn01\n"}


def tar(files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def zipped(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("tiny-imagenet-200/", b"")
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


class get_data_program(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "mirror").mkdir()
        quiet = unittest.mock.patch("sys.stderr", io.StringIO())
        self.error = quiet.start()
        self.addCleanup(quiet.stop)

    def get(self, data_set, files, mirrors=("missing", "mirror"), stored=None):
        """Downloads files with these contents, or of other contents that the mirror has stored."""
        for name, content in (stored or files).items():
            (self.folder / "mirror" / name).write_bytes(content)
        table = {data_set: ([f"file://{self.folder}/{mirror}/" for mirror in mirrors],
                            {name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in files.items()})}
        with unittest.mock.patch.dict(get_data.DATA_SETS, table):
            return get_data.main([data_set, str(self.folder / "got")])

    def contents(self):
        got = self.folder / "got"
        return {str(path.relative_to(got)): path.read_bytes() for path in got.rglob("*") if path.is_file()}

    def entries(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_writes_the_files_of_mnist_and_downloads_only_missing_ones(self):
        files = {name: name.encode() for name in get_data.DATA_SETS["mnist"][1]}
        self.assertEqual(self.get("mnist", files), 0)
        self.assertEqual(self.contents(), files)
        (self.folder / "got/t10k-labels-idx1-ubyte.gz").unlink()
        (self.folder / "got/train-labels-idx1-ubyte.gz").write_bytes(b"unchanged")
        self.assertEqual(self.get("mnist", files), 0)
        self.assertEqual(self.contents(), files | {"train-labels-idx1-ubyte.gz": b"unchanged"})

    def test_extracts_archives_without_their_first_folder(self):
        for data_set, archive, files in (("cifar10", tar, CIFAR10), ("tiny_imagenet", zipped, TINY_IMAGENET)):
            name, = get_data.DATA_SETS[data_set][1]
            self.assertEqual(self.get(data_set, {name: archive(files)}), 0, self.error.getvalue())
            self.assertEqual(self.contents(), {path.split("/", 1)[1]: content for path, content in files.items()})
            self.assertEqual(self.entries(), ["got", "mirror"])
            self.assertEqual(self.get(data_set, {name: archive(files)}), 1)
            self.assertIn("expected a new or an empty folder", self.error.getvalue())
            shutil.rmtree(self.folder / "got")

    def test_refuses_other_contents_and_leaves_nothing(self):
        right, = get_data.DATA_SETS["cifar10"][1]
        content = tar(CIFAR10)
        for stored in (content[:-1], content + b"x", b"x" + content[1:]):
            self.assertEqual(self.get("cifar10", {right: content}, stored={right: stored}), 1)
            self.assertEqual(self.entries(), ["mirror"])
        self.assertIn("SHA-256", self.error.getvalue())
        self.assertIn("too large", self.error.getvalue())
        self.assertEqual(self.get("cifar10", {right: content}, mirrors=("missing",)), 1)
        self.assertIn("missing/", self.error.getvalue())

    def test_refuses_archives_that_are_damaged_or_leave_the_folder(self):
        for data_set, contents in (("cifar10", (b"no archive", tar({"a/../../escaped": b"x"}), tar({"single": b"x"}))),
                                   ("tiny_imagenet", (b"no archive", zipped({"a/../../../escaped": b"x"}), zipped({"single": b"x"})))):
            name, = get_data.DATA_SETS[data_set][1]
            for content in contents:
                self.assertEqual(self.get(data_set, {name: content}), 1)
                self.assertEqual(self.entries(), ["mirror"])
                self.assertIn(name, self.error.getvalue())

    def test_refuses_other_words(self):
        for words in ([], ["mnist"], ["imagenet", "folder"], ["mnist", "folder", "more"]):
            self.assertEqual(get_data.main(words), 2)
        self.assertIn("mnist|cifar10|tiny_imagenet FOLDER", self.error.getvalue())


if __name__ == "__main__":
    unittest.main()
