# SPDX-License-Identifier: Apache-2.0
"""Checks rules that no compiler checks: includes, heads and lengths of headers, and waits without a deadline."""
import os
import pathlib
import re
import statistics
import unittest

ROOT = pathlib.Path(os.environ.get("COHORT_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
# A header may include its own folder and the folders before it in this list.
FOLDERS = ("tensor error random execution io data optimizer layer graph backend plan codec communicator strategy checkpoint evaluation "
           "training prediction monitoring records text audio transform interchange caffe configuration").split()
SYSTEM_HEADERS = {"cpuid.h", "dirent.h", "fcntl.h", "immintrin.h", "pthread.h", "sched.h", "signal.h", "spawn.h", "sys/file.h", "sys/ioctl.h", "sys/mman.h", "sys/prctl.h", "sys/resource.h", "sys/stat.h",
                  "sys/types.h", "sys/wait.h", "time.h", "unistd.h"}
SLOW_HEADERS = {"chrono", "filesystem", "fstream", "future", "iomanip", "iostream", "locale", "random", "ranges", "regex", "sstream"}
COMMENT_COLUMNS = 110
MOST_CROSSINGS = 216  # includes of headers in detail/ from another folder; the number only falls
MEDIAN_HEADER = 60  # lines of a public header
LONGEST_HEADER = {False: 300, True: 400}  # of public headers, and of those in detail/
ENDLESS_WAITS = re.compile(
    r"(\.|->)wait\(|arrive_and_wait\(|(\.|->)acquire\(|pthread_cond_wait|\bsem_wait"
    r"|std::(shared_)?future|std::latch|std::barrier|std::promise|std::packaged_task|std::async")
# Calls that may block on threads, processes, file descriptors, MPI or CUDA. They are searched only in the
# library, because ctest limits the time of tests.
BLOCKING_CALLS = re.compile(
    r"(\.|->)join\(\)|\bpthread_join\(|\bjthread\b|\bp?poll\(|\bepoll_p?wait2?\(|(?<![\w>])::p?select\(|\bwait(pid|id|3|4)\((?!.*WNOHANG)|\batomic_wait|\bsigwait"
    r"|\bsigsuspend\(|\bpause\(|\bF_SETLKW\b|\bflock\((?!.*LOCK_NB)|\bMPI_(Wait|Barrier|Recv|Send|Ssend|Sendrecv|Probe|Mprobe|Bcast|Reduce|All|Gather|Scatter"
    r"|Comm_(dup|split|create|accept|connect)\b)|(\.|->)\w*[sS]ynchronize\(|\b(\w*future\w*|\w*promise\w*)(\.|->)get\(")
BOUNDED = re.compile(r"deadline|limit|timeout")  # the arguments of a wait must contain its bound
UNARMED_WAITS = re.compile(r"(\.|->)wait\(\)")  # of a request: bounded by its communicator; of oneDNN's stream
SLEEPS = re.compile(r"\bsleep_for|\bsleep_until|\busleep\(|\bnanosleep\(|\bsleep\(")


def code(text):
    """The text without comments and the contents of strings, line by line."""
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group().count("\n"), text, flags=re.DOTALL)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text).splitlines()


def includes(text):
    return re.findall(r'^\s*#\s*include\s*([<"][^>"]+[>"])', text, re.MULTILINE)


def core_findings(folder, text, implementation=False):
    """Errors in the includes of a header of include/cohort/<folder>; the headers in folder "" include all folders."""
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
        elif folder == "detail" and name in ("chrono", "bits/chrono.h"):
            continue
        elif name in SLOW_HEADERS and not implementation:
            yield f"includes <{name}>, which is slow to compile: implementation files may"
        elif ("." in name or "/" in name) and name not in SYSTEM_HEADERS:
            yield f"includes <{name}>: the core has no third-party headers"


def module_of(name):
    """The module of a file: the name of its header, without the folders detail and impl."""
    return re.sub(r"/(detail|impl)/", "/", re.sub(r"[.][a-z]+$", "", name))


