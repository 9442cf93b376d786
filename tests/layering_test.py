# SPDX-License-Identifier: Apache-2.0
"""Checks rules that no compiler checks: includes, heads and lengths of headers, and waits without a deadline."""
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
# A header may include its own folder and the folders before it in this list.
FOLDERS = ("tensor error random execution io data optimizer layer graph backend plan codec communicator strategy "
           "checkpoint evaluation trainer").split()
SYSTEM_HEADERS = {"cpuid.h", "dirent.h", "fcntl.h", "immintrin.h", "pthread.h", "sched.h", "sys/mman.h", "sys/prctl.h", "sys/resource.h", "sys/stat.h",
                  "sys/types.h", "time.h", "unistd.h"}
SLOW_HEADERS = {"iostream", "regex", "filesystem"}
LONGEST_HEADER = {False: 300, True: 400}  # of public headers, and of those in detail/
ENDLESS_WAITS = re.compile(
    r"(\.|->)wait\(|arrive_and_wait\(|(\.|->)acquire\(|pthread_cond_wait|\bsem_wait"
    r"|std::(shared_)?future|std::latch|std::barrier|std::promise|std::packaged_task|std::async")
BOUNDED = re.compile(r"deadline|limit")  # the arguments of a wait must contain its bound
UNARMED_WAITS = re.compile(r"(\.|->)wait\(\)")  # of a request: bounded by its communicator; of oneDNN's stream
SLEEPS = re.compile(r"\bsleep_for|\bsleep_until|\busleep\(|\bnanosleep\(|\bsleep\(")


def code(text):
    """The text without comments and the contents of strings, line by line."""
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group().count("\n"), text, flags=re.DOTALL)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text).splitlines()


def includes(text):
    return re.findall(r'^\s*#\s*include\s*([<"][^>"]+[>"])', text, re.MULTILINE)


def core_findings(folder, text):
    """What is wrong with the includes of a header of include/cohort/<folder>; folder "" holds what joins all."""
    for quoted in includes(text):
        name = quoted[1:-1]
        if quoted[0] == '"':
            yield f"includes {quoted}: write <cohort/...>"
        elif name.startswith("cohort/"):
            target = name.split("/")[1] if name.count("/") > 1 else ""
            if folder == "" or name == "cohort/version.hpp" or name.startswith("cohort/detail/"):
                continue
            if target not in FOLDERS:
                yield f"includes <{name}>, which is in none of the folders"
            elif FOLDERS.index(target) > FOLDERS.index(folder):
                yield f"includes <{name}>, but {target} comes after {folder}"
        elif name in SLOW_HEADERS:
            yield f"includes <{name}>, which is slow to compile"
        elif name.startswith("Random123/"):
            if folder != "random":
                yield f"includes <{name}>, which is for random alone"
        elif ("." in name or "/" in name) and name not in SYSTEM_HEADERS:
            yield f"includes <{name}>: the core has no third-party headers"


def is_internal(path):
    return "detail" in pathlib.PurePath(path).parts


def header_findings(text, internal=True):
    lines = text.splitlines()
    if not lines or lines[0] != "// SPDX-License-Identifier: Apache-2.0":
        yield "does not begin with the SPDX line"
    if "#pragma once" not in lines[1:3]:
        yield "has no #pragma once after the SPDX line"
    if len(lines) > LONGEST_HEADER[internal]:
        yield f"has {len(lines)} lines, at most {LONGEST_HEADER[internal]} are wanted"


def surface_findings(text, internal):
    """What is wrong with the place of a header: outside of detail/ it declares something that users may use, and documents it;
    inside it declares internals alone."""
    declares = [one for one in open_namespaces(text) if "detail" not in one.split("::")]
    umbrella = not open_namespaces(text)
    if internal and declares:
        yield f"declares names in {', '.join(sorted(declares))}: public headers are not in detail/"
    contract_of_the_file = "///" in text.split("\nnamespace ")[0]
    if not internal and not umbrella and not declares and not contract_of_the_file:
        yield "declares internals alone: such headers belong into detail/"
    if not internal and declares and "///" not in text:
        yield "is public and has no contract (///)"


