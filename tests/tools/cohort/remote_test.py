# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib tcp
# ranks: 2
"""Remote paths in documents: each file is copied once by a command without a shell, within a deadline, never left incomplete."""
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.extend(str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("examples", "tools/cohort"))
import reference_program  # noqa: E402
from convert_test import write_onnx, write_points  # noqa: E402
from train_records_test import write_tar  # noqa: E402

COPY = """#!/bin/sh
# The program of an object store: copies s3://bucket/NAME from the folder bucket, and records its calls.
echo "$1" >> calls
case $1 in
  *slow*) printf half > "$2"; printf half > "$2._COPYING_"; sleep 1000;;
  *lost*) echo "the bucket is gone" >&2; printf half > "$2"; exit 3;;
  *half*) printf half > "$2"; kill -9 $$;;
esac
cp "bucket/${1#*://bucket/}" "$2"
"""


class remote_paths(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "bucket").mkdir()
        write_points(self.folder / "bucket/points.csv")
        write_onnx(self.folder / "bucket/net.onnx")
        self.program("copy")

    def program(self, name, folder="."):
        path = self.folder / folder / name
        path.write_text(COPY, encoding="utf-8")
        path.chmod(0o700)

    def document(self, file="s3://bucket/points.csv", **remote):
        network = {"import": {"file": "s3://bucket/net.onnx", "loss": "softmax_cross_entropy"}}
        table = {"file": file, "target": "kind", "inputs": ["a", "b", "c", "d"]}
        remote = {"command": ["./copy", "{name}", "{file}"], "folder": "copies", **remote}
        document = {"version": 1, "backend": "reference", "network": network, "data": {"table": table}, "training": {"epochs": 1, "batch": 8},
                    "remote": remote, "output": {"model": "m.safetensors", "report": "r.json"}}
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")

    def run_it(self, *words, **how):
        return reference_program.run("cohort", *words, cwd=self.folder, **how)

    def calls(self):
        return sorted((self.folder / "calls").read_text(encoding="utf-8").split("\n")[:-1])

    def copies(self):
        return sorted(path.name.split("-", 1)[-1] for path in (self.folder / "copies").glob("*"))

    def test_are_copied_once_for_all_ranks_and_commands(self):
        self.document()
        done = self.run_it("run", "-n", "2", reference_program.COHORT, "train", "run.json")
        self.assertIn("2 ranks over tcp", done.stdout)
        self.assertEqual(done.stderr.count("remote.deadline, 600000 ms for each file, is more than ranks.deadline, 120000 ms"), 1)
        done = self.run_it("run", "-n", "2", reference_program.COHORT, "train", "run.json", "--set", "ranks.deadline=600")
        self.assertNotIn("remote.deadline", done.stderr)
        for command in ("describe", "check"):
            self.run_it(command, "run.json")
        self.run_it("evaluate", "run.json", "--model", "m.safetensors")
        self.run_it("predict", "run.json", "--model", "m.safetensors", "--output", "out.csv")
        self.assertEqual(self.calls(), ["s3://bucket/net.onnx", "s3://bucket/points.csv"])
        self.assertEqual(self.copies(), ["net.onnx", "points.csv"])

    def test_of_a_model_and_of_numbered_records_are_copied(self):
        for shard in (0, 1):
            write_tar(self.folder / f"bucket/r-{shard}.tar", [(bytes([i, 9, 4, 2]), i % 3) for i in range(12)],
                      lambda values, label: (("x", values), ("cls", f"{label}".encode())))
        self.document()
        source = {"files": "s3://bucket/r-{0..1}.tar", "classes": 3, "cache": "none",
                  "content": {"numbers": {"extents": [4], "values": "x", "type": "u8"}}}
        self.run_it("train", "run.json", "--set", f"data={json.dumps({'records': source})}")
        self.assertEqual(self.calls(), ["s3://bucket/net.onnx", "s3://bucket/r-0.tar", "s3://bucket/r-1.tar"])

    def test_pass_through_no_shell(self):
        name = "it's; touch stolen $(touch stolen) &.csv"
        write_points(self.folder / "bucket" / name)
        self.document(f"s3://bucket/{name}")
        self.run_it("train", "run.json")
        self.assertIn(f"s3://bucket/{name}", self.calls())
        self.assertFalse((self.folder / "stolen").exists())

    def assert_no_copy(self):
        self.assertEqual([copy for copy in self.copies() if "csv" in copy and not copy.endswith(".lock")], [])

    def test_that_cannot_be_copied_say_why_and_leave_nothing(self):
        for name, reason in (("lost", "exit status 3: the bucket is gone"), ("half", "signal 9")):
            self.document(f"s3://bucket/{name}.csv")
            refused = self.run_it("train", "run.json", expect=1).stderr
            self.assertIn(f"the command did not fetch the file (s3://bucket/{name}.csv)", refused)
            self.assertIn(reason, refused)
            self.assert_no_copy()
        self.document("s3://bucket/slow.csv", deadline=0.5)
        begin = time.monotonic()
        refused = self.run_it("train", "run.json", expect=1).stderr
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("a file was not fetched in time (s3://bucket/slow.csv): expected the end of the command within 500 ms", refused)
        self.assert_no_copy()

    def test_of_a_run_that_a_signal_ends_leave_no_running_command(self):
        self.document("s3://bucket/slow.csv", deadline=2000)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            (self.folder / "calls").unlink(missing_ok=True)
            # The command and its sleep inherit the writing end of a pipe, which ends with the last of them.
            end, inherited = os.pipe()
            run = subprocess.Popen([reference_program.COHORT, "train", "run.json"], cwd=self.folder, pass_fds=[inherited],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.close(inherited)
            while not any(name.endswith("_COPYING_") for name in self.copies()):
                self.assertIsNone(run.poll())
                time.sleep(0.01)
            run.send_signal(number)
            self.assertEqual(run.wait(), -number)
            self.assertEqual(select.select([end], [], [], 60)[0], [end], "the command still runs")
            self.assertEqual(os.read(end, 1), b"")
            os.close(end)
            for copy in (self.folder / "copies").iterdir():
                copy.unlink()

    def test_have_known_commands_by_scheme(self):
        (self.folder / "bin").mkdir()
        script = '#!/bin/sh\necho "$(basename "$0") $*" >> calls\nfor word; do case $word in *://*) ;; */*) cp bucket/points.csv "$word";; esac; done\n'
        for name in ("hdfs", "aws", "gcloud", "curl"):
            (self.folder / "bin" / name).write_text(script, encoding="utf-8")
            (self.folder / "bin" / name).chmod(0o700)
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache")}
        paths = ("hdfs://host/p.csv", "s3://b/p.csv", "gs://b/p.csv", "https://h/p.csv")
        for path in paths:
            self.document(path, command=[], folder="auto")
            self.run_it("train", "run.json", "--set", "network.import.file=bucket/net.onnx", env=environment)
        copy = rf"{self.folder}/cache/cohort/remote/\S+"
        for call, expected in zip((self.folder / "calls").read_text(encoding="utf-8").splitlines(), (
                f"hdfs dfs -get {paths[0]} {copy}", f"aws s3 cp --only-show-errors {paths[1]} {copy}", f"gcloud storage cp {paths[2]} {copy}",
                f"curl -fgsSL -o {copy} {paths[3]}")):
            self.assertRegex(call, f"^{expected}$")
        self.document("wasb://c/p.csv", command=[])
        refused = self.run_it("train", "run.json", "--set", "network.import.file=bucket/net.onnx", expect=2).stderr
        self.assertIn("data.table.file: expected a scheme with a known command (hdfs, s3, gs, http, https), or remote.command", refused)
        self.document(command=["./copy", "{name}"])
        self.assertIn("remote.command): expected arguments that contain {name}, the remote path, and {file}, the file to write, got none with {file}",
                      self.run_it("train", "run.json", expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