def cycle_in(edges):
    """Modules of which each includes the next one, and the last one the first; [] if there is no cycle."""
    finished, path = set(), []

    def visit(module):
        if module in path:
            return path[path.index(module):]
        if module in finished:
            return []
        path.append(module)
        for other in sorted(edges.get(module, set()) - {module}):
            if found := visit(other):
                return found
        finished.add(path.pop())
        return []
    return next((found for module in sorted(edges) if (found := visit(module))), [])


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
    """Errors in the location of a header: outside detail/ it must declare something for users, with a contract; inside it may
    declare only internals."""
    declares = [one for one in open_namespaces(text) if "detail" not in one.split("::")]
    umbrella = not open_namespaces(text)
    if internal and declares:
        yield f"declares names in {', '.join(sorted(declares))}: public headers are not in detail/"
    contract_of_the_file = "///" in text.split("\nnamespace ")[0]
    if not internal and not umbrella and not declares and not contract_of_the_file:
        yield "declares internals alone: such headers belong into detail/"
    if not internal and declares and "///" not in text:
        yield "is public and has no contract (///)"


def declarations(text):
    """The declarations at namespace scope: the namespace, written out, the line, the beginning of the text, and whether a
    contract (///) stands directly before it, behind it, or before its namespace. Overloads share a contract."""
    lines = [line.strip() for line in text.splitlines()]
    source = "\n".join("" if line.lstrip().startswith("#") or line.endswith("\\") else line for line in code(text))
    namespaces, before = [], (None, False)
    depth, begin, constraint = 0, None, False  # braces below the innermost namespace; a declaration; inside requires {…}

    def has_contract(line):
        above = line - 2
        while above >= 0 and lines[above].startswith("//") and not lines[above].startswith("///"):
            above -= 1
        return "///" in lines[line - 1] or above >= 0 and lines[above].startswith("///")

    for token in re.finditer(r"(?:\binline\s+)?\bnamespace(\s+[\w:]+)?\s*\{|[{};]|[^\s{};]+", source):
        line = source.count("\n", 0, token.start()) + 1
        if token.group().endswith("{") and "namespace" in token.group() and depth == 0:
            namespaces.append(((token.group(1) or "").strip(), has_contract(line)))
            begin, before = None, (None, False)
        elif token.group() == "}" and depth == 0:
            namespaces = namespaces[:-1]
            begin, before = None, (None, False)
        else:
            if begin is None and token.group() != ";":
                begin = token.start()
                beginning = source[begin:begin + 200]
                if re.match(r"[\w\[:]", beginning):  # otherwise the end of a declaration that contains {…}
                    name = re.search(r"([\w=+<>|*-]+)\(", beginning)
                    same = name and name.group(1) == before[0] and lines[line - 2] != "" and before[1]
                    known = bool(has_contract(line) or same or any(one for _, one in namespaces))
                    before = (name.group(1) if name else None, known)
                    yield "::".join(one for one, _ in namespaces), line, beginning, known
            if token.group() == "{" and depth == 0:
                constraint = re.search(r"\brequires\s*(\([^{}]*\))?\s*$", source[begin:token.start()]) is not None
            depth += {"{": 1, "}": -1}.get(token.group(), 0)
            if depth == 0 and (token.group() == ";" or token.group() == "}" and not constraint):
                begin = None


def open_namespaces(text):
    """The namespaces, written out, in which a header declares something."""
    return {namespace for namespace, _, _, _ in declarations(text)} - {""}


