# SPDX-License-Identifier: Apache-2.0
# label: slow
"""All public headers compile together, in both orders, and every header compiles alone, with warnings as errors."""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
BUILD = pathlib.Path(os.environ.get("COHORT_BUILD_DIR", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.dont_write_bytecode = True
import compile_time  # noqa: E402

LONGEST = 280  # seconds a header may take


# Sets of headers that many others include, from the smallest to the largest. A header that includes all of a
# set is compiled with the largest such set precompiled, and after another header that it includes. The
# compiler then reads the same declarations as if the header were compiled alone.
PRECOMPILED = (("string_view",), ("string",), ("string", "vector"), ("span", "string", "vector"),
               ("algorithm", "string", "vector"), ("memory", "string", "vector"), ("functional", "string", "vector"),
               ("functional", "memory", "string", "vector"),
               ("cohort/error/exceptions.hpp",), ("cohort/data/batch.hpp",), ("cohort/layer/detail/layer_traits.hpp",),
               ("cohort/data/arrays.hpp",), ("cohort/communicator/communicator.hpp",), ("cohort/plan/arena_passes.hpp",),
               ("cohort/plan/parameter_set.hpp",), ("cohort/training/training.hpp",),
               ("cohort/cudnn/detail/compute_stream.hpp",))


def name_of(path):
    """How sources include a header: cohort/…."""
    return str(path).rsplit("/include/", 1)[1]


def complaint(compiler, flags, *source):
    """The compiler's output if it rejects the source, otherwise nothing."""
    done = subprocess.run([*shlex.split(compiler), "-std=c++20", "-Wall", "-Wextra", "-Werror", *flags, *source],
                          capture_output=True, text=True, timeout=LONGEST)
    return "" if done.returncode == 0 else f"{source[-1]}:\n{done.stderr[:2000]}\n"


def includes(path, known):
    """The headers that a header of cohort includes, directly or through others of cohort."""
    if path not in known:
        known[path] = set()
        for name in re.findall(r"^#include <([^>]+)>", path.read_text(encoding="utf-8"), re.MULTILINE):
            known[path].add(name)
            for folder in (ROOT / "include", *(ROOT / "backends").glob("*/include")):
                if (folder / name).exists():
                    known[path] |= includes(folder / name, known)
    return known[path]


class compilation(unittest.TestCase):
    """The compiler, the flags of a build, and its components."""

    @classmethod
    def setUpClass(cls):
        compiler, cls.flags = compile_time.configured(BUILD)
        cls.compiler = os.environ.get("CXX", compiler)
        commands = (BUILD / "compile_commands.json").read_text(encoding="utf-8")
        cls.built = [path.name for path in (ROOT / "backends").iterdir() if f"-I{path}/include" in cls.flags
                     and f"cohort_{path.name}_implementation" in commands]

    maxDiff = None

    def complaint_of_all(self, compiler, *flags, backwards=False, implementation=False):
        """The compiler's output for a program that includes all public headers, and those with the implementation if asked."""
        folders = [ROOT / "include", *(ROOT / "backends" / name / "include" for name in self.built)]
        names = [str(path.relative_to(folder)) for folder in folders for path in sorted(folder.rglob("*.hpp"))
                 if path.parent.name != "detail" and (implementation or path.name != "src.hpp")]
        self.assertGreater(len(names), 100)
        includes = [flag for name in (reversed(names) if backwards else names) for flag in ("-include", name)]
        return complaint(compiler, [*self.flags, *flags, "-fsyntax-only", *includes, "-x", "c++"], "/dev/null")


class headers(compilation):
    def test_all_compile_together_in_both_orders(self):
        for backwards in (False, True):
            self.assertEqual(self.complaint_of_all(self.compiler, backwards=backwards), "")

    def test_each_compiles_alone(self):
        files = [*(ROOT / "include").rglob("*.hpp")]
        for name in self.built:
            files += (ROOT / "backends" / name / "include").rglob("*.hpp")
        files = [path for path in files if path.name != "src.hpp"]
        self.assertGreater(len(files), 200)
        known = {}
        names = set(map(name_of, files))
        groups = [group for group in PRECOMPILED if all(name in names for name in group if name.startswith("cohort/"))]
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            flags = [*self.flags, "-fsyntax-only", "-x", "c++"]
            chains = {}  # by the precompiled header: lists of headers, of which each includes the one before
            for path in sorted(files, key=lambda path: (len(includes(path, known)), path)):
                largest = max((number for number, group in enumerate(groups) if includes(path, known).issuperset(group)), default=None)
                fitting = [chain for chain in chains.setdefault(largest, []) if name_of(chain[-1]) in includes(path, known)]
                if fitting:
                    fitting[-1].append(path)
                else:
                    chains[largest].append([path])

            def precompile(number):
                header = pathlib.Path(folder) / f"{number}.hpp"
                header.write_text("".join(f"#include <{name}>\n" for name in groups[number]), encoding="utf-8")
                return complaint(self.compiler, [*self.flags], "-x", "c++-header", header, "-o", f"{header}.gch")

            def alone(largest, chain):
                first = [] if largest is None else ["-include", f"{folder}/{largest}.hpp", "-Winvalid-pch"]
                headers = [flag for path in chain for flag in ("-include", path)]
                return complaint(self.compiler, [*flags, *first, *headers], "/dev/null").replace(
                    "/dev/null", " ".join(map(name_of, chain)), 1)

            found = [*pool.map(precompile, range(len(groups))),
                     *pool.map(alone, *zip(*((largest, chain) for largest in chains for chain in chains[largest])))]
        self.assertEqual("".join(found), "")


if __name__ == "__main__":
    unittest.main()
