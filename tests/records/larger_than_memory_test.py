# SPDX-License-Identifier: Apache-2.0
# label: slow
"""Training on records of 8 times the memory of a control group, whose limit includes the page cache: stopped in the middle, resumed
with another number of ranks, and every record has been used exactly once."""
import array
import contextlib
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

LIMIT = 64 << 20
RECORDS = 8 * LIMIT >> 16
ROOTS = {"/sys/fs/cgroup/memory": ("memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.failcnt"),
         "/sys/fs/cgroup": ("memory.max", "memory.peak", None)}


@contextlib.contextmanager
def control_group():
    """A control group with the limit. Its folder and the names of its files; skips the test where none can be made."""
    for root, names in ROOTS.items():
        folder = pathlib.Path(root) / f"cohort_{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if not (folder / names[0]).exists() or not (folder / names[1]).exists():
                continue
            try:
                (folder / names[0]).write_text(str(LIMIT))
            except OSError:
                continue
            yield folder, names
            return
        finally:
            folder.rmdir()
    raise unittest.SkipTest("this test needs a memory control group, which this user cannot make")


def weights(path):
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    (place,) = [entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"]
    return array.array("f", content[8 + length + place[0]:8 + length + place[1]])


class records_larger_than_memory(unittest.TestCase):
    def test_are_each_used_once(self):
        with control_group() as (group, names), tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            program = os.environ["COHORT_PROGRAM"]
            subprocess.run([program, "write", folder, str(RECORDS)], check=True, timeout=120)
            parts = list(folder.glob("part-*"))
            self.assertGreater(sum(part.stat().st_size for part in parts), 8 * LIMIT)
            for part in parts:  # pages that are in memory already would count for the group of their writer
                with open(part, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

            def train(ranks, batch, stop):
                enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
                done = subprocess.run(["sh", "-c", enter, "sh", program, "train", folder, str(RECORDS), str(ranks), str(batch), str(stop)],
                                      capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                return done.stdout

            self.assertEqual(train(2, 32, 50), "steps 0 to 51, stopped\n")  # the ranks stop at their next meeting
            self.assertEqual(sum(one != 0 for one in weights(folder / "model")), 51 * 64)
            self.assertEqual(train(4, 16, -1), f"steps 51 to {RECORDS // 64}, done\n")
            made = weights(folder / "model")
            self.assertEqual(len(made), RECORDS)
            self.assertEqual(set(made), {0.25})  # rate 8, gradient 2 (0 - 1) / 64
            self.assertLessEqual(int((group / names[1]).read_text()), LIMIT)
            if names[2]:
                self.assertGreater(int((group / names[2]).read_text()), 0)  # the limit was reached


if __name__ == "__main__":
    unittest.main()