def declared_names(text):
    """The names of the declarations in public namespaces, as pairs of a namespace and a name."""
    for namespace, _, declaration, _ in declarations(text):
        if namespace.split("::")[0] == "cohort" and "detail" not in namespace.split("::"):
            declaration = re.sub(r"^(template <[^;{(]*?>\s+(?=\S)|\[\[[^\]]*\]\]\s*|requires\b[^;{]*?\)\s+(?=[a-z]))+", "", declaration, flags=re.DOTALL)
            name = re.match(r"(?:class|struct|concept|enum class|enum|union|using)\s+(?:\[\[.*?\]\]\s*)?(\w+)", declaration) \
                or re.match(r"(?!static_assert|extern|friend|if\b)[^=;{(]*?\b(?<!operator)(\w+)\s*[=;{(]", declaration)
            declared_elsewhere = re.match(r"(?:class|struct|enum class) \w+(?: : [\w:]+)?;|COHORT_", declaration)
            if name and name.group(1) != "operator" and not declared_elsewhere:
                yield namespace, name.group(1)


# Declarations that need no contract: forward declarations, definitions of members, and compile-time checks.
WITHOUT_CONTRACT = re.compile(r"(template <[^>]*>\s*)?(class|struct|enum class) \w+( : [\w:]+)?;|static_assert|template <>|extern template"
                              r"|COHORT_PLANS|(template <[^;{]*>\s*)?\w+\([^;{]*\)\s*->|(?!enum|class|struct)[^({=;]*\b\w+::\w+\s*[({]")


def contract_findings(text):
    """Public declarations without a contract."""
    for namespace, line, declaration, documented in declarations(text):
        if namespace.split("::")[0] == "cohort" and "detail" not in namespace.split("::") and not documented \
                and not WITHOUT_CONTRACT.match(declaration):
            yield f"line {line}: `{declaration.splitlines()[0]}` has no contract (///)"


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


def blocking_findings(text):
    """Calls that may block without a bound: their arguments contain no bound, and their line has no comment with the reason why
    they end, such as `// bounded: the thread has finished its work`."""
    lines, source = text.splitlines(), "\n".join(code(text))
    for found in BLOCKING_CALLS.finditer(source):
        number = source[:found.start()].count("\n") + 1
        if "bounded: " not in lines[number - 1] and not (found.group().endswith("(") and BOUNDED.search(call(source, found.end()))):
            yield f"line {number}: {found.group()} has no deadline"


def comment_findings(text):
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > COMMENT_COLUMNS and re.match(r"\s*(//(?! expect: )|#(?!\s*(if|elif|define|error|include|pragma)\b))", line):
            yield f"line {number}: a comment of {len(line)} columns, at most {COMMENT_COLUMNS} are wanted"


def has_diagram(text):
    """Whether a contract contains a drawing of four ranks: an indented block of at least three lines that names ranks 0 to 3."""
    blocks = re.findall(r"(?:^///     .*\n){3,}", text, re.MULTILINE)
    return any(all(f"rank {rank}" in block for rank in range(4)) for block in blocks)