def open_namespaces(text):
    """The namespaces, written out, in which a header declares something."""
    found, stack, depth = set(), [], 0
    for line in code(text):
        stripped = line.strip()
        match = re.match(r"(?:inline )?namespace ([\w:]+) \{", stripped)
        if match:
            stack.append((match.group(1), depth))
            depth += 1
            continue
        if stack and stripped and not stripped.startswith(("#", "}")) and depth == stack[-1][1] + 1:
            found.add("::".join(name for name, _ in stack))
        depth += line.count("{") - line.count("}")
        while stack and depth <= stack[-1][1]:
            stack.pop()
    return found

def call(text, begin):
    """The call whose name and parenthesis end at `begin`: up to the parenthesis that closes it."""
    depth = 1
    for end in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[begin:end]
    return text[begin:]


def waiting_findings(text):
    text = UNARMED_WAITS.sub("", "\n".join(code(text)))
    for found in ENDLESS_WAITS.finditer(text):
        if not (found.group().endswith("wait(") and BOUNDED.search(call(text, found.end()))):
            yield f"line {text[:found.start()].count(chr(10)) + 1}: {found.group()} has no deadline"


def sleeping_findings(text):
    for number, line in enumerate(code(text), start=1):
        found = SLEEPS.search(line)
        if found:
            yield f"line {number}: {found.group()} makes a test depend on the clock"


def sources(*patterns):
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield path, path.read_text(encoding="utf-8")


class sources_of_cohort(unittest.TestCase):
    def check(self, findings_of, *patterns):
        complaints = [f"{path.relative_to(ROOT)} {finding}"
                      for path, text in sources(*patterns) for finding in findings_of(path, text)]
        self.assertEqual(complaints, [], "\n" + "\n".join(complaints))

    def test_there_are_headers(self):
        self.assertTrue(list(sources("include/cohort/*/*.hpp")))

    def test_folders_are_known(self):
        folders = {path.name for path in (ROOT / "include/cohort").iterdir() if path.is_dir()}
        self.assertEqual(folders - set(FOLDERS), {"detail"})

    def test_headers_include_only_what_comes_before_them(self):
        core = ROOT / "include/cohort"
        self.check(lambda path, text: core_findings("/".join(path.relative_to(core).parts[:-1]).split("/")[0], text),
                   *(f"include/cohort/**/*.{kind}" for kind in ("hpp", "ipp", "tpp")))

    def test_headers_begin_alike_and_stay_short(self):
        self.check(lambda path, text: header_findings(text, is_internal(path.relative_to(ROOT))),
                   "include/**/*.hpp", "backends/*/include/**/*.hpp")

    def test_headers_outside_of_detail_are_public_and_documented(self):
        self.check(lambda path, text: surface_findings(text, is_internal(path.relative_to(ROOT))),
                   "include/**/*.hpp", "backends/*/include/**/*.hpp")

    def test_every_implementation_file_has_its_header_or_is_of_the_compiled_library_alone(self):
        for path, text in sources("include/cohort/*/impl/*.ipp", "backends/*/include/cohort/*/impl/*.ipp"):
            includes_it = any(f"/impl/{path.name}>" in other for _, other in
                              sources(f"{path.parent.parent.relative_to(ROOT)}/**/*.hpp", f"{path.parent.parent.parent.relative_to(ROOT)}/*.hpp"))
            self.assertNotEqual(includes_it, "No header includes this file." in text, path)

    def test_state_of_the_process_is_visible_to_all_of_its_shared_libraries(self):
        self.check(lambda path, text: visibility_findings(text),
                   *(f"{folder}/**/*.{kind}" for folder in ("include", "backends/*/include") for kind in ("hpp", "ipp", "tpp", "inc")))

    def test_nobody_waits_without_a_deadline(self):
        self.check(lambda path, text: waiting_findings(text),
                   *(f"{folder}/**/*.{kind}" for folder in ("include", "backends", "examples", "benchmarks", "tests")
                     for kind in ("hpp", "ipp", "tpp", "inc", "cpp")))

    def test_no_test_sleeps(self):
        self.check(lambda path, text: sleeping_findings(text),
                   "tests/**/*.hpp", "tests/**/*.cpp")


