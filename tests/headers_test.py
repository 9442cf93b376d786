# SPDX-License-Identifier: Apache-2.0
# label: slow
"""Every public header (in the preset full: every header) compiles alone against the compiled library, with warnings as errors.
One program compiles in each mode with clang++ too, if there is one. The preset dev checks every header alone header-only."""
import concurrent.futures
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
BUILD = pathlib.Path(os.environ.get("COHORT_BUILD_DIR", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.dont_write_bytecode = True
import compile_time  # noqa: E402

LONGEST = 120  # seconds a header may take


def complaint(compiler, flags, *source):
    """What the compiler prints if it refuses the source, else nothing."""
    done = subprocess.run([*shlex.split(compiler), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *flags, *source],
                          capture_output=True, text=True, timeout=LONGEST)
    return "" if done.returncode == 0 else f"{source[-1]}:\n{done.stderr[:2000]}\n"


class headers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        compiler, cls.flags = compile_time.configured(BUILD)
        cls.compiler = os.environ.get("CXX", compiler)
        cls.built = [path.name for path in (ROOT / "backends").iterdir() if f"-I{path}/include" in cls.flags
                     and any(f"cohort_{path.name}_compiled" in entry for entry in cls.commands())]
        cls.compiled = [f"-DCOHORT_{name.upper()}_COMPILED" for name in ("core", *cls.built)]

    @staticmethod
    def commands():
        return [(BUILD / "compile_commands.json").read_text(encoding="utf-8")]

    def test_each_compiles_alone(self):
        files = [*(ROOT / "include").rglob("*.hpp")]
        for name in self.built:
            files += (ROOT / "backends" / name / "include").rglob("*.hpp")
        if os.environ.get("COHORT_LONG_TESTS") != "1":
            files = [path for path in files if path.parent.name != "detail"]
        self.assertGreater(len(files), 200)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = [*pool.map(lambda path: complaint(self.compiler, [*self.flags, *self.compiled, "-x", "c++", "-include", path], "/dev/null")
                               .replace("/dev/null", str(path.relative_to(ROOT)), 1), sorted(files))]
        self.assertEqual("".join(found), "")

    def test_programs_of_both_modes_compile_with_clang(self):
        clang = shutil.which("clang++")
        if clang is None or "onednn" not in self.built or "zlib" not in self.built:
            self.skipTest("no clang++, or no component onednn or zlib")
        for mode in ([], self.compiled):
            self.assertEqual(complaint(clang, [*self.flags, *mode, "-Wno-pragma-clang-attribute"], ROOT / "examples/01_lenet.cpp"), "")


if __name__ == "__main__":
    unittest.main()