def diagram_findings(text):
    """What the header of a collective or a strategy lacks: a diagram of its schedule, its bytes and messages, and its source."""
    if not has_diagram(text):
        yield "has no diagram of its schedule with rank 0 to rank 3"
    for section in ("Moves", "Source"):
        if not re.search(rf"^/// {section} ", text, re.MULTILINE):
            yield f"has no paragraph {section}"


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

    def test_headers_are_found(self):
        self.assertTrue(list(sources("include/cohort/*/*.hpp")))

    def test_folders_are_known(self):
        folders = {path.name for path in (ROOT / "include/cohort").iterdir() if path.is_dir()}
        self.assertEqual(folders - set(FOLDERS), {"detail"})

    def test_headers_include_only_lower_layers(self):
        core = ROOT / "include/cohort"
        self.check(lambda path, text: core_findings("/".join(path.relative_to(core).parts[:-1]).split("/")[0], text,
                                                    path.suffix == ".ipp"),
                   *(f"include/cohort/**/*.{kind}" for kind in ("hpp", "ipp", "tpp")))

    def test_internal_headers_are_included_elsewhere_only_as_often_as_accepted(self):
        """The headers in cohort/detail are for all folders."""
        crossings = [name for path, text in sources(*(f"{folder}/**/*.{kind}" for folder in ("include", "backends")
                                                      for kind in ("hpp", "ipp", "tpp", "inc", "cpp")))
                     for name in includes(text) if (other := re.match(r"<cohort/(\w+)/detail/", name))
                     and other.group(1) not in path.relative_to(ROOT).parts]
        self.assertEqual(len(crossings), MOST_CROSSINGS, "write a public header, or move the internal one; lower MOST_CROSSINGS if there are fewer")

    def test_headers_have_the_standard_beginning_and_a_bounded_length(self):
        self.check(lambda path, text: header_findings(text, is_internal(path.relative_to(ROOT))),
                   "include/**/*.hpp", "backends/*/include/**/*.hpp")

    def test_public_headers_have_a_bounded_median_length(self):
        lengths = [len(text.splitlines()) for path, text in sources("include/**/*.hpp", "backends/*/include/**/*.hpp")
                   if not is_internal(path.relative_to(ROOT))]
        self.assertLessEqual(statistics.median(lengths), MEDIAN_HEADER)

    def test_headers_outside_of_detail_are_public_and_documented(self):
        self.check(lambda path, text: surface_findings(text, is_internal(path.relative_to(ROOT))),
                   "include/**/*.hpp", "backends/*/include/**/*.hpp")

    def test_each_ipp_is_included_by_one_cpp_and_each_cpp_by_one_src_hpp(self):
        parts, in_parts = [], []
        for path, text in sources("include/cohort/src.hpp", "include/cohort/*/src.hpp", "backends/*/include/cohort/*/src.hpp"):
            folder = pathlib.Path(str(path).rpartition("/include/")[0]) / "include"
            named = [folder / name[1:-1] for name in includes(text)]
            if path.parent.name != "cohort":
                self.assertEqual({part.parent.parent for part in named}, {path.parent}, path)
            parts += named
            in_parts += [folder / name[1:-1] for part in named for name in includes(part.read_text(encoding="utf-8")) if name.endswith(".ipp>")]
        self.assertEqual(sorted(parts), [path for path, _ in sources("backends/*/include/cohort/*/impl/*.cpp", "include/cohort/*/impl/*.cpp")])
        self.assertEqual(sorted(in_parts), [path for path, _ in sources("backends/*/include/cohort/*/impl/*.ipp", "include/cohort/*/impl/*.ipp")])

    def test_headers_include_no_implementation(self):
        self.check(lambda path, text: [f"includes {name}" for name in includes(text) if re.search(r"[.](ipp|cpp)>$", name) and path.name != "src.hpp"],
                   *(f"{folder}/**/*.{kind}" for folder in ("include", "backends/*/include") for kind in ("ipp", "tpp", "inc")),
                   "include/**/*.hpp", "backends/*/include/**/*.hpp")

    def test_inline_variables_have_default_visibility(self):
        self.check(lambda path, text: visibility_findings(text),
                   *(f"{folder}/**/*.{kind}" for folder in ("include", "backends/*/include") for kind in ("hpp", "ipp", "tpp", "inc")))

    def test_no_source_waits_without_a_deadline(self):
        self.check(lambda path, text: waiting_findings(text),
                   *(f"{folder}/**/*.{kind}" for folder in ("include", "backends", "examples", "benchmarks", "tests", "tools")
                     for kind in ("hpp", "ipp", "tpp", "inc", "cpp")))

    def test_the_library_does_not_block_without_a_deadline(self):
        self.check(lambda path, text: blocking_findings(text),
                   *(f"{folder}/**/*.{kind}" for folder in ("include", "backends/*/include") for kind in ("hpp", "ipp", "tpp", "inc")))

    def test_public_declarations_have_contracts(self):
        self.check(lambda path, text: () if is_internal(path.relative_to(ROOT)) else contract_findings(text),
                   "include/**/*.hpp", "backends/*/include/**/*.hpp")

    def test_collectives_and_strategies_begin_with_a_diagram(self):
        """The collectives are the operations of task.hpp that exchange messages among all ranks."""
        folder = ROOT / "include/cohort/communicator/detail"
        operations = re.search(r"using operation =\s*std::variant<([^>]*)>;", (folder / "task.hpp").read_text(encoding="utf-8")).group(1)
        collectives = set(re.findall(r"\w+", operations)) - {"message_send", "message_receive", "message_probe", "rank_query"}
        strategies = {path.stem for path, text in sources("include/cohort/strategy/*.hpp") if "on(communicator& world) const" in text}
        self.assertGreaterEqual(strategies, {"allreduce", "parameter_averaging", "threshold_sharing", "top_k_sharing"})
        self.assertGreaterEqual(collectives, {"ring_allreduce", "tree_broadcast"})
        self.check(lambda path, text: diagram_findings(text),
                   *(f"include/cohort/communicator/detail/{name}.hpp" for name in collectives),
                   *(f"include/cohort/strategy/{name}.hpp" for name in strategies))
        self.assertEqual([name for name in sorted(collectives) if not (folder / f"{name}.hpp").is_file()], [])

    def test_comments_keep_to_110_columns(self):
        self.check(lambda path, text: comment_findings(text),
                   *(f"{folder}/**/*.{kind}" for folder in ("include", "backends", "examples", "benchmarks", "tests", "tools", "docs")
                     for kind in ("hpp", "ipp", "tpp", "inc", "cpp", "py", "cmake", "txt", "sh")), "cmake/**/*.*")

    def test_no_test_sleeps(self):
        self.check(lambda path, text: sleeping_findings(text),
                   "tests/**/*.hpp", "tests/**/*.cpp")