INLINE_VARIABLES = re.compile(r"^(?!.*\bconstexpr\b)(?!.*\bconst \w+ ?[={;]).*\binline\b[^(\n]*?(?:=|\{\S*\};|\w;).*$", re.MULTILINE)


def visibility_findings(text):
    for found in INLINE_VARIABLES.findall("\n".join(code(text))):
        if "gnu::visibility" not in found and not found.lstrip().startswith("inline namespace"):
            yield f"`{found.strip()}` exists once in each shared library with hidden symbols: [[gnu::visibility(\"default\")]]"


# Names at namespace scope, which has no indentation.
NAMES = re.compile(r"\b(?:class|struct|concept|enum class)\s+(?:\[\[[^\]]*\]\]\s*)?(\w{4,})"   # types,
                   r"|^(?:\[\[.*?\]\] ?)?[\w:<>&*][\w:<>&*, ]*?[ &*](\w{4,})\("           # functions
                   r"|^using (\w{4,}) =", re.MULTILINE)


def words(text):
    return set(re.findall(r"[A-Za-z_]\w+", text))


class tests_of_headers(unittest.TestCase):
    def test_every_public_header_has_its_test_or_is_used_by_another_one(self):
        used, included = set(), set()
        for _, text in sources("tests/**/*.cpp", "tests/**/*.hpp"):
            used |= words("\n".join(code(text)))
            included |= set(includes(text))
        untested = []
        for path, text in sources("include/cohort/*/*.hpp", "backends/*/include/cohort/*.hpp", "backends/*/include/cohort/*/*.hpp"):
            folder, name = path.parent.name, path.stem
            if path.is_relative_to(ROOT / "backends"):
                folder = f"backends/{path.relative_to(ROOT).parts[1]}"
            names = {one for match in NAMES.findall("\n".join(code(text))) for one in match if one}
            mirrored = any((ROOT / "tests" / folder / f"{name}_test.{kind}").is_file() for kind in ("cpp", "py"))
            here = "<" + str(path).rpartition("/include/")[2] + ">"
            if folder != "detail" and names and not mirrored and not names & used and here not in included:
                untested.append(str(path.relative_to(ROOT)))
        self.assertEqual(untested, [])


    def test_every_header_with_an_implementation_file_checks_the_build(self):
        """Directly or by a header that it includes, also in compiled mode."""
        headers = {"<" + str(path).rpartition("/include/")[2] + ">": text
                   for path, text in sources("include/cohort/**/*.hpp", "backends/*/include/**/*.hpp")}
        own = re.compile(r"#ifndef COHORT_\w+_COMPILED.*?#endif", re.DOTALL)
        edges = {name: [one for one in includes(own.sub("", text)) if one in headers] for name, text in headers.items()}

        def reached(name, seen):
            if name not in seen:
                seen.add(name)
                for one in edges[name]:
                    reached(one, seen)
            return seen
        unchecked = [name for name, text in headers.items()
                     if own.search(text) and "<cohort/detail/build_check.hpp>" not in reached(name, set())]
        self.assertEqual(unchecked, [])


class built_in_layers(unittest.TestCase):
    def test_have_their_kernels_in_the_compiled_library(self):
        """Declared, defined, and every built-in kind but those that only backends implement."""
        folder = ROOT / "include/cohort/layer"
        declared = re.findall(r"extern template struct host_kernels<(\w+)>", (folder / "detail/compiled_kernels.hpp").read_text(encoding="utf-8"))
        defined = re.findall(r"^template struct host_kernels<(\w+)>", (folder / "impl/host_kernels.ipp").read_text(encoding="utf-8"), re.MULTILINE)
        listed = re.search(r"layer_list<\s([^>]*)>;", (folder / "detail/built_in_layers.hpp").read_text(encoding="utf-8")).group(1)
        kinds = re.findall(r"\w+", listed)
        of_backends = {"input", "conv2d", "max_pool", "dense", "relu", "leaky_relu", "concatenate"}
        self.assertEqual(declared, defined)
        self.assertEqual(set(declared), set(kinds) - of_backends)


