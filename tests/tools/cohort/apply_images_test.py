# SPDX-License-Identifier: Apache-2.0
# needs: onednn zlib image
"""cohort predict on folders of images: plain images with their paths as keys, also of no known class."""
import csv
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import reference_program as program  # noqa: E402


class images(unittest.TestCase):
    def test_have_their_paths_as_keys(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            program.write_images(folder / "train", 2, 6, 8)
            for name in ("unknown", "more"):  # as many folders as classes
                (folder / "new" / name).mkdir(parents=True)
            for number in range(3):
                source = folder / f"train/class_1/class_1_{number}.png"
                (folder / f"new/unknown/{number}.png").write_bytes(source.read_bytes())
                (folder / f"new/more/{number}.png").write_bytes(source.read_bytes())
            document = {"version": 1, "network": {"layers": [{"input": [3, 8, 8]}, "flatten", {"dense": 2}, "softmax_cross_entropy"]},
                        "data": {"images": {"folder": "train", "flip": True, "padding": 2, "rotation": 10}},
                        "training": {"epochs": 3}, "output": {"model": "m.safetensors"}}
            (folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
            program.run("cohort", "train", "run.json", cwd=folder)

            def outputs(name, *flags):
                program.run("cohort", "predict", "run.json", "--model", "m.safetensors", "--output", name, *flags, cwd=folder)
                with open(folder / name, encoding="utf-8", newline="") as file:
                    return list(csv.reader(file))

            known, new = outputs("known.csv"), outputs("new.csv", "--set", "data.images.folder=new")
            self.assertEqual([row[0] for row in known[1:]], [f"class_{label}/class_{label}_{k}.png" for label in (0, 1) for k in range(6)])
            self.assertEqual([row[0] for row in new[1:]], [f"{name}/{k}.png" for name in ("more", "unknown") for k in range(3)])
            self.assertEqual([row[1:] for row in new[1:]], 2 * [row[1:] for row in known[7:10]])
            self.assertEqual(new[0], known[0])
            self.assertEqual([name.rsplit(".", 1)[1] for name in new[0][1:]], ["class_0", "class_1"])
            refused = program.run("cohort", "predict", "run.json", "--model", "m.safetensors", "--output", "x.csv", "--set", "data.images.bad=skip",
                                  cwd=folder, expect=1).stderr
            self.assertRegex(refused, r"a damaged example has no outputs that could be written \(.*data.images.bad\): expected stop")


if __name__ == "__main__":
    unittest.main()