INLINE_VARIABLES = re.compile(r"^(?!.*\bconstexpr\b)(?!.*\bconst \w+ ?[={;]).*\binline\b[^(\n]*?(?:=|\{\S*\};|\w;).*$", re.MULTILINE)


def visibility_findings(text):
    for found in INLINE_VARIABLES.findall("\n".join(code(text))):
        if "gnu::visibility" not in found and not found.lstrip().startswith("inline namespace"):
            yield f"`{found.strip()}` exists once in each shared library with hidden symbols: [[gnu::visibility(\"default\")]]"


def words(text):
    return set(re.findall(r"[A-Za-z_]\w+", text))


def with_local_includes(path):
    """The texts of a test and of the headers that it includes by relative paths."""
    seen, queue = {}, [path]
    while queue:
        one = queue.pop().resolve()
        if one not in seen and one.is_file():
            seen[one] = one.read_text(encoding="utf-8")
            queue += [one.parent / quoted[1:-1] for quoted in includes(seen[one]) if quoted[0] == '"']
    return seen.values()


def covered_headers(text):
    """The headers that a test lists as covered: `// covers: layer/dense layer/conv2d`."""
    return " ".join(re.findall(r"^// covers: (.+)$", text, re.MULTILINE)).split()


class tests_of_headers(unittest.TestCase):
    def headers(self):
        """Public headers that declare something, by their names without cohort/ and .hpp."""
        found = {}
        for path, text in sources("include/cohort/*/*.hpp", "backends/*/include/cohort/*.hpp", "backends/*/include/cohort/*/*.hpp"):
            names = {name for _, name in declared_names(text)}
            if names and not is_internal(path.relative_to(ROOT)):
                found[str(path).rpartition("/include/cohort/")[2].removesuffix(".hpp")] = path, names
        return found

    def test_modules_form_no_cycle(self):
        """A header and its implementation files are one module."""
        edges = {}
        for path, text in sources(*(f"{folder}/**/*.{kind}" for folder in ("include", "backends/*/include")
                                    for kind in ("hpp", "ipp", "tpp", "inc"))):
            if path.name != "src.hpp":
                edges.setdefault(module_of(str(path).rpartition("/include/")[2]), set()).update(
                    module_of(name[1:-1]) for name in includes(text) if name.startswith("<cohort/"))
        self.assertGreater(len(edges), 300)
        self.assertEqual(cycle_in(edges), [])

    def test_every_public_header_is_covered_by_a_test(self):
        headers, covered, complaints = self.headers(), {}, []
        for path, text in sources("tests/**/*_test.cpp"):
            for header in covered_headers(text):
                if header not in headers:
                    complaints.append(f"{path.relative_to(ROOT)} covers {header}, which is no public header")
                    continue
                covered[header] = path
                used = words("\n".join("\n".join(code(one)) for one in with_local_includes(path)))
                if not headers[header][1] & used:
                    complaints.append(f"{path.relative_to(ROOT)} covers {header} and uses none of its names")
        for header, (path, _) in headers.items():
            folder = path.relative_to(ROOT / "include/cohort").parts[0] if path.is_relative_to(ROOT / "include") \
                else f"backends/{path.relative_to(ROOT).parts[1]}"
            mirrored = any((ROOT / "tests" / folder / f"{path.stem}_test.{kind}").is_file() for kind in ("cpp", "py"))
            if mirrored == (header in covered):
                complaints.append(f"{header} has a test of its own: no other one covers it" if mirrored else
                                  f"{header} has no test: write tests/{folder}/{path.stem}_test.cpp, or `// covers: {header}` in another test")
        self.assertEqual(complaints, [], "\n" + "\n".join(complaints))

    def test_covers_lines_are_parsed(self):
        self.assertEqual(covered_headers("// a\n// covers: layer/dense layer/conv2d\n// covers: x/y\n"), ["layer/dense", "layer/conv2d", "x/y"])

    def test_every_header_with_an_implementation_refers_to_its_guard(self):
        """Directly or by a header that it includes: a program without the implementation does not link, and the message says
        what is missing."""
        headers = {"<" + str(path).rpartition("/include/")[2] + ">": (path, text)
                   for path, text in sources("include/cohort/**/*.hpp", "backends/*/include/**/*.hpp")}
        edges = {name: [one for one in includes(text) if one in headers] for name, (_, text) in headers.items()}

        def reached(name, seen):
            if name not in seen:
                seen.add(name)
                for one in edges[name]:
                    reached(one, seen)
            return seen
        unchecked = []
        for name, (path, _) in headers.items():
            folder = path.parent.parent if is_internal(path.relative_to(ROOT)) else path.parent
            if (folder / "impl" / f"{path.stem}.ipp").is_file() and "<cohort/detail/build_check.hpp>" not in reached(name, set()):
                unchecked.append(name)
            component = path.relative_to(ROOT).parts[1 if path.is_relative_to(ROOT / "backends") else 2]
            guard = f"<cohort/{component}/detail/implementation.hpp>"
            if guard in headers and not is_internal(path.relative_to(ROOT)) and path.name != "src.hpp" and guard not in reached(name, set()):
                unchecked.append(name)
        self.assertEqual(unchecked, [])