class the_rules_themselves(unittest.TestCase):
    HEAD = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"

    def test_an_edge_downwards_is_found(self):
        self.assertEqual(list(core_findings("layer", "#include <cohort/tensor/shape.hpp>\n#include <vector>\n")), [])
        found = list(core_findings("tensor", "#include <cohort/layer/conv2d.hpp>\n"))
        self.assertEqual(found, ["includes <cohort/layer/conv2d.hpp>, but layer comes after tensor"])

    def test_foreign_headers_are_found(self):
        for name in ("<dnnl.hpp>", "<zlib.h>", "<nlohmann/json.hpp>", "<iostream>", "<Random123/philox.h>",
                     '"shape.hpp"', "<cohort/cohort.hpp>", "<cohort/elsewhere/x.hpp>"):
            self.assertEqual(len(list(core_findings("tensor", f"#include {name}\n"))), 1, name)
        self.assertEqual(list(core_findings("random", "#include <Random123/philox.h>\n")), [])
        self.assertEqual(list(core_findings("", "#include <cohort/trainer/trainer.hpp>\n")), [])

    def test_heads_and_lengths_are_checked(self):
        self.assertEqual(list(header_findings(self.HEAD + "int x;\n" * 398)), [])
        self.assertEqual(len(list(header_findings(self.HEAD + "int x;\n" * 399))), 1)
        self.assertEqual(len(list(header_findings(self.HEAD + "int x;\n" * 299, internal=False))), 1)
        self.assertEqual(len(list(header_findings("#pragma once\n"))), 2)

    def test_the_surface_is_checked(self):
        public, internal = "namespace cohort {\n/// It.\nint it();\n}\n", "namespace cohort::detail {\nint it();\n}\n"
        both = "namespace cohort {\n\nnamespace detail {\nint x();\n}\n\n/// It.\nint it();\n}\n"
        for text, is_detail, count in ((public, False, 0), (both, False, 0), (internal, True, 0), (internal, False, 1), (public, True, 1),
                                       (both, True, 1), ("namespace cohort {\nint it();\n}\n", False, 1), ("#include <x>\n", False, 0)):
            self.assertEqual(len(list(surface_findings(text, is_detail))), count, text)

    def test_hidden_state_of_the_process_is_found(self):
        for line in ("inline std::atomic<int> users{0};", "  static inline int users = 0;", "inline int users;",
                     "  static inline struct sigaction former {};", "inline constinit state all;", "inline thread_local int users = 0;"):
            self.assertEqual(len(list(visibility_findings(line))), 1, line)
        for line in ('[[gnu::visibility("default")]] inline std::atomic<int> users{0};', "inline constexpr int users = 0;", "inline int users();",
                     "inline int users(int of = 0) {", "inline namespace users {", "static constexpr inline int users = 0;", "inline bool const on = true;",
                     "template <> inline constexpr bool has<int> = true;", "inline auto made() { int x = 0; }"):
            self.assertEqual(list(visibility_findings(line)), [], line)

    def test_a_wait_planted_in_an_implementation_file_is_found(self):
        path, text = next(sources("include/cohort/communicator/impl/engine.ipp"))
        self.assertEqual(list(waiting_findings(text)), [])
        planted = text.replace("{\n", "{\n  changed_.wait(lock);\n", 2)
        self.assertTrue(list(waiting_findings(planted)), path)

    def test_endless_waits_are_found(self):
        for line in ("ready.wait(lock);", "flag->wait(0);", "std::future<int> f;", "a.wait(b); limit();", "barrier.arrive_and_wait();"):
            self.assertEqual(len(list(waiting_findings(line))), 1, line)
        for line in ("ready.wait_for(lock, 1s);", "ready.wait_until(lock, deadline, done);", "// ready.wait(lock)",
                     "wait(", "stream_.wait();", "state->wait([&] { return done(1); },\n  settings.deadline)", 'say(".wait(");', "/* a\n.wait( */"):
            self.assertEqual(list(waiting_findings(line)), [], line)


if __name__ == "__main__":
    unittest.main()