class built_in_layers(unittest.TestCase):
    def test_have_their_kernels_in_the_implementation(self):
        """Declared, defined, and every built-in kind but those that only backends implement."""
        folder = ROOT / "include/cohort/layer"
        declared = []
        for path in sorted(folder.glob("*.hpp")):
            declared += re.findall(r"extern template struct (?:cohort::)?detail::host_kernels<(?:cohort::)?(\w+)>", path.read_text(encoding="utf-8"))
        defined = re.findall(r"^template struct host_kernels<(\w+)>", (folder / "impl/host_kernels.cpp").read_text(encoding="utf-8"), re.MULTILINE)
        lists = (folder / "detail/built_in_layers.hpp").read_text(encoding="utf-8")
        kinds = re.findall(r"\w+", re.search(r"layer_list<\s([^>]*)>;", lists).group(1))
        on_demand = re.findall(r'"(\w+)"', re.search(r"kinds_on_demand\[\]\{([^}]*)\}", lists).group(1))
        of_backends = {"input", "masked_input", "padded_input", "conv2d", "max_pool", "dense", "relu", "leaky_relu", "concatenate"}
        self.assertGreater(len(on_demand), 0)
        self.assertEqual(sorted(declared), sorted(defined))
        self.assertEqual(set(declared), (set(kinds) | set(on_demand)) - of_backends)


class the_rules_themselves(unittest.TestCase):
    HEAD = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"

    def test_cycles_are_found(self):
        self.assertEqual(cycle_in({"a": {"b", "a"}, "b": {"c"}, "c": set()}), [])
        self.assertEqual(cycle_in({"a": {"b"}, "b": {"c"}, "c": {"d", "b"}, "d": set()}), ["b", "c"])
        self.assertEqual(module_of("cohort/data/impl/loader.ipp"), module_of("cohort/data/loader.hpp"))

    def test_an_include_of_a_higher_layer_is_found(self):
        self.assertEqual(list(core_findings("layer", "#include <cohort/tensor/shape.hpp>\n#include <vector>\n")), [])
        found = list(core_findings("tensor", "#include <cohort/layer/conv2d.hpp>\n"))
        self.assertEqual(found, ["includes <cohort/layer/conv2d.hpp>, but layer comes after tensor"])

    def test_includes_of_foreign_and_quoted_headers_are_found(self):
        for name in ("<dnnl.hpp>", "<zlib.h>", "<nlohmann/json.hpp>", "<iostream>",
                     '"shape.hpp"', "<cohort/cohort.hpp>", "<cohort/elsewhere/x.hpp>"):
            self.assertEqual(len(list(core_findings("tensor", f"#include {name}\n"))), 1, name)
        self.assertEqual(list(core_findings("", "#include <cohort/training/trainer.hpp>\n")), [])

    def test_nonstandard_beginnings_and_too_long_headers_are_found(self):
        self.assertEqual(list(header_findings(self.HEAD + "int x;\n" * 398)), [])
        self.assertEqual(len(list(header_findings(self.HEAD + "int x;\n" * 399))), 1)
        self.assertEqual(len(list(header_findings(self.HEAD + "int x;\n" * 299, internal=False))), 1)
        self.assertEqual(len(list(header_findings("#pragma once\n"))), 2)

    def test_public_and_internal_declarations_are_distinguished(self):
        public, internal = "namespace cohort {\n/// It.\nint it();\n}\n", "namespace cohort::detail {\nint it();\n}\n"
        both = "namespace cohort {\n\nnamespace detail {\nint x();\n}\n\n/// It.\nint it();\n}\n"
        for text, is_detail, count in ((public, False, 0), (both, False, 0), (internal, True, 0), (internal, False, 1), (public, True, 1),
                                       (both, True, 1), ("namespace cohort {\nint it();\n}\n", False, 1), ("#include <x>\n", False, 0)):
            self.assertEqual(len(list(surface_findings(text, is_detail))), count, text)

    def test_inline_variables_without_default_visibility_are_found(self):
        for line in ("inline std::atomic<int> users{0};", "  static inline int users = 0;", "inline int users;",
                     "  static inline struct sigaction former {};", "inline constinit state all;", "inline thread_local int users = 0;"):
            self.assertEqual(len(list(visibility_findings(line))), 1, line)
        for line in ('[[gnu::visibility("default")]] inline std::atomic<int> users{0};', "inline constexpr int users = 0;", "inline int users();",
                     "inline int users(int of = 0) {", "inline namespace users {", "static constexpr inline int users = 0;", "inline bool const on = true;",
                     "template <> inline constexpr bool has<int> = true;", "inline auto made() { int x = 0; }"):
            self.assertEqual(list(visibility_findings(line)), [], line)

    def test_public_names_in_internal_headers_are_found(self):
        for text in ("namespace cohort { int it(); }\n", "namespace cohort {\nusing detail::it;\n}\n", "namespace cohort { using detail::it; }\n",
                     "namespace cohort::detail { int x; }\nnamespace cohort { int it(); }\n", "namespace cohort\n{\nint it();\n}\n"):
            self.assertEqual(len(list(surface_findings(text, internal=True))), 1, text)
        self.assertEqual(list(surface_findings("namespace cohort::detail { int it(); }\nnamespace cohort { namespace detail { int x; } }\n", True)), [])

    def test_a_second_declaration_without_a_contract_is_found(self):
        first = "namespace cohort {\n/// It.\nint it(int of = 0);\n"
        for text in ("int other();\n", "\nstruct other {\n  int x;\n};\n", "\n// No contract.\nenum class other { one };\n", "\nint it(double);\n",
                     "namespace inner { int other(); }\n", "inline constexpr int other = 1;\n", "template <class T>\nvoid other(T) {}\n"):
            found = list(contract_findings(first + text + "}\n"))
            self.assertEqual(len(found), 1, (text, found))
        for text in ("int it(double);\n", "\nstruct other;\n", "\n/// Other.\ntemplate <class T>\nrequires requires(T x) { x(); }\nint other(T x = {}) {\n  return x;\n}\n",
                     "\nnamespace detail {\nint other();\n}\n", "\nstatic_assert(true);\n", "/// Other.\n// A remark.\nint other();\n",
                     "\nint other();  ///< other\n"):
            self.assertEqual(list(contract_findings(first + text + "}\n")), [], text)

    def test_calls_that_block_without_a_deadline_are_found(self):
        for line in ("thread_.join();", "::poll(all, 1, -1);", "::ppoll(all, 1, nullptr, nullptr);", "::waitpid(child, &status, 0);", "MPI_Wait(&one, &status);",
                     "MPI_Waitall(2, all, states);", "std::atomic_wait(&x, 0);", "future.get();", "pthread_join(t, nullptr);", "driver.StreamSynchronize(s);", "::flock(file, LOCK_EX);",
                     "std::vector<std::jthread> all;", "thread_.join();  // it ends"):
            self.assertEqual(len(list(blocking_findings(line))), 1, line)
        for line in ("::poll(all, 1, milliseconds_to(deadline));", "thread_.join();  // bounded: it has ended", "join(a, b);", "MPI_Test(&one, &done, &status);",
                     "data_table data_table::select(rows)", "values.get();", "// thread_.join();", "::flock(file, LOCK_EX | LOCK_NB);",
                     "::waitpid(child, &status, WNOHANG);"):
            self.assertEqual(list(blocking_findings(line)), [], line)

    def test_headers_that_are_slow_to_compile_are_found(self):
        for name in ("random", "future", "sstream", "regex", "iostream", "filesystem"):
            self.assertEqual(len(list(core_findings("tensor", f"#include <{name}>\n"))), 1, name)
            self.assertEqual(list(core_findings("tensor", f"#include <{name}>\n", implementation=True)), [], name)

    def test_a_missing_diagram_is_found(self):
        diagram = "/// It.\n///\n" + "".join(f"///     rank {rank}\n" for rank in range(4)) + "///\n/// Moves     n.\n/// Source    It.\n"
        self.assertEqual(list(diagram_findings(diagram)), [])
        for line in ("///     rank 2\n", "/// Moves     n.\n", "/// Source    It.\n"):
            self.assertEqual(len(list(diagram_findings(diagram.replace(line, "")))), 1, line)

    def test_long_comments_are_found(self):
        for line in ("// " + 110 * "x", "  /// " + 110 * "x", "# " + 110 * "x"):
            self.assertEqual(len(list(comment_findings(line))), 1, line)
        for line in ("// " + 107 * "x", "call(" + 110 * "x" + ");", '#error "' + 110 * "x"):
            self.assertEqual(list(comment_findings(line)), [], line)

    def test_a_wait_without_a_deadline_in_an_implementation_file_is_found(self):
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
